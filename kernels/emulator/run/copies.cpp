// Memory accesses other than plain loads and stores: vectors, asynchronous copies.
#include <cstring>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator {
namespace {

bool aligned(const void* address, std::size_t to) { return reinterpret_cast<std::uintptr_t>(address) % to == 0; }

}  // namespace

// ---- vectors ----

void load_vector(void* to, const void* from, std::size_t bytes, Place place) {
    if (!aligned(from, bytes))
        violate(mistake("misaligned", place,
                        "loads " + std::to_string(bytes) + " bytes at " + text_of(place) +
                            " from an address that is not a multiple of that"));
    if constexpr (checker::kEnabled) checker::read(from, bytes, place);
    if (counts_traffic()) note_traffic(from, bytes, place);
    std::memcpy(to, from, bytes);
}

void store_vector(void* to, const void* from, std::size_t bytes, Place place) {
    if (!aligned(to, bytes))
        violate(mistake(
            "misaligned", place,
            "stores " + std::to_string(bytes) + " bytes at " + text_of(place) + " to an address that is not a multiple of that"));
    if constexpr (checker::kEnabled) checker::write(to, bytes, place);
    if (counts_traffic()) note_traffic(to, bytes, place);
    std::memcpy(to, from, bytes);
}

// ---- asynchronous copies ----

namespace {

constexpr std::uint64_t kOfBarriers = std::uint64_t{1} << 62;  ///< a group that no wait for groups includes

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
    const auto refuse = [&](const char* kind, const std::string& what) { violate(mistake(kind, place, "copies" + what)); };
    if (bytes != 4 && bytes != 8 && bytes != 16)
        refuse("fault", " " + std::to_string(bytes) + " bytes" + where + ": wanted 4, 8 or 16");
    if (valid < 0 || valid > bytes)
        refuse("fault", " " + std::to_string(bytes) + " bytes" + where + ", of which " + std::to_string(valid) + " are valid");
    const auto size = static_cast<std::size_t>(bytes);
    if (!aligned(to, size))
        refuse("misaligned", " " + std::to_string(bytes) + " bytes" + where + " to an address that is not a multiple of that");
    if (!aligned(from, size))
        refuse("misaligned", " " + std::to_string(bytes) + " bytes" + where + " from an address that is not a multiple of that");
    if (!in_shared_piece(*thread.block, to, size))
        refuse("out-of-bounds", where + " to an address that does not lie in one piece of the block's shared memory");
    const auto* const source = static_cast<const std::byte*>(from);
    if (source >= thread.block->arena && source < thread.block->arena + thread.block->arena_bytes)
        refuse("fault", where + " from shared memory: the source must be global");
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

void copies_belong_to_barriers() {
    Thread& thread = *in_kernel("memcpy_async").current;
    for (PendingCopy& copy : thread.copies)
        if (copy.group == thread.groups) copy.group = kOfBarriers;
}

void copies_of_barriers_land() {
    std::vector<PendingCopy>& copies = in_kernel("arrive").current->copies;
    std::size_t kept = 0;
    for (const PendingCopy& copy : copies) {
        if (copy.group != kOfBarriers) {
            copies[kept++] = copy;
            continue;
        }
        if (!copy.landed) land(copy);
        if constexpr (checker::kEnabled) checker::copy_landed(copy.number);
    }
    copies.resize(kept);
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
