#include "kernels/update_tally/update_tally.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/check.h"

namespace heddle::kernels {
namespace {

void check_tally(const char* op, const Tensor& tally) {
    check_shape(op, "tally", tally, {kTallySize});
    check_dtype(op, "tally", tally, DType::f64);
}

// The CPU's path does what the two kernels do, number by number.

void add_losses(double* tally, const double* statistics) {
    double* pending = tally + kTallyPending;
    if (!std::isfinite(pending[0])) return;
    for (int i = 0; i < 4; ++i) pending[i] += statistics[i];
}

void end_update(double* tally, double* measured) {
    double* pending = tally + kTallyPending;
    if (tally[kTallyFailed] == 0 && std::isfinite(pending[0]) && std::isfinite(measured[0])) {
        for (int i = 0; i < 4; ++i) tally[kTallySums + i] += pending[i];
        tally[kTallyNorm] = measured[0];
        tally[kTallyUpdates] += 1;
    } else {
        if (tally[kTallyFailed] == 0) {
            tally[kTallyFailed] = 1;
            tally[kTallyFailedLoss] = pending[0];
            tally[kTallyFailedNorm] = measured[0];
        }
        measured[0] = std::numeric_limits<double>::quiet_NaN();
    }
    for (int i = 0; i < 4; ++i) pending[i] = 0;
}

}  // namespace

Tensor empty_tally(Device device) { return Tensor::zeros({kTallySize}, DType::f64, device); }

void tally_losses(Tensor& tally, const Tensor& statistics, Where where) {
    const char* op = "tally_losses";
    check_tally(op, tally);
    check_shape(op, "statistics", statistics, {4});
    check_dtype(op, "statistics", statistics, DType::f64);
    check_device(op, {{"tally", tally}, {"statistics", statistics}});
    if (tally.device() == Device::cuda)
        tally_losses_cuda(tally, statistics);
    else
        add_losses(tally.mutable_data<double>(), statistics.data<double>());
    tally.bump_version(where);
}

void tally_update(Tensor& tally, Tensor& measured, Where where) {
    const char* op = "tally_update";
    check_tally(op, tally);
    check_shape(op, "measured", measured, {2});
    check_dtype(op, "measured", measured, DType::f64);
    check_device(op, {{"tally", tally}, {"measured", measured}});
    if (tally.device() == Device::cuda)
        tally_update_cuda(tally, measured);
    else
        end_update(tally.mutable_data<double>(), measured.mutable_data<double>());
    tally.bump_version(where);
    measured.bump_version(where);
}

UpdateTally read_tally(const Tensor& tally) {
    check_tally("read_tally", tally);
    const std::vector<double> values = tally.to_vector();
    return {.losses = {values[0], values[1], static_cast<std::int64_t>(values[2]), static_cast<std::int64_t>(values[3])},
            .gradient_norm = values[kTallyNorm],
            .updates = static_cast<std::int64_t>(values[kTallyUpdates]),
            .failed = values[kTallyFailed] != 0,
            .failed_loss = values[kTallyFailedLoss],
            .failed_norm = values[kTallyFailedNorm]};
}

}  // namespace heddle::kernels
