// The exercises of the track "shared memory", and vector-loads.
#include "apps/learn/grader/attempt.h"
#include "async-copy/exercise.h"
#include "block-sum/exercise.h"
#include "double-buffer/exercise.h"
#include "scan/exercise.h"
#include "tiled-product/exercise.h"
#include "transpose/exercise.h"
#include "vector-loads/exercise.h"

namespace heddle::learn {
namespace {

const Exercise vector_loads_exercise("vector-loads", {"n"}, {{4}, {256}, {1000}, {1024}},
                                     [](Attempt& attempt, const Sizes& sizes) {
                                         const auto [n] = extents<1>(sizes);
                                         const std::vector<float> x = numbers(n);
                                         const float a = 1.5f;
                                         std::vector<double> wanted;
                                         for (const float value : x) wanted.push_back(a * value);
                                         const auto* const x_device = attempt.input("x", x);
                                         auto* const y = attempt.output<float>("y", {sizes[0]});
                                         attempt.launch<decltype(scale)>("scale", {.grid = (n / 4 + 63) / 64, .block = 64},
                                                                         x_device, y, a, sizes[0]);
                                         attempt.expect(y, wanted);
                                         attempt.allow({.sectors = 2 * n / 8, .requests = 2 * n / 4 / 32});
                                     });

const Exercise block_sum_exercise("block-sum", {"n"}, {{128}, {1}, {200}, {1024}}, [](Attempt& attempt, const Sizes& sizes) {
    const unsigned n = extents<1>(sizes)[0], blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted(blocks);
    for (unsigned i = 0; i < n; ++i) wanted[i / 128] += x[i];
    const auto* const x_device = attempt.input("x", x);
    auto* const sums = attempt.output<float>("sums", {static_cast<int>(blocks)});
    attempt.launch<decltype(block_sums)>("block_sums", {.grid = blocks, .block = 128, .shared = 512}, x_device, sums, sizes[0]);
    attempt.expect(sums, wanted);
    // A tree takes about 30 cycles of shared memory in a block, one thread alone 132.
    attempt.allow({.sectors = n / 8 + blocks, .shared_cycles = 48 * blocks, .barriers = 4 * 9 * blocks});
});

const Exercise scan_exercise("scan", {"n"}, {{128}, {5}, {300}, {512}}, [](Attempt& attempt, const Sizes& sizes) {
    const unsigned n = extents<1>(sizes)[0], blocks = (n + 127) / 128;
    const std::vector<float> x = numbers(n);
    std::vector<double> wanted;
    for (unsigned i = 0; i < n; ++i) wanted.push_back(x[i] + (i % 128 == 0 ? 0 : wanted.back()));
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {sizes[0]});
    attempt.launch<decltype(running_sums)>("running_sums", {.grid = blocks, .block = 128, .shared = 1024}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    // Seven steps with two barriers each; the adding thread alone would keep shared memory busy for 256 cycles.
    attempt.allow({.sectors = 2 * n / 8, .shared_cycles = 128 * blocks, .barriers = 4 * 16 * blocks});
});

void transpose_matrix(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    const std::vector<float> x = numbers(rows * cols);
    std::vector<double> wanted;
    for (unsigned i = 0; i < rows * cols; ++i) wanted.push_back(x[i % rows * cols + i / rows]);
    const auto* const x_device = attempt.input("x", x, sizes);
    auto* const y = attempt.output<float>("y", {sizes[1], sizes[0]});
    attempt.launch<decltype(transpose)>("transpose",
                                        {.grid = {(cols + 31) / 32, (rows + 31) / 32}, .block = {32, 8}, .shared = 4352},
                                        x_device, y, sizes[0], sizes[1]);
    attempt.expect(y, wanted);
    attempt.allow({.sectors = 2 * rows * cols / 8, .shared_cycles = 2 * rows * cols / 32});
}
const Exercise transpose_exercise("transpose", {"rows", "cols"}, {{32, 32}, {64, 32}, {40, 33}, {7, 100}, {64, 96}},
                                  transpose_matrix);

// Each block reads a tile of a and one of b in each step: 16 rows of 64 bytes, 32 sectors each. Without tiles it would be 16
// times as many. With two buffers a step has one barrier, for which each of the 8 warps waits once.
template <bool two_buffers>
void multiply(Attempt& attempt, const Sizes& sizes) {
    const auto [m, n, depth] = extents<3>(sizes);
    const std::vector<float> a = numbers(m * depth), b = numbers(depth * n, 2);
    std::vector<double> wanted(m * n);
    for (unsigned i = 0; i < m * n; ++i)
        for (unsigned k = 0; k < depth; ++k) wanted[i] += static_cast<double>(a[i / n * depth + k]) * b[k * n + i % n];
    const auto* const a_device = attempt.input("a", a, {sizes[0], sizes[2]});
    const auto* const b_device = attempt.input("b", b, {sizes[2], sizes[1]});
    auto* const c = attempt.output<float>("c", {sizes[0], sizes[1]});
    const unsigned across = (n + 15) / 16, down = (m + 15) / 16, steps = (depth + 15) / 16;
    attempt.launch<decltype(product)>("product", {.grid = {across, down}, .block = {16, 16}, .shared = two_buffers ? 4096 : 2048},
                                      a_device, b_device, c, sizes[0], sizes[1], sizes[2]);
    attempt.expect(c, wanted);
    Cost most = {.sectors = across * down * (2 * 32 * steps + 32)};
    if (two_buffers) most.barriers = across * down * 8 * steps;
    attempt.allow(most);
}
const std::vector<Sizes> product_sizes = {{16, 16, 16}, {16, 16, 48}, {20, 17, 33}, {32, 48, 64}};
const Exercise tiled_product_exercise("tiled-product", {"m", "n", "depth"}, product_sizes, multiply<false>);
const Exercise double_buffer_exercise("double-buffer", {"m", "n", "depth"}, product_sizes, multiply<true>);

const Exercise async_copy_exercise("async-copy", {"tiles"}, {{1}, {2}, {3}, {8}}, [](Attempt& attempt, const Sizes& sizes) {
    const auto [tiles] = extents<1>(sizes);
    const std::vector<float> x = numbers(256 * tiles);
    std::vector<double> wanted;
    for (unsigned i = 0; i < 256 * tiles; ++i) wanted.push_back(x[i / 256 * 256 + 255 - i % 256]);
    const auto* const x_device = attempt.input("x", x);
    auto* const y = attempt.output<float>("y", {256 * sizes[0]});
    attempt.launch<decltype(reverse_tiles)>("reverse_tiles", {.grid = 1, .block = 64, .shared = 2048}, x_device, y, sizes[0]);
    attempt.expect(y, wanted);
    attempt.reads_by_copies();
    attempt.copies_ahead();
    // Two warps copy a tile with one request each, and write it with four each.
    attempt.allow({.sectors = 2 * 32 * tiles, .requests = (2 + 8) * tiles, .shared_cycles = (8 + 8) * tiles});
});

}  // namespace
}  // namespace heddle::learn
