#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "layer-norm/exercise.h"

namespace heddle::learn::layer_norm_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    std::vector<float> x = numbers(rows * cols);
    const std::vector<float> gamma = numbers(cols, 2), beta = numbers(cols, 3);
    const float eps = 1e-2f;
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        double mean = 0, variance = 0;
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) {
            x[i] = r == 1 ? 3 : x[i] + (r == 2 ? 4000.0f : 1.0f);  // row 1 is constant, row 2 far from 0
            mean += x[i] / static_cast<double>(cols);
        }
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) variance += (x[i] - mean) * (x[i] - mean) / cols;
        for (unsigned c = 0; c < cols; ++c)
            wanted.push_back((x[r * cols + c] - mean) / std::sqrt(variance + static_cast<double>(eps)) * gamma[c] + beta[c]);
    }
    const float* const x_device = attempt.input("x", x, sizes);
    const float* const gamma_device = attempt.input("gamma", gamma);
    const float* const beta_device = attempt.input("beta", beta);
    float* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(layer_norm)>("layer_norm", {.grid = rows, .block = 32}, x_device, gamma_device, beta_device, y,
                                         sizes[1], eps);
    attempt.expect(y, wanted, 5e-4);
    attempt.allow({.sectors = 4 * rows * cols / 8});  // everything once
}

const Exercise exercise("layer-norm", {"rows", "cols"}, {{1, 32}, {3, 100}, {4, 7}, {8, 128}}, run);

}  // namespace heddle::learn::layer_norm_harness
