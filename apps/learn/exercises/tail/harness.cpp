#include "tail/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::tail_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]);
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(-value);
    const float* const x_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(negate)>("negate", {.grid = (n / 4 + 3 + 63) / 64, .block = 64}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    // 256 groups in 8 requests each way, and one each way for the tail.
    attempt.allow({.sectors = 2 * (n / 8 + 2), .requests = 2 * (n / 128 + 2)});
}

const Exercise exercise("tail", {"n"}, {{256}, {257}, {3}, {510}, {1027}}, run);

}  // namespace heddle::learn::tail_harness
