#include "kernels/device/blocks.h"

#include <limits>

#include "core/format.h"

namespace heddle::device {

unsigned blocks_for(std::int64_t n, std::int64_t size) {
    const std::int64_t blocks = n / size + (n % size != 0);
    check(n >= 0 && blocks <= std::numeric_limits<std::int32_t>::max(),
          "launch: {} elements in blocks of {} are {} blocks, but a grid holds 0 to 2147483647", n, size, blocks);
    return static_cast<unsigned>(blocks);
}

}  // namespace heddle::device
