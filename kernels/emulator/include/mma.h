// CUDA's warp matrices (nvcuda::wmma) of half, bfloat16 and tf32, on the emulated tensor cores: sums have their bits, except that
// a product of 16 rows is two of the instruction's. Integers, f64 and single bits are refused.
//
// A tile is cut into pieces of 16 x 8: the left factor into blocks of 16 rows, the right one into blocks of 8 columns, each in
// the layout of the PTX manual for m16n8k16 (tf32: m16n8k8). The shape with 8 rows is computed transposed.
#pragma once

#include "kernels/emulator/include/cuda_bf16.h"
#include "kernels/emulator/include/cuda_fp16.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace precision

namespace heddle_detail {

/// How a type of factors is stored and multiplied: `pairs` elements in a register.
template <class T>
struct factor {
    static_assert(sizeof(T) == 0, "nvcuda::wmma takes half, __nv_bfloat16 and precision::tf32 here");
};
template <>
struct factor<__half> {
    using storage = __half;
    static constexpr int pairs = 2, k = 16;
    static std::uint32_t bits(__half x) { return __half_as_ushort(x); }
    static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], heddle::emulator::Place place) {
        heddle::emulator::mma_f16(d, a, b, place);
    }
};
template <>
struct factor<__nv_bfloat16> {
    using storage = __nv_bfloat16;
    static constexpr int pairs = 2, k = 16;
    static std::uint32_t bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
    static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], heddle::emulator::Place place) {
        heddle::emulator::mma_bf16(d, a, b, place);
    }
};
template <>
struct factor<precision::tf32> {
    using storage = float;
    static constexpr int pairs = 1, k = 8;
    static std::uint32_t bits(float x) { return __float_as_uint(x); }
    static void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], heddle::emulator::Place place) {
        heddle::emulator::mma_tf32(d, a, b, place);
    }
};

struct position {
    int row, column;
};
inline int lane() { return static_cast<int>(((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % 32); }
/// Where the e-th element of a lane lies in the left factor (row, k), the right one (k, column) and the sum.
template <int pairs>
position in_left(int e) {
    const int group = lane() / 4, t = lane() % 4, block = e / (4 * pairs), r = e % (4 * pairs) / pairs, part = e % pairs;
    return {block * 16 + group + 8 * (r % 2), pairs * t + 4 * pairs * (r / 2) + part};
}
template <int pairs>
position in_right(int e) {
    const int group = lane() / 4, t = lane() % 4, block = e / (2 * pairs), r = e % (2 * pairs) / pairs, part = e % pairs;
    return {pairs * t + 4 * pairs * r + part, block * 8 + group};
}
/// `across` blocks of 8 columns beside each other.
inline position in_sum(int e, int across) {
    const int group = lane() / 4, t = lane() % 4, block = e / 4;
    return {block / across * 16 + group + 8 * (e % 4 / 2), block % across * 8 + 2 * t + e % 2};
}
inline position turned(position p) { return {p.column, p.row}; }

template <int m, int n, int k>
constexpr bool is_shape(int depth) {
    return k == depth && (depth == 8 ? m == 16 && n == 16 : (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
}
template <class T>
void check_address(const T* address, heddle::emulator::Place place) {
    if (reinterpret_cast<std::size_t>(address) % 32 != 0)
        heddle::emulator::failed_requirement("a matrix's address must be a multiple of 32 bytes", place);
}

}  // namespace heddle_detail

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment;

#define HEDDLE_FACTOR(Use, size, in_first, in_second)                                                   \
    template <int m, int n, int k, class T, class Layout>                                               \
    class fragment<Use, m, n, k, T, Layout> {                                                           \
        using factor = heddle_detail::factor<T>;                                                        \
        static_assert(heddle_detail::is_shape<m, n, k>(factor::k), "no such shape of a warp's matrix"); \
                                                                                                        \
      public:                                                                                           \
        using element_type = typename factor::storage;                                                  \
        using storage_element_type = element_type;                                                      \
        static constexpr int num_elements = size * k / 32;                                              \
        element_type x[num_elements];                                                                   \
        static heddle_detail::position heddle_position(int e) {                                         \
            return m == 8 ? heddle_detail::turned(heddle_detail::in_second<factor::pairs>(e))           \
                          : heddle_detail::in_first<factor::pairs>(e);                                  \
        }                                                                                               \
    };
HEDDLE_FACTOR(matrix_a, m, in_left, in_right)
HEDDLE_FACTOR(matrix_b, n, in_right, in_left)
#undef HEDDLE_FACTOR

template <int m, int n, int k, class T>
class fragment<accumulator, m, n, k, T, void> {
  public:
    using element_type = T;
    using storage_element_type = T;
    static constexpr int num_elements = m * n / 32;
    T x[num_elements];
    static heddle_detail::position heddle_position(int e) {
        return m == 8 ? heddle_detail::turned(heddle_detail::in_sum(e, 1)) : heddle_detail::in_sum(e, n / 8);
    }
};

template <class Use, int m, int n, int k, class T, class Layout, class V>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& a, const V& value) {
    for (auto& x : a.x) x = value;
}

template <class Use, int m, int n, int k, class T, class Layout, class Element>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& a, const Element* from, unsigned stride, HEDDLE_PLACE) {
    heddle_detail::check_address(from, place);
    for (int e = 0; e < a.num_elements; ++e) {
        const heddle_detail::position p = a.heddle_position(e);
        a.x[e] = __is_same(Layout, row_major) ? from[static_cast<std::size_t>(p.row) * stride + static_cast<unsigned>(p.column)]
                                              : from[static_cast<std::size_t>(p.column) * stride + static_cast<unsigned>(p.row)];
    }
}
template <int m, int n, int k, class T>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& a, const T* from, unsigned stride, layout_t layout, HEDDLE_PLACE) {
    heddle_detail::check_address(from, place);
    for (int e = 0; e < a.num_elements; ++e) {
        const heddle_detail::position p = a.heddle_position(e);
        a.x[e] = layout == mem_row_major ? from[static_cast<std::size_t>(p.row) * stride + static_cast<unsigned>(p.column)]
                                         : from[static_cast<std::size_t>(p.column) * stride + static_cast<unsigned>(p.row)];
    }
}
template <int m, int n, int k, class T>
void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& a, unsigned stride, layout_t layout, HEDDLE_PLACE) {
    heddle_detail::check_address(to, place);
    for (int e = 0; e < a.num_elements; ++e) {
        const heddle_detail::position p = a.heddle_position(e);
        (layout == mem_row_major ? to[static_cast<std::size_t>(p.row) * stride + static_cast<unsigned>(p.column)]
                                 : to[static_cast<std::size_t>(p.column) * stride + static_cast<unsigned>(p.row)]) = a.x[e];
    }
}

/// D = A B + C.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class D, class C>
void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
              const fragment<matrix_b, m, n, k, T, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c, bool = false,
              HEDDLE_PLACE) {
    using factor = heddle_detail::factor<T>;
    constexpr int pairs = factor::pairs, rows = m == 8 ? n : m, columns = m == 8 ? m : n;
    const typename factor::storage *left = a.x, *right = b.x;
    if (m == 8) left = b.x, right = a.x;
    for (int block = 0; block < rows / 16 * (columns / 8); ++block) {
        const int down = block / (columns / 8), across = block % (columns / 8);
        std::uint32_t l[4] = {}, r[2] = {};
        for (int e = 0; e < 4 * pairs; ++e) l[e / pairs] |= factor::bits(left[down * 4 * pairs + e]) << 16 * (e % pairs);
        for (int e = 0; e < 2 * pairs; ++e) r[e / pairs] |= factor::bits(right[across * 2 * pairs + e]) << 16 * (e % pairs);
        float sum[4];
        for (int e = 0; e < 4; ++e) sum[e] = static_cast<float>(c.x[4 * block + e]);
        factor::multiply(sum, l, r, place);
        for (int e = 0; e < 4; ++e) d.x[4 * block + e] = sum[e];
    }
}

/// The nearest tf32 value.
inline float __float_to_tf32(float x) { return __uint_as_float(heddle::emulator::round_tf32(x)); }

}  // namespace wmma
}  // namespace nvcuda

#undef HEDDLE_PLACE
