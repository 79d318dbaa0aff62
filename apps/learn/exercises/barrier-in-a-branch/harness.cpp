#include "barrier-in-a-branch/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::barrier_in_a_branch_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]), blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (unsigned i = 0; i < n; ++i) wanted.push_back(i % 128 == 0 ? x[i] : x[i] - x[i - 1]);
    const float* const x_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(differences)>("differences", {.grid = blocks, .block = 128, .shared = 512}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * n / 8 + 2, .barriers = 4 * blocks});
}

const Exercise exercise("barrier-in-a-branch", {"n"}, {{128}, {256}, {200}, {1}, {384}}, run);

}  // namespace heddle::learn::barrier_in_a_branch_harness
