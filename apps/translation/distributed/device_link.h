// How bytes travel from the device of one rank to those of others.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "apps/translation/distributed/ranks.h"

namespace heddle::app {

class DeviceLink {
  public:
    virtual ~DeviceLink() = default;

    /// Ranks::exchange() for bytes on the devices: sends what earlier work of the current stream wrote; later work of the current
    /// stream finds what was received.
    virtual void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming) = 0;
    /// "NCCL 2.28.3", "the hosts' memory".
    virtual std::string name() const = 0;
};

/// To be called by all ranks. NCCL, where the build has it and no two ranks use the same GPU; otherwise the bytes are copied to
/// the host, exchanged there, and copied back. `ranks` must outlive the result. Error when NCCL cannot start, with its reason.
std::unique_ptr<DeviceLink> link_devices(Ranks& ranks);

/// NCCL's; null where link_devices() takes the hosts' memory.
std::unique_ptr<DeviceLink> link_by_nccl(Ranks& ranks);

}  // namespace heddle::app
