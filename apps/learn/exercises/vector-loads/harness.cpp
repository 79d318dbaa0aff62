#include "vector-loads/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::vector_loads_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]);
    const std::vector<float> x = numbers(n);
    const float a = 1.5f;
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(a * value);
    const float* const x_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(scale)>("scale", {.grid = (n / 4 + 63) / 64, .block = 64}, x_device, y, a, sizes[0]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8, .requests = 2 * n / 4 / 32});
}

const Exercise exercise("vector-loads", {"n"}, {{4}, {256}, {1000}, {1024}}, run);

}  // namespace heddle::learn::vector_loads_harness
