// Products on tensor cores, a warp at a time: D [16, 8] += A [16, K] B [K, 8], K = 16, A and B in bf16, D in f32.
//
// A fragment is one lane's share of a matrix. Which elements it holds (PTX ISA, "Matrix fragments for mma.m16n8k16"), with g =
// lane / 4 and t = lane % 4, the pairs of bf16 packed into 32-bit registers, the smaller index in the lower half:
//
//     A  a[0] (g, 2t..2t+1)     a[1] (g + 8, 2t..)     a[2] (g, 2t + 8..)     a[3] (g + 8, 2t + 8..)
//     B  b[0] (k = 2t..2t+1, n = g)                    b[1] (k = 2t + 8.., n = g)
//     D  d[0] (g, 2t)  d[1] (g, 2t + 1)                d[2] (g + 8, 2t)  d[3] (g + 8, 2t + 1)
//
// Kernels use an accumulator's row(i) and col(i) and do not rely on the layout, so softmax and masks work with other
// instructions, too. The D of one product is the A of the next after packing its pairs: as_a().
#pragma once

#include <cstdint>

#include "kernels/device/number.h"
#include "kernels/device/ptx.h"

namespace heddle::device {

/// D [16, 8], f32.
struct Accumulator16x8 {
    static constexpr int kElements = 4;
    float d[4] = {0, 0, 0, 0};
    __device__ __forceinline__ float& operator[](int i) { return d[i]; }
    __device__ __forceinline__ float operator[](int i) const { return d[i]; }
    /// Position of this lane's element i: row 0 to 15, column 0 to 7. A lane has two rows: elements 0, 1 and 2, 3.
    static __device__ __forceinline__ int row(int i) { return lane() / 4 + 8 * (i / 2); }
    static __device__ __forceinline__ int col(int i) { return 2 * (lane() % 4) + i % 2; }
    /// Which of this lane's rows element i lies in, 0 to kRows - 1; a row is spread over kRowLanes neighbouring lanes.
    static constexpr int kRows = 2;
    static constexpr int kRowLanes = 4;
    static __device__ __forceinline__ constexpr int slot(int i) { return i / 2; }
};

/// A [16, 16] and B [16, 8] of bf16.
struct FragmentA {
    std::uint32_t a[4];
};
struct FragmentB {
    std::uint32_t b[2];
};
/// Two accumulators side by side, [16, 16], as the left operand of the next product, rounded to bf16.
__device__ __forceinline__ FragmentA as_a(const Accumulator16x8& left, const Accumulator16x8& right) {
    return {{pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]), pack(right[2], right[3])}};
}

#if defined(__CUDACC__)

/// A [16, 16] from shared memory: `row` points to row lane % 16 and column 8 (lane / 16) of it; rows of 16 bytes, 16-byte
/// aligned.
__device__ __forceinline__ void load_a(FragmentA& a, const bf16* row) { ptx::ldmatrix_x4(a.a, row); }
/// Two neighbours B [16, 8] (columns n and n + 8 on) whose transpose [n 16, k 16] lies in shared memory, k running along the row:
/// `row` points to n = lane % 8 + 8 (lane / 16), k = 8 (lane / 8 % 2).
__device__ __forceinline__ void load_b_pair(FragmentB& left, FragmentB& right, const bf16* row) {
    std::uint32_t r[4];
    ptx::ldmatrix_x4(r, row);
    left = {{r[0], r[1]}};
    right = {{r[2], r[3]}};
}
/// The same from B [k 16, n 16] itself, n running along the row: `row` points to k = lane % 16, n = 8 (lane / 16).
__device__ __forceinline__ void load_b_pair_transposed(FragmentB& left, FragmentB& right, const bf16* row) {
    std::uint32_t r[4];
    ptx::ldmatrix_x4_trans(r, row);
    left = {{r[0], r[1]}};
    right = {{r[2], r[3]}};
}
/// d += a b. All lanes of the warp.
__device__ __forceinline__ void mma(Accumulator16x8& d, const FragmentA& a, const FragmentB& b) { ptx::mma_bf16(d.d, a.a, b.b); }

#else

inline void load_a(FragmentA& a, const bf16* row, emulator::Place place = emulator::Place::current()) {
    emulator::ldmatrix_x4(a.a, row, false, place);
}
inline void load_b_pair(FragmentB& left, FragmentB& right, const bf16* row, emulator::Place place = emulator::Place::current()) {
    std::uint32_t r[4];
    emulator::ldmatrix_x4(r, row, false, place);
    left = {{r[0], r[1]}};
    right = {{r[2], r[3]}};
}
inline void load_b_pair_transposed(FragmentB& left, FragmentB& right, const bf16* row,
                                   emulator::Place place = emulator::Place::current()) {
    std::uint32_t r[4];
    emulator::ldmatrix_x4(r, row, true, place);
    left = {{r[0], r[1]}};
    right = {{r[2], r[3]}};
}
inline void mma(Accumulator16x8& d, const FragmentA& a, const FragmentB& b, emulator::Place place = emulator::Place::current()) {
    emulator::mma_bf16(d.d, a.a, b.b, place);
}

#endif

}  // namespace heddle::device
