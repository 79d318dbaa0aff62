#include "kernels/top_k/top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/check.h"
#include "core/dispatch.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {

namespace reference {

template <class T>
bool top_k_row(const T* logits, std::int64_t vocabulary, std::int64_t k, T* values, std::int32_t* ids) {
    const auto shift = static_cast<double>(*std::max_element(logits, logits + vocabulary));
    double total = 0;
    for (std::int64_t j = 0; j < vocabulary; ++j) total += std::exp(static_cast<double>(logits[j]) - shift);
    if (!(total >= 1)) return false;  // NaN, also from the difference of two infinities
    std::vector<std::int32_t> order(static_cast<std::size_t>(vocabulary));
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [logits](std::int32_t a, std::int32_t b) {
        return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
    });
    const double log_total = std::log(total);
    for (std::int64_t i = 0; i < k; ++i) {
        ids[i] = order[static_cast<std::size_t>(i)];
        values[i] = static_cast<T>(static_cast<double>(logits[ids[i]]) - shift - log_total);
    }
    return true;
}

template bool top_k_row(const float*, std::int64_t, std::int64_t, float*, std::int32_t*);
template bool top_k_row(const double*, std::int64_t, std::int64_t, double*, std::int32_t*);

}  // namespace reference

namespace {

bool row_of(const float* logits, std::int64_t vocabulary, std::int64_t k, float* values, std::int32_t* ids) {
    return by_level(v2::top_k_row, v3::top_k_row, v4::top_k_row)(logits, vocabulary, k, values, ids);
}
bool row_of(const double* logits, std::int64_t vocabulary, std::int64_t k, double* values, std::int32_t* ids) {
    return reference::top_k_row(logits, vocabulary, k, values, ids);
}

}  // namespace

TopK top_k_log_softmax(const Tensor& logits, std::int64_t k) {
    const char* op = "top_k";
    check_rank(op, "logits", logits, 2);
    check_defined(op, "logits", logits);
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    check(k >= 1 && k <= vocabulary, "{}: k is {}, wanted 1 to the {} columns of logits {}", op, k, vocabulary, logits.shape());
    check(vocabulary <= std::numeric_limits<std::int32_t>::max(), "{}: logits {} have more columns than an i32 can number", op,
          logits.shape());
    const DType values = logits.dtype() == DType::bf16 ? DType::f32 : logits.dtype();
    TopK result{Tensor::empty({rows, k}, values, logits.device()), Tensor::empty({rows, k}, DType::i32, logits.device())};
    if (logits.device() == Device::cuda) {
        top_k_cuda(logits, k, result);
        return result;
    }
    dispatch_float(op, logits, [&]<class T>(TypeTag<T>) {
        parallel_for(rows, grain_for(4 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                check(row_of(logits.data<T>() + row * vocabulary, vocabulary, k, result.values.mutable_data<T>() + row * k,
                             result.ids.mutable_data<std::int32_t>() + row * k),
                      "{}: row {} of logits {} holds NaN, infinity or nothing but -infinity; the model that made them is broken",
                      op, row, logits.shape());
        });
    });
    return result;
}

}  // namespace heddle::kernels
