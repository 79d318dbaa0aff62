// The kinds of events in a trace.
#pragma once

#include <cstdint>

namespace heddle::emulator {

/// What a thread did, or where lanes of a warp met.
enum class Action : std::uint8_t {
    read,
    write,
    atomic,
    copy_read,   ///< an asynchronous copy is issued: its source
    copy_write,  ///< and its destination, directly after the source
    commit,      ///< of a group of asynchronous copies
    copy_wait,   ///< for all but the last `address` groups
    collective,  ///< of a warp: shuffle, vote, __syncwarp, ldmatrix, mma
    barrier,     ///< of a block or more; one event for each warp that takes part
};
constexpr bool is_access(Action action) { return action <= Action::copy_write; }

}  // namespace heddle::emulator
