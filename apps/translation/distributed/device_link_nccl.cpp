// Between GPUs, by NCCL: over NVLink or PCIe within a machine, over the network between machines.
// Source: NCCL's documentation, "Point-to-point communication"; all sends and receives of a group progress together.
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "apps/translation/distributed/device_link.h"
#include "apps/translation/distributed/message.h"
#include "core/device_cuda.h"
#include "core/format.h"

namespace heddle::app {
namespace {

void must(ncclResult_t result, const char* call) {
    if (result == ncclSuccess) return;
    fail_with("{}: {} ({}); NCCL_DEBUG=INFO in the environment tells more, and HEDDLE_NCCL=off in CMake leaves NCCL out", call,
              ncclGetErrorString(result), ncclGetLastError(nullptr));
}

// NCCL refuses two ranks on one GPU.
bool each_has_its_own_gpu(Ranks& ranks) {
    std::array<char, 32> bus{};
    device::must(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), 0), "cudaDeviceGetPCIBusId");
    std::vector<std::string> gpus = gather(ranks, ranks.host() + " " + bus.data());
    std::ranges::sort(gpus);
    const bool own = std::ranges::adjacent_find(gpus) == gpus.end();
    return broadcast(ranks, Message::of(own)).take_one<bool>();
}

class NcclLink final : public DeviceLink {
  public:
    explicit NcclLink(Ranks& ranks) {
        ncclUniqueId id{};
        if (ranks.rank() == 0) must(ncclGetUniqueId(&id), "ncclGetUniqueId");
        ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
        must(ncclCommInitRank(&ranks_, ranks.size(), id, ranks.rank()), "ncclCommInitRank");
    }
    // Unlike ncclCommDestroy it does not wait for the others, one of which may have failed.
    ~NcclLink() override { ncclCommAbort(ranks_); }
    NcclLink(const NcclLink&) = delete;
    NcclLink& operator=(const NcclLink&) = delete;

    void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
        must(ncclGroupStart(), "ncclGroupStart");
        for (const auto& [from, bytes] : incoming)
            if (!bytes.empty()) must(ncclRecv(bytes.data(), bytes.size(), ncclInt8, from, ranks_, device::stream()), "ncclRecv");
        for (const auto& [to, bytes] : outgoing)
            if (!bytes.empty()) must(ncclSend(bytes.data(), bytes.size(), ncclInt8, to, ranks_, device::stream()), "ncclSend");
        must(ncclGroupEnd(), "ncclGroupEnd");
    }

    std::string name() const override {
        int version = 0;
        must(ncclGetVersion(&version), "ncclGetVersion");
        return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    }

  private:
    ncclComm_t ranks_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceLink> link_by_nccl(Ranks& ranks) {
    if (!each_has_its_own_gpu(ranks)) return nullptr;
    return std::make_unique<NcclLink>(ranks);
}

}  // namespace heddle::app
