#include "strided-copy/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::strided_copy_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const int rows = sizes[0], pitch = sizes[1], first = sizes[2], cols = sizes[3];
    const std::vector<float> x = numbers(static_cast<std::size_t>(rows * pitch));
    std::vector<double> wanted;
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) wanted.push_back(x[static_cast<std::size_t>(r * pitch + first + c)]);
    const float* const x_device = attempt.input("x", x, {rows, pitch});
    float* const y = attempt.output<float>("y", {rows, cols});
    attempt.launch<decltype(take_columns)>("take_columns", {.grid = static_cast<unsigned>(rows), .block = 64}, x_device, y, pitch,
                                           first, cols);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = static_cast<std::uint64_t>(2 * rows * cols / 8)});
}

const Exercise exercise("strided-copy", {"rows", "pitch", "first", "cols"},
                        {{1, 96, 0, 64}, {4, 96, 32, 32}, {7, 100, 3, 50}, {8, 384, 128, 128}}, run);

}  // namespace heddle::learn::strided_copy_harness
