// The tally of updates on CUDA; update_tally.h has the rules.
//
// A dozen numbers: one thread does it all, in the order of the CPU's path, so the sums have the same bits as if the host read
// every batch's statistics and added them up. The point is not the arithmetic: done here, it does not block the host.
//
// Only one thread may decide whether an update counts. If each block of the update's kernel looked at the flag that another block
// of it sets, it would have to be fenced; this kernel ends before that one begins, and hands its decision on as the norm.
//
// Memory traffic: a batch 8 numbers read and 4 written, an update 11 and 10.
#include <limits>

#include "kernels/device/launch.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::kernels {
namespace {

using namespace device;

__device__ __forceinline__ bool is_finite(double x) { return x - x == 0; }

__global__ void tally_losses_kernel(double* tally,               // [13]
                                    const double* statistics) {  // [4]
    double* pending = tally + kTallyPending;
    if (!is_finite(pending[0])) return;
    for (int i = 0; i < 4; ++i) pending[i] += statistics[i];
}

__global__ void tally_update_kernel(double* tally,       // [13]
                                    double* measured) {  // [2]: norm, factor
    double* pending = tally + kTallyPending;
    const double norm = measured[0];
    const bool failed_before = tally[kTallyFailed] != 0;
    if (!failed_before && is_finite(pending[0]) && is_finite(norm)) {
        for (int i = 0; i < 4; ++i) tally[kTallySums + i] += pending[i];
        tally[kTallyNorm] = norm;
        tally[kTallyUpdates] += 1;
    } else {
        if (!failed_before) {
            tally[kTallyFailed] = 1;
            tally[kTallyFailedLoss] = pending[0];
            tally[kTallyFailedNorm] = norm;
        }
        measured[0] = std::numeric_limits<double>::quiet_NaN();
    }
    for (int i = 0; i < 4; ++i) pending[i] = 0;
}

}  // namespace

void tally_losses_cuda(Tensor& tally, const Tensor& statistics) {
    launch({}, tally_losses_kernel, tally.mutable_data<double>(), statistics.data<double>());
}

void tally_update_cuda(Tensor& tally, Tensor& measured) {
    launch({}, tally_update_kernel, tally.mutable_data<double>(), measured.mutable_data<double>());
}

}  // namespace heddle::kernels
