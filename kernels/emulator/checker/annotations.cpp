// What GPUVerify's annotations ask (cuda/gpuverify.h): axioms, the values of other threads, the accesses of a thread so far, and
// memory of which nothing is known.
#include "kernels/emulator/run/checker_hooks.h"

#if defined(HEDDLE_EMULATOR_CHECK)

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/emulator/checker/state.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/run/run.h"
#include "kernels/emulator/run/scheduler.h"
#include "kernels/emulator/run/verdict.h"

// Last, because it defines words that the headers above may use.
#include "kernels/emulator/cuda/gpuverify.h"

namespace heddle::emulator {
namespace {

using ThreadKey = std::pair<std::uint64_t, int>;  // block, thread

/// A range of memory.
struct MemoryRange {
    const std::byte* start = nullptr;
    std::size_t bytes = 0;
    bool holds(const void* address) const { return std::size_t(static_cast<const std::byte*>(address) - start) < bytes; }
};

struct NotedAccess {
    const std::byte* address;
    bool writes;
};

/// The threads that were at a place for the n-th time, with their values.
struct Visits {
    std::map<ThreadKey, std::size_t> counts;
    std::vector<std::vector<std::pair<ThreadKey, long long>>> values;  // by n
};
constexpr std::size_t kMostOthers = 256;  // that later ones are compared with

struct Annotations {
    std::vector<bool (*)()> axioms;
    std::vector<MemoryRange> arbitrary;
    std::vector<const std::byte*> arrays;
    bool is_memory_arbitrary = false, are_locals_arbitrary = false;
    // What stands in memory that a read is about to find changed.
    std::byte* changed = nullptr;
    std::vector<std::byte> before;
    // Of the launch:
    std::map<ThreadKey, std::vector<NotedAccess>> accesses;
    std::map<std::pair<const char*, int>, Visits> visits;
    // Of the condition that is being evaluated:
    std::size_t choice = 0, choices = 0;
    bool without_another = false;
};
Annotations& annotations() {
    static Annotations& all = *new Annotations;  // files make axioms before main()
    return all;
}

ThreadKey running_thread() { return {scheduler->current->block->number, scheduler->current->number}; }

/// Distinct for the threads of small grids, and never 0.
std::uint32_t number_of_thread() {
    const auto [block, thread] = running_thread();
    return static_cast<std::uint32_t>(block * 1024 + static_cast<std::uint64_t>(thread) + 1);
}

/// The memory of the array that contains the address, and the address that stands for its start.
std::pair<MemoryRange, const std::byte*> array_of(const volatile void* pointer) {
    const auto* const address = const_cast<const std::byte*>(static_cast<const volatile std::byte*>(pointer));
    MemoryRange range{address, 1};
    for (const auto& arena : checker::state().arenas)
        for (const checker::ArenaPiece& piece : arena->pieces)
            if (arena->block != nullptr && MemoryRange{piece.start, piece.bytes}.holds(address))
                range = {piece.start, piece.bytes};
    if (range.bytes == 1)
        if (const std::optional<Allocation> found = nearest_allocation(address)) range = {found->start, found->bytes};
    for (const std::byte* const start : annotations().arrays)
        if (range.holds(start)) return {range, start};
    return {range, range.start};
}

std::vector<const std::byte*> accesses_to(const MemoryRange& range, bool writes) {
    std::vector<const std::byte*> found;
    for (const NotedAccess& access : annotations().accesses[running_thread()])
        if (access.writes == writes && range.holds(access.address) &&
            std::find(found.begin(), found.end(), access.address) == found.end())
            found.push_back(access.address);
    annotations().choices = std::max(annotations().choices, found.size());
    return found;
}

/// Fills the stack below with numbers of the running thread's own.
[[gnu::noinline]] void scribble() {
    volatile std::uint32_t words[1024];
    const std::uint32_t number = number_of_thread() * 2654435761u;
    for (volatile std::uint32_t& word : words) word = number;
}

/// Small numbers stay small, so that an index stays near; of floating-point numbers the lower half changes.
template <class Unsigned>
void change(std::byte* address, std::uint32_t number) {
    Unsigned value;
    std::memcpy(&value, address, sizeof value);
    const std::uint32_t mixed = number ^ number >> 8 ^ number >> 16;
    value = static_cast<Unsigned>(value ^ (value < 4096 ? mixed & 15u : mixed & 0x7fffu));
    std::memcpy(address, &value, sizeof value);
}

}  // namespace

void checker::note_for_annotations(void* address, std::size_t bytes, bool writes, Memory memory) {
    const Unwatched own_code;
    Annotations& own = annotations();
    auto* const first = static_cast<std::byte*>(address);
    if (state().keeps_accesses) own.accesses[running_thread()].push_back({first, writes});
    settle_read();
    if (!own.is_memory_arbitrary || writes) return;
    if (memory == Memory::variable && mapped_range(address)->constant) return;
    if (memory == Memory::device &&
        std::none_of(own.arbitrary.begin(), own.arbitrary.end(), [&](const MemoryRange& range) { return range.holds(address); }))
        return;
    detail::has_unsettled_read = detail::unsettled = true;
    own.changed = first;
    own.before.assign(first, first + bytes);
    const std::uint32_t number = number_of_thread();
    std::size_t done = 0;
    for (; done + 4 <= bytes; done += 4) change<std::uint32_t>(first + done, number);
    for (; done < bytes; ++done) change<std::uint8_t>(first + done, number);
}

bool checker::detail::has_unsettled_read = false;

void checker::settle_read() {
    if (!std::exchange(detail::has_unsettled_read, false)) return;
    std::memcpy(annotations().changed, annotations().before.data(), annotations().before.size());
}

void checker::forget_observed(std::span<const ThreadId> threads) {
    for (const ThreadId& thread : threads) annotations().accesses.erase({thread.block, thread.thread});
}

void checker::forget_observed_block(std::uint64_t number) {
    auto& accesses = annotations().accesses;
    accesses.erase(accesses.lower_bound({number, 0}), accesses.lower_bound({number + 1, 0}));
}

void checker::forget_all_observed() {
    annotations().accesses.clear();
    annotations().visits.clear();
}

namespace gpuverify {

void begin(bool keeps_accesses) {
    checker::State& s = checker::state();
    s.tells_same_values = true;
    s.keeps_accesses = s.is_annotated = keeps_accesses;
    s.forgives_unwritten = true;
    s.unwritten_shared_is_reported = false;
    s.variables_are_device_memory = true;
    most_static = std::size_t{1} << 20;
}

void make_arbitrary(bool memory_too) {
    annotations().are_locals_arbitrary = true;
    annotations().is_memory_arbitrary = memory_too;
    checker::state().is_annotated = true;
}

void add_arbitrary(void* start, unsigned long bytes) {
    annotations().arbitrary.push_back({static_cast<const std::byte*>(start), bytes});
}

unsigned long long own_number() { return annotations().is_memory_arbitrary && in_a_kernel() ? number_of_thread() : 0; }

Axiom::Axiom(bool (*holds)()) { annotations().axioms.push_back(holds); }

void unmet(const char* text, const char* function, const char* file, int line) {
    std::string kernel = kernel_name(scheduler->launch->request->kernel);
    kernel.erase(std::min(kernel.find('<'), kernel.size()));
    const std::string at = " at " + text_of(Place{file, line});
    if (function == nullptr || kernel == function)
        violate(mistake("assert", {file, line}, "a precondition of GPUVerify, `" + std::string(text) + "', does not hold" + at));
    violate(mistake("assert", {file, line},
                    "the call of " + std::string(function) + " does not meet its precondition `" + text + "'" + at));
}

bool thread_begins() {
    Annotations& own = annotations();
    for (bool (*const axiom)() : own.axioms)
        if (!axiom()) return false;
    if (own.are_locals_arbitrary) scribble();
    return true;
}

void start_choices() {
    Annotations& own = annotations();
    own.choice = own.choices = 0;
    own.without_another = false;
}

bool next_choice() {
    const checker::Unwatched own_code;
    return ++annotations().choice < annotations().choices;
}

bool is_without_another() { return annotations().without_another; }

long long another(Place place, long long value) {
    const checker::Unwatched own_code;
    Annotations& own = annotations();
    Visits& visits = own.visits[{place.file, place.line}];
    const ThreadKey self = running_thread();
    std::size_t& count = visits.counts[self];
    if (own.choice == 0) ++count;
    if (visits.values.size() < count) visits.values.resize(count);
    auto& values = visits.values[count - 1];
    if (own.choice == 0 && values.size() < kMostOthers) values.emplace_back(self, value);
    std::size_t others = 0;
    long long chosen = value;
    for (const auto& [thread, its_value] : values)
        if (thread != self && others++ == own.choice) chosen = its_value;
    own.choices = std::max(own.choices, others);
    own.without_another = own.choice >= others;
    return chosen;
}

bool has_accessed(const volatile void* array, bool writes) {
    const checker::Unwatched own_code;
    return annotations().choice < accesses_to(array_of(array).first, writes).size();
}

unsigned long accessed_offset(const volatile void* array, bool writes) {
    const checker::Unwatched own_code;
    const auto [range, start] = array_of(array);
    const std::vector<const std::byte*> found = accesses_to(range, writes);
    return annotations().choice < found.size() ? static_cast<unsigned long>(found[annotations().choice] - start) : 0;
}

unsigned long offset_in_array(const volatile void* pointer) {
    const checker::Unwatched own_code;
    return static_cast<unsigned long>(static_cast<const volatile std::byte*>(pointer) - array_of(pointer).second);
}

void add_array(void* start) { annotations().arrays.push_back(static_cast<const std::byte*>(start)); }

}  // namespace gpuverify
}  // namespace heddle::emulator

#endif
