// The checker's rules for one access, and its interface to the scheduler and the runtime.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/emulator/checker/cells.h"
#include "kernels/emulator/checker/state.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/traffic_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator::checker {

thread_local constinit Running running;

Origin intern(Place place) {
    std::vector<Place>& places = state().places;
    constexpr std::size_t kMemo = 256;
    static std::array<std::uint32_t, kMemo> memo{};
    const std::size_t slot =
        (static_cast<std::size_t>(place.line) * 31 + reinterpret_cast<std::uintptr_t>(place.file) / 8) % kMemo;
    const auto same = [&](const Place& p) { return p.line == place.line && p.file == place.file; };
    if (memo[slot] < places.size() && same(places[memo[slot]])) return Origin::of_place(memo[slot]);
    const auto found = std::find_if(places.begin(), places.end(), same);
    memo[slot] = static_cast<std::uint32_t>(found - places.begin());
    if (found == places.end()) places.push_back(place);
    return Origin::of_place(memo[slot]);
}

namespace {

/// The recent reads of the thread that runs, here because it reads often. Those of others stay with them while they are of use.
class ReadsOfRunning {
  public:
    void note(const void* address) {
        if (reads_.clock != now()) reads_ = {now(), 0, {}};
        reads_.addresses[reads_.count++ % 4] = lower_half(address);
    }
    bool have(const void* address) const {
        if (reads_.clock != now()) return false;
        const auto* const end = reads_.addresses.begin() + std::min(reads_.count, 4u);
        return std::find(reads_.addresses.begin(), end, lower_half(address)) != end;
    }
    ReadsOfRunning& turn() {
        if (thread_ != running.thread || block_ != running.block || id_ != running.block->id) turn_to_running();
        return *this;
    }

  private:
    static std::uint32_t lower_half(const void* address) {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address));
    }
    static std::uint32_t now() { return running.block->clocks[running.thread]; }
    [[gnu::noinline]] void turn_to_running() {
        if (block_ != nullptr && block_->id == id_ && reads_.count > 0 && block_->clocks[thread_] == reads_.clock)
            block_->changed_thread(thread_).reads = reads_;
        block_ = running.block;
        id_ = block_->id;
        thread_ = running.thread;
        reads_ = block_->thread(thread_).reads;
    }
    Block* block_ = nullptr;
    std::uint64_t id_ = 0;
    int thread_ = 0;
    RecentReads reads_;
};
ReadsOfRunning& reads_of_running() {
    static constinit ReadsOfRunning reads;  // a checked launch runs on one CPU thread
    return reads.turn();
}

/// One access being checked.
struct Visit {
    State& all;
    Space& space;
    Arena* arena;  // null: device memory
    Block& owner;  // the running thread's block
    std::uint32_t crowd;
    const Target& target;
    bool reads, structure;
    Access access;
};

[[gnu::noinline, gnu::cold]] void tell_race_of(const Visit& v, Access other) {
    report_race(v.target, v.owner, other, v.arena != nullptr);
}

/// An access to what needs a cell.
void enter_cell(const Visit& v, Access& kept) {
    Cell& cell = v.all.cells[kept];
    if (v.target.kind != Kind::read) kept.settle({});
    const Entered entered = enter(cell, v.access, v.owner, v.space.since);
    if (entered.mixed) note_mixed(v.target, v.owner, *entered.mixed, v.arena != nullptr);
    if (entered.race != nullptr) {
        const Access other = *entered.race;
        if (v.target.kind == Kind::write) {  // as if everything had happened before it
            cell = {};
            cell.write = v.access;
        }
        return tell_race_of(v, other);
    }
    if (v.target.kind != Kind::read) return;
    if (entered.kept)
        kept.settle({});
    else if (entered.left_out && v.crowd != 0)
        kept.settle(Settled::both(kept.settled(), settle(cell, v.access, v.owner, v.space.since)));
}

[[gnu::noinline]] void refuse_copies(const Visit& v, const Page& page, std::size_t offset, std::size_t bytes) {
    for (const std::size_t end = offset + bytes; offset < end;) {
        const std::size_t next = std::min(end, offset / 4 * 4 + 4);
        const Marks& marks = (*page.marks)[offset % kPage / 4];
        if (marks.destination != 0) report_in_flight(v.target, v.owner, v.all.copies[marks.destination - 1], true);
        if (marks.sources != 0 && is_write(v.target.kind))
            if (const Copy* copy = copy_reading(v.space.start() + offset, next - offset))
                report_in_flight(v.target, v.owner, *copy, false);
        offset = next;
    }
}

/// Whether plain reads of these bytes by the running thread, of this crowd, need no check.
inline __attribute__((always_inline)) bool are_settled(const State& s, const Space& space, const void* address, std::size_t bytes,
                                                       std::uint32_t crowd) {
    const std::size_t offset = space.offset(address), at = offset % kPage;
    const Page* const page = space.page(offset);
    if (page == nullptr || page->stamp != s.stamp || at + bytes > kPage) return false;
    const Access* const last = page->accesses() + ((at + bytes - 1) >> page->grain());
    for (const Access* access = page->accesses() + (at >> page->grain()); access <= last; ++access)
        if (!access->is_in_cell() || !access->settled().holds(crowd, running.thread)) return false;
    return true;
}

inline void enter_all(const Visit& v, Page& page, std::size_t at, std::size_t bytes) {
    Access* const last = page.accesses() + ((at + bytes - 1) >> page.grain());
    for (Access* kept = page.accesses() + (at >> page.grain()); kept <= last; ++kept) {
        if (!kept->is_in_cell()) {
            if (!is_atomic(v.target.kind)) {
                const EnteredAlone entered = enter_alone(*kept, v.access, v.owner, v.space.since);
                if (entered == EnteredAlone::yes) continue;
                if (entered == EnteredAlone::race) {
                    const Access other = *kept;
                    if (is_write(v.target.kind)) *kept = v.access;  // as if everything had happened before it
                    tell_race_of(v, other);
                    if (v.all.is_quiet) return;
                    continue;
                }
            }
            v.all.cells.move(*kept);
        }
        enter_cell(v, *kept);
        if (v.all.is_quiet) return;
    }
}

/// The first access to a page in a launch.
[[gnu::noinline]] Page& begin_page(const Visit& v, std::size_t offset) {
    State& s = v.all;
    const bool on_device = &v.space == s.device.get();
    Page& page = v.arena || v.space.page(offset) ? v.space.make_page(offset)
                 : on_device                     ? new_device_page(offset)
                                                 : new_mapped_page(v.space, offset);
    if (page.stamp != s.stamp) {
        page.begin();
        page.stamp = s.stamp;
    }
    if (on_device && page.launch != s.launch) {  // for touched()
        page.launch = s.launch;
        if (page.uses == nullptr) page.uses = std::make_unique<Uses>();
        *page.uses = {};
        s.touched.push_back(offset / kPage * kPage);
    }
    return page;
}

[[gnu::noinline]] void look_for_unwritten(const Visit& v, std::size_t end, std::size_t offset, std::size_t bytes) {
    const State& s = v.all;
    if (s.is_quiet || (v.arena ? !s.unwritten_shared_is_reported || s.held : s.forgives_unwritten)) return;
    const std::size_t all = v.target.bytes;
    const std::size_t missing =
        v.structure ? v.space.first_missing(end - all, all, false) : v.space.first_clear(&Page::written, offset, bytes);
    if (missing != end) report_unwritten(v.target, v.space.start() + missing, v.arena);
}

void visit(Visit& v) {
    State& s = v.all;
    std::size_t offset = v.space.offset(v.target.address);
    for (const std::size_t end = offset + v.target.bytes; offset < end;) {
        if (offset >= v.space.bytes()) report_host_memory(v.target);
        const std::size_t at = offset % kPage;
        Page* page = v.space.page(offset);
        if (page == nullptr || page->stamp != s.stamp) page = &begin_page(v, offset);
        // The bits of 64 bytes lie together.
        const std::size_t first = offset % 64, count = std::min(64 - first, end - offset), bits = at / 64;
        const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
        if ((page->allocated[bits] & mask) != mask) {
            const std::byte* bad = v.space.start() + v.space.first_clear(&Page::allocated, offset, count);
            if (v.arena) report_outside_shared(v.target, bad, v.owner, *v.arena);
            report_not_allocated(v.target, bad);
        }
        if (v.arena == nullptr && page->uses != nullptr)
            (is_write(v.target.kind) ? page->uses->changed : page->uses->read)[bits] |= mask;
        if (!s.is_quiet) {
            if (page->marked != 0) refuse_copies(v, *page, offset, count);
            if (const auto uneven = (offset | (offset + count)) & 3; uneven != 0 && page->grain() > (uneven == 2 ? 1 : 0))
                page->refine(uneven == 2 ? 1 : 0, s.cells);
            if (v.access.bits == 0) {
                const std::uint32_t clock =
                    is_atomic(v.target.kind) ? clock_of_atomic(v.owner, running.thread) : v.owner.clocks[running.thread];
                const bool mix =
                    s.is_foreign && mixes(v.target.address, v.target.bytes, v.target.kind, v.reads && is_write(v.target.kind),
                                          v.arena != nullptr, [&] { return reads_of_running().have(v.target.address); });
                v.access = make_access(time_of(v.owner.ordinal, clock), running.thread, v.target.kind,
                                       origin_number(s, v.target.origin), mix);
            }
            enter_all(v, *page, at, count);
        }
        std::uint64_t& written = page->written[bits];
        if (v.reads && (written & mask) != mask) look_for_unwritten(v, end, offset, count);
        if (is_write(v.target.kind)) written |= mask;
        offset += count;
    }
}

bool lies_in(const void* address, const void* start, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(start) < bytes;
}

/// Whether it is one of the running thread's indices. Most kernels read them more often than anything else.
bool is_index(const void* address) {
    return lies_in(address, &threadIdx, sizeof threadIdx) || lies_in(address, &blockIdx, sizeof blockIdx) ||
           lies_in(address, &blockDim, sizeof blockDim) || lies_in(address, &gridDim, sizeof gridDim);
}

/// Host memory that the kernel's thread may use: the launch's arguments, constants.
bool is_own_host_memory(const void* address, Kind kind) {
    if (is_write(kind)) return false;
    const LaunchRequest* request = state().request;
    if (request &&
        (lies_in(address, request, sizeof *request) || lies_in(address, request->arguments.get(), request->argument_bytes)))
        return true;
    return is_constant_data(address);
}

[[gnu::cold]] void trace(const void* address, std::size_t bytes, Kind kind, Origin origin) {
    State& s = state();
    if (s.copy_step == State::CopyStep::landing) return;
    const Running thread_that_runs = std::exchange(running, {});  // a library function may be an instrumented copy
    const Action action = traced_action(kind);
    if (origin.is_place())
        trace_access(address, bytes, action, nullptr, s.places[origin.value()]);
    else
        trace_access(address, bytes, action, reinterpret_cast<const void*>(origin.value()), {});
    running = thread_that_runs;
}

[[gnu::cold]] void count_cost(const void* address, std::size_t bytes, Origin origin) {
    if (state().copy_step == State::CopyStep::landing) return;
    const Unwatched own_code;
    if (origin.is_place())
        note_cost(address, bytes, nullptr, state().places[origin.value()]);
    else
        note_cost(address, bytes, reinterpret_cast<const void*>(origin.value()), {});
}

/// The arena of a live block that contains the address.
Arena* arena_with(const State& s, const void* address) {
    for (const auto& arena : s.arenas)
        if (arena->block && arena->shadow->holds(address)) return arena.get();
    return nullptr;
}

[[gnu::noinline, gnu::cold]] void observe(const void* address, std::size_t bytes, Kind kind, Origin origin, Memory memory) {
    if (state().counts_costs) count_cost(address, bytes, origin);
    if (traces()) trace(address, bytes, kind, origin);
    if (state().is_annotated && !is_atomic(kind)) note_for_annotations(const_cast<void*>(address), bytes, is_write(kind), memory);
}

[[gnu::noinline]] void visit_now(State& s, Space& space, Arena* arena, const Target& target, bool reads_too, bool structure) {
    Block& block = *running.block;
    Visit v{s,
            space,
            arena,
            block,
            block.crowds[running.thread],
            target,
            reads_too || !is_write(target.kind),
            structure && s.is_foreign,
            {}};
    visit(v);
}

inline __attribute__((always_inline)) void look_into(State& s, Space& space, Arena* arena, const void* address, std::size_t bytes,
                                                     Kind kind, Origin origin, bool reads_too, bool structure) {
    const std::uint32_t crowd = kind == Kind::read ? running.block->crowds[running.thread] : 0;
    if (crowd == 0 || !are_settled(s, space, address, bytes, crowd))
        visit_now(s, space, arena, {static_cast<const std::byte*>(address), bytes, kind, origin}, reads_too, structure);
    if (s.counts_costs || traces() || s.is_annotated)
        observe(address, bytes, kind, origin,
                arena != nullptr           ? Memory::shared
                : &space == s.device.get() ? Memory::device
                                           : Memory::variable);
    if (arena != nullptr && s.is_foreign &&
        (kind == Kind::read || (kind == Kind::atomic_write && reads_of_running().have(address))))
        reads_of_running().note(address);
}

[[gnu::noinline]] void check_elsewhere(State& s, const void* address, std::size_t bytes, Kind kind, Origin origin, bool reads_too,
                                       bool structure) {
    if (is_index(address)) return;
    if (Arena* const arena = arena_with(s, address))
        return look_into(s, *arena->shadow, arena, address, bytes, kind, origin, reads_too, structure);
    if (MappedRange* const mapped = mapped_range(address)) {
        if (mapped->constant && is_write(kind)) report_constant({static_cast<const std::byte*>(address), bytes, kind, origin});
        return look_into(s, *mapped->shadow, nullptr, address, bytes, kind, origin, reads_too, structure);
    }
    if (is_own_host_memory(address, kind)) return;
    if (s.variables_are_device_memory && is_in_program(address, true)) {
        auto* const start = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{15});
        const auto end = static_cast<std::size_t>(static_cast<const std::byte*>(address) + bytes - start);
        mapped(start, (end + 15) & ~std::size_t{15}, false);
        return look_into(s, *mapped_range(address)->shadow, nullptr, address, bytes, kind, origin, reads_too, structure);
    }
    const Running thread_that_runs = std::exchange(running, {});  // the strings below are instrumented, too
    const bool is_library = is_library_code(origin);
    running = thread_that_runs;
    if (!is_library) report_host_memory({static_cast<const std::byte*>(address), bytes, kind, origin});
}

}  // namespace

void check(const void* address, std::size_t bytes, Kind kind, Origin origin, bool reads_too, bool structure) {
    Block* const block = running.block;
    if (block == nullptr || bytes == 0 || lies_in(address, running.stack, running.stack_bytes)) return;
    if (kind != Kind::read) settle();  // of a copy of a structure g++ announces first the write, then the read
    if (is_time_over()) report_time(origin);
    State& s = state();
    if (is_write(kind)) ++s.writes;
    if (s.is_foreign && !is_atomic(kind)) scheduler->spins = 0;
    if (s.device && s.device->holds(address))
        return look_into(s, *s.device, nullptr, address, bytes, kind, origin, reads_too, structure);
    if (block->arena != nullptr && block->arena->shadow->holds(address))
        return look_into(s, *block->arena->shadow, block->arena, address, bytes, kind, origin, reads_too, structure);
    check_elsewhere(s, address, bytes, kind, origin, reads_too, structure);
}

std::uint32_t new_origin_number(Origin origin) {
    State& s = state();
    auto [entry, is_new] = s.origin_numbers.try_emplace(origin.bits, 0);
    if (is_new) {
        if (s.origins.size() <= Access::kMostOrigins)
            s.origins.push_back(origin);
        else
            s.origins.back() = origin;
        entry->second = static_cast<std::uint32_t>(s.origins.size() - 1);
    }
    s.known_origins[(origin.bits ^ origin.bits >> 10) % 1024] = {origin, entry->second};
    return entry->second;
}

void fence(int scope) {
    if (Block* const block = running.block) pass_fence(*block, running.thread, scope > 0);
}

namespace {

void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, bool acquires, Origin origin) {
    check(address, bytes, writes ? Kind::atomic_write : Kind::atomic_read, origin, reads);
    Block* const block = running.block;
    if (!block) return;
    auto& locations = state().releases;
    const auto found = locations.find(address);
    std::shared_ptr<const Releases> releases = found == locations.end() ? nullptr : std::move(found->second);
    pass_atomic(*block, running.thread, reads, writes, acquires, releases);
    if (found != locations.end())
        found->second = std::move(releases);
    else if (releases)
        locations.emplace(address, std::move(releases));
}

}  // namespace

void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Place place) {
    if (running.thread >= 0) atomic_access(address, bytes, reads, writes, reads, intern(place));
}

void arrival(const void* address, std::size_t bytes, bool is_last, int scope, Place place) {
    if (running.thread < 0) return;
    fence(scope);
    atomic_access(address, bytes, true, true, is_last, intern(place));
}

void volatile_access(void* address, std::size_t bytes, bool writes, const void* code) {
    if (lies_in(address, running.stack, running.stack_bytes)) return;
    scheduler->spin(code, {});
    const std::uint64_t spins = scheduler->spins;  // it is none that tells of progress
    if (arena_with(state(), address) != nullptr)
        check(address, bytes, writes ? Kind::write : Kind::read, Origin::of_code(code));
    else
        atomic_access(address, bytes, !writes, writes, !writes, Origin::of_code(code));
    scheduler->spins = writes ? 0 : spins;
}

void read(const void* address, std::size_t bytes, Place place) {
    if (running.thread >= 0) check(address, bytes, Kind::read, intern(place));
}
void write(void* address, std::size_t bytes, Place place) {
    if (running.thread >= 0) check(address, bytes, Kind::write, intern(place));
}

}  // namespace heddle::emulator::checker

#endif
