// The last error of each thread, and the emulator's messages.
#include <cstdio>
#include <mutex>
#include <set>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/verdict.h"
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

namespace {

cudaError_t keep_error(cudaError_t error, const std::string& why) {
    last = explained = error;
    explanation = kept(why);
    return error;
}

/// Whether a call that returns this was made wrongly. Other errors are answers: a program may ask for what is not there.
bool is_misuse(cudaError_t error) {
    switch (error) {
        case cudaErrorInvalidValue:
        case cudaErrorInvalidConfiguration:
        case cudaErrorInvalidPitchValue:
        case cudaErrorInvalidMemcpyDirection:
        case cudaErrorInvalidDeviceFunction:
        case cudaErrorInvalidResourceHandle: return true;
        default: return false;
    }
}

}  // namespace

cudaError_t refuse(cudaError_t error, const std::string& why) {
    if (tells() && is_misuse(error)) {
        const SourceLine line = line_of_caller();
        ViolationRecord record = mistake("api", {}, why);
        record.file = line.file;
        record.line = line.line;
        tell(std::move(record));
    }
    return keep_error(error, why);
}

cudaError_t refuse_launch(cudaError_t error, const std::string& why, const std::string& kernel, Place place) {
    if (tells()) {
        ViolationRecord record = mistake("bad-launch", place, "kernel " + kernel + " is not launched: " + why);
        record.kernel = kernel;
        tell(std::move(record));
    }
    return keep_error(error, why);
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
    if (failure == nullptr) return cudaSuccess;
    const auto error = static_cast<cudaError_t>(failure->code);
    if (!is_foreign_program()) return keep_error(error, failure->report);
    last = error;  // its record is written; the text is CUDA's own
    explained = cudaSuccess;
    return error;
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
