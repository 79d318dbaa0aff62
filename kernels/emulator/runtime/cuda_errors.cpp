// CUDA's error codes, with CUDA's names and the emulator's messages.
#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

struct Words {
    cudaError_t error;
    const char* name;
    const char* text;
};

constexpr std::array words = {
    Words{cudaSuccess, "cudaSuccess", "no error"},
    Words{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    Words{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    Words{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    Words{cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    Words{cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    Words{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    Words{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    Words{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    Words{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    Words{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    Words{cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    Words{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    Words{cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    Words{cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    Words{cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    Words{cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    Words{cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    Words{cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    Words{cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    Words{cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    Words{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    Words{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
          "operation not permitted when stream is capturing"},
    Words{cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
          "operation failed due to a previous error during capture"},
    Words{cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
          "operation would result in a merge of separate capture sequences"},
    Words{cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
          "capture was not ended in the same stream as it began"},
    Words{cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    Words{cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
          "dependency created on uncaptured work in another stream"},
    Words{cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
          "operation would make the legacy stream depend on a capturing blocking stream"},
    Words{cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
          "operation not permitted on an event last recorded in a capturing stream"},
    Words{cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
          "attempt to terminate a thread-local capture sequence from another thread"},
    Words{cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
          "the graph update was not performed because it included changes which violated constraints specific to instantiated "
          "graph update"},
    Words{cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "cluster configuration is not possible"},
    Words{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Words* words_of(cudaError_t error) {
    const auto* const found = std::find_if(words.begin(), words.end(), [&](const Words& w) { return w.error == error; });
    return found == words.end() ? nullptr : found;
}

thread_local cudaError_t last = cudaSuccess;       // returned by cudaGetLastError
thread_local cudaError_t explained = cudaSuccess;  // the code that `explanation` belongs to
thread_local const char* explanation = nullptr;

}  // namespace

const char* kept(std::string text) {
    static std::mutex mutex;
    static auto* const texts = new std::set<std::string>;
    const std::lock_guard lock(mutex);
    return texts->insert(std::move(text)).first->c_str();
}

cudaError_t refuse(cudaError_t error, const std::string& why) {
    last = explained = error;
    explanation = kept(why);
    return error;
}

cudaError_t outcome(const Failure& failure) {
    return failure == nullptr ? cudaSuccess : refuse(cudaErrorLaunchFailure, *failure);
}

}  // namespace heddle::emulator

using namespace heddle::emulator;

const char* cudaGetErrorName(cudaError_t error) {
    const Words* const found = words_of(error);
    return found == nullptr ? "unrecognized error code" : found->name;
}

const char* cudaGetErrorString(cudaError_t error) {
    if (error != cudaSuccess && error == explained) return explanation;
    const Words* const found = words_of(error);
    return found == nullptr ? "unrecognized error code" : found->text;
}

cudaError_t cudaPeekAtLastError() { return last; }
cudaError_t cudaGetLastError() {
    const cudaError_t error = last;
    last = cudaSuccess;
    return error;
}
