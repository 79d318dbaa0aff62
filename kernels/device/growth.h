// Numbers that a captured step takes from the device, because they are other ones in each replay (core/graph.h).
#pragma once

#include <cstdint>

namespace heddle::device {

/// By how much a number has grown since the step was captured: `each` with every replay. Without replays, by nothing.
struct Growth {
    std::int64_t each = 0;
    const std::int32_t* replays = nullptr;  ///< how many there were: one number on the device, or null

#if defined(__CUDACC__)
    __device__ __forceinline__
#endif
        std::int64_t
        now() const {
        return replays == nullptr ? 0 : each * *replays;
    }
};

}  // namespace heddle::device
