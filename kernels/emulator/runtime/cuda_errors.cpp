// The last error of each thread, the emulator's messages, and CUDA's words for its error codes.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <set>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

struct ErrorWords {
    cudaError_t error;
    const char *name, *text;
};
#define HEDDLE_CODE(name, value, words) {name, #name, words},
constexpr ErrorWords kErrorWords[] = {HEDDLE_ERROR_CODES(HEDDLE_CODE)};
#undef HEDDLE_CODE

/// Null for a number that is no error code.
const ErrorWords* words_of(cudaError_t error) {
    const auto* const found =
        std::find_if(std::begin(kErrorWords), std::end(kErrorWords), [&](const ErrorWords& w) { return w.error == error; });
    return found == std::end(kErrorWords) ? nullptr : found;
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
        write_record(std::move(record));
    }
    return keep_error(error, why);
}

cudaError_t refuse_launch(cudaError_t error, const std::string& why, const std::string& kernel, Place place) {
    if (tells()) {
        ViolationRecord record = mistake("bad-launch", place, "kernel " + kernel + " is not launched: " + why);
        record.kernel = kernel;
        write_record(std::move(record));
    }
    return keep_error(error, why);
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
