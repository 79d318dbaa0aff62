// The exercises of the track "detective".
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "barrier-in-a-branch/exercise.h"
#include "gradient-of-ones/exercise.h"
#include "order-of-sums/exercise.h"
#include "rare-race/exercise.h"
#include "tail/exercise.h"
#include "unset-sums/exercise.h"

namespace heddle::learn {
namespace {

void rare_race(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> sums(rows), wanted;
    for (unsigned i = 0; i < rows * cols; ++i) sums[i / cols] += x[i];
    for (unsigned i = 0; i < rows * cols; ++i) wanted.push_back(x[i] - sums[i / cols] / cols);
    const auto* const x_device = attempt.input("x", x, sizes);
    auto* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(subtract_mean)>("subtract_mean", {.grid = 2, .block = 128, .shared = 512}, x_device, y, sizes[0],
                                            sizes[1]);
    attempt.expect(y, wanted, 1e-6);
    // Nine barriers for each of the 4 warps in each row, and one more for the repair; x may be read twice.
    attempt.allow({.sectors = 3 * rows * cols / 8, .barriers = 4 * 10 * rows});
}
const Exercise rare_race_exercise("rare-race", {"rows", "cols"}, {{2, 100}, {5, 128}, {6, 64}}, rare_race);

void unset_sums(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> wanted(cols);
    for (unsigned i = 0; i < rows * cols; ++i) wanted[i % cols] += x[i];
    const auto* const x_device = attempt.input("x", x, sizes);
    auto* const sums = attempt.output<float>("sums", {sizes[1]});
    attempt.launch<decltype(column_sums)>("column_sums", {.grid = (cols + 63) / 64, .block = 64}, x_device, sums, sizes[0],
                                          sizes[1]);
    attempt.expect(sums, wanted);
    attempt.allow({.sectors = (rows + 1) * cols / 8});
}
const Exercise unset_sums_exercise("unset-sums", {"rows", "cols"}, {{1, 64}, {3, 100}, {33, 7}, {16, 128}}, unset_sums);

const Exercise tail_exercise("tail", {"n"}, {{256}, {257}, {3}, {510}, {1027}}, [](Attempt& attempt, const Sizes& sizes) {
    const auto [n] = extents<1>(sizes);
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(-value);
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(negate)>("negate", {.grid = (n / 4 + 3 + 63) / 64, .block = 64}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    // 256 groups in 8 requests each way, and one each way for the tail.
    attempt.allow({.sectors = 2 * (n / 8 + 2), .requests = 2 * (n / 128 + 2)});
});

void barrier_in_a_branch(Attempt& attempt, const Sizes& sizes) {
    const unsigned n = extents<1>(sizes)[0], blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (unsigned i = 0; i < n; ++i) wanted.push_back(i % 128 == 0 ? x[i] : x[i] - x[i - 1]);
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(differences)>("differences", {.grid = blocks, .block = 128, .shared = 512}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8 + 2, .barriers = 4 * blocks});
}
const Exercise barrier_exercise("barrier-in-a-branch", {"n"}, {{128}, {256}, {200}, {1}, {384}}, barrier_in_a_branch);

const Exercise order_exercise("order-of-sums", {"n"}, {{1}, {1000}, {4096}}, [](Attempt& attempt, const Sizes& sizes) {
    const auto [n] = extents<1>(sizes);
    std::vector<float> x = numbers(n);
    const float before = 5;  // an answer must add to it
    double wanted = before;
    for (float& value : x) wanted += value /= 3;  // sums must round
    const auto* const x_device = attempt.input("x", x);
    auto* const sum = attempt.input("sum", std::vector<float>{before});
    attempt.launch<decltype(total)>("total", {.grid = 1, .block = 256, .shared = 1024}, x_device, sum, sizes[0]);
    attempt.expect(sum, {wanted}, 1e-5);
    attempt.allow({.sectors = n / 8 + 4});
});

void gradient_of_ones(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols, ones] = extents<3>(sizes);
    std::vector<float> y = numbers(rows * cols), dy = numbers(rows * cols, 2);
    if (ones == 1) dy.assign(dy.size(), 1.0f);
    std::vector<double> sums(rows), dots(rows), wanted;
    for (unsigned i = 0; i < rows * cols; ++i) sums[i / cols] += std::exp(static_cast<double>(y[i]));
    for (unsigned i = 0; i < rows * cols; ++i) {
        y[i] = static_cast<float>(std::exp(static_cast<double>(y[i])) / sums[i / cols]);
        dots[i / cols] += static_cast<double>(dy[i]) * y[i];
    }
    for (unsigned i = 0; i < rows * cols; ++i) wanted.push_back(y[i] * (dy[i] - dots[i / cols]));
    const std::vector<int> shape = {sizes[0], sizes[1]};
    const auto* const y_device = attempt.input("y", y, shape);
    const auto* const dy_device = attempt.input("dy", dy, shape);
    auto* const dx = attempt.output<float>("dx", shape);
    attempt.launch<decltype(softmax_gradient)>("softmax_gradient", {.grid = rows, .block = 32}, y_device, dy_device, dx,
                                               sizes[1]);
    attempt.expect(dx, wanted, 1e-6);
    // Both inputs may be read twice.
    attempt.allow({.sectors = 5 * rows * cols / 8});
}
const Exercise ones_exercise("gradient-of-ones", {"rows", "cols", "ones"},
                             {{4, 32, 1}, {3, 40, 1}, {4, 32, 0}, {3, 7, 0}, {4, 96, 0}}, gradient_of_ones);

}  // namespace
}  // namespace heddle::learn
