// The log-probability of each row's target on CUDA; target_log_probability.h has the formula.
//
// A block takes a row, a warp a narrow one, and reads it once: each thread keeps the maximum and the sum of exponentials of its
// columns (the online form). The target's logit is read by the thread that writes the result, from the caches.
//
// Memory traffic: s bytes a logit of s bytes, and 12 for each row.
#include "kernels/device/dispatch.h"
#include "kernels/device/exponentials.h"
#include "kernels/device/launch.h"
#include "kernels/device/vector.h"
#include "kernels/target_log_probability/target_log_probability.h"

namespace heddle::kernels {
namespace {

using namespace device;

template <class T, int N>
__global__ void __launch_bounds__(256) target_log_probability_kernel(const T* logits,  // [rows, vocabulary]
                                                                     std::int64_t vocabulary,
                                                                     const std::int32_t* targets,  // [rows]
                                                                     double* result) {             // [rows]
    using A = Accumulator<T>;
    A* scratch = shared<A>(kBlockReduce);
    const std::int64_t row = blockIdx.x;
    const T* from = logits + row * vocabulary;
    const ExponentialSum<A> all = row_exponentials<N>(from, vocabulary, scratch);
    if (thread_in_block() != 0) return;
    require(all.sum >= 1,
            "target_log_probability: a row of logits holds NaN, infinity or nothing but -infinity; the model that "
            "made them is broken");
    const std::int32_t target = targets[row];
    require(target >= 0 && target < vocabulary, "target_log_probability: a target lies outside the vocabulary");
    result[row] =
        static_cast<double>(load(from[target])) - static_cast<double>(all.largest) - logarithm(static_cast<double>(all.sum));
}

}  // namespace

void target_log_probability_cuda(const Tensor& logits, const Tensor& targets, Tensor& result) {
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    dispatch("target_log_probability", logits.dtype(), [&]<class T>(TypeTag<T>) {
        constexpr int N = kVector<T>;
        auto* const kernel = vectors_fit(logits.data<T>(), vocabulary, N) ? target_log_probability_kernel<T, N>
                                                                          : target_log_probability_kernel<T, 1>;
        launch({.grid = blocks_for(rows, 1),
                .block = vocabulary <= 1024 ? 32u : 256u,
                .shared = kBlockReduce * sizeof(Accumulator<T>)},
               kernel, logits.data<T>(), vocabulary, targets.data<std::int32_t>(), result.mutable_data<double>());
    });
}

}  // namespace heddle::kernels
