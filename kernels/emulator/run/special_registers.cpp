// PTX's special registers of the emulated chip.
#include "kernels/emulator/cuda/ptx.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator::cuda::ptx {

bits multiprocessors() { return static_cast<bits>(multiprocessor_count()); }
bits multiprocessor() { return in_kernel("%smid").current->block->number % multiprocessors(); }

}  // namespace heddle::emulator::cuda::ptx
