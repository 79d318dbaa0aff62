// Tickets are zeroed once, by a copy beside the current stream: in it the zeros would become part of a graph that is being
// captured. Host code only.
#include "kernels/device/tickets.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device_cuda.h"

namespace heddle::device {
namespace {

struct Row {
    unsigned* numbers = nullptr;
    std::int64_t count = 0;
};

Row zeros(std::int64_t count) {
    Row row{nullptr, count};
    void* memory = nullptr;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(unsigned);
    must(cudaMalloc(&memory, bytes), "cudaMalloc");
    row.numbers = static_cast<unsigned*>(memory);
    cudaStream_t aside = nullptr;
    must(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cudaError_t error = cudaMemsetAsync(memory, 0, bytes, aside);
    if (error == cudaSuccess) error = cudaStreamSynchronize(aside);
    cudaStreamDestroy(aside);
    must(error, "cudaMemsetAsync");
    return row;
}

}  // namespace

unsigned* tickets(std::int64_t count) {
    constexpr std::int64_t kLeast = 1024;
    static std::mutex mutex;
    // Never freed: captured launches keep the addresses, and at the process's end the driver may be gone.
    static auto* const rows = new std::map<void*, Row>;
    const std::lock_guard lock(mutex);
    Row& row = (*rows)[current_stream()];
    if (row.count < count) row = zeros(std::max({kLeast, count, 2 * row.count}));
    return row.numbers;
}

}  // namespace heddle::device
