// The embedding on CUDA, backward; embedding.h has the formula.
//
// Many rows may have the same token. Atomic adds of floats would sum them in another order at each run; instead the rows are
// sorted by their tokens first, and each token's rows are summed in a fixed order. Sort and sum are gather's (gather_sort.cu,
// gather.cu: a token that comes often gets a whole block, or several), and where the host has sorted the batch already, only the
// sum is left to do. What stands here:
//
//     embedding_tokens_kernel     a thread a row: its token, or -1 outside the spans, which the sort puts last
//     embedding_positions_kernel  a block for each position: it walks through the sentences that reach it
//
// Memory traffic: each gradient reads dy once, s bytes an element, and reads and writes those rows of the tables that were used.
// The tokens take 8 bytes a row, and the sort 20 for each 8 bits of the vocabulary.
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/sweep.h"
#include "kernels/device/vector.h"
#include "kernels/embedding/embedding.h"
#include "kernels/embedding/embedding_rows.h"
#include "kernels/gather/gather.h"

namespace heddle::kernels {
namespace {

using namespace device;

// inside[row] = the token of the row, -1 outside the spans.
__global__ void __launch_bounds__(kSweepBlock)
    embedding_tokens_kernel(const std::int32_t* tokens,  // [rows]
                            SpanTable spans, std::int64_t rows, std::int64_t vocabulary,
                            std::int32_t* inside) {  // [rows]
    const std::int64_t row = std::int64_t{blockIdx.x} * kSweepBlock + threadIdx.x;
    if (row >= rows) return;
    if (spans.place(row) < 0) {
        inside[row] = -1;
        return;
    }
    require(tokens[row] >= 0 && tokens[row] < vocabulary, "embedding: a token lies outside the table");
    inside[row] = tokens[row];
}

constexpr int kThreads = 128;

// N elements of e = dy factor.
template <int N, class T>
__device__ __forceinline__ void take_gradient(const T* dy, const DropoutRule& dropout, std::int64_t row, std::int64_t column,
                                              std::int64_t cols, Accumulator<T> (&e)[N]) {
    using A = Accumulator<T>;
    const Vector<T, N> values = load_vector<N>(dy + row * cols + column);
    const unsigned kept = kept_in_row(dropout, row, column / 8) >> (column % 8);
    const auto grown = static_cast<A>(dropout.scale);
#pragma unroll
    for (int i = 0; i < N; ++i) e[i] = dropout.active() ? load(values[i]) * (kept >> i & 1 ? grown : A{0}) : load(values[i]);
}

// Block p has position first_position + p; its threads the column vectors t, t + 128, ...
template <class T, class G, int N>
__global__ void __launch_bounds__(kThreads)
    embedding_positions_kernel(const T* dy,  // [rows, cols]
                               SpanTable spans, std::int64_t cols, std::int64_t first_position, DropoutRule dropout,
                               G* dpositions) {  // [n, cols]
    using A = Accumulator<T>;
    const std::int64_t place = blockIdx.x;
    for (std::int64_t column = thread_in_block() * N; column < cols; column += kThreads * N) {
        G* to = dpositions + (first_position + place) * cols + column;
        A total[N];
#pragma unroll
        for (int i = 0; i < N; ++i) total[i] = static_cast<A>(load(to[i]));
        for (std::int32_t sentence = 0; sentence < spans.sentences; ++sentence) {
            if (place >= spans.spans[2 * sentence + 1]) continue;
            A e[N];
            take_gradient<N>(dy, dropout, spans.spans[2 * sentence] + place, column, cols, e);
#pragma unroll
            for (int i = 0; i < N; ++i) total[i] += e[i];
        }
#pragma unroll
        for (int i = 0; i < N; ++i) to[i] = store<G>(static_cast<Accumulator<G>>(total[i]));
    }
}

// body(type tag of dy, type tag of the gradient): the same one, or f32 beside bf16.
template <class Body>
void dispatch_gradient(const Tensor& dy, const Tensor& gradient, Body&& body) {
    dispatch("embedding_backward", dy.dtype(), [&]<class T>(TypeTag<T>) {
        if (gradient.dtype() == dy.dtype())
            body(TypeTag<T>{}, TypeTag<T>{});
        else
            body(TypeTag<T>{}, TypeTag<Accumulator<T>>{});
    });
}

}  // namespace

void embedding_backward_table_cuda(const Tensor& dy, const Tensor& tokens, const Spans& spans, const EmbeddingPlan& plan,
                                   const Tensor& order, Tensor& dtable) {
    const std::int64_t rows = spans.rows(), vocabulary = dtable.dim(0);
    if (rows == 0 || spans.tokens() == 0) return;
    if (order.defined()) {
        const Tensor flat = order.reshape({2 * rows});
        return gather_sum_cuda(dy, {flat.slice(0, rows), flat.slice(rows, 2 * rows)}, dtable, plan.scale, plan.dropout,
                               plan.untrained);
    }
    const Tensor lengths = spans.on_device();
    Tensor inside = Tensor::empty({rows}, DType::i32, Device::cuda);
    launch(sweep_config(rows, 1), embedding_tokens_kernel, tokens.data<std::int32_t>(), span_table(spans, lengths), rows,
           vocabulary, inside.mutable_data<std::int32_t>());
    gather_sum_cuda(dy, sorted_places_cuda(inside, vocabulary), dtable, plan.scale, plan.dropout, plan.untrained);
}

void embedding_backward_positions_cuda(const Tensor& dy, const Spans& spans, const EmbeddingPlan& plan, Tensor& dpositions) {
    if (spans.tokens() == 0) return;
    const Tensor lengths = spans.on_device();
    const std::int64_t cols = dy.cols();
    dispatch_gradient(dy, dpositions, [&]<class T, class G>(TypeTag<T>, TypeTag<G>) {
        constexpr int N = kVector<T>;
        auto* const kernel =
            vectors_fit(dy.data<T>(), cols, N) ? embedding_positions_kernel<T, G, N> : embedding_positions_kernel<T, G, 1>;
        launch({.grid = blocks_for(spans.longest(), 1), .block = kThreads}, kernel, dy.data<T>(), span_table(spans, lengths),
               cols, plan.first_position, DropoutRule(plan.dropout), dpositions.mutable_data<G>());
    });
}

}  // namespace heddle::kernels
