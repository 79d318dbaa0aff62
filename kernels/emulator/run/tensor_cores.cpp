// Tensor-core products and loads of their operands, in the fragment layouts of the PTX manual (drawn in kernels/device/mma.h).
//
// fused_sum.h says how a chip adds. Here a row of eight results is computed at once, in steps that compilers turn into vector
// instructions, with the same bits: a product of two bf16 or tf32 values is exact in f32, and so is its scaling by a power of
// two; the conversion to an integer truncates; a sum of 17 terms of 27 bits is exact in f64.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/fused_sum.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffu;

float float_of(std::uint32_t bits) { return from_bits<float>(bits); }
float low_bf16(std::uint32_t pair) { return float_of(pair << 16); }
float high_bf16(std::uint32_t pair) { return float_of(pair & 0xffff0000u); }
float low_f16(std::uint32_t pair) { return half_to_float(static_cast<std::uint16_t>(pair)); }
float high_f16(std::uint32_t pair) { return half_to_float(static_cast<std::uint16_t>(pair >> 16)); }
// Tensor cores read 19 bits of a tf32 operand: sign, exponent, 10 of mantissa.
float tf32(std::uint32_t bits) { return float_of(bits & 0xffffe000u); }

// A lane's operands for a product. They stay on the lane's stack.
struct Operands {
    float* d;
    const std::uint32_t* a;
    const std::uint32_t* b;
};

const Operands& operands(const Warp& warp, int lane) { return *static_cast<const Operands*>(warp.part[lane]); }

// Exponents for the search of the largest one. A product with a zero lies below kLeast, one of infinities and NaN above kMost.
constexpr std::int16_t kZero = -400, kSpecial = 4000;
constexpr std::int16_t kLeast = -252, kMost = 125;
// If the largest exponent is between kOrdinary and kMost, each product fits into an f32 or is too small to count, and no result
// is subnormal.
constexpr std::int16_t kOrdinary = -90;

std::int16_t exponent_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x) & 0x7fffffffu;
    const auto field = static_cast<std::int16_t>(bits >> 23);
    const std::int16_t finite = static_cast<std::int16_t>(std::max<std::int16_t>(field, 1) - 127);
    return bits == 0 ? kZero : field == 255 ? kSpecial : finite;
}

// Computes eight neighbouring elements of D one by one, for any values.
void add_any_row(const TensorCores& cores, const float* a, const float (*b)[8], int terms, float (&d)[8]) {
    for (int j = 0; j < 8; ++j) {
        float column[16];
        for (int k = 0; k < terms; ++k) column[k] = b[k][j];
        d[j] = fused_sum(cores, a, column, terms, d[j]);
    }
}

// The same, faster, for ordinary values. Clearing the lower 29 bits of a sum in f64 rounds it toward zero to an f32.
template <int K>
void add_row(const TensorCores& cores, const float* a, const std::int16_t* a_exponent, const float (*b)[8],
             const std::int16_t (*b_exponent)[8], float (&d)[8]) {
    std::int16_t top[8];
    for (int j = 0; j < 8; ++j) top[j] = exponent_of(d[j]);
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < 8; ++j)
            top[j] = std::max<std::int16_t>(top[j], static_cast<std::int16_t>(a_exponent[k] + b_exponent[k][j]));
    std::int16_t others = 0;
    for (int j = 0; j < 8; ++j) {
        top[j] = top[j] < kLeast ? std::int16_t{0} : top[j];  // all zeros
        others |= static_cast<std::int16_t>((top[j] < kOrdinary) | (top[j] > kMost));
    }
    if (others != 0) return add_any_row(cores, a, b, K, d);
    float scale[8], unit[8];  // 2^(fraction_bits - top) and its inverse
    std::int32_t sum[8] = {};
    for (int j = 0; j < 8; ++j) {
        scale[j] = std::bit_cast<float>((127 + cores.fraction_bits - top[j]) << 23);
        unit[j] = std::bit_cast<float>((127 - cores.fraction_bits + top[j]) << 23);
    }
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < 8; ++j) sum[j] += static_cast<std::int32_t>(a[k] * b[k][j] * scale[j]);
    for (int j = 0; j < 8; ++j) {
        const double exact = (static_cast<double>(sum[j]) + static_cast<std::int32_t>(d[j] * scale[j])) * unit[j];
        d[j] = static_cast<float>(std::bit_cast<double>(std::bit_cast<std::uint64_t>(exact) & ~std::uint64_t{0x1fffffff}));
    }
}

// D [16, 8] += A [16, K] B [K, 8], over Terms of k at a time.
template <int Terms, int K>
void add_product(const TensorCores& cores, const Warp& warp, const float (&a)[16][K], const float (&b)[K][8]) {
    float d[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const float* const own = operands(warp, lane).d;
        const int g = lane / 4, t = lane % 4;
        d[g][2 * t] = own[0];
        d[g][2 * t + 1] = own[1];
        d[g + 8][2 * t] = own[2];
        d[g + 8][2 * t + 1] = own[3];
    }
    std::int16_t a_exponent[16][K], b_exponent[K][8];
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < K; ++k) a_exponent[i][k] = exponent_of(a[i][k]);
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < 8; ++j) b_exponent[k][j] = exponent_of(b[k][j]);
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < K; k += Terms) add_row<Terms>(cores, a[i] + k, a_exponent[i] + k, b + k, b_exponent + k, d[i]);
    for (int lane = 0; lane < 32; ++lane) {
        float* const own = operands(warp, lane).d;
        const int g = lane / 4, t = lane % 4;
        own[0] = d[g][2 * t];
        own[1] = d[g][2 * t + 1];
        own[2] = d[g + 8][2 * t];
        own[3] = d[g + 8][2 * t + 1];
    }
}

// `Bytes`: the size of an operand; it determines how many terms of k the chip sums at once.
template <int Bytes, int K>
void product(const Warp& warp, const float (&a)[16][K], const float (&b)[K][8]) {
    const TensorCores& cores = tensor_cores();
    if (cores.fused_bytes < Bytes * K)
        add_product<K / 2>(cores, warp, a, b);
    else
        add_product<K>(cores, warp, a, b);
}

// `low` and `high` are the two numbers of a register.
void product_16(const Warp& warp, float (*low)(std::uint32_t), float (*high)(std::uint32_t)) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const Operands& own = operands(warp, lane);
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 4; ++r) {  // rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8
            a[g + 8 * (r % 2)][2 * t + 8 * (r / 2)] = low(own.a[r]);
            a[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + 1] = high(own.a[r]);
        }
        for (int r = 0; r < 2; ++r) {
            b[2 * t + 8 * r][g] = low(own.b[r]);
            b[2 * t + 8 * r + 1][g] = high(own.b[r]);
        }
    }
    product<2>(warp, a, b);
}
void product_bf16(const Warp& warp) { product_16(warp, low_bf16, high_bf16); }
void product_f16(const Warp& warp) { product_16(warp, low_f16, high_f16); }

void product_tf32(const Warp& warp) {
    float a[16][8], b[8][8];
    for (int lane = 0; lane < 32; ++lane) {
        const Operands& own = operands(warp, lane);
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 4; ++r) a[g + 8 * (r % 2)][t + 4 * (r / 2)] = tf32(own.a[r]);
        for (int r = 0; r < 2; ++r) b[t + 4 * r][g] = tf32(own.b[r]);
    }
    product<4>(warp, a, b);
}

// Every lane must take part.
template <class Compute>
void of_whole_warp(const char* what, Place place, Compute&& compute) {
    together(what, kAll, place, [&](Warp& warp) {
        if (warp.present != kAll)
            violate(mistake("collective", place,
                            std::string(what) + " at " + text_of(place) + ": some lanes of the warp have left or never were"));
        compute(warp);
    });
}

}  // namespace

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place) {
    Thread& thread = *in_kernel("mma_bf16").current;
    Operands own{d, a, b};
    thread.warp->part[thread.lane()] = &own;
    of_whole_warp("mma_bf16", place, product_bf16);
}

void mma_f16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place) {
    Thread& thread = *in_kernel("mma_f16").current;
    Operands own{d, a, b};
    thread.warp->part[thread.lane()] = &own;
    of_whole_warp("mma_f16", place, product_f16);
}

void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place) {
    Thread& thread = *in_kernel("mma_tf32").current;
    Operands own{d, a, b};
    thread.warp->part[thread.lane()] = &own;
    of_whole_warp("mma_tf32", place, product_tf32);
}

std::uint32_t round_tf32(float x) {
    const auto bits = static_cast<std::uint32_t>(to_bits(x));
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return (bits & 0x007fffffu) == 0 ? bits : 0x7fffffffu;  // infinity; the canonical NaN
    return (bits + 0x1000u) & 0xffffe000u;  // adds half a unit of the last kept bit to the magnitude: ties away from zero
}

void ldmatrix_x4(std::uint32_t (&registers)[4], const void* row, bool transposed, Place place) {
    ldmatrix(registers, 4, row, transposed, place);
}

void ldmatrix(std::uint32_t* registers, int matrices, const void* row, bool transposed, Place place) {
    Thread& thread = *in_kernel("ldmatrix").current;
    Warp& warp = *thread.warp;
    constexpr const char* names[] = {"ldmatrix_x1",       "ldmatrix_x1_trans", "ldmatrix_x2",
                                     "ldmatrix_x2_trans", "ldmatrix_x4",       "ldmatrix_x4_trans"};
    const char* const what = names[matrices / 2 * 2 + (transposed ? 1 : 0)];
    if (thread.lane() < 8 * matrices) {  // the other lanes name no row
        if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
            violate(mistake("misaligned", place,
                            std::string(what) + " at " + text_of(place) + ": the row's address is not a multiple of 16"));
        if (!in_shared_piece(*thread.block, row, 16))
            violate(mistake("out-of-bounds", place,
                            std::string(what) + " at " + text_of(place) +
                                ": the row does not lie in one piece of the block's shared memory"));
        if constexpr (checker::kEnabled) checker::read(row, 16, place);
        if (counts_traffic()) note_traffic(row, 16, place);
    }
    struct Request {
        const void* row;
        std::uint32_t* registers;
    } own{row, registers};
    warp.part[thread.lane()] = &own;
    of_whole_warp(what, place, [transposed, matrices](Warp& all) {
        std::uint16_t element[4][8][8];  // matrix, row, column; lane l named row l % 8 of matrix l / 8
        for (int l = 0; l < 8 * matrices; ++l) std::memcpy(element[l / 8][l % 8], static_cast<Request*>(all.part[l])->row, 16);
        for (int l = 0; l < 32; ++l) {
            const int g = l / 4, t = l % 4;
            for (int m = 0; m < matrices; ++m) {
                const std::uint16_t low = transposed ? element[m][2 * t][g] : element[m][g][2 * t];
                const std::uint16_t high = transposed ? element[m][2 * t + 1][g] : element[m][g][2 * t + 1];
                static_cast<Request*>(all.part[l])->registers[m] = low | static_cast<std::uint32_t>(high) << 16;
            }
        }
    });
}

}  // namespace heddle::emulator
