// Kernels in streams.
#include <cstring>
#include <memory>
#include <optional>

#include "kernels/emulator/launch_request.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

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
