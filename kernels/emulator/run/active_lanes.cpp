// __activemask(), and other calls that ask where a thread is.
//
// On a GPU the lanes of a warp that run an instruction together are a matter of its scheduling. Here they are the most that can
// be together: a lane waits at __activemask() until every other lane of its warp is at one, too, waits in another call or has
// left the kernel. Then those at the same call go on with one mask: the lanes that came by the same branch. Lanes that spin on
// atomics are not waited for longer than kPatience of their turns.
#include <time.h>

#include <map>
#include <mutex>

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"

namespace heddle::emulator {
namespace {

constexpr int kPatience = 64;

/// The lanes at one call go on.
void answer(Warp& warp) {
    int first = static_cast<int>(scheduler->random.below(32));
    while ((warp.asking >> first & 1u) == 0) first = (first + 1) % 32;
    const auto& call = warp.question[first];
    unsigned together = 0;
    for (unsigned rest = warp.asking; rest != 0; rest &= rest - 1) {
        const auto& other = warp.question[__builtin_ctz(rest)];
        if (other.code == call.code && other.depth == call.depth && same_place(other.place, call.place)) together |= rest & -rest;
    }
    warp.asking &= ~together;
    warp.patience = 0;
    for (unsigned rest = together; rest != 0; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        warp.result[lane] = together;
        scheduler->make_ready(warp.threads + lane);
    }
}

}  // namespace

void lane_waits(Warp& warp) {
    if (warp.asking == 0) return;
    for (unsigned rest = warp.exists & ~warp.exited; rest != 0; rest &= rest - 1)
        if (warp.threads[__builtin_ctz(rest)].state != State::waiting) return;
    answer(warp);
}

void lane_spins(Warp& warp) {
    if (warp.asking != 0 && ++warp.patience > kPatience) answer(warp);
}

unsigned active_lanes(Place place) {
    Thread& thread = *in_kernel("__activemask").current;
    Warp& warp = *thread.warp;
    const auto* const frame = static_cast<const std::byte*>(__builtin_frame_address(0));
    warp.question[thread.lane()] = {place, __builtin_return_address(0), static_cast<const std::byte*>(thread.frame) - frame};
    warp.asking |= 1u << thread.lane();
    scheduler->wait("__activemask", place);
    return static_cast<unsigned>(warp.result[thread.lane()]);
}

Place place_of_caller() {
    const void* const code = __builtin_return_address(0);
    static std::mutex mutex;
    static std::map<const void*, std::pair<std::string, int>>& known = *new std::map<const void*, std::pair<std::string, int>>;
    const std::lock_guard lock(mutex);
    const auto [entry, is_new] = known.try_emplace(code);
    if (is_new) {
        std::string text = place_of_code(code);
        text.resize(std::min(text.size(), text.find_first_of(" ,(")));
        const std::size_t colon = text.rfind(':');
        if (colon != std::string::npos) {
            entry->second.second = std::atoi(text.c_str() + colon + 1);
            text.resize(colon);
        }
        entry->second.first = text;
    }
    return {entry->second.first.c_str(), entry->second.second};
}

void step_aside(Place) { in_kernel("__nanosleep").step_aside(); }

std::uint64_t clock_cycles() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (in_a_kernel()) scheduler->step_aside();  // loops wait for a time
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

Space space_of(const void* address) {
    const auto* const at = static_cast<const std::byte*>(address);
    if (in_a_kernel()) {
        const Block& block = *scheduler->current->block;
        if (at >= block.arena && at < block.arena + block.arena_bytes) return Space::shared;
        if (fiber_stacks().holds(address)) return Space::local;
    }
    if (is_device_memory(address)) return Space::global;
    const auto piece = mapped_memory(address);
    if (!piece) return Space::generic;
    return piece->kind == MemoryKind::constant ? Space::constant : Space::global;
}

std::uint32_t shared_offset(const void* address) {
    const Block& block = *in_kernel("__cvta_generic_to_shared").current->block;
    return static_cast<std::uint32_t>(static_cast<const std::byte*>(address) - block.arena);
}

void* shared_address(std::uint32_t offset) { return in_kernel("an access to shared memory").current->block->arena + offset; }

}  // namespace heddle::emulator
