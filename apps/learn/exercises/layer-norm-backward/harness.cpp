#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "layer-norm-backward/exercise.h"

namespace heddle::learn::layer_norm_backward_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const std::vector<float> x = numbers(rows * cols), dy = numbers(rows * cols, 2), gamma = numbers(cols, 3);
    std::vector<float> means, rstds;
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned begin = r * cols;
        double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
        for (unsigned c = 0; c < cols; ++c) mean += x[begin + c] / static_cast<double>(cols);
        for (unsigned c = 0; c < cols; ++c) variance += (x[begin + c] - mean) * (x[begin + c] - mean) / cols;
        means.push_back(static_cast<float>(mean));
        rstds.push_back(static_cast<float>(1 / std::sqrt(variance + 1e-5)));
        const double rstd = rstds.back();
        for (unsigned c = 0; c < cols; ++c) {
            const double g = static_cast<double>(dy[begin + c]) * gamma[c];
            mean_g += g / cols;
            mean_gn += g * (x[begin + c] - mean) * rstd / cols;
        }
        for (unsigned c = 0; c < cols; ++c)
            wanted.push_back(rstd *
                             (static_cast<double>(dy[begin + c]) * gamma[c] - mean_g - (x[begin + c] - mean) * rstd * mean_gn));
    }
    const float* const x_device = attempt.input("x", x, sizes);
    const float* const gamma_device = attempt.input("gamma", gamma);
    const float* const mean_device = attempt.input("mean", means);
    const float* const rstd_device = attempt.input("rstd", rstds);
    const float* const dy_device = attempt.input("dy", dy, sizes);
    float* const dx = attempt.output<float>("dx", sizes);
    attempt.launch<decltype(layer_norm_backward)>("layer_norm_backward", {.grid = rows, .block = 32}, x_device, gamma_device,
                                                  mean_device, rstd_device, dy_device, dx, sizes[1]);
    attempt.expect(dx, wanted, 1e-5);
    attempt.allow({.sectors = rows * (4 * cols / 8 + 2)});  // everything once
}

const Exercise exercise("layer-norm-backward", {"rows", "cols"}, {{1, 32}, {3, 100}, {4, 7}, {8, 128}}, run);

}  // namespace heddle::learn::layer_norm_backward_harness
