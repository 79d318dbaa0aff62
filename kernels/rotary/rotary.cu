// The rotary embedding on CUDA, both ways; rotary.h has the formula.
//
// Who owns what: a warp a row. First its lanes compute the row's sines and cosines, a pair each, into shared memory: they serve
// all heads. Then lane l takes the units l, l + 32, ...: 16 bytes of the first half of a head and the 16 bytes half a head
// further, which are turned in registers. Neighbouring lanes read neighbouring units.
//
// Angles. An angle is an integer, in turns times 2^64; its upper half, read with a sign, is the angle within half a turn around
// 0, and sincospi takes it as it is. No product of a float and no reduction costs a digit.
//
// Memory traffic of an element of s bytes: x is read and y written once, 2 s, and the columns that are not turned are copied.
// Rows outside the spans are written, nothing is read for them. A sine and a cosine cost some 30 instructions a pair
// and row, for all heads.
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/embedding/embedding_rows.h"
#include "kernels/rotary/rotary.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kWarps = 4;

template <class T>
struct Arrays {
    const T* x;                     // [rows, cols]
    T* y;                           // [rows, cols]
    const std::int32_t* positions;  // [rows], or null: the rows' places in their spans
    SpanTable spans;
    std::int64_t rows, cols, first_position;
    int columns, head_dim;
    bool inverse;
    Growth growth;                                     // of first_position
    std::uint64_t frequencies[kWidestRotaryHead / 2];  // [head_dim / 2], in turns times 2^64

    // The position of a row, or -1 outside the spans.
    __device__ __forceinline__ std::int64_t position(std::int64_t row) const {
        if (positions == nullptr) {
            const std::int32_t place = spans.place(row);
            return place < 0 ? -1 : first_position + growth.now() + place;
        }
        require(positions[row] >= 0, "rotary: a position is negative");
        return positions[row];
    }
};

// The sine and cosine of an angle in turns times 2^64. In f32 it is a number of quarter turns and what is left, at most half of
// one, for which the polynomials of kernels/simd_functions.h do.
__device__ __forceinline__ void sine_and_cosine(std::uint64_t turns, float& sine, float& cosine) {
    const auto angle = static_cast<unsigned>(turns >> 32), quarters = (angle + 0x20000000u) >> 30;
    const float r = static_cast<float>(static_cast<int>(angle - (quarters << 30))) * 1.46291808e-9f;  // pi / 2 / 2^30
    const float square = r * r;
    const float s =
        r + r * (square * (((square * 2.7249926e-06f - 0.00019840087f) * square + 0.008333332f) * square - 0.16666667f));
    const float c = square * (square * ((square * 2.4547942e-05f - 0.0013888302f) * square + 0.041666664f) - 0.5f) + 1.0f;
    const bool odd = (quarters & 1) != 0;
    sine = (quarters & 2) != 0 ? -(odd ? c : s) : odd ? c : s;
    cosine = ((quarters + 1) & 2) != 0 ? -(odd ? s : c) : odd ? s : c;
}
__device__ __forceinline__ void sine_and_cosine(std::uint64_t turns, double& sine, double& cosine) {
    const double angle = static_cast<double>(static_cast<std::int64_t>(turns)) * (0x1p-63 * 3.14159265358979323846);
    sine = ::sin(angle);
    cosine = ::cos(angle);
}

template <class T, int N>
__global__ void __launch_bounds__(kWarps* kWarp) rotary_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    const int half = a.head_dim / 2;
    SharedArena arena;
    A* const cosines = arena.take<A>(kWarps * half) + warp() * half;  // [half]
    A* const sines = arena.take<A>(kWarps * half) + warp() * half;    // [half]
    const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp();
    if (row >= a.rows) return;  // a warp needs nothing of another one
    const T* x = a.x + row * a.cols;
    T* y = a.y + row * a.cols;
    const std::int64_t position = a.position(row);
    if (position < 0) {
        for (std::int64_t column = lane() * N; column < a.cols; column += kWarp * N) store_vector(y + column, Vector<T, N>{});
        return;
    }
    for (int i = lane(); i < half; i += kWarp) {
        const std::uint64_t turns = static_cast<std::uint64_t>(position) * a.frequencies[i];
        sine_and_cosine(a.inverse ? 0 - turns : turns, sines[i], cosines[i]);
    }
    __syncwarp();  // all pairs of the row are there
    const int units = a.columns / 2 / N, of_head = half / N;
    for (int unit = lane(); unit < units; unit += kWarp) {
        const int head = unit / of_head, i = (unit - head * of_head) * N, at = head * a.head_dim + i;
        Vector<T, N> first = load_vector<N>(x + at), second = load_vector<N>(x + at + half);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const A left = load(first[j]), right = load(second[j]), cosine = cosines[i + j], sine = sines[i + j];
            first[j] = store<T>(left * cosine - right * sine);
            second[j] = store<T>(right * cosine + left * sine);
        }
        store_vector(y + at, first);
        store_vector(y + at + half, second);
    }
    for (std::int64_t column = a.columns + lane() * N; column < a.cols; column += kWarp * N)
        store_vector(y + column, load_vector<N>(x + column));
}

}  // namespace

void rotary_cuda(const Tensor& x, const Spans& spans, const Tensor& positions, const RotaryPlan& plan, Tensor& y) {
    const bool by_span = !positions.defined();
    const Tensor lengths = by_span ? spans.on_device() : Tensor();
    const std::span<const std::uint64_t> frequencies = rotary_frequencies(plan.head_dim, plan.base);
    dispatch("rotary", x.dtype(), [&]<class T>(TypeTag<T>) {
        Arrays<T> a{.x = x.data<T>(),
                    .y = y.mutable_data<T>(),
                    .positions = by_span ? nullptr : positions.data<std::int32_t>(),
                    .spans = by_span ? span_table(spans, lengths) : SpanTable{},
                    .rows = x.rows(),
                    .cols = x.cols(),
                    .first_position = plan.first_position,
                    .columns = static_cast<int>(plan.columns),
                    .head_dim = static_cast<int>(plan.head_dim),
                    .inverse = plan.inverse,
                    .growth = plan.growth,
                    .frequencies = {}};
        for (std::size_t i = 0; i < frequencies.size(); ++i) a.frequencies[i] = frequencies[i];
        SharedSize shared;
        const int pairs = kWarps * a.head_dim / 2;
        shared.take<Accumulator<T>>(pairs).template take<Accumulator<T>>(pairs);
        const LaunchConfig config{.grid = blocks_for(a.rows, kWarps), .block = kWarps * kWarp, .shared = shared.bytes()};
        constexpr int N = kVector<T>;
        if (vectors_fit(a.x, a.cols, N) && vectors_fit(a.y, a.cols, N) && a.head_dim % (2 * N) == 0)
            launch(config, rotary_kernel<T, N>, a);
        else
            launch(config, rotary_kernel<T, 1>, a);
    });
}

}  // namespace heddle::kernels
