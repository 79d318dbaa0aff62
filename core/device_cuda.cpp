// Device::cuda on the CUDA runtime, NVIDIA's or the emulator's. Only the device's name shows which one it is.
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>

#include "core/device.h"
#include "core/device_cuda.h"
#include "core/device_impl.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::device {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// The result of looking for a device, which is done once.
struct Found {
    std::string why_not;
    std::string description;
    bool emulated = false;
    int multiprocessors = 0;
    cudaStream_t stream = nullptr;
};

Found look() {
    Found found;
    int count = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
        found.why_not =
            std::string("no CUDA device: ") + (error != cudaSuccess ? cudaGetErrorString(error) : "the driver sees no GPU") +
            "; check the driver with nvidia-smi, or configure with -DHEDDLE_CUDA=emulated to run the kernels on the CPU";
        cudaGetLastError();
        return found;
    }
    cudaDeviceProp properties;
    must(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    const std::string chip = fmt::format("sm_{}{}", properties.major, properties.minor);
    if (properties.major < 8) {
        found.why_not = fmt::format("{} is {}, but the kernels need sm_80 or later", properties.name, chip);
        return found;
    }
    found.emulated = std::strncmp(properties.name, "Heddle emulator", std::strlen("Heddle emulator")) == 0;
    found.description = found.emulated ? fmt::format("emulated {} (no GPU: kernels run on the CPU)", chip)
                                       : fmt::format("{}, {}, {:.0f} GiB", properties.name, chip,
                                                     static_cast<double>(properties.totalGlobalMem) / kGiB);
    found.multiprocessors = properties.multiProcessorCount;
    // Not the legacy default stream, which waits for all others and cannot be captured.
    must(cudaStreamCreateWithFlags(&found.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return found;
}

const Found& found() {
    static const Found* const instance = new Found(look());  // never destroyed: static tensors may outlive it
    return *instance;
}
const Found& device() {
    check(available(), "device: {}", why_unavailable());
    return found();
}

thread_local void* stream_of_thread = nullptr;
thread_local bool thread_captures = false;

struct Counters {
    std::atomic<std::int64_t> synchronisations{0}, launches{0}, copies_to_host{0}, copies_to_device{0}, graphs{0};
};
Counters counters;

cudaMemcpyKind direction(Device to, Device from) {
    if (from == Device::cpu) return cudaMemcpyHostToDevice;
    return to == Device::cpu ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

}  // namespace

void must(cudaError_t error, const char* call) {
    if (error == cudaSuccess) return;
    const std::string words = cudaGetErrorString(error);
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        throw OutOfMemory(fmt::format("memory: {}: {} ({})", call, words, detail::memory_left()));
    fail_with("device: {} failed: {}", call, words);
}

bool available() { return found().why_not.empty(); }
std::string why_unavailable() { return found().why_not; }
bool emulated() { return found().emulated; }
std::string description() { return available() ? found().description : why_unavailable(); }
int multiprocessors() { return device().multiprocessors; }

void* current_stream() { return stream_of_thread != nullptr ? stream_of_thread : device().stream; }
WithStream::WithStream(void* stream) : before_(stream_of_thread) { stream_of_thread = stream; }
WithStream::~WithStream() { stream_of_thread = before_; }

void synchronize() {
    ++counters.synchronisations;
    must(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

void copy(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
    if (bytes == 0) return;
    check(!thread_captures || to_device == from_device,
          "device: {} bytes are copied between host and device while a graph is captured, where they would be gone when it runs; "
          "copy them before",
          bytes);
    must(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), direction(to_device, from_device), stream()),
         "cudaMemcpyAsync");
    if (from_device == Device::cpu) ++counters.copies_to_device;
    if (to_device == Device::cpu) {
        ++counters.copies_to_host;
        synchronize();
    }
}

void fill(void* to, int byte, std::int64_t bytes) {
    if (bytes > 0) must(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), stream()), "cudaMemsetAsync");
}

Statistics statistics() {
    return {counters.synchronisations, counters.launches, counters.copies_to_host, counters.copies_to_device, counters.graphs};
}

namespace detail {

namespace {

// The block, or null if the device has too little memory.
std::byte* block_or_null(cudaError_t error, void* block, const char* call) {
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return nullptr;
    }
    must(error, call);
    return static_cast<std::byte*>(block);
}

std::byte* take_at_once(std::int64_t bytes, void*) {
    void* block = nullptr;
    const cudaError_t error = cudaMalloc(&block, static_cast<std::size_t>(bytes));
    return block_or_null(error, block, "cudaMalloc");
}

std::byte* take_in_order(std::int64_t bytes, void* stream) {
    void* block = nullptr;
    const cudaError_t error = cudaMallocAsync(&block, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(stream));
    return block_or_null(error, block, "cudaMallocAsync");
}

// Called by destructors, so an error of earlier work is left to the next call that waits.
void give_at_once(std::byte* block, void*) { cudaFree(block); }
void give_in_order(std::byte* block, void* stream) { cudaFreeAsync(block, static_cast<cudaStream_t>(stream)); }

constexpr MemoryPolicy kKept = {take_at_once, take_at_once, give_at_once, false};
constexpr MemoryPolicy kExact = {take_in_order, take_at_once, give_in_order, true};

}  // namespace

const MemoryPolicy& memory_policy() { return emulated() ? kExact : kKept; }

std::string memory_left() {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return "the device does not say how much memory is free";
    return fmt::format("{} of {} are free", size_text(static_cast<std::int64_t>(free)),
                       size_text(static_cast<std::int64_t>(total)));
}

void count_launch() { ++counters.launches; }
void set_capturing(bool capturing) { thread_captures = capturing; }
bool capturing() { return thread_captures; }
void count_graph() { ++counters.graphs; }
void count_copy_to_device() { ++counters.copies_to_device; }
void count_copy_to_host() { ++counters.copies_to_host; }

}  // namespace detail

}  // namespace heddle::device
