// The host's interface to the CUDA device. Needs no CUDA header; a build without CUDA has no device.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"

namespace heddle::device {

/// True if tensors can be on Device::cuda: the build has CUDA kernels, and there is a device (a GPU, or the emulated one).
bool available();
/// The reason why CUDA is not available, and what to do: "this build has no CUDA kernels; configure with ..", "no CUDA device:
/// <the driver's message>". Empty if it is available.
std::string why_unavailable();
/// True if the device is emulated on the CPU.
bool emulated();
/// "NVIDIA H200, sm_90, 139 GiB", "emulated sm_90 (no GPU: kernels run on the CPU)", or the reason why there is none.
std::string description();
/// Each multiprocessor runs at least one block: grid-stride loops launch a small multiple of this. Error without a device.
int multiprocessors();

/// The stream of this thread's launches and copies (a cudaStream_t); by default one for the whole process. Error without a
/// device.
void* current_stream();
/// While one exists, `stream` is this thread's current stream; null: the process's own. Tensors created meanwhile belong to that
/// stream: when the last handle is destroyed, later work of the stream may reuse their memory, so other streams must have
/// finished with it.
class WithStream {
  public:
    explicit WithStream(void* stream);
    ~WithStream();
    WithStream(const WithStream&) = delete;
    WithStream& operator=(const WithStream&) = delete;

  private:
    void* before_;
};

/// Waits for the current stream. Error with CUDA's message (or the emulator's report) when work in it failed.
void synchronize();

/// Copies between the CPU and the device, or within the device, in the current stream's order; the two must not overlap. To the
/// host: waits until the bytes are there. From the host: `from` may be reused when the call returns (ordinary memory, not the
/// pinned kind of cudaHostAlloc).
void copy(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes);
/// Sets bytes on the device, in the current stream's order.
void fill(void* to, int byte, std::int64_t bytes);

/// Counts of device operations by all threads so far, to check that a step runs without synchronisation.
struct Statistics {
    std::int64_t synchronisations = 0;  ///< how often the host waited
    std::int64_t launches = 0;
    std::int64_t copies_to_host = 0;
    std::int64_t copies_to_device = 0;
    std::int64_t graphs = 0;  ///< how often a graph was launched; what is in it counted as launches when it was captured
};
Statistics statistics();

}  // namespace heddle::device
