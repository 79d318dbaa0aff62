#include "kernels/device/inspect.h"

#include "core/device_cuda.h"
#include "core/error.h"

#if !defined(__CUDACC__)
#include "kernels/emulator/trace/traffic.h"
#endif

namespace heddle::device {

#if defined(__CUDACC__)

namespace {

int attribute(cudaDeviceAttr name, int chip) {
    int value = 0;
    must(cudaDeviceGetAttribute(&value, name, chip), "cudaDeviceGetAttribute");
    return value;
}

// Operations of a multiprocessor and clock: NVIDIA's A100, GA102 and H100 architecture papers.
int operations_a_clock(int generation, DType dtype) {
    if (dtype == DType::f32) return generation == 80 ? 128 : generation == 86 || generation == 89 || generation == 90 ? 256 : 0;
    if (dtype == DType::bf16) return generation == 80 ? 2048 : generation == 90 ? 4096 : 0;
    return 0;
}

}  // namespace

Traffic traffic_of(const std::function<void()>&) { fail("device: only the emulated device counts what kernels ask for"); }

double peak_operations(DType dtype) {
    int chip = 0;
    must(cudaGetDevice(&chip), "cudaGetDevice");
    const int generation =
        10 * attribute(cudaDevAttrComputeCapabilityMajor, chip) + attribute(cudaDevAttrComputeCapabilityMinor, chip);
    return 1e3 * attribute(cudaDevAttrClockRate, chip) * attribute(cudaDevAttrMultiProcessorCount, chip) *
           operations_a_clock(generation, dtype);
}

int registers_of(const void* kernel) {
    cudaFuncAttributes attributes;
    must(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return attributes.numRegs;
}

#else

Traffic traffic_of(const std::function<void()>& work) {
    synchronize();
    emulator::begin_traffic();
    try {
        work();
        synchronize();
    } catch (...) {
        emulator::end_traffic();
        throw;
    }
    const emulator::Traffic counted = emulator::end_traffic();
    const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
    return {.accesses = number(counted.accesses),
            .bytes = number(counted.bytes),
            .sectors = number(counted.sectors),
            .shared_accesses = number(counted.shared_accesses),
            .shared_cycles = number(counted.shared_cycles),
            .least_shared_cycles = number(counted.least_shared_cycles),
            .barriers = number(counted.barriers),
            .collectives = number(counted.collectives)};
}

double peak_operations(DType) { return 0; }
int registers_of(const void*) { return 0; }

#endif

}  // namespace heddle::device
