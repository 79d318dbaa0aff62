// How the emulator says that a kernel is wrong.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/emulator/kernel.h"

namespace heddle::emulator {

/// The first violation of a launch, in words: "race in kernel softmax_rows_kernel<float>, block (3, 0, 0): thread (5, 0, 0)
/// writes 4 bytes of shared memory at kernels/softmax/softmax.cu:41, which thread (37, 0, 0) read at
/// kernels/softmax/softmax.cu:44 without a barrier between".
class Violation : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reports that the running thread does what it must not and abandons the launch: never returns to the kernel, whose stacks are
/// dropped (kernel code holds nothing that wants a destructor). `what` without the kernel, block and thread, which are put before
/// it. Called on a kernel's fiber; the launch then throws Violation to whoever ran it.
[[noreturn]] void violate(const std::string& what);

/// "kernels/softmax/softmax.cu:41", without the project's folder.
std::string text_of(Place place);
/// The source line of a return address: the innermost inlined place that is not in kernels/device or kernels/emulator, with the
/// places below it when they are.
std::string place_of_code(const void* address);
/// The kernel's name with its template arguments, from its address: "softmax_rows_kernel<float>".
std::string kernel_name(const void* kernel);

}  // namespace heddle::emulator
