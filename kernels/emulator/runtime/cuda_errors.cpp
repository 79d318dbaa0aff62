// The last error of each thread, and the emulator's messages.
#include <cstdio>
#include <mutex>
#include <set>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/runtime/error_words.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

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

cudaError_t refuse_by_name(const char* call, const char* why) {
    const std::string text = std::string(call) + ": not emulated: " + why;
    static std::mutex mutex;
    static auto* const told = new std::set<std::string>;
    const std::lock_guard lock(mutex);
    if (told->insert(call).second) std::fprintf(stderr, "heddle emulator: %s\n", text.c_str());
    return refuse(cudaErrorNotSupported, text);
}

cudaError_t outcome(const Failure& failure) {
    return failure == nullptr ? cudaSuccess : refuse(cudaErrorLaunchFailure, *failure);
}

}  // namespace heddle::emulator

using namespace heddle::emulator;

const char* cudaGetErrorName(cudaError_t error) {
    const ErrorWords* const found = words_of(error);
    return found == nullptr ? "unrecognized error code" : found->name;
}

const char* cudaGetErrorString(cudaError_t error) {
    if (error != cudaSuccess && error == explained) return explanation;
    const ErrorWords* const found = words_of(error);
    return found == nullptr ? "unrecognized error code" : found->text;
}

cudaError_t cudaPeekAtLastError() { return last; }
cudaError_t cudaGetLastError() {
    const cudaError_t error = last;
    last = cudaSuccess;
    return error;
}
