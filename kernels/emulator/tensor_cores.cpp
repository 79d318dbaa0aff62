// Tensor-core products and loads of their operands, in the fragment layouts of the PTX manual (drawn in kernels/device/mma.h).
//
// A product is summed in f32, k ascending, starting with D. A GPU sums in another order and with other intermediate rounding;
// products of two bf16 or tf32 values are exact in f32 either way.
#include <cstring>

#include "kernels/emulator/checker.h"
#include "kernels/emulator/report.h"
#include "kernels/emulator/traffic_notes.h"
#include "kernels/emulator/warp.h"

namespace heddle::emulator {
namespace {

constexpr unsigned kAll = 0xffffffffu;

float float_of(std::uint32_t bits) { return from_bits<float>(bits); }
float low_bf16(std::uint32_t pair) { return float_of(pair << 16); }
float high_bf16(std::uint32_t pair) { return float_of(pair & 0xffff0000u); }
// Tensor cores read 19 bits of a tf32 operand: sign, exponent, 10 of mantissa.
float tf32(std::uint32_t bits) { return float_of(bits & 0xffffe000u); }

// A lane's operands for a product. They stay on the lane's stack.
struct Operands {
    float* d;
    const std::uint32_t* a;
    const std::uint32_t* b;
};

const Operands& operands(const Warp& warp, int lane) { return *static_cast<const Operands*>(warp.part[lane]); }

// D [16, 8] += A [16, K] B [K, 8]. The loop over k is the outer one, so that eight columns are added at once.
template <int K>
void product(const Warp& warp, const float (&a)[16][K], const float (&b)[K][8]) {
    float d[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const float* const own = operands(warp, lane).d;
        const int g = lane / 4, t = lane % 4;
        d[g][2 * t] = own[0];
        d[g][2 * t + 1] = own[1];
        d[g + 8][2 * t] = own[2];
        d[g + 8][2 * t + 1] = own[3];
    }
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < K; ++k)
            for (int j = 0; j < 8; ++j) d[i][j] += a[i][k] * b[k][j];
    for (int lane = 0; lane < 32; ++lane) {
        float* const own = operands(warp, lane).d;
        const int g = lane / 4, t = lane % 4;
        own[0] = d[g][2 * t];
        own[1] = d[g][2 * t + 1];
        own[2] = d[g + 8][2 * t];
        own[3] = d[g + 8][2 * t + 1];
    }
}

void product_bf16(const Warp& warp) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const Operands& own = operands(warp, lane);
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 4; ++r) {  // rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8
            a[g + 8 * (r % 2)][2 * t + 8 * (r / 2)] = low_bf16(own.a[r]);
            a[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + 1] = high_bf16(own.a[r]);
        }
        for (int r = 0; r < 2; ++r) {
            b[2 * t + 8 * r][g] = low_bf16(own.b[r]);
            b[2 * t + 8 * r + 1][g] = high_bf16(own.b[r]);
        }
    }
    product(warp, a, b);
}

void product_tf32(const Warp& warp) {
    float a[16][8], b[8][8];
    for (int lane = 0; lane < 32; ++lane) {
        const Operands& own = operands(warp, lane);
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < 4; ++r) a[g + 8 * (r % 2)][t + 4 * (r / 2)] = tf32(own.a[r]);
        for (int r = 0; r < 2; ++r) b[t + 4 * r][g] = tf32(own.b[r]);
    }
    product(warp, a, b);
}

}  // namespace

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place) {
    Thread& thread = *in_kernel("mma_bf16").current;
    Operands own{d, a, b};
    thread.warp->part[thread.lane()] = &own;
    together("mma_bf16", kAll, place, product_bf16);
}

void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Place place) {
    Thread& thread = *in_kernel("mma_tf32").current;
    Operands own{d, a, b};
    thread.warp->part[thread.lane()] = &own;
    together("mma_tf32", kAll, place, product_tf32);
}

std::uint32_t round_tf32(float x) {
    const auto bits = static_cast<std::uint32_t>(to_bits(x));
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return (bits & 0x007fffffu) == 0 ? bits : 0x7fffffffu;  // infinity; the canonical NaN
    return (bits + 0x1000u) & 0xffffe000u;  // adds half a unit of the last kept bit to the magnitude: ties away from zero
}

void ldmatrix_x4(std::uint32_t (&registers)[4], const void* row, bool transposed, Place place) {
    Thread& thread = *in_kernel("ldmatrix").current;
    Warp& warp = *thread.warp;
    const char* const what = transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4";
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
        violate(std::string(what) + " at " + text_of(place) + ": the row's address is not a multiple of 16");
    if (!in_shared_piece(*thread.block, row, 16))
        violate(std::string(what) + " at " + text_of(place) + ": the row does not lie in one piece of the block's shared memory");
    if constexpr (checker::kEnabled) checker::read(row, 16, place);
    if (counts_traffic()) note_traffic(row, 16, place);
    struct Request {
        const void* row;
        std::uint32_t* registers;
    } own{row, registers};
    warp.part[thread.lane()] = &own;
    together(what, kAll, place, [transposed](Warp& all) {
        std::uint16_t element[4][8][8];  // matrix, row, column; lane l named row l % 8 of matrix l / 8
        for (int l = 0; l < 32; ++l) std::memcpy(element[l / 8][l % 8], static_cast<Request*>(all.part[l])->row, 16);
        for (int l = 0; l < 32; ++l) {
            const int g = l / 4, t = l % 4;
            for (int m = 0; m < 4; ++m) {
                const std::uint16_t low = transposed ? element[m][2 * t][g] : element[m][g][2 * t];
                const std::uint16_t high = transposed ? element[m][2 * t + 1][g] : element[m][g][2 * t + 1];
                static_cast<Request*>(all.part[l])->registers[m] = low | static_cast<std::uint32_t>(high) << 16;
            }
        }
    });
}

}  // namespace heddle::emulator
