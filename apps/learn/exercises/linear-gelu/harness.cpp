#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "linear-gelu/exercise.h"

namespace heddle::learn::linear_gelu_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]),
               depth = static_cast<unsigned>(sizes[2]);
    std::vector<float> x = numbers(rows * depth), weight = numbers(cols * depth, 2);
    const std::vector<float> bias = numbers(cols, 3);
    for (float& value : x) value /= 8;
    for (float& value : weight) value /= 4;
    std::vector<double> wanted;
    for (unsigned i = 0; i < rows; ++i)
        for (unsigned j = 0; j < cols; ++j) {
            double sum = bias[j];
            for (unsigned k = 0; k < depth; ++k) sum += static_cast<double>(x[i * depth + k]) * weight[j * depth + k];
            wanted.push_back(sum / 2 * (1 + std::erf(sum / std::sqrt(2.0))));
        }
    const float* const x_device = attempt.input("x", x, {sizes[0], sizes[2]});
    const float* const weight_device = attempt.input("weight", weight, {sizes[1], sizes[2]});
    const float* const bias_device = attempt.input("bias", bias);
    float* const y = attempt.output<float>("y", {sizes[0], sizes[1]});
    const unsigned across = (cols + 15) / 16, down = (rows + 15) / 16, steps = (depth + 15) / 16;
    attempt.launch<decltype(linear_gelu)>("linear_gelu", {.grid = {across, down}, .block = {16, 16}, .shared = 4096}, x_device,
                                          weight_device, bias_device, y, sizes[0], sizes[1], sizes[2]);
    attempt.expect(y, wanted, 1e-5);
    // The tiled product's traffic and the bias. A step fills two tiles, which may take twice the least for rows of 17, and each
    // of the 8 warps reads 32 times.
    attempt.allow(
        {.sectors = across * down * (2 * 32 * steps + 32 + 16), .shared_cycles = across * down * steps * (2 * 16 + 8 * 40)});
}

const Exercise exercise("linear-gelu", {"rows", "cols", "depth"}, {{16, 16, 16}, {20, 17, 33}, {32, 48, 64}}, run);

}  // namespace heddle::learn::linear_gelu_harness
