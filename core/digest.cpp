#include "core/digest.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL  // header-only: nothing to link
#include <xxhash.h>

namespace heddle {

struct Digest::State {
    XXH3_state_t xxh3;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh3); }
Digest::~Digest() = default;

Digest& Digest::add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
    return *this;
}

std::string Digest::text() const { return fmt::format("{:016x}", XXH3_64bits_digest(&state_->xxh3)); }

std::string digest(std::string_view text) { return Digest().add(text).text(); }

}  // namespace heddle
