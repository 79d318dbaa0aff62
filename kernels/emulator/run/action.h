// The kinds of events in a trace.
#pragma once

#include <cstdint>

namespace heddle::emulator {

/// What a thread did, or where lanes of a warp met.
enum class Action : std::uint8_t {
    read,
    write,
    atomic,
    copy_read,   ///< the source of an asynchronous copy, at its issue
    copy_write,  ///< its destination, directly after the source
    commit,      ///< a group of asynchronous copies is complete
    copy_wait,   ///< waits for all but the last `address` groups
    collective,  ///< a warp's shuffle, vote, __syncwarp, ldmatrix, mma
    barrier,     ///< a barrier of a block or more; one event for each warp that takes part
};
constexpr bool is_access(Action action) { return action <= Action::copy_write; }

}  // namespace heddle::emulator
