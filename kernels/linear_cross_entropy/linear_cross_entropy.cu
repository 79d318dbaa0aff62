// Between the products of linear + cross entropy: a chunk's logits become losses and dlogits, in place.
//
//     d_j = x_j - max,  S = sum exp d_j,  loss = log S - (1 - e) d_t - e / V sum d_j          (cross_entropy.h)
//     dlogits_j = (exp(d_j) / S - e / V - (1 - e) [j = t]) / divisor
//
// Four kernels, none of which the host waits for:
//     count_targets     the divisor, when it is the number of counted targets: one block, before the first chunk
//     chunk_losses      a block per row
//     total_losses      the sums of all rows' losses: one block, behind the last chunk
//     add_scaled        backward: gradients that were made for a loss gradient of 1, times the true one, which it reads on the
//     device
#include "kernels/linear_cross_entropy/linear_cross_entropy_cuda.h"

#include <limits>

#include "kernels/device/dispatch.h"
#include "kernels/device/launch.h"
#include "kernels/device/reduce.h"
#include "kernels/device/sweep.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {
namespace {

using namespace device;

struct LossRule {
    double smoothing;
    std::int32_t ignore;
    std::int32_t vocabulary;
};
LossRule rule_of(const LossOptions& options, std::int64_t vocabulary) {
    if (vocabulary > std::numeric_limits<std::int32_t>::max()) fail("linear_cross_entropy: a vocabulary beyond 2^31 words");
    return {options.label_smoothing, options.ignore, static_cast<std::int32_t>(vocabulary)};
}

// ---- one block over all rows

constexpr int kCountBlock = 1024;

// targets [rows]; statistics [4], of which the third becomes the count; divisor [1]: `given`, or the count, or 1
__global__ void __launch_bounds__(kCountBlock) count_targets_kernel(const std::int32_t* targets, std::int64_t rows, LossRule rule,
                                                                    double given, double* statistics, double* divisor) {
    double counted = 0;
    for (std::int64_t row = threadIdx.x; row < rows; row += kCountBlock) {
        if (targets[row] == rule.ignore) continue;
        require(targets[row] >= 0 && targets[row] < rule.vocabulary,
                "linear_cross_entropy: a target lies outside the vocabulary");
        counted += 1;
    }
    counted = block_sum(counted, shared<double>(kBlockReduce));
    if (threadIdx.x != 0) return;
    statistics[2] = counted;
    *divisor = given > 0 ? given : counted > 0 ? counted : 1;
}

// losses [rows, 3]; statistics [4]: loss, nll, (counted), correct; loss [1]. Thread i adds rows i, i + 1024, .., then the tree of
// block_sum: one order, the same bits at each run.
template <class T>
__global__ void __launch_bounds__(kCountBlock)
    total_losses_kernel(const double* losses, std::int64_t rows, const double* divisor, double* statistics, T* loss) {
    double* const scratch = shared<double>(kBlockReduce);
    double sums[3] = {};
    for (std::int64_t row = threadIdx.x; row < rows; row += kCountBlock)
        for (int i = 0; i < 3; ++i) sums[i] += losses[3 * row + i];
    for (double& sum : sums) sum = block_sum(sum, scratch);
    if (threadIdx.x != 0) return;
    statistics[0] = sums[0];
    statistics[1] = sums[1];
    statistics[3] = sums[2];
    *loss = store<T>(static_cast<Accumulator<T>>(sums[0] / *divisor));
}

// ---- a block per row
//
// Two passes over the row, both from the second-level cache, where the product has just put it (a chunk is as large as that): the
// first keeps a running maximum and the sum of exponentials that belongs to it (Milakov and Gimelshein 2018, "Online normalizer
// calculation for softmax", algorithm 3), the second writes dlogits. Traffic of an element: two reads, one write.
//
// The sum of all d_j, for label smoothing, would lose its digits if it were made from sums of logits of 1e4; deviations from the
// row's first logit have the size of the d_j themselves.
constexpr int kRowBlock = 256;

struct Smaller {
    __device__ __forceinline__ int operator()(int a, int b) const { return a < b ? a : b; }
};

// What a thread knows of its part of a row.
template <class A>
struct RowPart {
    A largest = lowest<A>();
    A exponentials = 0;      // sum of exp(x - largest)
    A deviations = 0;        // sum of x - reference
    int first = 0x7fffffff;  // where `largest` stands for the first time
};

template <int N, class A>
__device__ __forceinline__ void add_to_part(RowPart<A>& part, const A (&x)[N], int at, A reference) {
    A largest = x[0];
#pragma unroll
    for (int j = 1; j < N; ++j) largest = x[j] > largest ? x[j] : largest;
    if (largest > part.largest) {
        part.exponentials *= exponential(part.largest - largest);  // e^-inf = 0 the first time
        part.largest = largest;
#pragma unroll
        for (int j = N - 1; j >= 0; --j)
            if (x[j] == largest) part.first = at + j;
    }
#pragma unroll
    for (int j = 0; j < N; ++j) {
        // A logit of -inf has no share, also before the first other one has come.
        part.exponentials += x[j] == lowest<A>() ? A{0} : exponential(x[j] - part.largest);
        part.deviations += x[j] - reference;
    }
}

// logits [rows, V], targets [rows], losses [rows, 3], divisor [1]
template <class T, int N>
__global__ void __launch_bounds__(kRowBlock, 4) chunk_losses_kernel(T* logits, const std::int32_t* targets, LossRule rule,
                                                                 const double* divisor, bool want_gradient, double* losses) {
    using A = Accumulator<T>;
    const std::int64_t row = blockIdx.x;
    const int vocabulary = rule.vocabulary, target = targets[row], thread = static_cast<int>(threadIdx.x);
    T* const x = logits + row * vocabulary;
    double* const loss = losses + 3 * row;
    if (target == rule.ignore) {  // the whole block
        if (thread < 3) loss[thread] = 0;
        if (!want_gradient) return;
        Vector<T, N> zeros;
#pragma unroll
        for (int j = 0; j < N; ++j) zeros[j] = store<T>(0);
        for (int at = thread * N; at < vocabulary; at += kRowBlock * N) store_vector(x + at, zeros);
        return;
    }
    SharedArena arena;
    A* const scratch = arena.take<A>(kBlockReduce);
    int* const places = arena.take<int>(kBlockReduce);
    const A of_first = load(x[0]), of_target = load(x[target]);
    const A reference = of_first - of_first == 0 ? of_first : A{0};  // not an infinity, nor NaN
    RowPart<A> part;
    for (int at = thread * N; at < vocabulary; at += kRowBlock * N) {
        const Vector<T, N> values = load_vector<N>(x + at);
        A numbers[N];
#pragma unroll
        for (int j = 0; j < N; ++j) numbers[j] = load(values[j]);
        add_to_part(part, numbers, at, reference);
    }
    // The reductions' barriers also stand between the reads of x above, of the target's logit too, and the writes below.
    const A largest = block_max(part.largest, scratch);
    const int first = block_reduce(part.largest == largest ? part.first : 0x7fffffff, Smaller(), 0x7fffffff, places);
    // A thread without a logit above -inf has nothing to scale, and -inf - -inf would be no number.
    const A scaled = part.largest == largest ? part.exponentials : part.exponentials * exponential(part.largest - largest);
    const A exponentials = block_sum(scaled, scratch);
    const A deviations = block_sum(part.deviations, scratch);
    const double share = rule.smoothing / vocabulary;
    if (thread == 0) {
        const double log_sum = logarithm(static_cast<double>(exponentials));
        const double d_target = static_cast<double>(of_target) - static_cast<double>(largest);
        double value = log_sum - (1 - rule.smoothing) * d_target;
        if (rule.smoothing != 0)  // without it a logit of -inf costs nothing
            value -= share * (static_cast<double>(deviations) -
                              vocabulary * (static_cast<double>(largest) - static_cast<double>(reference)));
        loss[0] = value;
        loss[1] = log_sum - d_target;
        loss[2] = first == target ? 1 : 0;
    }
    if (!want_gradient) return;
    const double scale = 1 / *divisor;
    const A factor = static_cast<A>(scale / static_cast<double>(exponentials)), constant = static_cast<A>(share * scale);
    for (int at = thread * N; at < vocabulary; at += kRowBlock * N) {
        Vector<T, N> values = load_vector<N>(x + at);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const A e = exponential(load(values[j]) - largest);
            A gradient = e * factor - constant;
            // For a sure prediction p and q nearly cancel: in f64.
            if (at + j == target)
                gradient = static_cast<A>(
                    (static_cast<double>(e) / static_cast<double>(exponentials) - share - (1 - rule.smoothing)) * scale);
            values[j] = store<T>(gradient);
        }
        store_vector(x + at, values);
    }
}

// ---- backward

// target, gradient [n], factor [1]. N elements at a time: 16 bytes of gradient.
template <class T, class G, int N>
__global__ void __launch_bounds__(kSweepBlock) add_scaled_kernel(const G* gradient, const T* factor, T* target, std::int64_t n) {
    const Accumulator<T> scale = load(*factor);
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> to = load_vector<M>(target + at);
        const Vector<G, M> from = load_vector<M>(gradient + at);
#pragma unroll
        for (int j = 0; j < M; ++j) to[j] = store<T>(load(to[j]) + scale * load(from[j]));
        store_vector(target + at, to);
    });
}

template <class T, class G>
void add_scaled(const Tensor& gradient, const Tensor& dloss, Tensor& target) {
    const G* from = gradient.data<G>();
    T* to = target.data<T>();
    with_width<G>({from, to}, [&]<int N>(Width<N>) {
        launch(sweep_config(target.numel(), N), add_scaled_kernel<T, G, N>, from, dloss.data<T>(), to, target.numel());
    });
}

}  // namespace

void count_targets_cuda(const Tensor& targets, std::int64_t vocabulary, const LossOptions& options, Tensor& statistics,
                        Tensor& divisor) {
    launch({.grid = 1, .block = kCountBlock, .shared = SharedSize().take<double>(kBlockReduce).bytes()}, count_targets_kernel,
           targets.data<std::int32_t>(), targets.numel(), rule_of(options, vocabulary), options.divisor,
           statistics.data<double>(), divisor.data<double>());
}

void chunk_losses_cuda(Tensor& logits, const Tensor& targets, const LossOptions& options, const Tensor& divisor,
                       bool want_gradient, Tensor& losses) {
    const LossRule rule = rule_of(options, logits.cols());
    dispatch("linear_cross_entropy", logits.dtype(), [&]<class T>(TypeTag<T>) {
        T* x = logits.data<T>();
        const bool fits = vectors_fit(x, logits.cols(), kVector<T>);
        SharedSize shared;
        shared.take<Accumulator<T>>(kBlockReduce);
        shared.take<int>(kBlockReduce);
        launch({.grid = blocks_for(logits.rows(), 1), .block = kRowBlock, .shared = shared.bytes()},
               fits ? chunk_losses_kernel<T, kVector<T>> : chunk_losses_kernel<T, 1>, x, targets.data<std::int32_t>(), rule,
               divisor.data<double>(), want_gradient, losses.data<double>());
    });
}

void total_losses_cuda(const Tensor& losses, const Tensor& divisor, Tensor& statistics, Tensor& loss) {
    dispatch("linear_cross_entropy", loss.dtype(), [&]<class T>(TypeTag<T>) {
        launch({.grid = 1, .block = kCountBlock, .shared = SharedSize().take<double>(kBlockReduce).bytes()},
               total_losses_kernel<T>, losses.data<double>(), losses.rows(), divisor.data<double>(), statistics.data<double>(),
               loss.data<T>());
    });
}

void add_scaled_cuda(const Tensor& gradient, const Tensor& dloss, Tensor& target) {
    dispatch("linear_cross_entropy_backward", target.dtype(), [&]<class T>(TypeTag<T>) {
        if constexpr (std::is_same_v<T, bf16>) {
            if (gradient.dtype() == DType::f32) return add_scaled<bf16, float>(gradient, dloss, target);
        }
        add_scaled<T, T>(gradient, dloss, target);
    });
}

}  // namespace heddle::kernels
