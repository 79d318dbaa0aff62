// Memory accesses other than plain loads and stores: vectors, shared memory's pieces, asynchronous copies.
#include <cstring>

#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/traffic_hooks.h"

namespace heddle::emulator {
namespace {

constexpr int kPoison = 0xff;  // four of them are a NaN

bool aligned(const void* address, std::size_t to) { return reinterpret_cast<std::uintptr_t>(address) % to == 0; }

// Not memset, because ThreadSanitizer would attribute its writes to the running thread.
void fill(std::byte* begin, std::byte* end) {
    while (begin != end && !aligned(begin, 8)) *const_cast<volatile std::byte*>(begin++) = std::byte{kPoison};
    for (; end - begin >= 8; begin += 8) *reinterpret_cast<volatile std::uint64_t*>(begin) = ~std::uint64_t{0};
    while (begin != end) *const_cast<volatile std::byte*>(begin++) = std::byte{kPoison};
}

// A piece starts at its logical offset plus one red zone for each piece before it and one in front. Alignments up to 1024 are
// kept.
std::byte* place_of_piece(const Block& block, int start, std::size_t part) {
    return block.arena + start + (part + 1) * static_cast<std::size_t>(kRedZone);
}

}  // namespace

// ---- shared memory ----

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
    if (traces()) trace_piece(number, start, bytes);
    if constexpr (checker::kEnabled) checker::shared_piece(at, static_cast<std::size_t>(bytes));
    return at;
}

bool in_shared_piece(const Block& block, const void* address, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(address);
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
        const std::byte* const piece = place_of_piece(block, block.pieces[i].start, i);
        if (begin >= piece && begin + bytes <= piece + block.pieces[i].bytes) return true;
    }
    return false;
}

std::string damage(const Block& block) {
    for (std::size_t i = 0; i < block.pieces.size(); ++i) {
        const Piece& piece = block.pieces[i];
        const std::byte* const end = place_of_piece(block, piece.start, i) + piece.bytes;
        address_unpoison(end, kRedZone);
        if (i == 0) address_unpoison(block.arena, kRedZone);
        for (int j = 0; j < kRedZone; ++j) {
            if (end[j] != std::byte{kPoison})
                return "the byte " + std::to_string(j) + " behind the " + std::to_string(piece.bytes) +
                       " bytes of shared memory taken as piece " + std::to_string(i) + " was written";
            if (i == 0 && block.arena[j] != std::byte{kPoison})
                return "the byte " + std::to_string(kRedZone - j) + " before the block's shared memory was written";
        }
    }
    return "";
}

// ---- vectors ----

void load_vector(void* to, const void* from, std::size_t bytes, Place place) {
    if (!aligned(from, bytes))
        violate("loads " + std::to_string(bytes) + " bytes at " + text_of(place) +
                " from an address that is not a multiple of that");
    if constexpr (checker::kEnabled) checker::read(from, bytes, place);
    if (counts_traffic()) note_traffic(from, bytes, place);
    std::memcpy(to, from, bytes);
}

void store_vector(void* to, const void* from, std::size_t bytes, Place place) {
    if (!aligned(to, bytes))
        violate("stores " + std::to_string(bytes) + " bytes at " + text_of(place) +
                " to an address that is not a multiple of that");
    if constexpr (checker::kEnabled) checker::write(to, bytes, place);
    if (counts_traffic()) note_traffic(to, bytes, place);
    std::memcpy(to, from, bytes);
}

// ---- asynchronous copies ----

namespace {

void land(const PendingCopy& copy) {
    std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.valid));
    std::memset(copy.to + copy.valid, 0, static_cast<std::size_t>(copy.bytes - copy.valid));
}

}  // namespace

// The copy is in flight until the thread's own wait. CUDA does not specify when the bytes move: here either at once or at the
// wait, at random.
void copy_async(void* to, const void* from, int bytes, int valid, Place place) {
    Scheduler& self = in_kernel("copy_async");
    Thread& thread = *self.current;
    const std::string where = " at " + text_of(place);
    if (bytes != 4 && bytes != 8 && bytes != 16)
        violate("copies " + std::to_string(bytes) + " bytes" + where + ": wanted 4, 8 or 16");
    if (valid < 0 || valid > bytes)
        violate("copies " + std::to_string(bytes) + " bytes" + where + ", of which " + std::to_string(valid) + " are valid");
    const auto size = static_cast<std::size_t>(bytes);
    if (!aligned(to, size))
        violate("copies " + std::to_string(bytes) + " bytes" + where + " to an address that is not a multiple of that");
    if (!aligned(from, size))
        violate("copies " + std::to_string(bytes) + " bytes" + where + " from an address that is not a multiple of that");
    if (!in_shared_piece(*thread.block, to, size))
        violate("copies" + where + " to an address that does not lie in one piece of the block's shared memory");
    const auto* const source = static_cast<const std::byte*>(from);
    if (source >= thread.block->arena && source < thread.block->arena + thread.block->arena_bytes)
        violate("copies" + where + " from shared memory: the source must be global");
    PendingCopy copy{++self.launch->copies, static_cast<std::byte*>(to),     source, bytes, valid,
                     thread.groups,         (self.random.next() >> 63) != 0, place};
    if constexpr (checker::kEnabled) checker::copy_issued(copy.number, to, from, bytes, valid, place);
    if (counts_traffic()) {
        note_traffic(from, static_cast<std::size_t>(valid), place);
        note_traffic(to, size, place);
    }
    if (copy.landed) land(copy);
    thread.copies.push_back(copy);
}

void copy_commit() {
    ++in_kernel("copy_commit").current->groups;
    if (traces()) trace_commit();
}

void copy_wait(int pending, Place place) {
    Thread& thread = *in_kernel("copy_wait").current;
    if (skipped(place, "copy wait")) return;
    if (traces()) trace_copy_wait(pending, place);
    std::size_t kept = 0;
    for (const PendingCopy& copy : thread.copies) {  // in issue order, hence in group order
        if (copy.group + static_cast<std::uint64_t>(pending) >= thread.groups) {
            thread.copies[kept++] = copy;
            continue;
        }
        if (!copy.landed) land(copy);
        if constexpr (checker::kEnabled) checker::copy_landed(copy.number);
    }
    thread.copies.resize(kept);
}

}  // namespace heddle::emulator
