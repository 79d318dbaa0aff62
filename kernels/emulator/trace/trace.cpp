#include "kernels/emulator/trace/trace.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"

namespace heddle::emulator {

constinit std::atomic<bool> detail::trace_is_on{false};

namespace {

struct Recorder {
    std::vector<TracedLaunch> launches;
    std::size_t events = 0, most = 0, exchanges = 0, most_launches = 0;
    WhenFull when_full = WhenFull::end_launch;
    // Sites of the running launch: an instruction's address, or file and line; and the literal of a meeting.
    using Site = std::tuple<const void*, int, const char*>;
    std::map<Site, std::uint32_t> numbers;
    std::vector<Site> sites;
    // The last write: its value is in memory once its thread does anything else, and no other thread has run before that.
    TraceEvent* unread = nullptr;
    const std::byte* unread_at = nullptr;
};
// Set while the recorder changes: a thread that is stopped then leaves it half done.
std::atomic<bool> is_recording = false;
class Recording {
  public:
    Recording() { is_recording = true; }
    ~Recording() { is_recording = false; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
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

// Null if the trace is full and the launch runs on.
TraceEvent* add(Action action, const Thread& thread, const Recorder::Site& site) {
    Recorder& r = recorder();
    read_last_write();
    if (r.events >= r.most) {
        r.launches.back().is_cut = true;
        if (r.when_full == WhenFull::stop_recording) return nullptr;
        is_recording = false;  // violate() does not return, and destroys nothing
        violate("makes more than the " + std::to_string(r.most) + " accesses and waits that a trace holds: run a smaller shape");
    }
    ++r.events;
    TraceEvent event;
    event.action = action;
    event.block = static_cast<std::uint32_t>(thread.block->number);
    event.thread = static_cast<std::uint16_t>(thread.number);
    event.site = number_of(site);
    return &r.launches.back().events.emplace_back(event);
}

Recorder::Site site_of(const void* code, Place place) {
    return code != nullptr ? Recorder::Site(code, -1, nullptr) : Recorder::Site(place.file, place.line, nullptr);
}

void put_address(TraceEvent& event, const void* address, std::int64_t offset, std::size_t bytes) {
    event.shared = offset >= 0;
    event.address = event.shared ? static_cast<std::uint64_t>(offset) : reinterpret_cast<std::uint64_t>(address);
    event.bytes = static_cast<std::uint16_t>(bytes);
}

std::vector<TraceSite> sites_so_far() {
    std::vector<TraceSite> sites;
    for (const auto& [where, line, what] : recorder().sites) {
        const bool is_code = line < 0;
        sites.push_back({is_code     ? place_of_code(where)
                         : line == 0 ? ""
                                     : text_of({static_cast<const char*>(where), line}),
                         what == nullptr ? "" : what});
    }
    return sites;
}

// The offset in the arena as the kernel counts it: without red zones. -1: not in the block's shared memory. An address between
// two pieces counts from the one in front of it.
std::int64_t shared_offset(const Block& block, const std::byte* address) {
    if (address < block.arena || address >= block.arena + block.arena_bytes) return -1;
    if (const std::byte* const statics = block.arena + block.arena_bytes - static_bytes(); address >= statics) {
        for (std::size_t i = block.statics.size(); i-- > 0;)
            if (address >= block.statics[i].at)
                return static_cast<std::int64_t>(logical_start(block, block.statics[i])) + (address - block.statics[i].at);
        return -1;
    }
    const std::int64_t at = address - block.arena - kRedZone;
    for (std::size_t i = block.pieces.size(); i-- > 0;) {
        const std::int64_t zones = static_cast<std::int64_t>(i) * kRedZone;
        if (at >= block.pieces[i].start + zones) return at - zones;
    }
    return -1;
}

bool has_mistake(const TracedLaunch& launch) { return launch.mistake != kNoEvent; }

// The launch behind the most that are kept, unless it has the first mistake.
void drop_launch_too_many() {
    Recorder& r = recorder();
    if (r.launches.size() <= r.most_launches || has_mistake(r.launches.back())) return;
    r.events -= r.launches.back().events.size();
    r.exchanges -= r.launches.back().exchanges.size();
    r.launches.pop_back();
}

bool is_same_access(const TraceEvent& a, const TraceEvent& b) {
    return a.block == b.block && a.thread == b.thread && a.site == b.site && a.address == b.address && a.bytes == b.bytes &&
           a.shared == b.shared && a.action == b.action;
}

// A launch of the front end goes on after some mistakes. A write may be reported after it was made, at the next write: its event
// is the last of its thread but for reads.
bool was_made(TracedLaunch& launch, const TraceEvent& mistake) {
    if (mistake.action == Action::read) return false;
    for (std::size_t i = launch.events.size(); i-- > 0;) {
        if (launch.events[i].block != mistake.block || launch.events[i].thread != mistake.thread) continue;
        if (launch.events[i].action == Action::read) continue;
        if (!is_same_access(launch.events[i], mistake)) return false;
        launch.mistake = static_cast<std::uint32_t>(i);
        launch.mistake_is_made = true;
        return true;
    }
    return false;
}

}  // namespace

void begin_trace(std::size_t most_events, WhenFull when_full, std::size_t most_launches) {
    if (!checker::kEnabled) throw std::logic_error("begin_trace: only watched kernels can be traced");
    recorder() = {};
    recorder().most = most_events;
    recorder().when_full = when_full;
    recorder().most_launches = most_launches;
    is_recording = false;
    detail::trace_is_on = true;
}

std::vector<TracedLaunch> end_trace() {
    detail::trace_is_on = false;
    drop_launch_too_many();
    return std::move(std::exchange(recorder(), {}).launches);
}

std::optional<std::vector<TracedLaunch>> trace_so_far() {
    if (is_recording) return {};
    read_last_write();
    std::vector<TracedLaunch> launches = recorder().launches;
    if (!launches.empty() && launches.back().sites.empty()) launches.back().sites = sites_so_far();
    return launches;
}

void trace_launch_begins(const LaunchRequest& request) {
    TracedLaunch launch;
    launch.kernel = kernel_name(request.kernel);
    launch.grid = request.grid;
    launch.block = request.block;
    launch.shared_bytes = request.shared;
    const Recording recording;
    Recorder& r = recorder();
    drop_launch_too_many();
    if (r.launches.size() >= r.most_launches && std::any_of(r.launches.begin(), r.launches.end(), has_mistake)) {
        detail::trace_is_on = false;
        return;
    }
    r.numbers.clear();
    r.sites.clear();
    r.unread = nullptr;
    r.launches.push_back(std::move(launch));
}

void trace_launch_ends() {
    const Recording recording;
    read_last_write();
    recorder().launches.back().sites = sites_so_far();
}

void trace_access(const void* address, std::size_t bytes, Action action, const void* code, Place place) {
    const Recording recording;
    const Thread& thread = *scheduler->current;
    const auto* const at = static_cast<const std::byte*>(address);
    TraceEvent* event = add(action, thread, site_of(code, place));
    if (event == nullptr) return;
    put_address(*event, address, shared_offset(*thread.block, at), bytes);
    TracedLaunch& launch = recorder().launches.back();
    if (has_mistake(launch) && !launch.mistake_is_made && launch.mistake + 2 == launch.events.size() &&
        is_same_access(*event, launch.events[launch.mistake])) {
        launch.events.pop_back();  // it was reported, and is made now
        --recorder().events;
        event = &launch.events.back();
        launch.mistake_is_made = true;
    }
    if (action == Action::read || action == Action::copy_read) {
        read_value(*event, at);
    } else if (action != Action::copy_write) {  // the bytes of a copy may move much later
        recorder().unread = event;
        recorder().unread_at = at;
    }
}

void trace_mistake(const void* address, std::size_t bytes, Action action, const void* code, Place place,
                   const EarlierAccess* earlier) {
    const Recording recording;
    Recorder& r = recorder();
    const Thread& thread = *scheduler->current;
    const std::int64_t offset = shared_offset(*thread.block, static_cast<const std::byte*>(address));
    if (offset < 0 && !is_device_memory(address)) return;
    TracedLaunch& launch = r.launches.back();
    launch.earlier = kNoEvent;
    launch.mistake_is_made = false;
    TraceEvent event;
    event.action = action;
    event.block = static_cast<std::uint32_t>(thread.block->number);
    event.thread = static_cast<std::uint16_t>(thread.number);
    event.site = number_of(site_of(code, place));
    put_address(event, address, offset, bytes);
    if (!scheduler->launch->request->is_foreign || !was_made(launch, event)) {
        if (r.events == r.most) ++r.most;  // there is room for this one
        put_address(*add(action, thread, site_of(code, place)), address, offset, bytes);
        launch.mistake = static_cast<std::uint32_t>(launch.events.size() - 1);
    }
    if (earlier == nullptr) return;
    const std::uint32_t site = number_of(site_of(earlier->code, earlier->place));
    for (std::uint32_t i = launch.mistake; i-- > 0;) {
        const TraceEvent& other = launch.events[i];
        if (other.block != earlier->block || other.thread != earlier->thread || other.site != site) continue;
        if (other.shared != event.shared || other.address >= event.address + bytes ||
            event.address >= other.address + other.bytes)
            continue;
        launch.earlier = i;
        return;
    }
}

void trace_piece(int start, int bytes, const char* name) {
    const Recording recording;
    std::vector<TracedPiece>& pieces = recorder().launches.back().pieces;
    const TracedPiece piece{static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(bytes), name};
    if (std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.push_back(piece);
}

void trace_commit() {
    const Recording recording;
    add(Action::commit, *scheduler->current, {nullptr, 0, "commit"});
}

void trace_copy_wait(int pending, Place place) {
    const Recording recording;
    if (TraceEvent* const event = add(Action::copy_wait, *scheduler->current, {place.file, place.line, "wait"}))
        event->address = static_cast<std::uint64_t>(pending);
}

void trace_collective(unsigned lanes, const char* what, Place place, const Warp* values) {
    const Recording recording;
    TraceEvent* const event = add(Action::collective, *scheduler->current, {place.file, place.line, what});
    if (event == nullptr) return;
    event->lanes = lanes;
    Recorder& r = recorder();
    if (values == nullptr || r.exchanges == kMostExchanges) return;
    ++r.exchanges;
    TracedExchange& exchange = r.launches.back().exchanges.emplace_back();
    event->address = r.launches.back().exchanges.size();
    const bool is_shuffle = std::strstr(what, "shfl") != nullptr;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const bool met = (lanes >> lane & 1u) != 0;
        exchange.from[lane] = met && is_shuffle ? values->source[lane] : TracedExchange::kNobody;
        if (!met) continue;
        exchange.before[lane] = values->value[lane];
        exchange.after[lane] = values->result[lane];
    }
}

void trace_barrier(const Thread* const* threads, std::size_t count, const char* what, Place place) {
    const Recording recording;
    std::map<const Warp*, std::pair<const Thread*, std::uint32_t>> warps;
    for (std::size_t i = 0; i < count; ++i) {
        auto& [thread, lanes] = warps[threads[i]->warp];
        thread = threads[i];
        lanes |= 1u << threads[i]->lane();
    }
    for (const auto& [warp, met] : warps)
        if (TraceEvent* const event = add(Action::barrier, *met.first, {place.file, place.line, what})) event->lanes = met.second;
}

}  // namespace heddle::emulator
