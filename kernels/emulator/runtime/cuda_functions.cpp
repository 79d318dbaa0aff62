// Kernels: by their address, their names, attributes and occupancy; their launches in streams.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/launch_request.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

constexpr int kMostThreads = 1024;

/// The kernel's registration, or null and the thread's last error.
cuda::Registration* registered_kernel(const void* function, const char* call) {
    cuda::Registration* const kernel = cuda::find_kernel(function);
    if (kernel == nullptr)
        refuse(cudaErrorInvalidDeviceFunction,
               std::string(call) + (function == nullptr ? ": a null pointer for the function" : ": not the address of a kernel"));
    return kernel;
}

int most_threads(const cuda::Registration& kernel) {
    return kernel.most_threads == 0 ? kMostThreads : std::min(kMostThreads, static_cast<int>(kernel.most_threads));
}

/// Blocks of so many threads that are resident on one multiprocessor. Registers, which are not counted, may allow fewer.
int resident(const cuda::Registration& kernel, int block, std::size_t shared) {
    const std::size_t bytes = shared + kernel.static_shared;
    if (block < 1 || block > most_threads(kernel) || bytes > profile().shared_per_block) return 0;
    return static_cast<int>(resident_blocks(static_cast<std::uint64_t>(block), bytes));
}

cudaError_t with_attributes(cuda::Configuration& launch, const cudaLaunchConfig_t& config) {
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = config.attrs[i];
        switch (attribute.id) {
            case cudaLaunchAttributeCooperative: launch.cooperative = attribute.val.cooperative != 0; break;
            case cudaLaunchAttributeClusterDimension:
                if (attribute.val.clusterDim.y > 1 || attribute.val.clusterDim.z > 1)
                    return refuse(cudaErrorNotSupported,
                                  "cudaLaunchKernelEx: the emulator has clusters along x only; give them y = z = 1");
                launch.cluster = attribute.val.clusterDim.x;
                break;
            // Launches are ordered one behind the other here, which this only loosens; the rest is about speed.
            case cudaLaunchAttributeAccessPolicyWindow:
            case cudaLaunchAttributeProgrammaticStreamSerialization:
            case cudaLaunchAttributePriority: break;
            default:
                return refuse(cudaErrorNotSupported,
                              "cudaLaunchKernelEx: the emulator does not know launch attribute " + std::to_string(attribute.id));
        }
    }
    return cudaSuccess;
}

cudaError_t launch_function(const char* call, const void* function, cuda::Configuration launch, void** arguments) {
    if (registered_kernel(function, call) == nullptr) return cudaErrorInvalidDeviceFunction;
    return cuda::launch_by_address(function, launch, arguments);
}

cuda::Configuration configuration_of(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream, Place place) {
    cuda::Configuration launch;
    launch.grid = grid;
    launch.block = block;
    launch.shared = shared;
    launch.stream = stream;
    launch.place = place;
    return launch;
}

}  // namespace

cudaError_t cudaFuncGetName(const char** name, const void* function) {
    if (name == nullptr || function == nullptr) return refuse(cudaErrorInvalidValue, "cudaFuncGetName: a null pointer");
    *name = kept(kernel_name(function));
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    if (attributes == nullptr) return refuse(cudaErrorInvalidValue, "cudaFuncGetAttributes: a null pointer for the result");
    const cuda::Registration* const kernel = registered_kernel(function, "cudaFuncGetAttributes");
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    *attributes = {};
    attributes->sharedSizeBytes = kernel->static_shared;
    attributes->maxThreadsPerBlock = most_threads(*kernel);
    attributes->numRegs = 32;  // with these every block fits; only a GPU's compiler knows them
    attributes->ptxVersion = attributes->binaryVersion = profile().major * 10 + profile().minor;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->most_dynamic_shared);
    attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
    attributes->clusterDimMustBeSet = kernel->cluster.x != 0 ? 1 : 0;
    attributes->requiredClusterWidth = static_cast<int>(kernel->cluster.x);
    attributes->requiredClusterHeight = kernel->cluster.x != 0 ? static_cast<int>(kernel->cluster.y) : 0;
    attributes->requiredClusterDepth = kernel->cluster.x != 0 ? static_cast<int>(kernel->cluster.z) : 0;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    cuda::Registration* const kernel = registered_kernel(function, "cudaFuncSetAttribute");
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    switch (attribute) {
        case cudaFuncAttributeMaxDynamicSharedMemorySize: {
            const auto most =
                static_cast<std::int64_t>(profile().shared_per_block) - static_cast<std::int64_t>(kernel->static_shared);
            if (value < 0 || value > most)
                return refuse(cudaErrorInvalidValue, "cudaFuncSetAttribute: " + std::to_string(value) +
                                                         " bytes of dynamic shared memory, but " + std::to_string(most) +
                                                         " are the most on " + profile().name);
            kernel->most_dynamic_shared = static_cast<unsigned long>(value);
            return cudaSuccess;
        }
        case cudaFuncAttributePreferredSharedMemoryCarveout:
            if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared)
                return refuse(cudaErrorInvalidValue, "cudaFuncSetAttribute: a carveout is -1, or a percentage");
            return cudaSuccess;  // about speed
        case cudaFuncAttributeNonPortableClusterSizeAllowed: return cudaSuccess;
        default:
            return refuse(cudaErrorNotSupported,
                          "cudaFuncSetAttribute: the emulator does not know attribute " + std::to_string(attribute));
    }
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
    return registered_kernel(function, "cudaFuncSetCacheConfig") != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream, Place place) {
    return launch_function("cudaLaunchKernel", function, configuration_of(grid, block, shared, stream, place), arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream, Place place) {
    cuda::Configuration launch = configuration_of(grid, block, shared, stream, place);
    launch.cooperative = true;
    return launch_function("cudaLaunchCooperativeKernel", function, launch, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments, Place place) {
    if (config == nullptr) return refuse(cudaErrorInvalidValue, "cudaLaunchKernelEx: a null pointer for the configuration");
    cuda::Configuration launch =
        configuration_of(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, place);
    if (const cudaError_t error = with_attributes(launch, *config); error != cudaSuccess) return error;
    return launch_function("cudaLaunchKernelEx", function, launch, arguments);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block, std::size_t shared) {
    const char* const call = "cudaOccupancyMaxActiveBlocksPerMultiprocessor";
    if (blocks == nullptr || block < 1)
        return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer, or no threads");
    const cuda::Registration* const kernel = registered_kernel(function, call);
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    *blocks = resident(*kernel, block, shared);
    return cudaSuccess;
}

cudaError_t heddle::emulator::best_block(int* grid, int* block, const void* function,
                                         std::size_t (*shared)(const void* of, int block), const void* of, int limit) {
    const char* const call = "cudaOccupancyMaxPotentialBlockSize";
    if (grid == nullptr || block == nullptr) return refuse(cudaErrorInvalidValue, std::string(call) + ": a null pointer");
    const cuda::Registration* const kernel = registered_kernel(function, call);
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    const int most = limit > 0 ? std::min(limit, most_threads(*kernel)) : most_threads(*kernel);
    int best = 0, blocks = 0;
    *block = 0;
    // The largest size comes first, and whole warps otherwise.
    for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
        const int fit = resident(*kernel, size, shared(of, size));
        if (size * fit <= best) continue;
        best = size * fit;
        blocks = fit;
        *block = size;
    }
    *grid = blocks * multiprocessor_count();
    return cudaSuccess;
}

// ---- kernels in streams ----

namespace heddle::emulator {
namespace {

/// Throws if an argument points into freed memory. Arguments are searched word by word, so pointers inside structures are found.
void check_arguments(const LaunchRequest& request) {
    const auto* const bytes = static_cast<const std::byte*>(request.arguments.get());
    for (std::size_t i = 0; i + sizeof(void*) <= request.argument_bytes; i += alignof(void*)) {
        const void* word;
        std::memcpy(&word, bytes + i, sizeof word);
        if (!is_device_memory(word)) continue;
        const std::optional<Allocation> found = nearest_allocation(word);
        if (!found || !found->freed || static_cast<const std::byte*>(word) >= found->start + found->bytes) continue;
        throw Violation("kernel " + kernel_name(request.kernel) + ": an argument points to freed memory: " + describe(word),
                        "out-of-bounds");
    }
}

/// Whether an argument points to pinned memory.
bool reaches_pinned(const LaunchRequest& request) {
    const auto* const bytes = static_cast<const std::byte*>(request.arguments.get());
    for (std::size_t i = 0; i + sizeof(void*) <= request.argument_bytes; i += alignof(void*)) {
        const void* word;
        std::memcpy(&word, bytes + i, sizeof word);
        if (is_pinned(word)) return true;
    }
    return false;
}

}  // namespace

int enqueue(LaunchRequest request, void* stream) {
    if (const cudaError_t error = check_caller("a launch"); error != cudaSuccess) return error;
    if (const std::string why = geometry_error(request); !why.empty())
        return refuse_launch(cudaErrorInvalidConfiguration, why, kernel_name(request.kernel), request.place);
    struct Launch {
        LaunchRequest request;
        std::optional<std::vector<std::uint64_t>> blocks;
    };
    auto launch = std::make_shared<Launch>();
    launch->request = std::move(request);
    if (const auto* const blocks = chosen_blocks(); blocks != nullptr) launch->blocks = *blocks;
    Operation operation;
    operation.what = "a launch";
    operation.place = launch->request.place;
    operation.kernel = launch->request.kernel;
    operation.reaches_pinned = reaches_pinned(launch->request);
    operation.check = [launch] { check_arguments(launch->request); };
    operation.work = [launch] {
        check_arguments(launch->request);
        run(launch->request, launch->blocks.has_value() ? &*launch->blocks : nullptr);
    };
    return submit(static_cast<cudaStream_t>(stream), std::move(operation));
}

}  // namespace heddle::emulator
