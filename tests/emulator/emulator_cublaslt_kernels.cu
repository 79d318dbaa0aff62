// The tests of the stand-in for cuBLASLt launch the kernels of the runtime's tests.
#include "tests/emulator/emulator_runtime_kernels.cu"
