#include "scan/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::scan_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]), blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (unsigned i = 0; i < n; ++i) wanted.push_back(x[i] + (i % 128 == 0 ? 0 : wanted.back()));
    const float* const x_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(running_sums)>("running_sums", {.grid = blocks, .block = 128, .shared = 1024}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    // Seven steps with two barriers each; the adding thread alone would keep shared memory busy for 256 cycles.
    attempt.allow({.sectors = 2 * n / 8, .shared_cycles = 128 * blocks, .barriers = 4 * 16 * blocks});
}

const Exercise exercise("scan", {"n"}, {{128}, {5}, {300}, {512}}, run);

}  // namespace heddle::learn::scan_harness
