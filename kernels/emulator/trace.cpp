#include "kernels/emulator/trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/emulator/report.h"
#include "kernels/emulator/scheduler.h"
#include "kernels/emulator/trace_notes.h"

namespace heddle::emulator {

constinit std::atomic<bool> detail::trace_is_on{false};

namespace {

struct Recorder {
    std::vector<TracedLaunch> launches;
    std::size_t events = 0, most = 0;
    // Sites of the running launch: an instruction's address, or file and line; and the literal of a meeting.
    using Site = std::tuple<const void*, int, const char*>;
    std::map<Site, std::uint32_t> numbers;
    std::vector<Site> sites;
    // The last write: its value is in memory once its thread does anything else, and no other thread has run before that.
    TraceEvent* unread = nullptr;
    const std::byte* unread_at = nullptr;
};
// A checked launch holds the checker's lock, and the host begins and ends a trace while the device is idle.
Recorder& recorder() {
    static auto* const made = new Recorder;
    return *made;
}

void read_value(TraceEvent& event, const std::byte* from) {
    std::memcpy(event.value.data(), from, std::min<std::size_t>(event.bytes, event.value.size()));
}

void read_last_write() {
    Recorder& r = recorder();
    if (r.unread != nullptr) read_value(*std::exchange(r.unread, nullptr), r.unread_at);
}

std::uint32_t number_of(const Recorder::Site& site) {
    Recorder& r = recorder();
    const auto [found, is_new] = r.numbers.try_emplace(site, static_cast<std::uint32_t>(r.sites.size()));
    if (is_new) r.sites.push_back(site);
    return found->second;
}

TraceEvent& add(Action action, const Thread& thread, const Recorder::Site& site) {
    Recorder& r = recorder();
    read_last_write();
    if (r.events++ >= r.most)
        violate("makes more than the " + std::to_string(r.most) + " accesses and waits that a trace holds: run a smaller shape");
    TraceEvent event;
    event.action = action;
    event.block = static_cast<std::uint32_t>(thread.block->number);
    event.thread = static_cast<std::uint16_t>(thread.number);
    event.site = number_of(site);
    return r.launches.back().events.emplace_back(event);
}

// The offset in the arena as the kernel counts it: without red zones. -1: not in the block's shared memory.
std::int64_t shared_offset(const Block& block, const std::byte* address) {
    if (address < block.arena || address >= block.arena + block.arena_bytes) return -1;
    std::int64_t at = address - block.arena - kRedZone;
    for (std::size_t i = block.pieces.size(); i-- > 0;) {
        const std::int64_t start = block.pieces[i].start + static_cast<std::int64_t>(i) * kRedZone;
        if (at >= start && at < start + block.pieces[i].bytes) return at - static_cast<std::int64_t>(i) * kRedZone;
    }
    return -1;
}

}  // namespace

void begin_trace(std::size_t most_events) {
    if (!checker::kEnabled) throw std::logic_error("begin_trace: only watched kernels can be traced");
    recorder() = {};
    recorder().most = most_events;
    detail::trace_is_on = true;
}

std::vector<TracedLaunch> end_trace() {
    detail::trace_is_on = false;
    return std::move(std::exchange(recorder(), {}).launches);
}

void trace_launch_begins(const LaunchRequest& request) {
    Recorder& r = recorder();
    r.numbers.clear();
    r.sites.clear();
    r.unread = nullptr;
    r.launches.push_back({kernel_name(request.kernel), request.grid, request.block, request.shared, {}, {}});
}

void trace_launch_ends() {
    Recorder& r = recorder();
    read_last_write();
    for (const auto& [where, line, what] : r.sites) {
        const bool is_code = line < 0;
        r.launches.back().sites.push_back({is_code     ? place_of_code(where)
                                           : line == 0 ? ""
                                                       : text_of({static_cast<const char*>(where), line}),
                                           what == nullptr ? "" : what});
    }
}

void trace_access(const void* address, std::size_t bytes, Action action, const void* code, Place place) {
    const Thread& thread = *scheduler->current;
    const auto* const at = static_cast<const std::byte*>(address);
    TraceEvent& event = add(
        action, thread, code != nullptr ? Recorder::Site(code, -1, nullptr) : Recorder::Site(place.file, place.line, nullptr));
    const std::int64_t offset = shared_offset(*thread.block, at);
    event.shared = offset >= 0;
    event.address = event.shared ? static_cast<std::uint64_t>(offset) : reinterpret_cast<std::uint64_t>(address);
    event.bytes = static_cast<std::uint16_t>(bytes);
    if (action == Action::read || action == Action::copy_read) {
        read_value(event, at);
    } else if (action != Action::copy_write) {  // whose bytes may move much later
        recorder().unread = &event;
        recorder().unread_at = at;
    }
}

void trace_commit() { add(Action::commit, *scheduler->current, {nullptr, 0, "commit"}); }

void trace_copy_wait(int pending, Place place) {
    add(Action::copy_wait, *scheduler->current, {place.file, place.line, "wait"}).address = static_cast<std::uint64_t>(pending);
}

void trace_collective(unsigned lanes, const char* what, Place place) {
    add(Action::collective, *scheduler->current, {place.file, place.line, what}).lanes = lanes;
}

void trace_barrier(const Thread* const* threads, std::size_t count, const char* what, Place place) {
    std::map<const Warp*, std::pair<const Thread*, std::uint32_t>> warps;
    for (std::size_t i = 0; i < count; ++i) {
        auto& [thread, lanes] = warps[threads[i]->warp];
        thread = threads[i];
        lanes |= 1u << threads[i]->lane();
    }
    for (const auto& [warp, met] : warps) add(Action::barrier, *met.first, {place.file, place.line, what}).lanes = met.second;
}

}  // namespace heddle::emulator
