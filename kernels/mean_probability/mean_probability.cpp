#include "kernels/mean_probability/mean_probability.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/concat/concat.h"
#include "kernels/top_k/top_k.h"

namespace heddle::kernels {
namespace {

// Row i of logits [rows, V] and log sum_j e^(x_j), which follows from its most probable token: x_best - log p_best.
template <class T>
struct Row {
    Row(const Tensor& logits, const TopK& best, std::int64_t i)
        : x(logits.data<T>() + i * logits.cols()),
          log_total(static_cast<double>(x[best.ids.data<std::int32_t>()[i]]) - static_cast<double>(best.values.data<T>()[i])) {}

    const T* x;
    double log_total;
};

// log of the mean of e^(x_m), which is the first of them exactly when all are equal.
double log_mean_exp(std::span<const double> x) {
    const double largest = *std::max_element(x.begin(), x.end());
    if (largest == -std::numeric_limits<double>::infinity()) return largest;
    double sum = 0;
    for (const double each : x) sum += each == largest ? 1 : std::exp(each - largest);
    return largest + std::log(sum / static_cast<double>(x.size()));
}

template <class T>
void mix(std::span<const Tensor> logits, std::span<const TopK> best, Tensor& result) {
    const std::int64_t vocabulary = result.cols();
    parallel_for(result.rows(), grain_for(20 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> x(logits.size());
        for (std::int64_t i = begin; i < end; ++i) {
            std::vector<Row<T>> models;
            for (std::size_t m = 0; m < logits.size(); ++m) models.emplace_back(logits[m], best[m], i);
            T* to = result.mutable_data<T>() + i * vocabulary;
            for (std::int64_t j = 0; j < vocabulary; ++j) {
                for (std::size_t m = 0; m < models.size(); ++m)
                    x[m] = static_cast<double>(models[m].x[j]) - (models[m].log_total - models[0].log_total);
                to[j] = static_cast<T>(log_mean_exp(x));
            }
        }
    });
}

}  // namespace

Tensor mean_probability(std::span<const Tensor> logits) {
    const char* op = "mean_probability";
    check(!logits.empty(), "{}: no model's logits", op);
    const Tensor& first = logits.front();
    check_rank(op, "logits[0]", first, 2);
    for (std::size_t m = 1; m < logits.size(); ++m) {
        const std::string name = fmt::format("logits[{}]", m);
        check_shape(op, name.c_str(), logits[m], first.shape());
        check_dtype(op, name.c_str(), logits[m], first.dtype());
        check_device(op, {{"logits[0]", first}, {name.c_str(), logits[m]}});
    }
    if (logits.size() == 1) return first;
    Tensor result = Tensor::empty(first.shape(), first.dtype(), first.device());
    if (first.device() == Device::cuda) {
        mean_probability_cuda(concat_forward(logits, 0), result);
        return result;
    }
    std::vector<TopK> best;
    for (const Tensor& each : logits) best.push_back(top_k_log_softmax(each, 1));
    dispatch_float(op, first, [&]<class T>(TypeTag<T>) { mix<T>(logits, best, result); });
    return result;
}

}  // namespace heddle::kernels
