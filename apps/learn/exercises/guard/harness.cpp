#include "guard/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::guard_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]);
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(value * value);
    const float* const on_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(square)>("square", {.grid = (n + 127) / 128, .block = 128}, on_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8});
}

const Exercise exercise("guard", {"n"}, {{128}, {1}, {31}, {300}, {1000}}, run);

}  // namespace heddle::learn::guard_harness
