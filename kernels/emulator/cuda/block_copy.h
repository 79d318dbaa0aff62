// A copy that a group shares: what cooperative_groups::memcpy_async and cuda::memcpy_async do.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

namespace heddle::emulator::cuda {

/// Thread `rank` of `threads` copies its pieces: asynchronously from global to shared memory, where the addresses allow pieces of
/// 4, 8 or 16 bytes; else at once, as hardware does too.
inline void copy_share(void* to, const void* from, std::size_t bytes, std::size_t rank, std::size_t threads, Place place) {
    const auto addresses = reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from);
    const std::size_t piece = addresses % 16 == 0 && bytes >= 16 ? 16 : addresses % 8 == 0 && bytes >= 8 ? 8 : 4;
    auto* const target = static_cast<char*>(to);
    const auto* const source = static_cast<const char*>(from);
    std::size_t whole = 0;
    if (addresses % 4 == 0 && space_of(to) == Space::shared && space_of(from) == Space::global) {
        whole = bytes / piece;
        for (std::size_t i = rank; i < whole; i += threads)
            copy_async(target + i * piece, source + i * piece, static_cast<int>(piece), static_cast<int>(piece), place);
    }
    for (std::size_t i = whole * piece + rank; i < bytes; i += threads) target[i] = source[i];
}

}  // namespace heddle::emulator::cuda

// The size of a copy whose addresses and size are multiples of an alignment.
namespace cuda {
template <std::size_t Alignment>
struct aligned_size_t {
    static constexpr std::size_t align = Alignment;
    std::size_t value;
    constexpr explicit aligned_size_t(std::size_t size) : value(size) {}
    constexpr operator std::size_t() const { return value; }  // NOLINT
};
}  // namespace cuda
