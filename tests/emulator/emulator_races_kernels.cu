// The tests of races launch the kernels of the runtime's tests.
#include "tests/emulator/emulator_runtime_kernels.cu"
