// What the emulator remembers of a process: which kernels ran, and where they synchronised.
#pragma once

namespace heddle::emulator {

void note_launch(const void* kernel);

}  // namespace heddle::emulator
