// Launches of CUDA C++ (cuda/launch.h): the geometry waits for the call of the kernel's function, whose body goes to the stream.
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/launch_request.h"
#include "kernels/emulator/run/kernels.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/verdict.h"
#include "kernels/emulator/runtime/runtime.h"

namespace heddle::emulator {
namespace {

// A launch in the arguments of another one comes between that one's geometry and its kernel.
thread_local std::vector<cuda::Configuration> pending_launches;
thread_local cudaError_t launch_result = cudaSuccess;

/// The closure that every thread copies: in zeroed memory, which is searched for stale pointers.
std::shared_ptr<const void> freeze(const cuda::detail::Closure& closure) {
    const std::size_t alignment = closure.alignment < alignof(void*) ? alignof(void*) : closure.alignment;
    const std::size_t bytes = (closure.bytes + alignment - 1) / alignment * alignment;
    void* const memory = std::aligned_alloc(alignment, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    __builtin_memset(memory, 0, bytes);
    closure.move(memory, const_cast<void*>(closure.object));
    return {static_cast<const void*>(memory), [destroy = closure.destroy](const void* object) {
                if (destroy != nullptr) destroy(const_cast<void*>(object));
                std::free(const_cast<void*>(object));
            }};
}

// Launches that were left out because they repeat earlier ones.
std::uint64_t skipped_launches = 0;

/// Whether the same kernel was launched with the same geometry and arguments at the same line as often as HEDDLE_EMULATOR_REPEATS
/// says: what is left of a loop that measures times.
bool is_repeated(const LaunchRequest& request, cudaStream_t stream) {
    static const char* const text = std::getenv("HEDDLE_EMULATOR_REPEATS");
    static const std::uint64_t most = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
    if (most == 0) return false;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone) return false;
    std::string key = text_of(request.place) + " ";
    const auto append = [&key](const void* data, std::size_t bytes) { key.append(static_cast<const char*>(data), bytes); };
    append(&request.kernel, sizeof request.kernel);
    append(&request.grid, sizeof request.grid);
    append(&request.block, sizeof request.block);
    append(&request.shared, sizeof request.shared);
    append(request.arguments.get(), request.argument_bytes);
    static std::mutex mutex;
    static auto& launches = *new std::map<std::string, std::uint64_t>;
    const std::lock_guard lock(mutex);
    if (++launches[key] <= most) return false;
    if (skipped_launches++ == 0)
        at_end([] {
            ViolationRecord note =
                mistake("skipped", {}, "launches that repeat earlier ones were left out: " + std::to_string(skipped_launches));
            note.note = true;
            write_record(std::move(note));
        });
    return true;
}

}  // namespace

void cuda::configure(const Configuration& configuration) {
    if (in_a_kernel())
        violate(mistake("bad-launch", configuration.place, "launches another kernel at " + text_of(configuration.place)));
    pending_launches.push_back(configuration);
}

void cuda::detail::launch(const char* name, Registration* kernel, const Closure& closure) {
    const std::string title = kernel != nullptr ? kernel_name(kernel->address) : name;
    if (in_a_kernel()) {
        const SourceLine line = line_of_caller(1);  // the innermost one is the called kernel's own
        ViolationRecord record = mistake("bad-launch", {}, "calls the kernel " + title + " as a function");
        if (!line.text.empty()) record.text += " at " + line.text;
        record.file = line.file;
        record.line = line.line;
        violate(std::move(record));
    }
    if (pending_launches.empty()) {
        const SourceLine line = line_of_caller(1);  // the innermost one is the kernel's own
        launch_result =
            refuse_launch(cudaErrorInvalidConfiguration, "it is called as a function: start it with <<<grid, block>>>", title,
                          {kept(line.file), line.line});
        return;
    }
    const Configuration configuration = pending_launches.back();
    pending_launches.pop_back();
    const auto threads = static_cast<unsigned long>(configuration.block.x) * configuration.block.y * configuration.block.z;
    if (kernel != nullptr && kernel->most_threads != 0 && threads > kernel->most_threads) {
        launch_result =
            refuse_launch(cudaErrorInvalidValue,
                          "the block has " + std::to_string(threads) + " threads, but " + std::to_string(kernel->most_threads) +
                              " are the most that its __launch_bounds__ allows",
                          title, configuration.place);
        return;
    }
    if (kernel != nullptr && configuration.shared > kernel->most_dynamic_shared) {
        launch_result = refuse_launch(cudaErrorInvalidValue,
                                      std::to_string(configuration.shared) + " bytes of dynamic shared memory, but " +
                                          std::to_string(kernel->most_dynamic_shared) +
                                          " are the most unless cudaFuncSetAttribute(kernel, "
                                          "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows more",
                                      title, configuration.place);
        return;
    }
    if (kernel != nullptr && kernel->cluster.y * kernel->cluster.z > 1) {
        launch_result =
            refuse_launch(cudaErrorInvalidClusterSize, "the emulator has clusters along x only", title, configuration.place);
        return;
    }
    LaunchRequest request;
    request.kernel = kernel != nullptr ? kernel->address : reinterpret_cast<const void*>(closure.run);
    if (kernel == nullptr) name_kernel(request.kernel, name);
    request.registration = kernel;
    request.grid = configuration.grid;
    request.block = configuration.block;
    request.shared = configuration.shared;
    request.cluster = static_cast<int>(
        kernel != nullptr && kernel->cluster.x != 0 && configuration.cluster == 1 ? kernel->cluster.x : configuration.cluster);
    request.cooperative = configuration.cooperative;
    request.is_foreign = true;
    request.place = configuration.place;
    request.parameter_bytes = kernel != nullptr ? kernel->parameter_bytes : closure.bytes;
    request.arguments = freeze(closure);
    request.argument_bytes = closure.bytes;
    request.thread = [run = closure.run, frozen = request.arguments.get()] { run(frozen); };
    launch_result = cudaSuccess;
    if (is_repeated(request, configuration.stream)) return;
    launch_result = static_cast<cudaError_t>(enqueue(std::move(request), configuration.stream));
}

cudaError_t cuda::launch_by_address(const void* address, const Configuration& configuration, void* const* arguments) {
    Registration* const kernel = find_kernel(address);
    if (kernel == nullptr) return refuse(cudaErrorInvalidDeviceFunction, "not the address of a kernel");
    configure(configuration);
    kernel->call(arguments);
    return launch_result;
}

}  // namespace heddle::emulator
