// Tensor cores: correct products of known matrices, element by element, show that the fragment layouts are those of the PTX
// manual. Rounding of sums: emulator_tensor_core_sums_test.cpp.
#include <cmath>
#include <limits>

#include "kernels/device/cuda.h"
#include "kernels/device/mma.h"
#include "kernels/device/shared.h"
#include "tests/emulator/emulator_support.h"

namespace heddle::emulator {
namespace {

using device::Accumulator16x8;
using device::FragmentA;
using device::FragmentB;
using device::lane;

// Small integers: every product and sum is exact, so the order does not matter. No two rows or columns are equal.
float a_value(int row, int k) { return static_cast<float>((row * 7 + k * 3 + row * k) % 17 - 8); }
float b_value(int k, int col) { return static_cast<float>((k * 5 + col * 11 + k * col) % 13 - 6); }
float d_value(int row, int col) { return static_cast<float>(row * 8 + col); }

float wanted(int row, int col, int depth) {
    float sum = d_value(row, col);
    for (int k = 0; k < depth; ++k) sum += a_value(row, k) * b_value(k, col);
    return sum;
}

__device__ void begin(Accumulator16x8& d) {
    for (int i = 0; i < 4; ++i) d[i] = d_value(d.row(i), d.col(i));
}
__device__ void store(const Accumulator16x8& d, float* out, int width = 8, int first = 0) {
    for (int i = 0; i < 4; ++i) out[d.row(i) * width + first + d.col(i)] = d[i];
}

// Indexes fragments as in the manual.
__global__ void by_hand_bf16_kernel(float* out) {
    const int g = lane() / 4, t = lane() % 4;
    const auto a = [](int row, int k) { return device::pack(a_value(row, k), a_value(row, k + 1)); };
    const auto b = [](int k, int col) { return device::pack(b_value(k, col), b_value(k + 1, col)); };
    const FragmentA left{{a(g, 2 * t), a(g + 8, 2 * t), a(g, 2 * t + 8), a(g + 8, 2 * t + 8)}};
    const FragmentB right{{b(2 * t, g), b(2 * t + 8, g)}};
    Accumulator16x8 d;
    begin(d);
    device::mma(d, left, right);
    store(d, out);
}
__global__ void by_hand_tf32_kernel(float* out) {
    const int g = lane() / 4, t = lane() % 4;
    const std::uint32_t left[4] = {round_tf32(a_value(g, t)), round_tf32(a_value(g + 8, t)), round_tf32(a_value(g, t + 4)),
                                   round_tf32(a_value(g + 8, t + 4))};
    const std::uint32_t right[2] = {round_tf32(b_value(t, g)), round_tf32(b_value(t + 4, g))};
    Accumulator16x8 d;
    begin(d);
    mma_tf32(d.d, left, right);
    store(d, out);
}

TEST(EmulatorTensorCores, ProductsOfFragmentsByHand) {
    float out[16 * 8];
    run_kernel({}, by_hand_bf16_kernel, out);
    for (int row = 0; row < 16; ++row)
        for (int col = 0; col < 8; ++col) EXPECT_EQ(out[row * 8 + col], wanted(row, col, 16)) << row << ", " << col;
    run_kernel({}, by_hand_tf32_kernel, out);
    for (int row = 0; row < 16; ++row)
        for (int col = 0; col < 8; ++col) EXPECT_EQ(out[row * 8 + col], wanted(row, col, 8)) << row << ", " << col;
}

// The product of A and B, [16, 16] each, with operands loaded by ldmatrix from the matrices or from their transposes.
__global__ void loaded_kernel(float* out, bool a_transposed, bool b_transposed) {
    device::SharedArena arena;
    bf16* const a = arena.take<bf16>(16 * 16, 128);
    bf16* const b = arena.take<bf16>(16 * 16, 128);
    for (int i = lane(); i < 256; i += 32) {
        const int row = i / 16, col = i % 16;
        a[i] = bf16(a_transposed ? a_value(col, row) : a_value(row, col));
        b[i] = bf16(b_transposed ? b_value(col, row) : b_value(row, col));
    }
    __syncwarp();
    const int l = lane();
    FragmentA left;
    if (a_transposed)
        ldmatrix_x4(left.a, a + (l % 8 + 8 * (l / 16)) * 16 + 8 * (l / 8 % 2), true);
    else
        device::load_a(left, a + l % 16 * 16 + 8 * (l / 16));
    FragmentB right[2];
    if (b_transposed)  // [n, k]
        device::load_b_pair(right[0], right[1], b + (l % 8 + 8 * (l / 16)) * 16 + 8 * (l / 8 % 2));
    else
        device::load_b_pair_transposed(right[0], right[1], b + l % 16 * 16 + 8 * (l / 16));
    for (int half = 0; half < 2; ++half) {
        Accumulator16x8 d;
        for (int i = 0; i < 4; ++i) d[i] = d_value(d.row(i), 8 * half + d.col(i));
        device::mma(d, left, right[half]);
        store(d, out, 16, 8 * half);
    }
}

TEST(EmulatorTensorCores, OperandsComeFromSharedMemory) {
    for (int way = 0; way < 4; ++way) {
        float out[16 * 16];
        run_kernel({.shared = 1024}, loaded_kernel, out, way % 2 != 0, way / 2 != 0);
        for (int row = 0; row < 16; ++row)
            for (int col = 0; col < 16; ++col)
                EXPECT_EQ(out[row * 16 + col], wanted(row, col, 16)) << way << ": " << row << ", " << col;
    }
}

// Only ldmatrix: lane l gets row l / 4, columns 2 (l % 4) and the next, of each of four matrices; with .trans, of their
// transposes.
__global__ void ldmatrix_kernel(std::uint32_t* out, bool transposed) {
    auto* const words = device::shared<std::uint16_t>(256);
    for (int i = lane(); i < 256; i += 32) words[i] = static_cast<std::uint16_t>(i);
    __syncwarp();
    std::uint32_t registers[4];
    ldmatrix_x4(registers, words + 8 * lane(), transposed, Place::current());
    for (int m = 0; m < 4; ++m) out[4 * lane() + m] = registers[m];
}

TEST(EmulatorTensorCores, MatricesAreSpreadOverTheLanes) {
    for (const bool transposed : {false, true}) {
        std::uint32_t out[128];
        run_kernel({.shared = 512}, ldmatrix_kernel, out, transposed);
        for (std::uint32_t l = 0; l < 32; ++l) {
            for (std::uint32_t m = 0; m < 4; ++m) {
                const std::uint32_t first = 64 * m + (transposed ? 8 * (2 * (l % 4)) + l / 4 : 8 * (l / 4) + 2 * (l % 4));
                const std::uint32_t second = first + (transposed ? 8 : 1);
                EXPECT_EQ(out[4 * l + m], first | second << 16) << "lane " << l << ", matrix " << m;
            }
        }
    }
}

// D of one product is A of the next one.
__global__ void chained_kernel(float* out) {
    const int g = lane() / 4, t = lane() % 4;
    Accumulator16x8 left, right;
    for (int i = 0; i < 4; ++i) {
        left[i] = a_value(left.row(i), left.col(i));
        right[i] = a_value(right.row(i), 8 + right.col(i));
    }
    const auto b = [](int k, int col) { return device::pack(b_value(k, col), b_value(k + 1, col)); };
    Accumulator16x8 d;
    begin(d);
    device::mma(d, device::as_a(left, right), FragmentB{{b(2 * t, g), b(2 * t + 8, g)}});
    store(d, out);
}

TEST(EmulatorTensorCores, AResultIsTheNextLeftOperand) {
    float out[16 * 8];
    run_kernel({}, chained_kernel, out);
    for (int row = 0; row < 16; ++row)
        for (int col = 0; col < 8; ++col) EXPECT_EQ(out[row * 8 + col], wanted(row, col, 16)) << row << ", " << col;
}

TEST(EmulatorTensorCores, Tf32RoundsTiesAwayFromZero) {
    const auto rounded = [](float x) { return from_bits<float>(round_tf32(x)); };
    const float place = std::ldexp(1.0f, -10);  // of 1
    EXPECT_EQ(rounded(1.0f), 1.0f);
    EXPECT_EQ(rounded(1 + place), 1 + place);
    EXPECT_EQ(rounded(1 + place / 2), 1 + place);  // a tie, rounded away from zero; round-to-even would give 1
    EXPECT_EQ(rounded(-1 - place / 2), -1 - place);
    EXPECT_EQ(rounded(1 + 3 * place / 2), 1 + 2 * place);
    EXPECT_EQ(rounded(std::nextafter(1 + place / 2, 0.0f)), 1.0f);
    EXPECT_EQ(rounded(2 - place / 2), 2.0f);  // into the next exponent
    EXPECT_EQ(rounded(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
    EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
    EXPECT_EQ(rounded(std::numeric_limits<float>::max()), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace heddle::emulator
