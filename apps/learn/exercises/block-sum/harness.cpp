#include "block-sum/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::block_sum_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto n = static_cast<unsigned>(sizes[0]), blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted(blocks);
    for (unsigned i = 0; i < n; ++i) wanted[i / 128] += x[i];
    const float* const x_device = attempt.input("x", x);
    float* const sums = attempt.output<float>("sums", {static_cast<int>(blocks)});
    attempt.launch<decltype(block_sums)>("block_sums", {.grid = blocks, .block = 128, .shared = 512}, x_device, sums, sizes[0]);
    attempt.expect(sums, wanted);
    // A tree takes about 30 cycles of shared memory in a block, one thread alone 132.
    attempt.allow({.sectors = n / 8 + blocks, .shared_cycles = 48 * blocks, .barriers = 4 * 9 * blocks});
}

const Exercise exercise("block-sum", {"n"}, {{128}, {1}, {200}, {1024}}, run);

}  // namespace heddle::learn::block_sum_harness
