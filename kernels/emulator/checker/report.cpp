// The checker's reports: each names both source locations and what is missing between them.
#include "kernels/emulator/checker/reported.h"
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/emulator/checker/state.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/trace_hooks.h"
#include "kernels/emulator/run/verdict.h"

namespace heddle::emulator::checker {
namespace {

SourceLine line_of(Origin origin) {
    if (!origin.is_place()) return source_line_of(reinterpret_cast<const void*>(origin.value()));
    const std::vector<Place>& places = state().places;
    if (origin.value() >= places.size()) return {};
    const Place& place = places[origin.value()];
    return {text_of(place), place.file, place.line};
}
std::string place(Origin origin) { return line_of(origin).text; }
std::string at(Origin origin) {
    const std::string where = place(origin);
    return where.empty() ? "" : " at " + where;
}

std::string count(std::size_t n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string distance(std::ptrdiff_t bytes) { return count(static_cast<std::size_t>(bytes), "byte"); }

std::string triple(std::uint64_t number, const dim3& size) {
    const std::uint64_t x = std::max(1u, size.x), y = std::max(1u, size.y);
    return "(" + std::to_string(number % x) + ", " + std::to_string(number / x % y) + ", " + std::to_string(number / x / y) + ")";
}
std::string thread_text(int thread) {
    const LaunchRequest* request = state().request;
    return "thread " + (request ? triple(static_cast<std::uint64_t>(thread), request->block) : std::to_string(thread));
}
std::string block_text(std::uint32_t ordinal) {
    const State& s = state();
    const std::size_t index = ordinal - 1;
    return s.request && index < s.numbers.size() ? "block " + triple(s.numbers[index], s.request->grid) : "another block";
}

/// "writes 4 bytes of shared memory at kernels/x/x.cu:41"
std::string deed(const Target& target, const std::string& memory) {
    return std::string(verb(target.kind)) + " " + count(target.bytes, "byte") + " of " + memory + at(target.origin);
}

// "`tile`[3][5]", and where in the element.
std::string element(const std::string& name, const cuda::Shape& shape, std::size_t offset) {
    std::string text = "`" + name + "`";
    for (const unsigned long stride : shape.strides) {
        if (stride == 0) break;
        text += "[" + std::to_string(offset / stride) + "]";
        offset %= stride;
    }
    return offset == 0 ? text : "byte " + std::to_string(offset) + " of " + text;
}
std::string in_allocation(const std::byte* address) {
    const std::optional<Allocation> allocation = nearest_allocation(address);
    if (!allocation) return "";
    const auto offset = static_cast<std::size_t>(address - allocation->start);
    if (allocation->shape != nullptr && allocation->shape->strides[0] != 0)
        return element(allocation->place, *allocation->shape, offset) + ", " + title(*allocation);
    if (!is_device_memory(address)) return "byte " + std::to_string(offset) + " of " + title(*allocation);
    return "byte " + std::to_string(offset) + " of the " + count(allocation->bytes, "byte") + " allocated at " +
           allocation->place;
}
std::string title(const ArenaPiece& piece) {
    return piece.name == nullptr ? "a piece of " + count(piece.bytes, "byte")
                                 : std::string("`") + piece.name + "` of " + count(piece.bytes, "byte");
}
const ArenaPiece* piece_with(const std::byte* address, const Arena& arena) {
    const auto found = std::find_if(arena.pieces.begin(), arena.pieces.end(), [&](const ArenaPiece& piece) {
        return address >= piece.start && address < piece.start + piece.bytes;
    });
    return found == arena.pieces.end() ? nullptr : &*found;
}
std::string in_arena(const std::byte* address, const Arena& arena) {
    if (const ArenaPiece* const piece = piece_with(address, arena)) {
        const auto offset = static_cast<std::size_t>(address - piece->start);
        return piece->name != nullptr ? element(piece->name, *piece->shape, offset)
                                      : "byte " + std::to_string(offset) + " of " + title(*piece);
    }
    return "byte " + std::to_string(address - arena.shadow->start()) + " of the arena";
}
// The variable in shared memory that contains the address: ": `tile`[17]"; "" if it has no name.
std::string in_variable(const std::byte* address) {
    for (const auto& arena : state().arenas)
        if (arena->block != nullptr)
            if (const ArenaPiece* const piece = piece_with(address, *arena); piece != nullptr && piece->name != nullptr)
                return in_arena(address, *arena);
    return "";
}

/// The synchronisation that would have ordered the two accesses: in a sentence, or in a record, what stands between them.
std::string missing(const Target& target, const Block& block, const Access& other, bool in_a_record) {
    const std::string joint = in_a_record ? "" : "and ";
    if (is_atomic(target.kind) || is_atomic(other.kind()))
        return joint + "nothing orders the two: an atomic access by itself orders nothing, a barrier or fences on both sides do";
    if (other.block() != block.ordinal)
        return joint +
               "nothing orders the two blocks: only a grid barrier or the next launch does, or an atomic behind __threadfence() "
               "on one side and before it on the other";
    if (other.thread() / 32 == scheduler->current->number / 32)
        return in_a_record ? "no __syncwarp() of both lanes and no barrier between the two"
                           : "without a __syncwarp of both lanes or a barrier between";
    return in_a_record ? "no barrier between the two" : "without a barrier between";
}

/// The thread of an earlier access, and its block if that is another one.
std::string who_made(const Access& access, const Block& block) {
    return thread_text(access.thread()) + (access.block() != block.ordinal ? " of " + block_text(access.block()) : "");
}

// Adds the access to the trace, if there is one, as its last event.
void trace_reported(const Target& target, const Access* earlier) {
    if (!traces()) return;
    const State& s = state();
    const auto code = [](Origin origin) { return origin.is_place() ? nullptr : reinterpret_cast<const void*>(origin.value()); };
    const auto place = [&](Origin origin) { return origin.is_place() ? s.places[origin.value()] : Place{}; };
    EarlierAccess other;
    if (earlier != nullptr)
        other = {s.numbers.at(earlier->block() - 1), earlier->thread(), code(origin_of(*earlier)), place(origin_of(*earlier))};
    trace_mistake(target.address, target.bytes, traced_action(target.kind), code(target.origin), place(target.origin),
                  earlier == nullptr ? nullptr : &other);
}

// The report about the running launch.
std::optional<ReportedAccess>& reported() {
    static std::optional<ReportedAccess> last;
    return last;
}

/// Fields of a record beside those of the access.
struct Beside {
    Origin other{};
    std::string between = {};
    bool same_value = false;
    bool is_shared = false;
};

// Tells the mistake, and ends the launch with this message unless a chip would go on and the launch may. `earlier`: the access
// that this one conflicts with.
void report(Mistake kind, const Target& target, const std::string& what, ReportedAccess about = {},
            const Access* earlier = nullptr, const Beside& beside = {}) {
    if (target.kind == Kind::read) {
        const bool was_quiet = state().is_quiet;
        settle();
        if (state().is_quiet && !was_quiet) return;  // what came first was told instead
    }
    trace_reported(target, earlier);
    const SourceLine line = line_of(target.origin);
    about.mistake = kind;
    about.what = what;
    about.verb = verb(target.kind);
    about.place = line.text;
    about.address = reinterpret_cast<std::uint64_t>(target.address);
    about.bytes = target.bytes;
    if (about.allocation == 0)
        if (const std::optional<Allocation> nearest = nearest_allocation(target.address)) {
            about.allocation = reinterpret_cast<std::uint64_t>(nearest->start);
            about.is_freed = nearest->freed;
        }
    ViolationRecord record = mistake(kind_of(kind), {}, what);
    record.verb = about.verb;
    record.file = line.file;
    record.line = line.line;
    record.other_thread = about.earlier_thread;
    record.other_verb = about.earlier_verb;
    record.between = beside.between;
    record.same_value = beside.same_value;
    if (earlier != nullptr) {
        const SourceLine other = line_of(origin_of(*earlier));
        record.other_file = other.file;
        record.other_line = other.line;
    }
    reported() = std::move(about);
    State& s = state();
    if (!s.is_foreign || (kind != Mistake::race && kind != Mistake::copy && kind != Mistake::unwritten))
        violate(std::move(record));
    if (kind == Mistake::unwritten && beside.is_shared) {
        scheduler->complete(record, scheduler->current->block, scheduler->current);
        s.held = std::move(record);
        return;
    }
    (beside.same_value ? s.same_value_is_told : s.is_quiet) = true;
    if (!beside.same_value) s.held.reset();
    record_and_go_on(std::move(record));
}
[[noreturn]] void report_and_end(Mistake kind, const Target& target, const std::string& what, ReportedAccess about = {}) {
    report(kind, target, what, std::move(about));
    __builtin_unreachable();
}

// A write that races with a plain access, before its value is known.
struct UnsettledRace {
    Target target{};
    const Block* block = nullptr;
    Access other{};
    bool shared = false;
    std::array<std::byte, 64> before{};
};
UnsettledRace unsettled_race;

void tell_race(const Target& target, const Block& block, const Access& other, bool shared, bool same_value) {
    const Unwatched own_code;
    const std::string who = who_made(other, block);
    const std::string where = shared ? in_variable(target.address) : in_allocation(target.address);
    const std::string orders = missing(target, block, other, false);
    std::string what = "race: " + deed(target, shared ? "shared memory" : "global memory") + ", which " + who + " " +
                       past(other.kind()) + at(origin_of(other)) + ", " + orders + (where.empty() ? "" : ": " + where);
    if (same_value)
        what += is_write(other.kind()) ? "; both write the same value" : "; the value that it writes already stands there";
    report(Mistake::race, target, what,
           {.earlier_thread = who,
            .earlier_verb = past(other.kind()),
            .earlier_place = place(origin_of(other)),
            .missing = orders,
            .is_between_blocks = other.block() != block.ordinal && !is_atomic(target.kind) && !is_atomic(other.kind()),
            .both_write = target.kind == Kind::write && other.kind() == Kind::write},
           &other, {origin_of(other), missing(target, block, other, true), same_value});
}

}  // namespace

void forget_reported() { reported().reset(); }

void report_race(const Target& target, const Block& block, const Access& other, bool shared) {
    const bool may_be_same =
        target.kind == Kind::write && !is_atomic(other.kind()) && target.bytes <= unsettled_race.before.size();
    if (!state().is_foreign || !may_be_same) return tell_race(target, block, other, shared, false);
    if (unsettled_race.block != nullptr) return;  // another word of the same access
    detail::unsettled = true;
    unsettled_race = {target, &block, other, shared, {}};
    std::memcpy(unsettled_race.before.data(), target.address, target.bytes);
}

void note_mixed(const Target& target, const Block& block, const Access& other, bool shared) {
    if (std::exchange(state().mix_is_told, true)) return;
    const Unwatched own_code;
    const std::string who = who_made(other, block);
    const SourceLine line = line_of(target.origin), earlier = line_of(origin_of(other));
    ViolationRecord note =
        mistake("portability", {},
                deed(target, shared ? "shared memory" : "global memory") + ", which " + who + " " + past(other.kind()) +
                    at(origin_of(other)) + ": a plain read beside atomic updates may get any of their values; use " +
                    (shared ? "an atomic read" : "a volatile or atomic read"));
    note.note = true;
    note.verb = verb(target.kind);
    note.file = line.file;
    note.line = line.line;
    note.other_thread = who;
    note.other_verb = past(other.kind());
    note.other_file = earlier.file;
    note.other_line = earlier.line;
    record_and_go_on(std::move(note));
}

bool detail::unsettled = false;

void detail::settle_now() {
    unsettled = false;
    settle_read();
    if (unsettled_race.block == nullptr) return;
    const UnsettledRace race = unsettled_race;
    unsettled_race.block = nullptr;
    State& s = state();
    const bool same = std::memcmp(race.before.data(), race.target.address, race.target.bytes) == 0;
    if (s.is_quiet || (same && (tolerates_same_values() || (s.same_value_is_told && !s.tells_same_values)))) return;
    if (same && s.tells_same_values) {  // each pair of places once
        const std::pair<std::uint64_t, std::uint64_t> places(race.target.origin.bits, race.other.origin());
        if (std::find(s.same_values.begin(), s.same_values.end(), places) != s.same_values.end()) return;
        s.same_values.push_back(places);
    }
    tell_race(race.target, *race.block, race.other, race.shared, same);
}

void report_time(Origin origin) {
    running = {};
    if (!origin.is_place()) out_of_time(reinterpret_cast<const void*>(origin.value()), {});
    const std::vector<Place>& places = state().places;
    out_of_time(nullptr, origin.value() < places.size() ? places[origin.value()] : Place{});
}

void report_unwritten(const Target& target, const std::byte* byte, const Arena* arena) {
    const Unwatched own_code;
    Target reading = target;
    reading.kind = is_atomic(target.kind) ? target.kind : Kind::read;
    if (arena)
        return report(Mistake::unwritten, reading,
                      deed(reading, "shared memory") + " that no thread of this block has written: " + in_arena(byte, *arena), {},
                      nullptr, {.is_shared = true});
    report(Mistake::unwritten, reading, deed(reading, "global memory") + " that was never written: " + in_allocation(byte));
}

void report_not_allocated(const Target& target, const std::byte* byte) {
    running = {};
    std::optional<Allocation> nearest = nearest_allocation(target.address);
    // If the next allocation's start is nearer than this one's end, it is the one that was probably meant.
    for (std::size_t ahead = 32; ahead <= 256; ahead += 32) {
        const std::optional<Allocation> next = nearest_allocation(target.address + ahead);
        if (!next || (nearest && next->start == nearest->start) || next->freed) continue;
        if (!nearest || next->start - target.address < target.address - (nearest->start + nearest->bytes)) nearest = next;
        break;
    }
    if (!nearest) report_and_end(Mistake::bounds, target, deed(target, "global memory") + " where nothing was ever allocated");
    const std::byte* const start = nearest->start;
    const std::byte* const end = start + nearest->bytes;
    const std::string whose = "the " + count(nearest->bytes, "byte") + " allocated at " + nearest->place;
    const ReportedAccess near{.allocation = reinterpret_cast<std::uint64_t>(start), .is_freed = nearest->freed};
    if (target.address < start)
        report_and_end(Mistake::bounds, target,
                       deed(target, "global memory") + ", " + distance(start - target.address) + " before " + whose, near);
    if (byte < end && nearest->freed)
        report_and_end(Mistake::bounds, target,
                       deed(target, "global memory") + " after it was freed: " + in_allocation(target.address), near);
    report_and_end(Mistake::bounds, target,
                   deed(target, "global memory") + ", " + distance(target.address + target.bytes - end) + " past the end of " +
                       whose + (nearest->freed ? " (and freed)" : ""),
                   near);
}

void report_outside_shared(const Target& target, const std::byte* byte, const Block& block, const Arena& arena) {
    running = {};
    if (arena.block != &block)
        report_and_end(Mistake::bounds, target,
                       deed(target, "the shared memory of another block") + ", " + block_text(arena.block->ordinal));
    const ArenaPiece* before = nullptr;
    const ArenaPiece* behind = nullptr;
    for (const ArenaPiece& piece : arena.pieces) {
        if (piece.start + piece.bytes <= byte && (!before || piece.start > before->start)) before = &piece;
        if (piece.start > byte && (!behind || piece.start < behind->start)) behind = &piece;
    }
    const std::byte* const end = target.address + target.bytes;
    const auto past_end = before ? static_cast<std::size_t>(end - (before->start + before->bytes)) : std::size_t(-1);
    const auto ahead = behind ? static_cast<std::size_t>(behind->start - target.address) : std::size_t(-1);
    std::string where = "of which no piece was taken yet";
    if (state().request->shared == 0 && target.address < arena.shadow->start() + arena.shadow->bytes() - static_bytes())
        where = "but the launch gave its blocks no dynamic shared memory";
    else if (before && past_end <= ahead)
        where = count(past_end, "byte") + " past the end of " + title(*before);
    else if (behind)
        where = count(ahead, "byte") + " before " + title(*behind);
    report_and_end(Mistake::bounds, target, deed(target, "shared memory") + ", " + where);
}

void report_host_memory(const Target& target) {
    running = {};
    std::string what =
        is_stack_of_thread(target.address) ? "the stack of a thread that is no more" : "host memory, which a GPU cannot reach";
    for (const emulator::Block& live : scheduler->blocks) {
        for (int i = 0; i < live.threads; ++i) {
            const Fiber* fiber = live.first[i].fiber;
            if (!fiber || target.address < fiber->stack || target.address >= fiber->stack + fiber->stack_bytes) continue;
            what = "a local variable of " + name_of(live.first[i], scheduler->current);
        }
    }
    if (is_in_program(target.address, true)) {
        what = is_constant_data(target.address) ? "constant data of the program"
                                                : "a variable of the program, which a GPU cannot reach";
    }
    // Right behind pinned memory or a variable, that is what was meant.
    for (std::ptrdiff_t back = 1; back <= 256 && !mapped_memory(target.address); back *= 2)
        if (const std::optional<Allocation> piece = mapped_memory(target.address - back)) {
            const std::byte* const end = piece->start + piece->bytes;
            what += ", " + distance(target.address + target.bytes - end) + " past the end of " + title(*piece);
            break;
        }
    report_and_end(Mistake::bounds, target, deed(target, what));
}

void report_constant(const Target& target) {
    running = {};
    report_and_end(Mistake::bounds, target,
                   deed(target, "constant memory") + ", which kernels may only read: " + in_allocation(target.address));
}

void report_misaligned(const Target& target) {
    running = {};
    report_and_end(Mistake::misaligned, target,
                   deed(target, "memory") + ", whose address is not a multiple of " + std::to_string(target.bytes));
}

void report_in_flight(const Target& target, const Block& block, const Copy& copy, bool destination) {
    const Unwatched own_code;
    const bool own = copy.issue.block() == block.ordinal && copy.issue.thread() == scheduler->current->number;
    const std::string who = own ? "it" : who_made(copy.issue, block);
    const std::string side = destination ? "the destination" : "the source";
    report(Mistake::copy, target,
           "race: " + deed(target, side + " of an asynchronous copy") + ", which " + who + " issued" + at(origin_of(copy.issue)) +
               " and has not waited for",
           {.earlier_thread = who, .earlier_verb = "issued", .earlier_place = place(origin_of(copy.issue))}, &copy.issue,
           {origin_of(copy.issue), "no wait for the copy between the two", false});
}

}  // namespace heddle::emulator::checker

namespace heddle::emulator {

std::optional<ReportedAccess> last_reported_access() { return checker::reported(); }

}  // namespace heddle::emulator

#else

std::optional<heddle::emulator::ReportedAccess> heddle::emulator::last_reported_access() { return {}; }

#endif
