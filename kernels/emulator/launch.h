// Starts a kernel in the emulator: a function instead of <<<>>>.
//
//     launch({.grid = 2, .block = 64}, add_kernel, x, y, n);
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/kernel.h"
#include "kernels/emulator/launch_request.h"

namespace heddle::emulator {

/// A kernel's geometry.
struct LaunchConfig {
    dim3 grid{1};              ///< blocks
    dim3 block{1};             ///< threads, up to 1024
    std::size_t shared = 0;    ///< bytes of dynamic shared memory
    int cluster = 1;           ///< blocks of a cluster along x
    bool cooperative = false;  ///< all blocks are resident at once, as grid_barrier() requires
};

/// Zeroes the padding of `object` where the compiler can. In larger ones GCC 12 clears other bytes, if an array of more than 64
/// bytes is followed by padding.
template <class T>
void clear_padding([[maybe_unused]] T& object) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    if constexpr (sizeof(T) <= 64 && __is_trivially_copyable(T)) __builtin_clear_padding(&object);
#endif
#endif
}

/// The launch of kernel(arguments...) for a stream; the arguments are copied now.
template <class... Parameters>
LaunchRequest request(const LaunchConfig& config, void (*kernel)(Parameters...),
                      std::type_identity_t<std::remove_cvref_t<Parameters>>... arguments) {
    static_assert((std::is_trivially_copyable_v<std::remove_cvref_t<Parameters>> && ...), "parameters are copied to the device");
    struct Call {
        void (*kernel)(Parameters...);
        std::tuple<std::remove_cvref_t<Parameters>...> arguments;
    };
    // In zeroed memory, and without what stood in the padding of a structure: the emulator searches the arguments for stale
    // pointers, and must not find one between them or inside.
    (clear_padding(arguments), ...);
    struct alignas(Call) Zeros {
        std::byte bytes[sizeof(Call)];
    };
    const auto memory = std::make_shared<Zeros>();
    asm volatile(""
                 :
                 : "r"(memory->bytes)
                 : "memory");  // keeps the compiler from dropping the zeros when the object is constructed
    const auto* const made = new (memory->bytes) Call{kernel, {arguments...}};  // trivial: never destroyed
    const std::shared_ptr<const Call> call(memory, made);
    LaunchRequest request;
    request.kernel = reinterpret_cast<const void*>(kernel);
    request.grid = config.grid;
    request.block = config.block;
    request.shared = config.shared;
    request.cluster = config.cluster;
    request.cooperative = config.cooperative;
    request.parameter_bytes = (std::size_t{0} + ... + sizeof(Parameters));
    request.arguments = call;
    request.argument_bytes = sizeof(Call);
    request.thread = [c = call.get()] { std::apply(c->kernel, c->arguments); };
    return request;
}

/// Queues kernel(arguments...) in the stream (null: the default stream). Throws std::runtime_error if the geometry is invalid;
/// errors inside the kernel are reported by a later call, as on a GPU: cudaDeviceSynchronize, or a copy to the host.
template <class... Parameters>
void launch(const LaunchConfig& config, void (*kernel)(Parameters...),
            std::type_identity_t<std::remove_cvref_t<Parameters>>... arguments) {
    const auto error = static_cast<cudaError_t>(enqueue(request(config, kernel, arguments...), nullptr));
    if (error != cudaSuccess) throw std::runtime_error(std::string("launch: ") + cudaGetErrorString(error));
}

}  // namespace heddle::emulator
