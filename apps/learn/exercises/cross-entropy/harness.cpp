#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "cross-entropy/exercise.h"

namespace heddle::learn::cross_entropy_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    std::vector<float> x = numbers(rows * cols);
    std::vector<int> targets;
    std::vector<double> losses, gradient;
    for (unsigned r = 0; r < rows; ++r) {
        const int target = r == 1 ? -1 : static_cast<int>((r * 37 + 4) % cols);  // row 1 is ignored
        targets.push_back(target);
        double largest = -INFINITY, sum = 0;
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) {
            x[i] = x[i] * 2 + (r == 2 ? 300.0f : -3.0f);
            largest = std::max(largest, static_cast<double>(x[i]));
        }
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) sum += std::exp(x[i] - largest);
        losses.push_back(target < 0 ? 0 : std::log(sum) + largest - x[r * cols + static_cast<unsigned>(target)]);
        for (unsigned c = 0; c < cols; ++c)
            gradient.push_back(target < 0 ? 0
                                          : std::exp(x[r * cols + c] - largest) / sum - (static_cast<int>(c) == target ? 1 : 0));
    }
    const float* const x_device = attempt.input("x", x, sizes);
    const int* const targets_device = attempt.input("targets", targets);
    float* const losses_device = attempt.output<float>("losses", {sizes[0]});
    float* const dx = attempt.output<float>("dx", sizes);
    attempt.launch<decltype(cross_entropy)>("cross_entropy", {.grid = rows, .block = 32}, x_device, targets_device, losses_device,
                                            dx, sizes[1]);
    attempt.expect(losses_device, losses, 1e-5);
    attempt.expect(dx, gradient, 1e-6);
    // x may be read three times; each row reads its target, one element of x more, and writes its loss.
    attempt.allow({.sectors = rows * (4 * cols / 8 + 4)});
}

const Exercise exercise("cross-entropy", {"rows", "cols"}, {{1, 32}, {3, 50}, {4, 7}, {6, 128}}, run);

}  // namespace heddle::learn::cross_entropy_harness
