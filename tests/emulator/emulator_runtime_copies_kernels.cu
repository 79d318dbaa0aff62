// The copy tests launch the kernels of the runtime's tests.
#include "tests/emulator/emulator_runtime_kernels.cu"
