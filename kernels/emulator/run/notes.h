// What the emulator remembers of a process: which kernels ran, and where they synchronised.
#pragma once

#include <string>

namespace heddle::emulator {

void note_launch(const void* kernel);
/// Work of a stream has run: a kernel, or, without one, what the call `what` queued.
void note_work(const void* kernel, const std::string& what);

}  // namespace heddle::emulator
