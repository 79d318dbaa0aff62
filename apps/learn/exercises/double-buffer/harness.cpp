#include "double-buffer/exercise.h"

#include "apps/learn/grader/attempt.h"

namespace heddle::learn::double_buffer_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto m = static_cast<unsigned>(sizes[0]), n = static_cast<unsigned>(sizes[1]), depth = static_cast<unsigned>(sizes[2]);
    const std::vector<float> a = numbers(m * depth), b = numbers(depth * n, 2);
    std::vector<double> wanted(m * n);
    for (unsigned i = 0; i < m; ++i)
        for (unsigned j = 0; j < n; ++j)
            for (unsigned k = 0; k < depth; ++k) wanted[i * n + j] += static_cast<double>(a[i * depth + k]) * b[k * n + j];
    const float* const a_device = attempt.input("a", a, {sizes[0], sizes[2]});
    const float* const b_device = attempt.input("b", b, {sizes[2], sizes[1]});
    float* const c = attempt.output<float>("c", {sizes[0], sizes[1]});
    const unsigned across = (n + 15) / 16, down = (m + 15) / 16, steps = (depth + 15) / 16;
    attempt.launch<decltype(product)>("product", {.grid = {across, down}, .block = {16, 16}, .shared = 4096}, a_device, b_device,
                                      c, sizes[0], sizes[1], sizes[2]);
    attempt.expect(c, wanted);
    // The traffic of the tiled product, and one barrier in each step: each of the 8 warps waits once.
    attempt.allow({.sectors = across * down * (2 * 32 * steps + 32), .barriers = across * down * 8 * steps});
}

const Exercise exercise("double-buffer", {"m", "n", "depth"}, {{16, 16, 16}, {16, 16, 48}, {20, 17, 33}, {32, 48, 64}}, run);

}  // namespace heddle::learn::double_buffer_harness
