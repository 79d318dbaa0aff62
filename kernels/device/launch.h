// Kernel launches by a function instead of <<<>>>, so that the same line launches a kernel on a GPU and in the emulator.
//
//     device::launch({.grid = rows, .block = 128}, softmax_rows_kernel<T>, x.data<T>(), y.data<T>(), rows, cols);
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/device/blocks.h"
#include "kernels/device/cuda.h"

#if !defined(__CUDACC__)
#include "kernels/emulator/launch.h"
#endif

namespace heddle::device {

/// A kernel's geometry and how it is started.
struct LaunchConfig {
    dim3 grid{1};            ///< blocks; x up to 2^31 - 1, y and z up to 65,535. An empty grid launches nothing.
    dim3 block{1};           ///< threads, up to 1024
    std::size_t shared = 0;  ///< bytes of the arena (shared.h)
    void* stream = nullptr;  ///< a cudaStream_t; null: the current stream (core/device.h)
};

namespace detail {
/// The current stream of core/device.h, here without its header.
void* stream_of(const LaunchConfig& config);
/// Throws an Error with the kernel's name, its geometry and CUDA's message (launch.cu).
[[noreturn]] void launch_failed(const void* kernel, const LaunchConfig& config, int error);

/// Whether an argument becomes a parameter with its value: by an implicit conversion that does not narrow. int64 to int does.
template <class Parameter, class Argument>
concept passes_as = std::is_convertible_v<Argument, Parameter> && requires(Argument argument) {
    Parameter{static_cast<Argument&&>(argument)};
};
template <class Parameter, class Argument>
Parameter parameter(Argument&& argument) {
    static_assert(passes_as<Parameter, Argument>, "an argument may lose its value on the way to the kernel: check and cast it");
    return Parameter{std::forward<Argument>(argument)};
}

#if defined(__CUDACC__)
/// Lets the kernel have as much shared memory as the device gives a block, once for each kernel and device. Not each launch's own
/// size: launches of other threads, captured ones too, would take it from each other. Returns a cudaError_t.
int allow_all_shared_memory(const void* kernel);
#endif
}  // namespace detail

/// Puts kernel(arguments...) into the stream; arguments are converted to the kernel's parameter types, without narrowing, and
/// copied. Error when the launch is refused; what goes wrong inside the kernel is reported by a later call (device
/// synchronisation, copies to the host).
template <class... Parameters, class... Arguments>
void launch(const LaunchConfig& config, void (*kernel)(Parameters...), Arguments&&... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "a kernel takes as many arguments as it has parameters");
    static_assert((std::is_trivially_copyable_v<std::remove_cvref_t<Parameters>> && ...), "parameters are copied to the device");
    if (config.grid.x == 0 || config.grid.y == 0 || config.grid.z == 0) return;
    const auto* const address = reinterpret_cast<const void*>(kernel);
#if defined(__CUDACC__)
    cudaLaunchConfig_t launch_config = {};
    launch_config.gridDim = config.grid;
    launch_config.blockDim = config.block;
    launch_config.dynamicSmemBytes = config.shared;
    launch_config.stream = static_cast<cudaStream_t>(detail::stream_of(config));
    cudaError_t error = cudaSuccess;
    if (config.shared > 48 * 1024)  // more than every chip gives unasked
        error = static_cast<cudaError_t>(detail::allow_all_shared_memory(address));
    if (error == cudaSuccess)
        error = cudaLaunchKernelEx(&launch_config, kernel, detail::parameter<Parameters>(std::forward<Arguments>(arguments))...);
    if (error != cudaSuccess) detail::launch_failed(address, config, static_cast<int>(error));
#else
    const int error =
        emulator::enqueue(emulator::request({.grid = config.grid, .block = config.block, .shared = config.shared}, kernel,
                                            detail::parameter<Parameters>(std::forward<Arguments>(arguments))...),
                          detail::stream_of(config));
    if (error != 0) detail::launch_failed(address, config, error);
#endif
}

}  // namespace heddle::device
