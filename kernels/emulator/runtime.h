// What the files behind cuda_runtime.h share.
#pragma once

#include <string>

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/streams.h"

namespace heddle::emulator {

/// Remembers the error as this thread's last one, with the words that cudaGetErrorString gives for it.
cudaError_t refuse(cudaError_t error, const std::string& why);
/// cudaErrorLaunchFailure with the report, or success.
cudaError_t outcome(const Failure& failure);
/// Keeps a text for the rest of the program.
const char* kept(std::string text);

/// Why no call may be made now: on a thread that runs a stream's host function. `call` is the function's name.
cudaError_t check_caller(const char* call);
/// For calls that CUDA counts as unsafe while a stream is captured (graphs.cpp): ends such captures and refuses.
cudaError_t check_capture(const char* call);

bool is_capturing(cudaStream_t stream);
/// What the captured stream is asked for cannot be captured: refused, and the capture can no longer become a graph.
cudaError_t spoil(cudaStream_t stream, cudaError_t error, const std::string& why);
/// The same for a call that waits for the stream.
cudaError_t spoil_by_waiting(cudaStream_t stream, const char* call);

/// Puts the operation into the stream, or into the graph that it is captured for. `call` for messages.
cudaError_t submit(cudaStream_t stream, Operation operation);
/// The operation that was put into the stream last, waited for. Refused while the stream is captured.
cudaError_t wait_in(cudaStream_t stream, const char* call);

}  // namespace heddle::emulator
