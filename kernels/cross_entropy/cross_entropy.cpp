#include "kernels/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/cross_entropy/cross_entropy_row.h"

namespace heddle::kernels {

// ---- one row

namespace reference {

template <class T>
RowLossIn<Accumulator<T>> cross_entropy_row(const T* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                                            Accumulator<T> gradient_scale, T* dlogits) {
    using std::exp, std::isnan, std::log;
    using A = Accumulator<T>;
    const T* largest = std::max_element(logits, logits + vocabulary);
    const bool correct = largest - logits == target && !isnan(*largest);  // max_element keeps a NaN that comes first
    const A shift = A(*largest);
    A exponentials = 0, deviations = 0;
    std::int64_t smoothed = 0;
    for (std::int64_t j = 0; j < vocabulary; ++j) {
        const A deviation = A(logits[j]) - shift;
        exponentials += exp(deviation);
        if (logits[j] <= kForbiddenLogit) continue;
        deviations += deviation;
        ++smoothed;
    }
    const A log_sum = log(exponentials);
    const A of_target = A(logits[target]) - shift;
    const double share = smoothed == 0 ? 0 : label_smoothing / static_cast<double>(smoothed);
    const A loss = log_sum - (1 - label_smoothing) * of_target - share * deviations;
    if (dlogits != nullptr) {
        for (std::int64_t j = 0; j < vocabulary; ++j) {
            const A p = exp(A(logits[j]) - shift) / exponentials;
            const double q = (logits[j] <= kForbiddenLogit ? 0 : share) + (j == target ? 1 - label_smoothing : 0);
            dlogits[j] = static_cast<T>((p - q) * gradient_scale);
        }
    }
    return {loss, to_double(log_sum - of_target), correct};
}

template RowLoss cross_entropy_row(const float*, std::int64_t, std::int32_t, double, double, float*);
template RowLoss cross_entropy_row(const double*, std::int64_t, std::int32_t, double, double, double*);

}  // namespace reference

RowLoss cross_entropy_row(const float* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, float* dlogits) {
    return by_level(v2::cross_entropy_row, v3::cross_entropy_row, v4::cross_entropy_row)(
        logits, vocabulary, target, label_smoothing, gradient_scale, dlogits);
}

RowLoss cross_entropy_row(const double* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, double* dlogits) {
    return reference::cross_entropy_row(logits, vocabulary, target, label_smoothing, gradient_scale, dlogits);
}

RowLossIn<Dual> cross_entropy_row(const Dual* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                                  Dual gradient_scale, Dual* dlogits) {
    return reference::cross_entropy_row(logits, vocabulary, target, label_smoothing, gradient_scale, dlogits);
}

// ---- what every loss checks and counts

void check_targets(const char* op, const Tensor& targets, std::int64_t rows, const LossOptions& options) {
    check_shape(op, "targets", targets, {rows});
    check_dtype(op, "targets", targets, DType::i32);
    check(options.label_smoothing >= 0 && options.label_smoothing < 1, "{}: label smoothing is {}, wanted at least 0 and below 1",
          op, options.label_smoothing);
    if (options.divisor_in_memory.defined()) {
        check_shape(op, "divisor_in_memory", options.divisor_in_memory, {});
        check_dtype(op, "divisor_in_memory", options.divisor_in_memory, DType::f64);
    }
    check(options.divisor >= 0 && std::isfinite(options.divisor),
          "{}: the divisor is {}, wanted a positive number, or 0 for the number of counted targets", op, options.divisor);
}

std::int64_t count_targets(const char* op, const Tensor& targets, std::int64_t rows, std::int64_t vocabulary,
                           const LossOptions& options) {
    check_targets(op, targets, rows, options);
    std::int64_t counted = 0;
    const std::int32_t* ids = targets.data<std::int32_t>();
    for (std::int64_t row = 0; row < rows; ++row) {
        if (ids[row] == options.ignore) continue;
        check(ids[row] >= 0 && ids[row] < vocabulary,
              "{}: target {} is {}, wanted at least 0 and below the vocabulary of {}, or {} to ignore it", op, row, ids[row],
              vocabulary, options.ignore);
        ++counted;
    }
    return counted;
}

double loss_divisor(const LossOptions& options, std::int64_t counted) {
    const double given = options.divisor_in_memory.defined() ? options.divisor_in_memory.item() : options.divisor;
    if (given > 0) return given;
    return counted > 0 ? static_cast<double>(counted) : 1;
}

Tensor statistics_tensor(const LossStatistics& statistics) {
    return Tensor::from(std::vector<double>{statistics.loss, statistics.nll, static_cast<double>(statistics.counted),
                                            static_cast<double>(statistics.correct)},
                        {4});
}

LossStatistics loss_statistics(const Tensor& statistics) {
    check_shape("loss_statistics", "statistics", statistics, {4});
    const std::vector<double> values = statistics.to_vector();
    return {values[0], values[1], static_cast<std::int64_t>(values[2]), static_cast<std::int64_t>(values[3])};
}

namespace {

void check_arguments(const char* op, const Tensor& logits, const Tensor& targets, const LossOptions& options) {
    check_rank(op, "logits", logits, 2);
    check_defined(op, "logits", logits);
    check(logits.cols() >= 1, "{}: logits have shape {}, wanted at least one column", op, logits.shape());
    check_targets(op, targets, logits.rows(), options);
    check_device(op, {{"logits", logits}, {"targets", targets}, {"divisor_in_memory", options.divisor_in_memory}});
}

}  // namespace

// ---- the op

CrossEntropyResult cross_entropy_forward(const Tensor& logits, const Tensor& targets, const LossOptions& options) {
    const char* op = "cross_entropy";
    check_arguments(op, logits, targets, options);
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    if (logits.device() == Device::cuda) {
        const Tensor divisor = loss_divisor_cuda(targets, vocabulary, options);
        const Tensor losses = Tensor::empty({3, rows}, DType::f64, Device::cuda);
        CrossEntropyResult result{Tensor::empty({}, logits.dtype(), Device::cuda), Tensor::empty({4}, DType::f64, Device::cuda)};
        cross_entropy_rows_cuda(logits, targets, options, divisor, {}, losses, {});
        loss_totals_cuda(losses, divisor, result.statistics, result.loss);
        return result;
    }
    const std::int64_t counted = count_targets(op, targets, rows, vocabulary, options);
    const std::int32_t* ids = targets.data<std::int32_t>();
    LossStatistics statistics{.counted = counted};
    CrossEntropyResult result;
    dispatch_real(op, logits, [&]<class T>(TypeTag<T>) {
        using Loss = RowLossIn<Accumulator<T>>;
        std::vector<Loss> losses(static_cast<std::size_t>(rows), Loss{0, 0, false});
        parallel_for(rows, grain_for(4 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                if (ids[row] == options.ignore) continue;
                losses[static_cast<std::size_t>(row)] = cross_entropy_row(logits.data<T>() + row * vocabulary, vocabulary,
                                                                          ids[row], options.label_smoothing, 0, nullptr);
            }
        });
        Accumulator<T> total = 0;
        for (const Loss& row : losses) {
            total += row.loss;
            statistics.nll += row.nll;
            statistics.correct += row.correct;
        }
        statistics.loss = to_double(total);
        result.loss = Tensor::from(std::vector{static_cast<T>(total / loss_divisor(options, counted))}, {});
    });
    result.statistics = statistics_tensor(statistics);
    return result;
}

Tensor cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets, const LossOptions& options) {
    const char* op = "cross_entropy_backward";
    check_arguments(op, logits, targets, options);
    check_shape(op, "dloss", dloss, {});
    check_dtype(op, "dloss", dloss, logits.dtype());
    check_device(op, {{"logits", logits}, {"dloss", dloss}, {"divisor_in_memory", options.divisor_in_memory}});
    const std::int64_t rows = logits.rows(), vocabulary = logits.cols();
    Tensor dlogits = Tensor::empty(logits.shape(), logits.dtype(), logits.device());
    if (logits.device() == Device::cuda) {
        const Tensor divisor = loss_divisor_cuda(targets, vocabulary, options);
        cross_entropy_rows_cuda(logits, targets, options, divisor, dloss, {}, dlogits);
        return dlogits;
    }
    const std::int64_t counted = count_targets(op, targets, rows, vocabulary, options);
    const std::int32_t* ids = targets.data<std::int32_t>();
    dispatch_real(op, logits, [&]<class T>(TypeTag<T>) {
        const Accumulator<T> scale = Accumulator<T>(*dloss.data<T>()) / loss_divisor(options, counted);
        parallel_for(rows, grain_for(4 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                T* gradient = dlogits.mutable_data<T>() + row * vocabulary;
                if (ids[row] == options.ignore) {
                    std::fill_n(gradient, vocabulary, T{0});
                    continue;
                }
                cross_entropy_row(logits.data<T>() + row * vocabulary, vocabulary, ids[row], options.label_smoothing, scale,
                                  gradient);
            }
        });
    });
    return dlogits;
}

}  // namespace heddle::kernels
