// Tickets for last_block (fence.h), in memory that outlives launches.
#pragma once

#include <cstdint>

namespace heddle::device {

/// `count` unsigned numbers in device memory, all 0, for kernels of the current stream. A kernel leaves zeros behind, as
/// last_block does, so that the next launch in the stream finds them; a captured launch may be replayed in this stream only.
/// Also while the stream is being captured.
unsigned* tickets(std::int64_t count);

}  // namespace heddle::device
