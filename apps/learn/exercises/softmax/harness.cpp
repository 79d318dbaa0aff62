#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "softmax/exercise.h"

namespace heddle::learn::softmax_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto rows = static_cast<unsigned>(sizes[0]), cols = static_cast<unsigned>(sizes[1]);
    std::vector<float> x = numbers(rows * cols);
    std::vector<int> lengths;
    std::vector<double> wanted(rows * cols);
    std::uint64_t sectors = 0;  // of x, read twice, y, and the lengths
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned length = r == 1 ? 0 : cols - r % 2 * (cols / 3), begin = r * cols;  // row 1 has no key
        lengths.push_back(static_cast<int>(length));
        sectors += 2 * ((length + 7) / 8) + cols / 8 + 2;
        double largest = -INFINITY, sum = 0;
        for (unsigned i = begin; i < begin + cols; ++i) x[i] = x[i] * 2 + 200 * static_cast<float>(r % 3);
        for (unsigned i = begin; i < begin + length; ++i) largest = std::max(largest, static_cast<double>(x[i]));
        for (unsigned i = begin; i < begin + length; ++i) sum += std::exp(x[i] - largest);
        for (unsigned i = begin; i < begin + length; ++i) wanted[i] = std::exp(x[i] - largest) / sum;
    }
    const float* const x_device = attempt.input("x", x, sizes);
    const int* const lengths_device = attempt.input("lengths", lengths);
    float* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(masked_softmax)>("masked_softmax", {.grid = rows, .block = 32}, x_device, lengths_device, y,
                                             sizes[1]);
    attempt.expect(y, wanted, 1e-6);
    attempt.allow({.sectors = sectors});
}

const Exercise exercise("softmax", {"rows", "cols"}, {{1, 32}, {3, 5}, {4, 100}, {8, 128}}, run);

}  // namespace heddle::learn::softmax_harness
