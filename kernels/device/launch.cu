// Kernel launches: what their template in launch.h leaves to one place. Host code only; it reads CUDA's headers, so nvcc compiles
// it.
#include "kernels/device/launch.h"

#include <cuda_runtime.h>

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/device.h"
#include "core/device_impl.h"
#include "core/error.h"
#include "kernels/emulator/kernel_name.h"

namespace heddle::device {
namespace {

std::string text(const dim3& size) {
    return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + ")";
}

/// "softmax_rows_kernel<float>"
std::string readable_name(const void* kernel) {
    const char* mangled = nullptr;
    if (cudaFuncGetName(&mangled, kernel) != cudaSuccess || mangled == nullptr) return "a kernel without a name";
    return emulator::short_name(emulator::demangled(mangled));
}

}  // namespace

namespace detail {

void* stream_of(const LaunchConfig& config) {
    count_launch();
    return config.stream != nullptr ? config.stream : current_stream();
}

#if defined(__CUDACC__)
int allow_all_shared_memory(const void* kernel) {
    static std::mutex mutex;
    static std::set<std::pair<int, const void*>> allowed;
    int chip = 0, most = 0;
    cudaError_t error = cudaGetDevice(&chip);
    if (error != cudaSuccess) return error;
    const std::lock_guard lock(mutex);
    if (allowed.count({chip, kernel}) != 0) return cudaSuccess;
    cudaFuncAttributes attributes;  // what a kernel has of fixed size counts against the same limit
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, chip);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     most - static_cast<int>(attributes.sharedSizeBytes));
    if (error == cudaSuccess) allowed.insert({chip, kernel});
    return error;
}
#endif

void launch_failed(const void* kernel, const LaunchConfig& config, int error) {
    const std::string words = cudaGetErrorString(static_cast<cudaError_t>(error));  // first: later calls have words of their own
    const std::string how = " with grid " + text(config.grid) + ", block " + text(config.block) + ", " +
                            std::to_string(config.shared) + " bytes of shared memory";
    const std::string name = readable_name(kernel);
    cudaGetLastError();  // it is reported here, and would otherwise be reported again
    fail("launch: " + name + how + ": " + words);
}

}  // namespace detail

}  // namespace heddle::device
