// Small ops in plain loops with a correct backward or a selectable mistake, for testing the gradient check.
#pragma once

#include <cmath>

#include "autograd/tape.h"

namespace heddle::faulty {

/// The mistake in an op's backward.
enum class Mistake {
    none,
    sign_flipped,
    factor,             // 1.01 times the gradient
    dropped_term,       // softmax: the dot product; layer norm: the term through the variance
    dropped_mean,       // layer norm: the term through the mean
    dropped_mask,       // softmax: backward attends where forward did not
    dropped_row,        // the last row stays zero
    transposed,         // product: dw transposed
    missing_batch_sum,  // product, layer norm: only the last row's contribution
    shifted,            // product: the operand's next row is read
    wrong_alone,        // wrong only if no other input needs a gradient
    not_deterministic,  // a different gradient at each call
    not_a_number,       // 0/0 in one element
    not_zero_for_zero,  // adds a term that does not depend on the cotangent
    ignores_cotangent,  // the gradient for a cotangent of ones
    nothing,            // never gives a gradient
    consumes_saved,     // overwrites its saved tensor
};

/// y = softmax(x) per row over columns j with mask(j), x [rows, cols]; other columns are 0.
inline Variable softmax(const Variable& x, Mistake mistake = Mistake::none, std::int64_t masked_column = -1) {
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    Tensor y = Tensor::zeros(x.shape(), x.dtype());
    for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < cols; ++j)
            if (j != masked_column)
                sum += y.mutable_data<double>()[i * cols + j] = std::exp(x.value().data<double>()[i * cols + j]);
        for (std::int64_t j = 0; j < cols; ++j) y.mutable_data<double>()[i * cols + j] /= sum;
    }
    auto backward = [mistake, masked_column, rows, cols, calls = std::make_shared<int>(0)](Gradients& g) {
        if (mistake == Mistake::nothing) return;
        const Tensor dy = mistake == Mistake::ignores_cotangent ? Tensor::full(g.output().shape(), 1, DType::f64) : g.output();
        Tensor dx = Tensor::zeros(dy.shape(), DType::f64);
        for (std::int64_t i = 0; i < rows; ++i) {
            const double* y_row = g.saved(0).data<double>() + i * cols;
            const double* dy_row = dy.data<double>() + i * cols;
            double* dx_row = dx.mutable_data<double>() + i * cols;
            double dot = 0;
            for (std::int64_t j = 0; j < cols; ++j) dot += y_row[j] * dy_row[j];
            if (mistake == Mistake::dropped_term) dot = 0;
            for (std::int64_t j = 0; j < cols; ++j) dx_row[j] = y_row[j] * (dy_row[j] - dot);
            if (mistake == Mistake::dropped_mask && masked_column >= 0) dx_row[masked_column] = 0.1 * dy_row[masked_column];
        }
        double* values = dx.mutable_data<double>();
        if (mistake == Mistake::sign_flipped)
            for (double& value : dx.mutable_values<double>()) value = -value;
        if (mistake == Mistake::factor)
            for (double& value : dx.mutable_values<double>()) value *= 1.01;
        if (mistake == Mistake::dropped_row) std::fill_n(values + (rows - 1) * cols, cols, 0.0);
        if (mistake == Mistake::not_deterministic) {
            static int run = 0;
            values[0] += 1e-15 * ++run;
        }
        if (mistake == Mistake::not_a_number) values[cols] = std::nan("");
        if (mistake == Mistake::not_zero_for_zero) values[0] += 1e-15;
        g.give(0, dx);
        if (mistake == Mistake::consumes_saved) Tensor(g.saved(0)).mutable_data<double>()[0] = 0;
    };
    return record(
        y, {.op = "faulty_softmax", .where = Where::current(), .inputs = {x}, .saved = {y}, .backward = std::move(backward)});
}

/// a w^T; a [m, k], w [n, k].
inline Variable product(const Variable& a, const Variable& w, Mistake mistake = Mistake::none) {
    const std::int64_t m = a.rows();
    const std::int64_t n = w.rows();
    const std::int64_t k = a.cols();
    Tensor y = Tensor::zeros({m, n}, DType::f64);
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t l = 0; l < k; ++l)
                y.mutable_data<double>()[i * n + j] += a.value().data<double>()[i * k + l] * w.value().data<double>()[j * k + l];
    auto backward = [=](Gradients& g) {
        const Tensor dy = g.output();
        Tensor da = Tensor::zeros({m, k}, DType::f64);
        Tensor dw = Tensor::zeros({n, k}, DType::f64);
        const std::int64_t first = mistake == Mistake::missing_batch_sum ? m - 1 : 0;
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t l = 0; l < k; ++l) {
                    const double d = dy.data<double>()[i * n + j];
                    const std::int64_t row = mistake == Mistake::shifted ? (j + 1) % n : j;
                    da.mutable_data<double>()[i * k + l] += d * g.saved(1).data<double>()[row * k + l];
                    const std::int64_t at = mistake == Mistake::transposed ? l * n + j : j * k + l;
                    if (i >= first) dw.mutable_data<double>()[at] += d * g.saved(0).data<double>()[i * k + l];
                }
        if (mistake == Mistake::wrong_alone && !g.needs(0)) dw.mutable_data<double>()[0] *= 1.001;
        g.give(0, da);
        g.give(1, dw);
    };
    return record(y, {.op = "faulty_product",
                      .where = Where::current(),
                      .inputs = {a, w},
                      .saved = {a.value(), w.value()},
                      .backward = std::move(backward)});
}

/// gamma (x - mean) / sqrt(variance + 1e-5) over the last axis; x [rows, cols], gamma [cols].
inline Variable layer_norm(const Variable& x, const Variable& gamma, Mistake mistake = Mistake::none) {
    const std::int64_t rows = x.rows();
    const std::int64_t cols = x.cols();
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    Tensor hat = Tensor::empty(x.shape(), DType::f64);
    Tensor rstd = Tensor::empty({rows}, DType::f64);
    for (std::int64_t i = 0; i < rows; ++i) {
        const double* row = x.value().data<double>() + i * cols;
        double mean = 0;
        double variance = 0;
        for (std::int64_t j = 0; j < cols; ++j) mean += row[j] / static_cast<double>(cols);
        for (std::int64_t j = 0; j < cols; ++j) variance += (row[j] - mean) * (row[j] - mean) / static_cast<double>(cols);
        rstd.mutable_data<double>()[i] = 1 / std::sqrt(variance + 1e-5);
        for (std::int64_t j = 0; j < cols; ++j) {
            hat.mutable_data<double>()[i * cols + j] = (row[j] - mean) * rstd.data<double>()[i];
            y.mutable_data<double>()[i * cols + j] = gamma.value().data<double>()[j] * hat.data<double>()[i * cols + j];
        }
    }
    auto backward = [=](Gradients& g) {
        const Tensor dy = g.output();
        Tensor dx = Tensor::zeros({rows, cols}, DType::f64);
        Tensor dgamma = Tensor::zeros({cols}, DType::f64);
        for (std::int64_t i = 0; i < rows; ++i) {
            const double* d = dy.data<double>() + i * cols;
            const double* h = g.saved(0).data<double>() + i * cols;
            double mean = 0;
            double along = 0;
            for (std::int64_t j = 0; j < cols; ++j) {
                const double dh = d[j] * g.saved(1).data<double>()[j] / static_cast<double>(cols);
                if (mistake != Mistake::dropped_mean) mean += dh;
                if (mistake != Mistake::dropped_term) along += dh * h[j];
                if (mistake != Mistake::missing_batch_sum || i == 0) dgamma.mutable_data<double>()[j] += d[j] * h[j];
            }
            for (std::int64_t j = 0; j < cols; ++j)
                dx.mutable_data<double>()[i * cols + j] =
                    g.saved(2).data<double>()[i] * (d[j] * g.saved(1).data<double>()[j] - mean - h[j] * along);
        }
        if (mistake == Mistake::sign_flipped)
            for (double& value : dgamma.mutable_values<double>()) value = -value;
        if (mistake == Mistake::factor)
            for (double& value : dx.mutable_values<double>()) value *= 1.01;
        g.give(0, dx);
        g.give(1, dgamma);
    };
    return record(y, {.op = "faulty_layer_norm",
                      .where = Where::current(),
                      .inputs = {x, gamma},
                      .saved = {hat, gamma.value(), rstd},
                      .backward = std::move(backward)});
}

/// |x|, a function with a kink at zero.
inline Variable absolute(const Variable& x) {
    Tensor y = x.value().clone();
    for (double& value : y.mutable_values<double>()) value = std::abs(value);
    return record(
        y,
        {.op = "faulty_absolute", .where = Where::current(), .inputs = {x}, .saved = {x.value()}, .backward = [](Gradients& g) {
             Tensor dx = g.output().clone();
             for (std::int64_t i = 0; i < dx.numel(); ++i)
                 if (g.saved(0).data<double>()[i] < 0) dx.mutable_data<double>()[i] *= -1;
             g.give(0, dx);
         }});
}

/// The sum of all elements, whose gradient is a cotangent of ones.
inline Variable sum(const Variable& x) {
    double total = 0;
    for (const double value : x.value().values<double>()) total += value;
    return record(Tensor::full({}, total, DType::f64),
                  {.op = "faulty_sum", .where = Where::current(), .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                       g.give(0, Tensor::full(shape, g.output().item(), DType::f64));
                   }});
}

}  // namespace heddle::faulty
