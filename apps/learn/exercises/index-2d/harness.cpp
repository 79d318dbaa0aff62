#include "index-2d/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::index_2d_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const std::vector<float> x = numbers(rows * cols), bias = numbers(cols, 2);
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < cols; ++c) wanted.push_back(x[r * cols + c] + bias[c]);
    const float* const x_device = attempt.input("x", x, sizes);
    const float* const bias_device = attempt.input("bias", bias);
    float* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(add_bias)>("add_bias", {.grid = {(cols + 31) / 32, (rows + 7) / 8}, .block = {32, 8}}, x_device,
                                       bias_device, y, sizes[0], sizes[1]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 3 * rows * cols / 8});
}

const Exercise exercise("index-2d", {"rows", "cols"}, {{8, 32}, {5, 40}, {33, 7}, {64, 32}, {32, 64}}, run);

}  // namespace heddle::learn::index_2d_harness
