// How the emulator reports mistakes in kernels.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/emulator/interface.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator {

/// The message of a launch's first violation: "race in kernel softmax_rows_kernel<float>, block (3, 0, 0): thread (5, 0, 0)
/// writes 4 bytes of shared memory at kernels/softmax/softmax.cu:41, which thread (37, 0, 0) read at
/// kernels/softmax/softmax.cu:44 without a barrier between".
class Violation : public std::runtime_error {
  public:
    explicit Violation(const std::string& what, const char* kind = "fault") : std::runtime_error(what), kind(kind) {}

    const char* kind;      ///< of its record (violation_record.h)
    Place place, other;    ///< of the two operations that it is about; line 0: unknown
    int code = 719;        ///< the cudaError_t that calls return: cudaErrorLaunchFailure, cudaErrorAssert
    bool is_told = false;  ///< the record is written
    bool goes_on = false;  ///< the work is done nevertheless
};

/// Reports a violation by the running thread and abandons the launch. Never returns to the kernel; its stacks are dropped without
/// destructors, which kernel code does not need. The kernel, block and thread are prepended to `what`. Called on a kernel's
/// fiber; the launch then throws Violation to its caller.
[[noreturn]] void violate(const std::string& what);
/// The same with the fields of a record; its text is `what`.
[[noreturn]] void violate(ViolationRecord about);
/// A mistake after which a GPU goes on, or a note: tells it if it is the launch's first one, and returns. Where the launch is not
/// of a program of the front end, violates.
void record_and_go_on(ViolationRecord about);

/// "kernels/softmax/softmax.cu:41", without the project's folder.
std::string text_of(Place place);
/// A line of the source.
struct SourceLine {
    std::string text;       ///< as place_of_code() returns it
    std::string file = {};  ///< as the compiler names it; empty: unknown
    int line = 0;
};
/// The source line of a return address.
SourceLine source_line_of(const void* address);
/// The same; where that is none of the program's own, the nearest one of the code before it.
SourceLine line_near(const void* address);
/// Its text: the innermost inlined location that is not in kernels/device or kernels/emulator,
/// followed by those below it that are.
std::string place_of_code(const void* address);
/// The same for code with line numbers, and empty for any other. It never waits for the dynamic loader's lock, which a thread
/// that was stopped while it loads a library holds.
std::string line_of_code(const void* address);
/// The line of host code that called the emulator's function which runs; `outer`: of the function so many calls further out.
SourceLine line_of_caller(int outer = 0);
/// The kernel's name with its template arguments, from its address: "softmax_rows_kernel<float>".
std::string kernel_name(const void* kernel);

}  // namespace heddle::emulator
