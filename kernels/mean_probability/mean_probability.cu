// The mean of several models' probabilities on CUDA; mean_probability.h has the formula.
//
//     totals kernel   a block takes a row of one model, a warp a narrow one: L_m by the online form, one read of the logits
//     mean kernel     a block takes a row of the result; a thread has a column: the largest x_mj - L_m + L_0, then the sum of
//                     exponentials of the differences to it. Of equal models each adds 1, so that the logarithm is 0
//
// Memory traffic: the logits of all models twice, the second time by chance from the caches, and the result once. Differences to
// the totals are f64: logits of 100 keep their last bits.
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/launch.h"
#include "kernels/device/vector.h"
#include "kernels/mean_probability/mean_probability.h"

namespace heddle::kernels {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;

template <class T, int N>
__global__ void __launch_bounds__(kThreads) log_totals_kernel(const T* logits,  // [models rows, vocabulary]
                                                              std::int64_t vocabulary,
                                                              double* totals) {  // [models rows]
    using A = Accumulator<T>;
    A* scratch = shared<A>(kBlockReduce);
    const T* from = logits + std::int64_t{blockIdx.x} * vocabulary;
    const ExponentialSum<A> all = row_exponentials<N>(from, vocabulary, scratch);
    if (thread_in_block() != 0) return;
    require(all.sum >= 1,
            "mean_probability: a row of logits holds NaN, infinity or nothing but -infinity; the model that made them "
            "is broken");
    totals[blockIdx.x] = static_cast<double>(all.largest) + logarithm(static_cast<double>(all.sum));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    mean_probability_kernel(const T* logits,       // [models, rows, vocabulary]
                            const double* totals,  // [models, rows]
                            std::int64_t models, std::int64_t rows, std::int64_t vocabulary,
                            T* result) {  // [rows, vocabulary]
    using A = Accumulator<T>;
    const std::int64_t row = blockIdx.x;
    for (std::int64_t column = thread_in_block(); column < vocabulary; column += blockDim.x) {
        const auto logit = [&](std::int64_t m) {
            return static_cast<double>(load(logits[(m * rows + row) * vocabulary + column])) -
                   (totals[m * rows + row] - totals[row]);
        };
        double largest = logit(0);
        for (std::int64_t m = 1; m < models; ++m) largest = larger(largest, logit(m));
        A sum = 0;
        for (std::int64_t m = 0; m < models && largest != lowest<double>(); ++m) {
            const double x = logit(m);
            sum += x == largest ? A{1} : exponential(static_cast<A>(x - largest));
        }
        const A above = sum == 0 ? A{0} : logarithm(sum / static_cast<A>(models));
        result[row * vocabulary + column] = store<T>(static_cast<A>(largest + static_cast<double>(above)));
    }
}

}  // namespace

void mean_probability_cuda(const Tensor& logits, Tensor& result) {
    const std::int64_t rows = result.rows(), vocabulary = result.cols(), all = logits.rows();
    if (rows == 0) return;
    Tensor totals = Tensor::empty({all}, DType::f64, Device::cuda);
    dispatch("mean_probability", logits.dtype(), [&]<class T>(TypeTag<T>) {
        constexpr int N = kVector<T>;
        auto* const kernel = vectors_fit(logits.data<T>(), vocabulary, N) ? log_totals_kernel<T, N> : log_totals_kernel<T, 1>;
        const unsigned threads = vocabulary <= 1024 ? 32u : kThreads;
        launch({.grid = blocks_for(all, 1), .block = threads, .shared = kBlockReduce * sizeof(Accumulator<T>)}, kernel,
               logits.data<T>(), vocabulary, totals.mutable_data<double>());
        launch({.grid = blocks_for(rows, 1), .block = threads}, mean_probability_kernel<T>, logits.data<T>(),
               totals.data<double>(), all / rows, rows, vocabulary, result.mutable_data<T>());
    });
}

}  // namespace heddle::kernels
