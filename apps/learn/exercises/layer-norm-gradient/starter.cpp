// Exercise layer-norm-gradient: the node of a layer norm. The page is layer-norm-gradient.md.
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
    // Saved is what came with the forward pass. The gradients are missing.
    return record(y, {.op = "layer_norm",
                      .where = Where::current(),
                      .inputs = {x, gamma, beta},
                      .saved = {n, rstd, gamma.value()},
                      .backward = [](Gradients& g) {}});
}
