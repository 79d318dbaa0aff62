#include "async-copy/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::async_copy_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto tiles = static_cast<unsigned>(sizes[0]);
    const std::vector<float> x = numbers(256 * tiles);
    std::vector<double> wanted;
    for (unsigned i = 0; i < 256 * tiles; ++i) wanted.push_back(x[i / 256 * 256 + 255 - i % 256]);
    const float* const x_device = attempt.input("x", x);
    float* const y = attempt.output<float>("y", {256 * sizes[0]});
    attempt.launch<decltype(reverse_tiles)>("reverse_tiles", {.grid = 1, .block = 64, .shared = 2048}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.reads_by_copies();
    attempt.copies_ahead();
    // Two warps copy a tile with one request each, and write it with four each.
    attempt.allow({.sectors = 2 * 32 * tiles, .requests = (2 + 8) * tiles, .shared_cycles = (8 + 8) * tiles});
}

const Exercise exercise("async-copy", {"tiles"}, {{1}, {2}, {3}, {8}}, run);

}  // namespace heddle::learn::async_copy_harness
