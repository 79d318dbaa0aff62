// Cross entropy of one row of logits: cross_entropy.h has the formula. Both losses call it: cross_entropy on each row, and
// linear_cross_entropy on each row of a chunk. Its CUDA twin, cross_entropy_rows_cuda, stands in cross_entropy.h.
#pragma once

#include <cstdint>

#include "core/dual.h"
#include "kernels/level.h"

namespace heddle::kernels {

/// Unnormalised losses of one row; A is the type of the sums.
template <class A>
struct RowLossIn {
    A loss;        ///< with label smoothing
    double nll;    ///< -log p(target)
    bool correct;  ///< whether the target is the first largest logit
};
using RowLoss = RowLossIn<double>;

/// The loss of one row of logits [vocabulary] with 0 <= target < vocabulary (unchecked). dlogits [vocabulary] = d loss / d logits
/// * gradient_scale; null: not wanted; it may be the logits' own memory. Single-threaded; the bits depend on this row and the
/// processor's level alone. f32 takes the fastest build for the level in use, f64 and dual the reference.
RowLoss cross_entropy_row(const float* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, float* dlogits);
RowLoss cross_entropy_row(const double* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                          double gradient_scale, double* dlogits);
RowLossIn<Dual> cross_entropy_row(const Dual* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                                  Dual gradient_scale, Dual* dlogits);

namespace reference {
/// T float, double or Dual; sums are Accumulator<T>.
template <class T>
RowLossIn<Accumulator<T>> cross_entropy_row(const T* logits, std::int64_t vocabulary, std::int32_t target, double label_smoothing,
                                            Accumulator<T> gradient_scale, T* dlogits);
}  // namespace reference

HEDDLE_DECLARE_LEVELS(RowLoss cross_entropy_row(const float* logits, std::int64_t vocabulary, std::int32_t target,
                                                double label_smoothing, double gradient_scale, float* dlogits))

}  // namespace heddle::kernels
