// The embedding on CUDA, backward; embedding.h has the formula.
//
// Many rows may have the same token. Atomic adds of floats would sum them in another order at each run; instead the rows are
// sorted by their tokens first, and each token's rows are summed one after the other, ascending:
//
//     embedding_index_kernel      a stable counting sort of the rows within spans: one block
//     embedding_table_kernel      a block for each token that came
//     embedding_positions_kernel  a block for each position: it walks through the sentences that reach it
//
// Memory traffic: each gradient reads dy once, s bytes an element, and reads and writes those rows of the tables that were used.
// The index reads each token twice and moves 8 bytes a row; its counters are 4 bytes a word of the vocabulary, written twice and
// read twice.
#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/random.h"
#include "kernels/device/shared.h"
#include "kernels/device/vector.h"
#include "kernels/embedding/embedding_cuda.h"
#include "kernels/embedding/embedding_rows.h"

namespace heddle::kernels {
namespace {

using namespace device;

// ---- the index

constexpr int kIndexThreads = 1024;

// The token of a row, -1 outside the spans.
__device__ __forceinline__ std::int32_t token_of(const std::int32_t* tokens, const SpanTable& spans, std::int64_t row,
                                                 std::int64_t vocabulary) {
    if (spans.place(row) < 0) return -1;
    require(tokens[row] >= 0 && tokens[row] < vocabulary, "embedding: a token lies outside the table");
    return tokens[row];
}

// Counting sort. places[begin of t ..] become the rows with token t, ascending, for ascending t; behind them stays -1. next[t] is
// first how many rows there are, then where t's next row goes, in the end where t's rows end. The rows are placed 1024 at a time:
// a thread counts how many of the rows before its own in that chunk have its token.
__global__ void __launch_bounds__(kIndexThreads)
    embedding_index_kernel(const std::int32_t* tokens,  // [rows]
                           SpanTable spans, std::int64_t rows, std::int64_t vocabulary,
                           std::int32_t* next,      // [vocabulary], zeros
                           std::int32_t* places) {  // [rows]
    SharedArena arena;
    std::int32_t* chunk = arena.take<std::int32_t>(kIndexThreads);
    std::int32_t* warps = arena.take<std::int32_t>(kIndexThreads / kWarp);
    const int thread = thread_in_block();
    for (std::int64_t row = thread; row < rows; row += kIndexThreads) {
        places[row] = -1;
        const std::int32_t token = token_of(tokens, spans, row, vocabulary);
        if (token >= 0) atomicAdd(next + token, 1);
    }
    __syncthreads();  // all rows are counted

    // From counts to beginnings: thread t has a run of words; the sums of the runs before it come through lanes and warps.
    const std::int64_t run = (vocabulary + kIndexThreads - 1) / kIndexThreads;
    const std::int64_t first = min(thread * run, vocabulary), last = min(first + run, vocabulary);
    std::int32_t own = 0;
    for (std::int64_t t = first; t < last; ++t) own += next[t];
    std::int32_t total = own;
#pragma unroll
    for (int o = 1; o < kWarp; o *= 2) {
        const std::int32_t before = __shfl_up_sync(kAllLanes, total, static_cast<unsigned>(o));
        if (lane() >= o) total += before;
    }
    if (lane() == kWarp - 1) warps[warp()] = total;
    __syncthreads();  // every warp's sum is there
    std::int32_t at = total - own;
    for (int w = 0; w < warp(); ++w) at += warps[w];
    for (std::int64_t t = first; t < last; ++t) {
        const std::int32_t count = next[t];
        next[t] = at;
        at += count;
    }

    for (std::int64_t start = 0; start < rows; start += kIndexThreads) {
        const std::int64_t row = start + thread;
        const int here = static_cast<int>(min(std::int64_t{kIndexThreads}, rows - start));
        const std::int32_t token = row < rows ? token_of(tokens, spans, row, vocabulary) : -1;
        chunk[thread] = token;
        __syncthreads();  // the chunk's tokens are there, and what the chunk before it (or the runs) wrote to `next`
        int before = 0, behind = 0;
        std::int32_t place = 0;
        if (token >= 0) {
            for (int i = 0; i < thread; ++i) before += chunk[i] == token;
            for (int i = thread + 1; i < here; ++i) behind += chunk[i] == token;
            place = next[token] + before;
        }
        __syncthreads();  // everybody has read the chunk and `next`
        if (token < 0) continue;
        places[place] = static_cast<std::int32_t>(row);
        if (behind == 0) next[token] = place + 1;
    }
}

// ---- the sums

constexpr int kThreads = 128;
constexpr int kAhead = 4;  // rows whose loads are under way at once; they are added in order all the same

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

// Block k looks at the k-th row of the index; the first row of a token is the one whose block sums the token's rows. Thread t has
// the column vectors t, t + 128, ... of the table's row.
template <class T, class G, int N>
__global__ void __launch_bounds__(kThreads) embedding_table_kernel(const T* dy,                 // [rows, cols]
                                                                   const std::int32_t* tokens,  // [rows]
                                                                   const std::int32_t* places,  // [rows]
                                                                   const std::int32_t* ends,    // [vocabulary]
                                                                   std::int64_t cols, Accumulator<T> scale, DropoutRule dropout,
                                                                   G* dtable) {  // [vocabulary, cols]
    using A = Accumulator<T>;
    const std::int64_t first = blockIdx.x;
    if (places[first] < 0) return;
    const std::int32_t token = tokens[places[first]];
    if (first > 0 && tokens[places[first - 1]] == token) return;
    const std::int64_t end = ends[token];
    for (std::int64_t column = thread_in_block() * N; column < cols; column += kThreads * N) {
        G* to = dtable + token * cols + column;
        A total[N];
#pragma unroll
        for (int i = 0; i < N; ++i) total[i] = static_cast<A>(load(to[i]));
        for (std::int64_t k = first; k < end; k += kAhead) {
            A e[kAhead][N];
#pragma unroll
            for (int ahead = 0; ahead < kAhead; ++ahead)
                if (k + ahead < end) take_gradient<N>(dy, dropout, places[k + ahead], column, cols, e[ahead]);
#pragma unroll
            for (int ahead = 0; ahead < kAhead; ++ahead)
#pragma unroll
                for (int i = 0; i < N; ++i)
                    if (k + ahead < end) total[i] += scale * e[ahead][i];
        }
#pragma unroll
        for (int i = 0; i < N; ++i) to[i] = store<G>(static_cast<Accumulator<G>>(total[i]));
    }
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
                                   const Tensor& dtable) {
    const std::int64_t rows = spans.rows(), cols = dy.cols(), vocabulary = dtable.dim(0);
    if (rows == 0 || spans.tokens() == 0) return;
    const Tensor lengths = spans.on_device();
    const Tensor ends = Tensor::zeros({vocabulary}, DType::i32, Device::cuda),
                 places = Tensor::empty({rows}, DType::i32, Device::cuda);
    launch({.block = kIndexThreads, .shared = SharedSize().take<std::int32_t>(kIndexThreads).take<std::int32_t>(kWarp).bytes()},
           embedding_index_kernel, tokens.data<std::int32_t>(), span_table(spans, lengths), rows, vocabulary,
           ends.data<std::int32_t>(), places.data<std::int32_t>());
    dispatch_gradient(dy, dtable, [&]<class T, class G>(TypeTag<T>, TypeTag<G>) {
        constexpr int N = kVector<T>;
        auto* const kernel =
            vectors_fit(dy.data<T>(), cols, N) ? embedding_table_kernel<T, G, N> : embedding_table_kernel<T, G, 1>;
        launch({.grid = blocks_for(rows, 1), .block = kThreads}, kernel, dy.data<T>(), tokens.data<std::int32_t>(),
               places.data<std::int32_t>(), ends.data<std::int32_t>(), cols, static_cast<Accumulator<T>>(plan.scale),
               DropoutRule(plan.dropout), dtable.data<G>());
    });
}

void embedding_backward_positions_cuda(const Tensor& dy, const Spans& spans, const EmbeddingPlan& plan,
                                       const Tensor& dpositions) {
    if (spans.tokens() == 0) return;
    const Tensor lengths = spans.on_device();
    const std::int64_t cols = dy.cols();
    dispatch_gradient(dy, dpositions, [&]<class T, class G>(TypeTag<T>, TypeTag<G>) {
        constexpr int N = kVector<T>;
        auto* const kernel =
            vectors_fit(dy.data<T>(), cols, N) ? embedding_positions_kernel<T, G, N> : embedding_positions_kernel<T, G, 1>;
        launch({.grid = blocks_for(spans.longest(), 1), .block = kThreads}, kernel, dy.data<T>(), span_table(spans, lengths),
               cols, plan.first_position, DropoutRule(plan.dropout), dpositions.data<G>());
    });
}

}  // namespace heddle::kernels
