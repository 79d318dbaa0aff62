// How the emulator reports mistakes in kernels.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/emulator/interface.h"

namespace heddle::emulator {

/// The message of a launch's first violation: "race in kernel softmax_rows_kernel<float>, block (3, 0, 0): thread (5, 0, 0)
/// writes 4 bytes of shared memory at kernels/softmax/softmax.cu:41, which thread (37, 0, 0) read at
/// kernels/softmax/softmax.cu:44 without a barrier between".
class Violation : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reports a violation by the running thread and abandons the launch. Never returns to the kernel; its stacks are dropped without
/// destructors, which kernel code does not need. The kernel, block and thread are prepended to `what`. Called on a kernel's
/// fiber; the launch then throws Violation to its caller.
[[noreturn]] void violate(const std::string& what);

/// "kernels/softmax/softmax.cu:41", without the project's folder.
std::string text_of(Place place);
/// The source line of a return address: the innermost inlined location that is not in kernels/device or kernels/emulator,
/// followed by those below it that are.
std::string place_of_code(const void* address);
/// The same for code with line numbers, and empty for any other. It never waits for the dynamic loader's lock, which a thread
/// that was stopped while it loads a library holds.
std::string line_of_code(const void* address);
/// The kernel's name with its template arguments, from its address: "softmax_rows_kernel<float>".
std::string kernel_name(const void* kernel);

}  // namespace heddle::emulator
