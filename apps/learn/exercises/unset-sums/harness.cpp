#include "unset-sums/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::unset_sums_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> wanted(cols);
    for (unsigned r = 0; r < rows; ++r)
        for (unsigned c = 0; c < cols; ++c) wanted[c] += x[r * cols + c];
    const float* const x_device = attempt.input("x", x, sizes);
    float* const sums = attempt.output<float>("sums", {sizes[1]});
    attempt.launch<decltype(column_sums)>("column_sums", {.grid = (cols + 63) / 64, .block = 64}, x_device, sums, sizes[0],
                                          sizes[1]);
    attempt.expect(sums, wanted);
    attempt.allow({.sectors = (rows + 1) * cols / 8});
}

const Exercise exercise("unset-sums", {"rows", "cols"}, {{1, 64}, {3, 100}, {33, 7}, {16, 128}}, run);

}  // namespace heddle::learn::unset_sums_harness
