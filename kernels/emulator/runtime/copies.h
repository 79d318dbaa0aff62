// Copies and fills of rows, for the functions that compute them.
#pragma once

#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// Queues the copy of rows as `call`; `waits`: the host waits for it.
cudaError_t copy_rows(const char* call, Rows to, Rows from, cudaMemcpyKind kind, cudaStream_t stream, bool waits, Place place);
cudaError_t fill_rows(const char* call, const Rows& rows, int byte, cudaStream_t stream, Place place);

}  // namespace heddle::emulator
