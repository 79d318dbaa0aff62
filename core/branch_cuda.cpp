#include "core/branch.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device.h"
#include "core/device_cuda.h"

namespace heddle::device {
namespace {

// What waits in the branch of this thread.
struct Pending {
    bool open = false;             // there are Branches
    cudaStream_t aside = nullptr;  // null: nothing waits
    std::vector<Tensor> held;      // their memory must not be given to others before the join
    std::vector<Tensor> written;
    std::int64_t bytes = 0;
};
thread_local Pending pending;

// Tensors that could have been freed.
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

// One for each stream, kept as long as the process: a captured stream cannot be destroyed.
cudaStream_t aside_of(cudaStream_t stream) {
    static std::mutex mutex;
    static auto* const streams = new std::map<cudaStream_t, cudaStream_t>;
    const std::lock_guard lock(mutex);
    cudaStream_t& aside = (*streams)[stream];
    if (aside == nullptr) must(cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return aside;
}

// Work that comes into `later` from now on comes after all that is in `earlier`.
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
