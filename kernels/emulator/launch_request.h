// A launch on its way to the stream that runs it. Apart from kernel.h, which every kernel file reads: <functional> and <memory>
// take longer to compile than a small kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/place.h"

namespace heddle::emulator {

namespace cuda {
struct Registration;
}

/// One kernel launch queued in a stream.
struct LaunchRequest {
    const void* kernel = nullptr;                ///< its address, from which its name is derived
    cuda::Registration* registration = nullptr;  ///< of a kernel of CUDA C++ (cuda/launch.h)
    dim3 grid, block;
    std::size_t shared = 0;
    int cluster = 1;
    bool cooperative = false;
    /// Built by the front end: a violation is told in a record (foreign.h), and the launch goes on where a GPU would; a thread
    /// that has left the kernel holds up no barrier.
    bool is_foreign = false;
    Place place = {};  ///< of the launch; line 0: unknown
    std::size_t parameter_bytes = 0;
    std::shared_ptr<const void> arguments;  ///< the kernel's arguments, frozen
    std::size_t argument_bytes = 0;         ///< size of what `arguments` points to, which every thread may read
    std::function<void()> thread;           ///< what each thread runs; refers to the arguments
};

/// Queues the launch in a stream (a cudaStream_t). Returns a cudaError_t: the geometry is checked now, the kernel runs later.
int enqueue(LaunchRequest request, void* stream);

}  // namespace heddle::emulator
