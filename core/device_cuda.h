// Helpers for files that call the CUDA runtime.
#pragma once

#include <cuda_runtime.h>

#include "core/device.h"

namespace heddle::device {

/// Throws an Error with CUDA's message unless `error` is success. CUDA may report an error again at the next call; this clears
/// it, because it has been reported.
void must(cudaError_t error, const char* call);

/// The current stream as a CUDA type.
inline cudaStream_t stream() { return static_cast<cudaStream_t>(current_stream()); }

namespace detail {
/// While this thread captures, copies between host and device are errors: their host data would be gone at the replay.
void set_capturing(bool capturing);
bool capturing();
void count_graph();
void count_copy_to_device();
void count_copy_to_host();
}  // namespace detail

}  // namespace heddle::device
