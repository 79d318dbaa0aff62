#include <cmath>

#include "apps/learn/grader/tape_attempt.h"
#include "layer-norm-gradient/exercise.h"

namespace heddle::learn::layer_norm_gradient_harness {

struct Normalised {
    Values n;     // [rows, cols]
    Values rstd;  // [rows]
};

Normalised normalised(Inputs in) {
    const auto x = in[0].values<double>();
    const auto cols = static_cast<std::size_t>(in[0].cols());
    Normalised all;
    for (std::size_t first = 0; first < x.size(); first += cols) {
        double mean = 0, variance = 0;
        for (std::size_t i = first; i < first + cols; ++i) mean += x[i] / static_cast<double>(cols);
        for (std::size_t i = first; i < first + cols; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(cols);
        all.rstd.push_back(1 / std::sqrt(variance + 1e-5));
        for (std::size_t i = first; i < first + cols; ++i) all.n.push_back((x[i] - mean) * all.rstd.back());
    }
    return all;
}

Values value(Inputs in) {
    Values y = normalised(in).n;
    const auto gamma = in[1].values<double>(), beta = in[2].values<double>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = gamma[i % gamma.size()] * y[i] + beta[i % gamma.size()];
    return y;
}

// The parts of the gradient of x: all of them, or with a mistake.
struct Parts {
    double first_mean = 1, second_mean = 1;  // factors of the two means
    bool gamma = true, rstd = true, x_for_n = false, gamma_last = false, sums = false;
};

auto gradient_of_x(const Parts& parts) {
    return [parts](Inputs in, const Values& dy) {
        const Normalised all = normalised(in);
        const auto gamma = in[1].values<double>(), x = in[0].values<double>();
        const Values n = parts.x_for_n ? Values(x.begin(), x.end()) : all.n;
        const std::size_t cols = gamma.size();
        Values dx;
        for (std::size_t r = 0; r < all.rstd.size(); ++r) {
            double mean = 0, mean_n = 0;
            const auto count = static_cast<double>(parts.sums ? 1 : cols);
            const auto g = [&](std::size_t c) { return dy[r * cols + c] * (parts.gamma && !parts.gamma_last ? gamma[c] : 1); };
            for (std::size_t c = 0; c < cols; ++c) {
                mean += g(c) / count;
                mean_n += g(c) * n[r * cols + c] / count;
            }
            for (std::size_t c = 0; c < cols; ++c)
                dx.push_back((parts.rstd ? all.rstd[r] : 1) * (parts.gamma_last ? gamma[c] : 1) *
                             (g(c) - parts.first_mean * mean - parts.second_mean * n[r * cols + c] * mean_n));
        }
        return dx;
    };
}

// For each column the sum of dy, or of dy times the normalised row.
Values column_sums(Inputs in, const Values& dy, bool times_n, bool last_row = false) {
    const Values n = normalised(in).n;
    const auto cols = static_cast<std::size_t>(in[0].cols());
    Values sums(cols);
    for (std::size_t i = last_row ? dy.size() - cols : 0; i < dy.size(); ++i) sums[i % cols] += times_n ? dy[i] * n[i] : dy[i];
    return sums;
}

std::string run(const Answer& answer) {
    auto* const layer_norm = answer.function<decltype(::layer_norm)>("layer_norm", "_Z10layer_normRKN6heddle8VariableES2_S2_");
    const TapeOp op = {
        .inputs = {"x", "gamma", "beta"},
        .result = "y",
        .function = [layer_norm](auto in) { return layer_norm(in[0], in[1], in[2]); },
        .value = value,
        .gradients =
            [](Inputs in, const Values& dy) {
                return std::vector<Values>{gradient_of_x({})(in, dy), column_sums(in, dy, true), column_sums(in, dy, false)};
            },
        .mistakes =
            {{0, gradient_of_x({.first_mean = 0}),
              "the term mean(g) is missing: each element of x is a part of the mean that is subtracted from its row"},
             {0, gradient_of_x({.second_mean = 0}),
              "the term n mean(g n) is missing: each element of x is a part of the deviation by which its row is divided"},
             {0, gradient_of_x({.first_mean = 0, .second_mean = 0}),
              "that holds mean and deviation fixed; both depend on each element of the row"},
             {0, gradient_of_x({.gamma = false}), "gamma is missing: g = dy gamma"},
             {0, gradient_of_x({.sums = true}), "those are sums over the row where means are wanted: divide by cols"},
             {0, gradient_of_x({.rstd = false}), "the factor rstd is missing"},
             {0, gradient_of_x({.x_for_n = true}), "that is the formula with x in place of the normalised row n"},
             {0, gradient_of_x({.gamma_last = true}), "gamma belongs to dy, before the means are taken: g = dy gamma"},
             {0, gradient_of_x({.first_mean = -1}), "mean(g) is added where it should be subtracted"},
             {0, gradient_of_x({.second_mean = -1}), "n mean(g n) is added where it should be subtracted"},
             {1, [](Inputs in, const Values& dy) { return column_sums(in, dy, false); },
              "that is the gradient of beta; gamma was multiplied by n"},
             {1, [](Inputs in, const Values& dy) { return column_sums(in, dy, true, true); },
              "that is the last row alone: = forgets the rows before, += adds them up"},
             {2, [](Inputs in, const Values& dy) { return column_sums(in, dy, false, true); },
              "that is the last row alone: = forgets the rows before, += adds them up"}},
        .on_shape = "gamma and beta serve every row, so their gradients are sums over the rows"};
    return prove(answer, op,
                 {{tensor({3, 4}, 1), tensor({4}, 2), tensor({4}, 3)},
                  {tensor({1, 5}, 4), tensor({5}, 5), tensor({5}, 6)},
                  {tensor({5, 2}, 7), tensor({2}, 8), tensor({2}, 9)}});
}

const TapeExercise exercise("layer-norm-gradient", run);

}  // namespace heddle::learn::layer_norm_gradient_harness
