// Cross entropy on CUDA; cross_entropy.h has the formulas. Three kernels:
//
//     loss_divisor_kernel         counts the targets: one block
//     cross_entropy_rows_kernel   a block a row: its losses, and its gradient in a second pass
//     loss_totals_kernel          adds the rows' losses up: one block
//
// Memory traffic of a logit of s bytes: it is read once for the losses; the gradient is written once, 2 s. The second pass has
// the row in shared memory when it fits (48 kB), else it reads it again, from the caches. The two small kernels read 4 and 24
// bytes a row.
//
// The sum of the deviations d_j = x_j - m, which label smoothing wants, would need the maximum m first. The target's logit r is
// known from the start: sum d_j = sum (x_j - r) + V (r - m). Forbidden logits stand in neither sum, and V counts the others.
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/launch.h"
#include "kernels/device/vector.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr int kTotalThreads = 1024;
constexpr std::int64_t kKeptBytes = 48 * 1024;

__global__ void __launch_bounds__(kTotalThreads)
    loss_divisor_kernel(const std::int32_t* targets,  // [rows]
                        std::int64_t rows, std::int64_t vocabulary, std::int32_t ignore, double given,
                        const double* given_in_memory,  // [], or null
                        double* divisor) {              // [2]
    long long* scratch = shared<long long>(kBlockReduce);
    long long counted = 0;
    for (std::int64_t row = thread_in_block(); row < rows; row += kTotalThreads) {
        if (targets[row] == ignore) continue;
        require(targets[row] >= 0 && targets[row] < vocabulary, "cross_entropy: a target lies outside the vocabulary");
        ++counted;
    }
    counted = block_sum(counted, scratch);
    if (thread_in_block() != 0) return;
    if (given_in_memory != nullptr) given = *given_in_memory;
    divisor[0] = given > 0 ? given : counted > 0 ? static_cast<double>(counted) : 1.0;
    divisor[1] = static_cast<double>(counted);
}

template <class T>
struct RowArrays {
    const T* logits;              // [rows, vocabulary]
    const std::int32_t* targets;  // [rows]
    const double* divisor;        // [2]
    const T* dloss;               // [], or null: 1
    double* losses;               // [3, pitch], or null: not wanted
    std::int64_t pitch;           // the rows of all chunks
    T* dlogits;                   // [rows, vocabulary], or null: not wanted; may be the logits
    std::int64_t rows, vocabulary;
    double smoothing;
    std::int32_t ignore;
};

// Partial sums for a row's losses, over all of its logits or those of a thread.
template <class A>
struct RowSums {
    ExponentialSum<A> exponentials;
    A deviations = 0;
    A forbidden = 0;  // how many logits take no part in the smoothing
    A better = 0;     // 1: a logit would have been named before the target's, or is NaN
};

inline constexpr int kRowReduce = 5 * kWarp;  // of shared memory, in elements

// Over all threads of the block; every thread gets it. The five numbers of each warp cross the block's shared memory together,
// behind one barrier, and not behind two for each of them. A warp's sum is that for its own largest number until all are known.
template <class A>
__device__ __forceinline__ RowSums<A> block_row_sums(const RowSums<A>& own, A* scratch) {  // scratch [5, kWarp]
    const auto over_lanes = [](const RowSums<A>& lanes) {
        RowSums<A> all;
        all.exponentials.largest = warp_max(lanes.exponentials.largest);
        all.exponentials.sum =
            warp_sum(lanes.exponentials.sum * exponential(lanes.exponentials.largest - all.exponentials.shift()));
        all.deviations = warp_sum(lanes.deviations);
        all.forbidden = warp_sum(lanes.forbidden);
        all.better = warp_max(lanes.better);
        return all;
    };
    RowSums<A> all = over_lanes(own);
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    if (warps == 1) return all;
    if (lane() == 0) {
        scratch[warp()] = all.exponentials.largest;
        scratch[kWarp + warp()] = all.exponentials.sum;
        scratch[2 * kWarp + warp()] = all.deviations;
        scratch[3 * kWarp + warp()] = all.forbidden;
        scratch[4 * kWarp + warp()] = all.better;
    }
    __syncthreads();  // the warps' numbers are there
    RowSums<A> of_warp;
    if (lane() < warps)
        of_warp = {{scratch[lane()], scratch[kWarp + lane()]},
                   scratch[2 * kWarp + lane()],
                   scratch[3 * kWarp + lane()],
                   scratch[4 * kWarp + lane()]};
    return over_lanes(of_warp);
}

// Block r takes row r. Its threads take the vectors t, t + threads, ...; a block of one warp needs no barrier for its sums.
template <class T, int N>
__global__ void __launch_bounds__(512) cross_entropy_rows_kernel(RowArrays<T> a, bool fits) {
    using A = Accumulator<T>;
    SharedArena arena;
    A* scratch = arena.take<A>(kRowReduce);
    T* kept = fits ? arena.take<T>(static_cast<int>(a.vocabulary)) : nullptr;  // [vocabulary]
    const std::int64_t row = blockIdx.x, begin = thread_in_block() * N, stride = std::int64_t{blockDim.x} * N;
    const std::int32_t target = a.targets[row];
    T* gradient = a.dlogits == nullptr ? nullptr : a.dlogits + row * a.vocabulary;
    if (target == a.ignore) {
        if (gradient != nullptr)
            for (std::int64_t column = begin; column < a.vocabulary; column += stride)
                store_vector(gradient + column, Vector<T, N>{});
        if (a.losses != nullptr && thread_in_block() < 3) a.losses[thread_in_block() * a.pitch + row] = 0;
        return;
    }
    require(target >= 0 && target < a.vocabulary, "cross_entropy: a target lies outside the vocabulary");
    const T* logits = a.logits + row * a.vocabulary;
    const A of_target = load(logits[target]);
    constexpr A kForbidden = static_cast<A>(kForbiddenLogit);
    const A origin = of_target <= kForbidden ? A{0} : of_target;  // of the deviations: any number near them does
    RowSums<A> own;
    for (std::int64_t column = begin; column < a.vocabulary; column += stride) {
        const Vector<T, N> values = load_vector<N>(logits + column);
        if (fits) store_vector(kept + column, values);
        A x[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = load(values[i]);
            const bool forbidden = x[i] <= kForbidden;
            own.deviations += forbidden ? A{0} : x[i] - origin;
            own.forbidden += forbidden ? A{1} : A{0};
            if (!(x[i] <= of_target) || (x[i] == of_target && column + i < target)) own.better = 1;
        }
        own.exponentials.add(x);
    }
    const RowSums<A> sums = block_row_sums(own, scratch);
    const ExponentialSum<A>& all = sums.exponentials;
    const double smoothed = static_cast<double>(a.vocabulary) - static_cast<double>(sums.forbidden);
    const double share = smoothed > 0 ? a.smoothing / smoothed : 0;
    if (a.losses != nullptr) {
        if (thread_in_block() == 0) {
            const double largest = static_cast<double>(all.largest), log_sum = logarithm(static_cast<double>(all.sum));
            const double below = static_cast<double>(of_target) - largest;
            double loss = log_sum - (1 - a.smoothing) * below;
            if (share > 0)
                loss -= share * static_cast<double>(sums.deviations) + a.smoothing * (static_cast<double>(origin) - largest);
            a.losses[row] = loss;
            a.losses[a.pitch + row] = log_sum - below;
            a.losses[2 * a.pitch + row] = sums.better == 0 ? 1 : 0;
        }
    }
    if (gradient == nullptr) return;
    __syncthreads();  // everybody has read the target's logit, which its owner now overwrites when the gradient takes the logits'
                      // place
    const double scale = (a.dloss == nullptr ? 1.0 : static_cast<double>(load(*a.dloss))) / a.divisor[0];
    const A per_exponential = static_cast<A>(scale / static_cast<double>(all.sum)), per_word = static_cast<A>(share * scale);
    const T* from = fits ? kept : logits;
    for (std::int64_t column = begin; column < a.vocabulary; column += stride) {
        Vector<T, N> values = load_vector<N>(from + column);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const A x = load(values[i]), e = exponential(x - all.largest);
            const bool forbidden = x <= kForbidden;
            if (column + i != target) {
                values[i] = store<T>(e * per_exponential - (forbidden ? A{0} : per_word));
            } else {  // p - q in f64: for a sure prediction the two nearly cancel
                const double p = static_cast<double>(e) / static_cast<double>(all.sum);
                values[i] = store<T>(static_cast<A>((p - (forbidden ? 0 : share) - (1 - a.smoothing)) * scale));
            }
        }
        store_vector(gradient + column, values);
    }
}

template <class T>
__global__ void __launch_bounds__(kTotalThreads) loss_totals_kernel(const double* losses,  // [3, rows]
                                                                    std::int64_t rows,
                                                                    const double* divisor,  // [2]
                                                                    double* statistics,     // [4]
                                                                    T* loss) {              // []
    double* scratch = shared<double>(kBlockReduce);
    double totals[3] = {};
    for (std::int64_t row = thread_in_block(); row < rows; row += kTotalThreads)
#pragma unroll
        for (int i = 0; i < 3; ++i) totals[i] += losses[i * rows + row];
#pragma unroll
    for (int i = 0; i < 3; ++i) totals[i] = block_sum(totals[i], scratch);
    if (thread_in_block() != 0) return;
    statistics[0] = totals[0];
    statistics[1] = totals[1];
    statistics[2] = divisor[1];
    statistics[3] = totals[2];
    *loss = store<T>(static_cast<Accumulator<T>>(totals[0] / divisor[0]));
}

template <class T, int N>
void run_rows(const RowArrays<T>& a) {
    // A warp for a narrow row; more threads for a wider one, each with a few vectors.
    const unsigned threads = a.vocabulary <= 1024 ? 32 : a.vocabulary <= 16384 ? 256 : 512;
    const bool fits = a.dlogits != nullptr && a.vocabulary * static_cast<std::int64_t>(sizeof(T)) <= kKeptBytes;
    SharedSize shared;
    shared.take<Accumulator<T>>(kRowReduce);
    if (fits) shared.take<T>(static_cast<int>(a.vocabulary));
    launch({.grid = blocks_for(a.rows, 1), .block = threads, .shared = shared.bytes()}, cross_entropy_rows_kernel<T, N>, a, fits);
}

}  // namespace

Tensor loss_divisor_cuda(const Tensor& targets, std::int64_t vocabulary, const LossOptions& options) {
    Tensor divisor = Tensor::empty({2}, DType::f64, Device::cuda);
    launch({.block = kTotalThreads, .shared = kBlockReduce * sizeof(long long)}, loss_divisor_kernel,
           targets.data<std::int32_t>(), targets.numel(), vocabulary, options.ignore, options.divisor,
           options.divisor_in_memory.defined() ? options.divisor_in_memory.data<double>() : nullptr,
           divisor.mutable_data<double>());
    return divisor;
}

void cross_entropy_rows_cuda(const Tensor& logits, const Tensor& targets, const LossOptions& options, const Tensor& divisor,
                             const Tensor& dloss, Tensor losses, Tensor dlogits, std::int64_t first_row) {
    dispatch("cross_entropy", logits.dtype(), [&]<class T>(TypeTag<T>) {
        const RowArrays<T> a{.logits = logits.data<T>(),
                             .targets = targets.data<std::int32_t>(),
                             .divisor = divisor.data<double>(),
                             .dloss = dloss.defined() ? dloss.data<T>() : nullptr,
                             .losses = losses.defined() ? losses.mutable_data<double>() + first_row : nullptr,
                             .pitch = losses.defined() ? losses.dim(1) : 0,
                             .dlogits = dlogits.defined() ? dlogits.mutable_data<T>() : nullptr,
                             .rows = logits.rows(),
                             .vocabulary = logits.cols(),
                             .smoothing = options.label_smoothing,
                             .ignore = options.ignore};
        constexpr int N = kVector<T>;
        if (vectors_fit(a.logits, a.vocabulary, N) && (a.dlogits == nullptr || vectors_fit(a.dlogits, a.vocabulary, N)))
            run_rows<T, N>(a);
        else
            run_rows<T, 1>(a);
    });
}

void loss_totals_cuda(const Tensor& losses, const Tensor& divisor, Tensor& statistics, Tensor& loss) {
    dispatch("cross_entropy", loss.dtype(), [&]<class T>(TypeTag<T>) {
        launch({.block = kTotalThreads, .shared = kBlockReduce * sizeof(double)}, loss_totals_kernel<T>, losses.data<double>(),
               losses.dim(1), divisor.data<double>(), statistics.mutable_data<double>(), loss.mutable_data<T>());
    });
}

}  // namespace heddle::kernels
