#include "map/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::map_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]);
    const std::vector<float> x = numbers(n);
    const float a = 2.5f;
    std::vector<double> wanted;
    for (const float value : x) wanted.push_back(a * value);
    const float* const on_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(scale)>("scale", {.grid = n / 128, .block = 128}, on_device, y, a);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8});
}

const Exercise exercise("map", {"n"}, {{256}, {128}, {1024}}, run);

}  // namespace heddle::learn::map_harness
