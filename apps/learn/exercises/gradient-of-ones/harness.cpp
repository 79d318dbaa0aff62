#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "gradient-of-ones/exercise.h"

namespace heddle::learn::gradient_of_ones_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    const bool ones = sizes[2] == 1;
    std::vector<float> y = numbers(rows * cols), dy = numbers(rows * cols, 2);
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        double sum = 0, dot = 0;
        for (unsigned c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(y[r * cols + c]));
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) {
            y[i] = static_cast<float>(std::exp(static_cast<double>(y[i])) / sum);
            if (ones) dy[i] = 1;
            dot += static_cast<double>(dy[i]) * y[i];
        }
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) wanted.push_back(y[i] * (dy[i] - dot));
    }
    const std::vector<int> extents = {sizes[0], sizes[1]};
    const float* const y_device = attempt.input("y", y, extents);
    const float* const dy_device = attempt.input("dy", dy, extents);
    float* const dx = attempt.output<float>("dx", extents);
    attempt.launch<decltype(softmax_gradient)>("softmax_gradient", {.grid = rows, .block = 32}, y_device, dy_device, dx,
                                               sizes[1]);
    attempt.expect(dx, wanted, 1e-6);
    // Both inputs may be read twice.
    attempt.allow({.sectors = 5 * rows * cols / 8});
}

const Exercise exercise("gradient-of-ones", {"rows", "cols", "ones"}, {{4, 32, 1}, {3, 40, 1}, {4, 32, 0}, {3, 7, 0}, {4, 96, 0}},
                        run);

}  // namespace heddle::learn::gradient_of_ones_harness
