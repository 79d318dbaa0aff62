#include "kernels/target_log_probability/target_log_probability.h"

#include "core/check.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {
namespace {

bool best_of_row(const float* logits, std::int64_t vocabulary, float* value, std::int32_t* id) {
    return by_level(v2::top_k_row, v3::top_k_row, v4::top_k_row)(logits, vocabulary, 1, value, id);
}
bool best_of_row(const double* logits, std::int64_t vocabulary, double* value, std::int32_t* id) {
    return reference::top_k_row(logits, vocabulary, 1, value, id);
}

}  // namespace

Tensor target_log_probability(const Tensor& logits, const Tensor& targets) {
    const char* op = "target_log_probability";
    check_rank(op, "logits", logits, 2);
    check_dtype(op, "targets", targets, DType::i32);
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    check_shape(op, "targets", targets, {rows});
    check_device(op, {{"logits", logits}, {"targets", targets}});
    Tensor result = Tensor::empty({rows}, DType::f64, logits.device());
    if (logits.device() == Device::cuda) {
        target_log_probability_cuda(logits, targets, result);
        return result;
    }
    const std::int32_t* const target = targets.data<std::int32_t>();
    dispatch_float(op, logits, [&]<class T>(TypeTag<T>) {
        parallel_for(rows, grain_for(4 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                check(target[row] >= 0 && target[row] < vocabulary, "{}: targets[{}] is {}, but logits {} have {} columns", op,
                      row, target[row], logits.shape(), vocabulary);
                const T* x = logits.data<T>() + row * vocabulary;
                T log_p = 0;  // of the most probable token
                std::int32_t best = 0;
                check(best_of_row(x, vocabulary, &log_p, &best),
                      "{}: row {} of logits {} holds NaN, infinity or nothing but -infinity; the model that made them is broken",
                      op, row, logits.shape());
                const double log_total = static_cast<double>(x[best]) - static_cast<double>(log_p);  // log sum_i e^(x_i)
                result.mutable_data<double>()[row] = static_cast<double>(x[target[row]]) - log_total;
            }
        });
    });
    return result;
}

}  // namespace heddle::kernels
