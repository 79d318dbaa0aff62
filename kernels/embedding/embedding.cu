// The embedding on CUDA, forward; embedding.h has the formula.
//
// A warp takes a row of y: it looks the token up, finds the row's place in its sentence, and reads one row of each table, 16
// bytes a lane. Scale, position and dropout happen in registers.
//
// Memory traffic of an element of s bytes: the table's row and y, 2 s; the position's row comes from the caches (one row of it
// serves all sentences). Rows outside the spans are written, nothing is read for them.
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/vector.h"
#include "kernels/embedding/embedding.h"
#include "kernels/embedding/embedding_rows.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kWarps = 4;

template <class T>
struct Arrays {
    const T* table;              // [vocabulary, cols]
    const std::int32_t* tokens;  // [rows]
    const T* positions;          // [n, cols], or null
    T* y;                        // [rows, cols]
    SpanTable spans;
    std::int64_t rows, cols, vocabulary, first_position, last_position;
    Growth growth;
    Accumulator<T> scale;
    DropoutRule dropout;
};

template <class T, int N>
__global__ void __launch_bounds__(kWarps* kWarp) embedding_kernel(Arrays<T> a) {
    using A = Accumulator<T>;
    const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp();
    if (row >= a.rows) return;
    const std::int32_t place = a.spans.place(row);
    T* y = a.y + row * a.cols;
    if (place < 0) {
        for (std::int64_t column = lane() * N; column < a.cols; column += kWarp * N) store_vector(y + column, Vector<T, N>{});
        return;
    }
    const std::int32_t token = a.tokens[row];
    require(token >= 0 && token < a.vocabulary, "embedding: a token lies outside the table");
    const T* table = a.table + token * a.cols;
    const T* position =
        a.positions == nullptr ? nullptr : a.positions + min(a.first_position + a.growth.now() + place, a.last_position) * a.cols;
    const auto grown = static_cast<A>(a.dropout.scale);
    for (std::int64_t column = lane() * N; column < a.cols; column += kWarp * N) {
        const Vector<T, N> from = load_vector<N>(table + column);
        A values[N];
#pragma unroll
        for (int i = 0; i < N; ++i) values[i] = a.scale * load(from[i]);
        if (position != nullptr) {
            const Vector<T, N> added = load_vector<N>(position + column);
#pragma unroll
            for (int i = 0; i < N; ++i) values[i] += load(added[i]);
        }
        const unsigned kept = kept_in_row(a.dropout, row, column / 8) >> (column % 8);
        const bool dropping = a.dropout.active();
        Vector<T, N> result;
#pragma unroll
        for (int i = 0; i < N; ++i) result[i] = store<T>(!dropping ? values[i] : values[i] * (kept >> i & 1 ? grown : A{0}));
        store_vector(y + column, result);
    }
}

}  // namespace

void embedding_forward_cuda(const Tensor& table, const Tensor& tokens, const Spans& spans, const Tensor& positions,
                            const EmbeddingPlan& plan, Tensor& y) {
    const Tensor lengths = spans.on_device();
    dispatch("embedding", table.dtype(), [&]<class T>(TypeTag<T>) {
        const Arrays<T> a{.table = table.data<T>(),
                          .tokens = tokens.data<std::int32_t>(),
                          .positions = positions.defined() ? positions.data<T>() : nullptr,
                          .y = y.mutable_data<T>(),
                          .spans = span_table(spans, lengths),
                          .rows = spans.rows(),
                          .cols = table.cols(),
                          .vocabulary = table.dim(0),
                          .first_position = plan.first_position,
                          .last_position = positions.defined() ? positions.dim(0) - 1 : 0,
                          .growth = plan.growth,
                          .scale = static_cast<Accumulator<T>>(plan.scale),
                          .dropout = DropoutRule(plan.dropout)};
        const LaunchConfig config{.grid = blocks_for(a.rows, kWarps), .block = kWarps * kWarp};
        constexpr int N = kVector<T>;
        if (vectors_fit(a.table, a.cols, N) && vectors_fit(a.y, a.cols, N) &&
            (a.positions == nullptr || vectors_fit(a.positions, a.cols, N)))
            launch(config, embedding_kernel<T, N>, a);
        else
            launch(config, embedding_kernel<T, 1>, a);
    });
}

}  // namespace heddle::kernels
