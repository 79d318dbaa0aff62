// Random and edge tiles for the two products of tensor cores, and their products in the emulator.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/emulator/run/fused_sum.h"
#include "kernels/emulator/run/scheduler.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {

/// An instruction: D [16, 8] = C + A [16, k] B [k, 8].
struct Instruction {
    const char* name;
    const char* ptx;  ///< its name in mmasim
    int k;
    std::uint32_t kept;  ///< mask of the f32 bits that an operand keeps
};
inline constexpr Instruction kBf16{"bf16", "m16n8k16.f32.bf16.bf16.f32", 16, 0xffff0000u};
inline constexpr Instruction kTf32{"tf32", "m16n8k8.f32.tf32.tf32.f32", 8, 0xffffffffu};  // tensor cores drop the lower 13 bits

/// Matrices in sequence, row by row. D is stored as bits, since NaN has several encodings.
struct Tiles {
    std::vector<float> a, b, c;
    std::vector<std::uint32_t> d;
};

inline float float_of_bits(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

/// Random sign, exponent in [low, high], random significand.
inline float random_float(Random& random, int low, int high) {
    const auto exponent =
        static_cast<std::uint64_t>(low + static_cast<int>(random.below(static_cast<std::size_t>(high - low + 1))));
    return float_of_bits((random.next() & 0x807fffffu) | (exponent + 127) << 23);
}
inline float special_float(Random& random) {
    constexpr std::uint32_t kBits[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xff810000,
                                       0x7f800001, 0x00010000, 0x80010000, 0x007f0000, 0x00800000, 0x7f7f0000,
                                       0xff7fffff, 0x3f800000, 0x00000001, 0x807fffff};
    return float_of_bits(kBits[random.below(std::size(kBits))]);
}

/// Tile number `index`. Tenths of all tiles: 0 ordinary; 1 any bits; 2 any finite; 3 near the smallest; 4 near the largest; 5
/// pairs of products that nearly cancel; 6 many zeros; 7 a sixteenth special values; 8 c far from the products; 9 powers of two.
inline void append_tile(const Instruction& instruction, int index, Tiles& tiles) {
    Random random(static_cast<std::uint64_t>(index) * 2 + (instruction.k == 16 ? 0 : 1));
    const int kind = index % 10, k = instruction.k;
    const int gap = static_cast<int>(random.below(81)) - 40;
    const auto value = [&](bool is_c) {
        switch (kind) {
            case 1: return float_of_bits(random.next() >> 32);
            case 2: return random_float(random, -127, 127);
            case 3: return is_c ? random_float(random, -127, -100) : random_float(random, -80, -50);
            case 4: return is_c ? random_float(random, 120, 127) : random_float(random, 56, 63);
            case 6: return random.below(4) != 0 ? float_of_bits(random.next() & 0x80000000u) : random_float(random, -127, 20);
            case 7: return random.below(16) == 0 ? special_float(random) : random_float(random, -8, 8);
            case 8: return is_c ? random_float(random, gap, gap) : random_float(random, -2, 2);
            case 9: return float_of_bits((random.next() & 0x80000000u) | (115 + random.next() % 24) << 23);
            default: return random_float(random, -4, 3);
        }
    };
    const auto operand = [&] { return float_of_bits(std::bit_cast<std::uint32_t>(value(false)) & instruction.kept); };
    for (int i = 0; i < 16 * k; ++i) tiles.a.push_back(operand());
    const std::size_t b = tiles.b.size();
    for (int i = 0; i < k * 8; ++i) tiles.b.push_back(operand());
    if (kind == 5) {  // neighbours in k: equal in A, opposite in B except for the last bit that is kept
        for (std::size_t i = tiles.a.size() - static_cast<std::size_t>(16 * k); i < tiles.a.size(); i += 2)
            tiles.a[i + 1] = tiles.a[i];
        const std::uint32_t last = instruction.k == 16 ? 0x10000u : 0x2000u;
        for (std::size_t row = 0; row < static_cast<std::size_t>(k); row += 2)
            for (std::size_t j = 0; j < 8; ++j)
                tiles.b[b + (row + 1) * 8 + j] =
                    float_of_bits(std::bit_cast<std::uint32_t>(-tiles.b[b + row * 8 + j]) ^ (random.below(4) == 0 ? last : 0));
    }
    for (int i = 0; i < 16 * 8; ++i) tiles.c.push_back(value(true));
}

inline Tiles make_tiles(const Instruction& instruction, int count) {
    Tiles tiles;
    for (int i = 0; i < count; ++i) append_tile(instruction, i, tiles);
    return tiles;
}

/// One block, which is one warp, per tile; fragments as in the PTX manual.
inline __global__ void tiles_kernel(const float* a, const float* b, const float* c, std::uint32_t* out, int k) {
    const auto block = static_cast<std::ptrdiff_t>(blockIdx.x);
    const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
    a += block * 16 * k;
    b += block * k * 8;
    const auto left = [&](int row, int col) { return std::bit_cast<std::uint32_t>(a[row * k + col]); };
    const auto right = [&](int row, int col) { return std::bit_cast<std::uint32_t>(b[row * 8 + col]); };
    const auto left_pair = [&](int row, int col) { return left(row, col) >> 16 | left(row, col + 1); };
    const auto right_pair = [&](int row, int col) { return right(row, col) >> 16 | right(row + 1, col); };
    float d[4];
    const int first = g * 8 + 2 * t;
    for (int i = 0; i < 4; ++i) d[i] = c[block * 128 + first + 64 * (i / 2) + i % 2];
    if (k == 16) {
        const std::uint32_t of_a[4] = {left_pair(g, 2 * t), left_pair(g + 8, 2 * t), left_pair(g, 2 * t + 8),
                                       left_pair(g + 8, 2 * t + 8)};
        const std::uint32_t of_b[2] = {right_pair(2 * t, g), right_pair(2 * t + 8, g)};
        mma_bf16(d, of_a, of_b);
    } else {
        const std::uint32_t of_a[4] = {left(g, t), left(g + 8, t), left(g, t + 4), left(g + 8, t + 4)};
        const std::uint32_t of_b[2] = {right(t, g), right(t + 4, g)};
        mma_tf32(d, of_a, of_b);
    }
    for (int i = 0; i < 4; ++i) out[block * 128 + first + 64 * (i / 2) + i % 2] = std::bit_cast<std::uint32_t>(d[i]);
}

/// While one exists, launches sum as these tensor cores do.
class OnTensorCores {
  public:
    explicit OnTensorCores(const TensorCores& cores) : before_(tensor_cores()) { set_tensor_cores(cores); }
    ~OnTensorCores() { set_tensor_cores(before_); }
    OnTensorCores(const OnTensorCores&) = delete;
    OnTensorCores& operator=(const OnTensorCores&) = delete;

  private:
    const TensorCores& before_;
};

/// The emulator's D for each tile.
inline void multiply(const Instruction& instruction, const TensorCores& cores, Tiles& tiles) {
    const OnTensorCores chosen(cores);
    tiles.d.assign(tiles.c.size(), 0);
    run_kernel({.grid = dim3(static_cast<unsigned>(tiles.c.size() / 128))}, tiles_kernel, tiles.a.data(), tiles.b.data(),
               tiles.c.data(), tiles.d.data(), instruction.k);
}

/// FNV-1a of the FNV-1a of each tile, 128 results.
inline std::uint64_t hash_of_tiles(std::span<const std::uint32_t> d) {
    constexpr std::uint64_t kStart = 0xcbf29ce484222325u, kPrime = 0x100000001b3u;
    std::uint64_t all = kStart;
    for (std::size_t tile = 0; tile < d.size(); tile += 128) {
        std::uint64_t hash = kStart;
        for (const std::uint32_t result : d.subspan(tile, 128))
            for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (result >> 8 * byte & 0xff)) * kPrime;
        all = (all ^ hash) * kPrime;
    }
    return all;
}

}  // namespace heddle::emulator
