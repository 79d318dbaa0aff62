#include "core/branch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device.h"
#include "core/device_cuda.h"

namespace heddle::device {
namespace {

// The unjoined work in this thread's branch.
struct Pending {
    bool open = false;             // a Branches exists
    cudaStream_t aside = nullptr;  // null: no unjoined work
    std::vector<Tensor> held;      // keeps their memory from being reused before the join
    std::vector<Tensor> written;
    std::int64_t bytes = 0;
};
thread_local Pending pending;

// Limit for tensors that are only kept alive for the branch.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

// One per stream, kept until the process ends: a captured stream cannot be destroyed.
cudaStream_t aside_of(cudaStream_t stream) {
    static std::mutex mutex;
    static auto* const streams = new std::map<cudaStream_t, cudaStream_t>;
    const std::lock_guard lock(mutex);
    cudaStream_t& aside = (*streams)[stream];
    if (aside == nullptr) must(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return aside;
}

// Orders future work in `later` after all that is in `earlier` now.
void order(cudaStream_t earlier, cudaStream_t later) {
    cudaEvent_t event = nullptr;
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    cudaError_t error = cudaEventRecord(event, earlier);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(later, event, 0);
    cudaEventDestroy(event);
    must(error, "cudaStreamWaitEvent");
}

void drop() {
    pending.aside = nullptr;
    pending.held.clear();
    pending.written.clear();
    pending.bytes = 0;
}

}  // namespace

Branches::Branches() : outermost_(!pending.open) { pending.open = true; }
Branches::~Branches() {
    if (!outermost_) return;
    drop();
    pending.open = false;
}

void Branches::run(std::vector<Tensor> reads, const Tensor& written, const std::function<void()>& body) {
    if (!pending.open || !detail::capturing()) return body();
    const cudaStream_t aside = aside_of(stream());
    order(stream(), aside);
    pending.aside = aside;
    for (Tensor& tensor : reads) {
        pending.bytes += tensor.bytes();
        pending.held.push_back(std::move(tensor));
    }
    pending.written.push_back(written);
    {
        const WithStream beside(aside);
        body();
    }
    if (pending.bytes > kMostBytes) join();
}

bool Branches::writes(const Tensor& tensor) {
    if (pending.aside == nullptr || !tensor.defined() || tensor.device() == Device::cpu) return false;
    const std::byte* const begin = tensor.bytes_data();
    return std::any_of(pending.written.begin(), pending.written.end(), [&](const Tensor& other) {
        return other.bytes_data() < begin + tensor.bytes() && begin < other.bytes_data() + other.bytes();
    });
}

void Branches::before_use_of(const Tensor& tensor) {
    if (writes(tensor)) join();
}

void Branches::join() {
    if (pending.aside == nullptr) return;
    order(pending.aside, stream());
    drop();
}

}  // namespace heddle::device
