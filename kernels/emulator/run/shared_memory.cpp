// Shared memory: each block's arena, and its pieces with red zones between them.
//
// First the dynamic part: the pieces that a kernel takes by their offset and number, each at its offset plus one red zone for
// each piece before it and one in front. Behind it the static part: variables by their tags, in the order in which threads come
// to them.
#include <sys/mman.h>

#include <algorithm>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

constexpr int kPoison = 0xff;  // four of them are a NaN

bool is_aligned(const void* address, std::size_t to) { return reinterpret_cast<std::uintptr_t>(address) % to == 0; }

// Not memset, because ThreadSanitizer would attribute its writes to the running thread.
void fill(std::byte* begin, std::byte* end) {
    while (begin != end && !is_aligned(begin, 8)) *const_cast<volatile std::byte*>(begin++) = std::byte{kPoison};
    for (; end - begin >= 8; begin += 8) *reinterpret_cast<volatile std::uint64_t*>(begin) = ~std::uint64_t{0};
    while (begin != end) *const_cast<volatile std::byte*>(begin++) = std::byte{kPoison};
}

// Alignments up to 1024 are kept.
std::byte* place_of_piece(const Block& block, int start, std::size_t part) {
    return block.arena + start + (part + 1) * static_cast<std::size_t>(kRedZone);
}

}  // namespace

void* shared_memory(int start, int bytes, int part, Place place) {
    Thread& thread = *in_kernel("shared memory").current;
    Block& block = *thread.block;
    const std::size_t limit = scheduler->launch->request->shared;
    if (start < 0 || bytes < 0 || static_cast<std::size_t>(start) + static_cast<std::size_t>(bytes) > limit)
        violate("takes the bytes " + std::to_string(start) + " to " + std::to_string(static_cast<std::int64_t>(start) + bytes) +
                " of shared memory at " + text_of(place) + ", but the launch gave its blocks " + std::to_string(limit));
    const auto known = block.pieces.size();
    const auto number = static_cast<std::size_t>(part);
    if (number > known) violate("takes piece " + std::to_string(part) + " of shared memory before the pieces ahead of it");
    if (number < known) {
        const Piece& piece = block.pieces[number];
        if (piece.start != start || piece.bytes != bytes)
            violate("takes " + std::to_string(bytes) + " bytes at " + std::to_string(start) + " as piece " +
                    std::to_string(part) + " of shared memory, of which another take in its block has made " +
                    std::to_string(piece.bytes) + " bytes at " + std::to_string(piece.start) +
                    ": all takes of a block must agree");
        return place_of_piece(block, start, number);
    }
    if (part >= kMostPieces) violate("takes more than " + std::to_string(kMostPieces) + " pieces of shared memory");
    std::byte* const at = place_of_piece(block, start, number);
    std::byte* const from = part == 0 ? block.arena : at;
    std::byte* const end = at + bytes;
    address_unpoison(from, static_cast<std::size_t>(end - from) + kRedZone);
    fill(from, end + kRedZone);
    if (part == 0) address_poison(block.arena, kRedZone);
    address_poison(end, kRedZone);
    block.pieces.push_back({start, bytes, place});
    if (traces()) trace_piece(start, bytes, "");
    if constexpr (checker::kEnabled) checker::shared_piece(at, static_cast<std::size_t>(bytes));
    return at;
}

void* cuda::dynamic_shared_memory(const char* name, const Shape& shape, Place place) {
    Block& block = *in_kernel("shared memory").current->block;
    const std::size_t bytes = scheduler->launch->request->shared;
    const bool is_new = block.pieces.empty();
    void* const at = shared_memory(0, static_cast<int>(bytes), 0, place);
    if constexpr (checker::kEnabled)
        if (is_new) checker::name_shared_piece(static_cast<std::byte*>(at), name, shape);
    return at;
}

void* cuda::static_shared(const void* tag, const char* name, const Shape& shape, Place place) {
    Block& block = *in_kernel("shared memory").current->block;
    for (const StaticPiece& piece : block.statics)
        if (piece.tag == tag) return piece.at;
    const LaunchRequest& request = *scheduler->launch->request;
    std::size_t start = 0;
    std::byte* at = block.arena + block.arena_bytes - static_bytes() + kRedZone;
    if (!block.statics.empty()) {
        start = block.statics.back().start + block.statics.back().bytes;
        at = block.statics.back().at + block.statics.back().bytes + kRedZone;
    }
    start = (start + shape.alignment - 1) / shape.alignment * shape.alignment;
    const std::size_t alignment = std::max<std::size_t>(shape.alignment, 256);
    at += (alignment - reinterpret_cast<std::uintptr_t>(at) % alignment) % alignment;
    const auto refuse = [&](const std::string& why) {
        violate(mistake("bad-launch", place,
                        std::string("takes the shared memory `") + name + "` of " + std::to_string(shape.bytes) + " bytes at " +
                            text_of(place) + ", which makes " + why));
    };
    if (start + shape.bytes > most_static)
        refuse(std::to_string(start + shape.bytes) + " static bytes of the block, but " + std::to_string(most_static) +
               " are the most: take more as extern __shared__ memory, with the launch's third number");
    if (start + shape.bytes + request.shared > profile().shared_per_block)
        refuse(std::to_string(start + shape.bytes) + " static bytes of the block beside " + std::to_string(request.shared) +
               " dynamic ones, but " + std::to_string(profile().shared_per_block) + " are the most on " + profile().name);
    if (block.statics.size() == kMostStaticPieces)
        refuse("more than " + std::to_string(kMostStaticPieces) + " variables in a block's shared memory");
    std::byte* const end = at + shape.bytes;
    address_unpoison(at - kRedZone, static_cast<std::size_t>(end - at) + 2 * kRedZone);
    fill(at - kRedZone, end + kRedZone);
    address_poison(at - kRedZone, kRedZone);
    address_poison(end, kRedZone);
    block.statics.push_back({tag, at, start, shape.bytes, name});
    if (request.registration != nullptr)
        request.registration->static_shared = std::max<unsigned long>(request.registration->static_shared, start + shape.bytes);
    if (traces()) trace_piece(static_cast<int>(logical_start(block, block.statics.back())), static_cast<int>(shape.bytes), name);
    if constexpr (checker::kEnabled) {
        checker::shared_piece(at, shape.bytes);
        checker::name_shared_piece(at, name, shape);
    }
    return at;
}

std::size_t logical_start(const Block&, const StaticPiece& piece) {
    return (scheduler->launch->request->shared + 127) / 128 * 128 + piece.start;
}

bool in_shared_piece(const Block& block, const void* address, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(address);
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
        const std::byte* const piece = place_of_piece(block, block.pieces[i].start, i);
        if (begin >= piece && begin + bytes <= piece + block.pieces[i].bytes) return true;
    }
    return std::any_of(block.statics.begin(), block.statics.end(),
                       [&](const StaticPiece& piece) { return begin >= piece.at && begin + bytes <= piece.at + piece.bytes; });
}

namespace {

// The first byte of a red zone that was written; kRedZone if none was.
int written_byte(const std::byte* zone) {
    address_unpoison(zone, kRedZone);
    int i = 0;
    while (i < kRedZone && zone[i] == std::byte{kPoison}) ++i;
    return i;
}

}  // namespace

std::string damage(const Block& block) {
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
        const Piece& piece = block.pieces[i];
        const int behind = written_byte(place_of_piece(block, piece.start, i) + piece.bytes);
        const int before = i == 0 ? written_byte(block.arena) : kRedZone;
        if (before < kRedZone && before <= behind)
            return "the byte " + std::to_string(kRedZone - before) + " before the block's shared memory was written";
        if (behind < kRedZone)
            return "the byte " + std::to_string(behind) + " behind the " + std::to_string(piece.bytes) +
                   " bytes of shared memory taken as piece " + std::to_string(i) + " was written";
    }
    for (const StaticPiece& piece : block.statics) {
        const std::string of =
            std::string(" the shared memory `") + piece.name + "` of " + std::to_string(piece.bytes) + " bytes was written";
        if (const int behind = written_byte(piece.at + piece.bytes); behind < kRedZone)
            return "the byte " + std::to_string(behind) + " behind" + of;
        if (const int before = written_byte(piece.at - kRedZone); before < kRedZone)
            return "the byte " + std::to_string(kRedZone - before) + " before" + of;
    }
    return "";
}

// The threads, warps and shared memory of a block.
void Scheduler::give_memory(Block& block, std::size_t slot) {
    const LaunchRequest& request = *launch->request;
    const auto threads = static_cast<std::size_t>(request.block.x) * request.block.y * request.block.z;
    const std::size_t warps = (threads + 31) / 32;
    if (threads_.size() < (slot + 1) * threads) threads_.resize((slot + 1) * threads);
    if (warps_.size() < (slot + 1) * warps) warps_.resize((slot + 1) * warps);
    const std::size_t arena_bytes =
        (request.shared + 1023) / 1024 * 1024 + (kMostPieces + 2) * std::size_t{kRedZone} + static_bytes();
    if (arenas_.size() <= slot) arenas_.resize(slot + 1);
    Arena& arena = arenas_[slot];
    if (arena.bytes < arena_bytes) {
        address_unpoison(arena.start, arena.bytes);
        if (arena.start != nullptr) munmap(arena.start, arena.bytes);
        arena = {};
        void* const start =
            mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED) throw std::bad_alloc();
        arena = {static_cast<std::byte*>(start), arena_bytes};
    }
    block.threads = static_cast<int>(threads);
    block.first = threads_.data() + slot * threads;
    block.warps = warps_.data() + slot * warps;
    block.arena = arena.start;
    block.arena_bytes = arena_bytes;
}

Scheduler::~Scheduler() {
    for (const Arena& arena : arenas_) munmap(arena.start, arena.bytes);
}

}  // namespace heddle::emulator
