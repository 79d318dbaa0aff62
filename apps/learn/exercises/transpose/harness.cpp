#include "transpose/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::transpose_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> wanted;
    for (unsigned c = 0; c < cols; ++c)
        for (unsigned r = 0; r < rows; ++r) wanted.push_back(x[r * cols + c]);
    const float* const x_device = attempt.input("x", x, sizes);
    float* const y = attempt.output<float>("y", {sizes[1], sizes[0]});
    attempt.launch<decltype(transpose)>("transpose",
                                        {.grid = {(cols + 31) / 32, (rows + 31) / 32}, .block = {32, 8}, .shared = 4352},
                                        x_device, y, sizes[0], sizes[1]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * rows * cols / 8, .shared_cycles = 2 * rows * cols / 32});
}

const Exercise exercise("transpose", {"rows", "cols"}, {{32, 32}, {64, 32}, {40, 33}, {7, 100}, {64, 96}}, run);

}  // namespace heddle::learn::transpose_harness
