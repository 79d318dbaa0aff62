// Shared by the files that implement cuda_runtime.h.
#pragma once

#include <string>

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// Records the error as this thread's last one, with the text for cudaGetErrorString.
cudaError_t refuse(cudaError_t error, const std::string& why);
/// The same for a launch that cannot be made; a program of the front end tells it as a mistake.
cudaError_t refuse_launch(cudaError_t error, const std::string& why, const std::string& kernel, Place place);
/// cudaErrorLaunchFailure or cudaErrorAssert with the report, or success.
cudaError_t outcome(const Failure& failure);
/// Keeps a string until the program ends.
const char* kept(std::string text);

/// Refuses the call if this thread runs a stream's host function. `call` is the function's name.
cudaError_t check_caller(const char* call);
/// For calls that CUDA considers unsafe while a stream is captured (graphs.cpp): invalidates such captures and refuses the call.
cudaError_t check_capture(const char* call);

bool is_capturing(cudaStream_t stream);
/// Refuses an operation that cannot be captured, and invalidates the stream's capture.
cudaError_t spoil(cudaStream_t stream, cudaError_t error, const std::string& why);
/// spoil() for a call that waits for the stream.
cudaError_t spoil_by_waiting(cudaStream_t stream, const char* call);

/// Queues the operation in the stream, or adds it to the graph being captured. `call` is for messages.
cudaError_t submit(cudaStream_t stream, Operation operation);
/// From now on a foreign program's work also runs when the host has queued nothing for a tenth of a second: it may wait, by means
/// of its own, for what a callback does.
void run_without_waits();
/// Waits for the operation queued last in the stream. Refused while the stream is captured.
cudaError_t wait_in(cudaStream_t stream, const char* call);
/// Queues the copy of rows as `call`; `waits`: the host waits for it.
cudaError_t copy_rows(const char* call, Rows to, Rows from, cudaMemcpyKind kind, cudaStream_t stream, bool waits, Place place);
/// The same for a fill.
cudaError_t fill_rows(const char* call, const Rows& rows, int byte, cudaStream_t stream, Place place);

}  // namespace heddle::emulator
