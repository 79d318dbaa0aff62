// The checker's rules for one access, and its interface to the scheduler and the runtime.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>
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

State& state() {
    static State& all = *new State;  // never destroyed: device memory outlives main
    return all;
}

Block* running_block() {
    State& s = state();
    if (s.current && s.current->number == running.block) return s.current;
    for (const auto& block : s.blocks)
        if (block->number == running.block) return s.current = block.get();
    return nullptr;
}

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

/// One access being checked.
struct Visit {
    Space& space;
    Arena* arena;  // null: device memory
    Block& owner;  // the running thread's block
    Target target;
    Access access;
    bool reads, structure;
};

std::byte* address_of(const Visit& v, std::size_t offset) { return v.space.start() + offset; }

void enter_or_report(const Visit& v, Cell& cell) {
    const Entered entered = enter(cell, v.access, v.owner, v.space.since);
    if (entered.mixed) note_mixed(v.target, v.owner, *entered.mixed, v.arena != nullptr);
    const Access* const other = entered.race;
    if (other == nullptr) return;
    report_race(v.target, v.owner, *other, v.arena != nullptr);
    if (v.target.kind != Kind::write) return;
    cell.write = v.access;  // as if everything had happened before it
    for (Access& old : cell.atomics) old.block = 0;
    for (Access& old : cell.reads) old.block = 0;
}

/// A plain read of a whole word.
void enter_read(const Visit& v, Cell& word, Settled& settled) {
    const Entered entered = enter(word, v.access, v.owner, v.space.since);
    if (entered.mixed) note_mixed(v.target, v.owner, *entered.mixed, v.arena != nullptr);
    if (entered.race) return report_race(v.target, v.owner, *entered.race, v.arena != nullptr);
    if (entered.kept)
        settled = {};
    else if (entered.left_out && v.owner.threads[v.access.thread()].crowd != 0)
        settled = settle(word, v.access, v.owner, v.space.since);
}

void refuse_copies(const Visit& v, const Cell& cell, std::size_t offset, std::size_t bytes) {
    if (cell.destination != 0) report_in_flight(v.target, v.owner, state().copies[cell.destination - 1], true);
    if (cell.sources != 0 && is_write(v.target.kind))
        if (const Copy* copy = copy_reading(address_of(v, offset), bytes)) report_in_flight(v.target, v.owner, *copy, false);
}

/// `bytes` of one word.
void visit_word(const Visit& v, Page& page, std::size_t offset, std::size_t bytes) {
    const std::size_t at = offset % kPage;
    if (page.words == nullptr && bytes == 4 && !is_atomic(v.target.kind)) {
        const Access* race = nullptr;
        if (enter_small(page.small_word(at), v.access, v.owner, v.space.since, race)) {
            if (race == nullptr) return;
            report_race(v.target, v.owner, *race, v.arena != nullptr);
            if (is_write(v.target.kind)) page.small_word(at) = {v.access, {}};  // as if everything had happened before it
            return;
        }
    }
    Cell& word = page.word(at);
    if ((word.destination | word.sources) != 0) refuse_copies(v, word, offset, bytes);
    Settled& settled = page.settled[at / 4];
    if (v.target.kind != Kind::read) settled = {};
    const bool split = word.split >= v.space.since && word.split != 0;
    if (bytes == 4 && !split) {
        if (v.target.kind == Kind::read) return enter_read(v, word, settled);
        enter_or_report(v, word);
        return;
    }
    if (!split) {
        word.split = v.owner.ordinal;
        for (std::size_t i = 0; i < 4; ++i) {
            Cell& byte = page.byte(at / 4 * 4 + i);
            byte.write = word.write;
            byte.atomics = word.atomics;
            byte.reads = word.reads;
        }
    }
    settled = {};
    for (std::size_t i = 0; i < bytes; ++i) enter_or_report(v, page.byte(at + i));
}

/// Whether the words that contain the bytes are settled for plain reads by the thread.
bool are_settled(const Space& space, const void* address, std::size_t bytes, std::uint32_t crowd, int thread) {
    const std::size_t offset = space.offset(address), at = offset % kPage;
    const Page* const page = space.page(offset);
    if (page == nullptr || page->settled == nullptr || at + bytes > kPage) return false;
    for (std::size_t word = at / 4; word <= (at + bytes - 1) / 4; ++word)
        if (!page->settled[word].holds(crowd, thread)) return false;
    return true;
}

/// For touched(): records that the launch accesses the bytes in `mask` of the 64 bytes at `offset`.
void note(Page& page, std::size_t offset, std::uint64_t mask, Kind kind) {
    State& s = state();
    if (page.launch != s.first_ordinal) {
        page.launch = s.first_ordinal;
        if (page.uses == nullptr) page.uses = std::make_unique<Uses>();
        *page.uses = {};
        s.touched.push_back(offset / kPage * kPage);
    }
    (is_write(kind) ? page.uses->changed : page.uses->read)[offset % kPage / 64] |= mask;
}

void visit(const Visit& v) {
    std::size_t offset = v.space.offset(v.target.address);
    for (const std::size_t end = offset + v.target.bytes; offset < end;) {
        const std::size_t first = offset % 64, count = std::min(64 - first, end - offset);
        const std::uint64_t mask = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
        if (offset >= v.space.bytes()) report_host_memory(v.target);
        const bool on_device = &v.space == state().device.get();
        Page& page = v.arena || v.space.page(offset) ? v.space.make_page(offset)
                     : on_device                     ? new_device_page(offset)
                                                     : new_mapped_page(v.space, offset);
        if ((page.allocated[offset % kPage / 64] & mask) != mask) {
            const std::byte* bad = address_of(v, v.space.first_clear(&Page::allocated, offset, count));
            if (v.arena) report_outside_shared(v.target, bad, v.owner, *v.arena);
            report_not_allocated(v.target, bad);
        }
        if (on_device) note(page, offset, mask, v.target.kind);
        const std::size_t stop = offset + count;
        // Shared memory's cells fill the L2 cache. Prefetching all of them overlaps the misses.
        for (std::size_t at = offset / 4 * 4; page.words && at < stop; at += 4) {
            const auto* const cell = reinterpret_cast<const std::byte*>(&page.word(at % kPage));
            __builtin_prefetch(cell, 1);
            __builtin_prefetch(cell + 64, 1);
        }
        const State& s = state();
        for (std::size_t at = offset; at < stop && !s.is_quiet;) {
            const std::size_t next = std::min(stop, at / 4 * 4 + 4);
            visit_word(v, page, at, next - at);
            at = next;
        }
        std::uint64_t& written = page.written[offset % kPage / 64];
        if (v.reads && (written & mask) != mask && !s.is_quiet &&
            (v.arena ? s.unwritten_shared_is_reported && !s.held : !s.forgives_unwritten)) {
            const std::size_t all = v.target.bytes, missing =
                v.structure ? v.space.first_missing(end - all, all, false) : v.space.first_clear(&Page::written, offset, count);
            if (missing != end) report_unwritten(v.target, address_of(v, missing), v.arena);
        }
        if (is_write(v.target.kind)) written |= mask;
        offset = stop;
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

}  // namespace

void check(const void* address, std::size_t bytes, Kind kind, Origin origin, bool reads_too, bool structure) {
    if (running.thread < 0 || bytes == 0 || lies_in(address, running.stack, running.stack_bytes)) return;
    Block* const block = running_block();
    if (!block) return;
    settle();
    if (is_time_over()) report_time(origin);
    State& s = state();
    if (is_write(kind)) ++s.writes;
    if (s.is_foreign && !is_atomic(kind)) scheduler->spins = 0;
    Thread& thread = block->threads[running.thread];
    const bool may_be_settled = kind == Kind::read && thread.crowd != 0;
    const auto look_into = [&](Space& space, Arena* arena) {
        if (!may_be_settled || !are_settled(space, address, bytes, thread.crowd, running.thread)) {
            const Target target{static_cast<const std::byte*>(address), bytes, kind, origin};
            const std::uint32_t clock = is_atomic(kind) ? clock_of_atomic(thread) : thread.clock;
            const bool mix = s.is_foreign && mixes(thread, address, bytes, kind, reads_too, arena != nullptr);
            const Access access = make_access(block->ordinal, running.thread, clock, kind, origin, mix);
            visit({space, arena, *block, target, access, reads_too || !is_write(kind), structure && s.is_foreign});
        }
        if (s.counts_costs) count_cost(address, bytes, origin);
        if (traces()) trace(address, bytes, kind, origin);
    };
    if (s.device && s.device->holds(address)) return look_into(*s.device, nullptr);
    for (const auto& arena : s.arenas)
        if (arena->block && arena->shadow->holds(address)) {
            look_into(*arena->shadow, arena.get());
            if (s.is_foreign && (kind == Kind::read || (kind == Kind::atomic_write && thread.has_read(address))))
                thread.note_plain_read(address);
            return;
        }
    if (is_index(address)) return;
    if (MappedRange* const mapped = mapped_range(address)) {
        if (mapped->constant && is_write(kind)) report_constant({static_cast<const std::byte*>(address), bytes, kind, origin});
        return look_into(*mapped->shadow, nullptr);
    }
    if (is_own_host_memory(address, kind)) return;
    const Running thread_that_runs = std::exchange(running, {});  // the strings below are instrumented, too
    const bool is_library = is_library_code(origin);
    running = thread_that_runs;
    if (!is_library) report_host_memory({static_cast<const std::byte*>(address), bytes, kind, origin});
}

void launch_begins(const LaunchRequest& request) {
    State& s = state();
    s.request = &request;
    forget_reported();
    s.copy_step = State::CopyStep::none;  // a violation may have ended the last launch in one
    s.is_foreign = request.is_foreign;
    s.is_quiet = s.same_value_is_told = s.mix_is_told = false;
    s.counts_costs = is_cost_counted();
    s.first_ordinal = s.next_ordinal;
    s.numbers.clear();
    s.releases.clear();
    for (const std::size_t page : s.touched) s.device->page(page)->forget_accesses();
    s.touched.clear();
    if (s.device) s.device->since = s.first_ordinal;
}

std::optional<ViolationRecord> held_back() {
    settle();
    return std::exchange(state().held, std::nullopt);
}

void launch_ends() {
    settle();
    State& s = state();
    s.held.reset();
    for (const auto& block : s.blocks) drop_copies(block->ordinal);
    for (const auto& arena : s.arenas) arena->block = nullptr;
    s.blocks.clear();
    s.current = nullptr;
    s.request = nullptr;
    s.places.clear();
}

void block_begins(std::uint64_t number, int threads, std::span<std::byte> memory) {
    State& s = state();
    auto block = std::make_unique<Block>();
    block->number = number;
    block->ordinal = s.next_ordinal++;
    block->threads.resize(static_cast<std::size_t>(threads));
    const std::uint32_t crowd = new_crowd();
    for (Thread& thread : block->threads) thread.crowd = crowd;
    s.numbers.push_back(number);
    s.blocks.push_back(std::move(block));
    s.current = s.blocks.back().get();
    if (memory.empty()) return;
    // Locations in shared memory start fresh with each block.
    std::erase_if(s.releases, [&](const auto& location) { return lies_in(location.first, memory.data(), memory.size()); });
    std::erase_if(s.arenas, [&](const auto& arena) {
        const Space& shadow = *arena->shadow;
        const bool same = shadow.start() == memory.data() && shadow.bytes() == memory.size();
        return !same && (shadow.holds(memory.data()) || lies_in(shadow.start(), memory.data(), memory.size()));
    });
    auto arena =
        std::find_if(s.arenas.begin(), s.arenas.end(), [&](const auto& a) { return a->shadow->start() == memory.data(); });
    if (arena == s.arenas.end()) {
        s.arenas.push_back(std::make_unique<Arena>());
        arena = s.arenas.end() - 1;
        (*arena)->shadow = std::make_unique<Space>(memory);
    }
    Space& shadow = *(*arena)->shadow;
    shadow.set(&Page::allocated, 0, shadow.bytes(), false, true);
    shadow.set(&Page::written, 0, shadow.bytes(), false, true);
    shadow.since = s.blocks.front()->ordinal;  // of the blocks that are resident with it
    (*arena)->block = s.current;
    (*arena)->pieces.clear();
}

void block_ends(std::uint64_t number) {
    State& s = state();
    const auto block = std::find_if(s.blocks.begin(), s.blocks.end(), [&](const auto& b) { return b->number == number; });
    if (block == s.blocks.end()) return;
    drop_copies((*block)->ordinal);
    for (const auto& arena : s.arenas)
        if (arena->block == block->get()) arena->block = nullptr;
    s.blocks.erase(block);
    s.current = nullptr;
}

void joined(std::span<const ThreadId> threads) {
    static std::vector<Member> members;
    members.clear();
    Block* block = nullptr;
    for (const ThreadId& id : threads) {
        if (!block || block->number != id.block) {
            const auto& blocks = state().blocks;
            const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b->number == id.block; });
            if (found == blocks.end()) return;
            block = found->get();
        }
        members.push_back({block, id.thread});
    }
    join(members);
}

void fence(int scope) {
    if (Block* const block = running.thread >= 0 ? running_block() : nullptr) pass_fence(*block, running.thread, scope > 0);
}

namespace {

void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Origin origin) {
    check(address, bytes, writes ? Kind::atomic_write : Kind::atomic_read, origin, reads);
    Block* const block = running_block();
    if (!block) return;
    auto& locations = state().releases;
    const auto found = locations.find(address);
    std::shared_ptr<const Releases> releases = found == locations.end() ? nullptr : found->second;
    pass_atomic(*block, running.thread, reads, writes, releases);
    if (found != locations.end())
        found->second = std::move(releases);
    else if (releases)
        locations.emplace(address, std::move(releases));
}

bool is_in_an_arena(const void* address) {
    return std::any_of(state().arenas.begin(), state().arenas.end(),
                       [&](const auto& arena) { return arena->block && arena->shadow->holds(address); });
}

}  // namespace

void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Place place) {
    if (running.thread >= 0) atomic_access(address, bytes, reads, writes, intern(place));
}

void volatile_access(void* address, std::size_t bytes, bool writes, const void* code) {
    if (lies_in(address, running.stack, running.stack_bytes)) return;
    scheduler->spin(code, {});
    const std::uint64_t spins = scheduler->spins;  // it is none that tells of progress
    if (is_in_an_arena(address))
        check(address, bytes, writes ? Kind::write : Kind::read, Origin::of_code(code));
    else
        atomic_access(address, bytes, !writes, writes, Origin::of_code(code));
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
