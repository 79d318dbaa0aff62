// In a build without NCCL.
#include "apps/translation/distributed/device_link.h"

namespace heddle::app {

std::unique_ptr<DeviceLink> link_by_nccl(Ranks&) { return nullptr; }

}  // namespace heddle::app
