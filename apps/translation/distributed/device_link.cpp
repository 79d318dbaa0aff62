// By way of the hosts' memory.
#include "apps/translation/distributed/device_link.h"

#include <map>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/tensor.h"

namespace heddle::app {
namespace {

Tensor room_for(std::span<const std::byte> bytes) { return Tensor::empty({static_cast<std::int64_t>(bytes.size())}, DType::u8); }

class HostLink final : public DeviceLink {
  public:
    explicit HostLink(Ranks& ranks) : ranks_(ranks) {}

    void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) override {
        std::map<std::pair<const std::byte*, std::size_t>, Tensor> copies;  // of the same bytes for several ranks, one
        std::vector<Tensor> rooms;
        std::vector<Outgoing> out;
        std::vector<Incoming> in;
        for (const auto& [to, bytes] : outgoing) {
            Tensor& copy = copies[{bytes.data(), bytes.size()}];
            if (!copy.defined()) {
                copy = room_for(bytes);
                device::copy(copy.mutable_bytes_data(), Device::cpu, bytes.data(), Device::cuda, copy.bytes());
            }
            out.push_back({to, bytes_of(copy)});
        }
        for (const auto& [from, bytes] : incoming) in.push_back({from, mutable_bytes_of(rooms.emplace_back(room_for(bytes)))});
        ranks_.exchange(out, in);
        for (std::size_t i = 0; i < rooms.size(); ++i)
            device::copy(incoming[i].bytes.data(), Device::cuda, rooms[i].bytes_data(), Device::cpu, rooms[i].bytes());
    }

    std::string name() const override { return "the hosts' memory"; }

  private:
    Ranks& ranks_;
};

}  // namespace

std::unique_ptr<DeviceLink> link_devices(Ranks& ranks) {
    if (std::unique_ptr<DeviceLink> direct = link_by_nccl(ranks)) return direct;
    return std::make_unique<HostLink>(ranks);
}

}  // namespace heddle::app
