//: Exercise layer-norm-gradient: the node of a layer norm. The page is layer-norm-gradient.md.
#include <cmath>

#include "exercise.h"

Variable layer_norm(const Variable& x, const Variable& gamma, const Variable& beta) {
    const int rows = x.rows(), cols = x.cols();
    Tensor y = Tensor::empty(x.shape(), DType::f64), n = Tensor::empty(x.shape(), DType::f64);
    Tensor rstd = Tensor::empty({rows}, DType::f64);  // 1 / sqrt(variance + 1e-5)
    for (int r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        const auto row = x.value().values<double>().subspan(r * cols, cols);
        for (const double number : row) mean += number / cols;
        for (const double number : row) variance += (number - mean) * (number - mean) / cols;
        rstd.mutable_values<double>()[r] = 1 / std::sqrt(variance + 1e-5);
        for (int c = 0; c < cols; ++c) {
            n.mutable_values<double>()[r * cols + c] = (row[c] - mean) * rstd.values<double>()[r];
            y.mutable_values<double>()[r * cols + c] =
                gamma.value().values<double>()[c] * n.values<double>()[r * cols + c] + beta.value().values<double>()[c];
        }
    }
#ifdef STARTER
    // Saved is what came with the forward pass. The gradients are missing.
#endif
    return record(y, {.op = "layer_norm",
                      .where = Where::current(),
                      .inputs = {x, gamma, beta},
                      .saved = {n, rstd, gamma.value()},
#ifndef STARTER
                      .backward = [](Gradients& g) {
                          const Tensor dy = g.output();
                          const auto n = g.saved(0).values<double>(), rstd = g.saved(1).values<double>(),
                                     gamma = g.saved(2).values<double>();
                          const int rows = dy.rows(), cols = dy.cols();
                          Tensor dx = Tensor::empty(dy.shape(), DType::f64);
                          Tensor dgamma = Tensor::zeros({cols}, DType::f64), dbeta = Tensor::zeros({cols}, DType::f64);
                          for (int r = 0; r < rows; ++r) {
                              const auto gradient = dy.values<double>().subspan(r * cols, cols), row = n.subspan(r * cols, cols);
                              double mean = 0, mean_n = 0;
                              for (int c = 0; c < cols; ++c) {
                                  mean += gradient[c] * gamma[c] / cols;
                                  mean_n += gradient[c] * gamma[c] * row[c] / cols;
                                  dgamma.mutable_values<double>()[c] += gradient[c] * row[c];
                                  dbeta.mutable_values<double>()[c] += gradient[c];
                              }
                              for (int c = 0; c < cols; ++c)
                                  dx.mutable_values<double>()[r * cols + c] =
                                      rstd[r] * (gradient[c] * gamma[c] - mean - row[c] * mean_n);
                          }
                          g.give(0, dx);
                          g.give(1, dgamma);
                          g.give(2, dbeta);
                      }});
#else
                      .backward = [](Gradients& g) {}});
#endif
}
