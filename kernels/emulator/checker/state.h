// The checker's complete state, for its own files only. One launch at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/emulator/checker/clocks.h"
#include "kernels/emulator/checker/shadow.h"
#include "kernels/emulator/run/action.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator::checker {

/// An asynchronous copy between its issue and its landing.
struct Copy {
    std::uint64_t number = 0;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    int bytes = 0, valid = 0;
    Access issue;
};

/// A piece of shared memory. `name`: the variable's; null if the kernel took it by its number.
struct ArenaPiece {
    std::byte* start;
    std::size_t bytes;
    const char* name = nullptr;
    const cuda::Shape* shape = nullptr;
};

/// A block's shared memory. `shadow` outlives the block and is reused by the next one at the same addresses.
struct Arena {
    std::unique_ptr<Space> shadow;
    Block* block = nullptr;  // its current owner
    std::vector<ArenaPiece> pieces;
};

/// Host memory or a variable that kernels reach. The shadow exists once a kernel has touched it.
struct MappedRange {
    std::size_t bytes = 0;
    bool constant = false;
    std::unique_ptr<Space> shadow;
};

struct State {
    // Memory
    std::map<std::byte*, MappedRange> mapped;  // by start
    std::unique_ptr<Space> device;             // created by the first allocation
    struct Allocated {
        std::size_t bytes;
        bool written;  // from the start
    };
    std::map<std::byte*, Allocated> allocations;  // the live ones
    std::vector<std::unique_ptr<Arena>> arenas;
    std::vector<std::size_t> touched;  // offsets of the device's pages that the launch has touched
    Cells cells;
    // The launch
    const LaunchRequest* request = nullptr;
    std::uint32_t launch = 0;                    // counts launches
    std::uint32_t stamp = 0;                     // of accesses that are not outdated (Page::stamp)
    std::vector<std::uint64_t> numbers;          // of the launch's blocks, by ordinal - 1
    std::vector<std::unique_ptr<Block>> blocks;  // the live ones
    std::vector<std::unique_ptr<Block>> spare_blocks;
    std::unordered_map<std::uint64_t, Block*> by_number;  // the live ones
    std::vector<Origin> origins;                          // of accesses, by number
    struct KnownOrigin {
        Origin origin;
        std::uint32_t number = 0;
    };
    std::array<KnownOrigin, 1024> known_origins{};  // the last ones
    std::unordered_map<std::uint64_t, std::uint32_t> origin_numbers;
    std::unordered_map<const void*, std::shared_ptr<const Releases>> releases;  // of atomic locations
    // Copies in flight; a cell's `destination` is an index here plus one
    std::vector<Copy> copies;
    std::vector<std::uint32_t> free_copies;
    std::unordered_map<std::uint64_t, std::uint32_t> in_flight;  // copy number to index
    std::vector<Place> places;                                   // interned
    bool unwritten_shared_is_reported = true;
    // A launch of a program of the front end goes on after a race or a read of what nobody wrote.
    bool is_foreign = false, counts_costs = false;
    bool tells_same_values = false;  // each write of the value that already stands there, not only the first
    std::vector<std::pair<std::uint64_t, std::uint64_t>> same_values;  // the origins of those that were told
    bool variables_are_device_memory = false;                          // those of the program without __device__, too
    bool keeps_accesses = false;                                       // annotations ask about them (annotations.cpp)
    bool is_annotated = false;                                         // keeps_accesses, or memory holds what nobody knows
    bool is_quiet = false;  // a violation of the launch was reported: accesses are only noted from then on
    bool same_value_is_told = false, mix_is_told = false;
    /// A read of shared memory before its write: it is told when the launch ends, unless the write comes and is told as the race.
    std::optional<ViolationRecord> held;
    bool forgives_unwritten = false;  // a launch was abandoned: global memory may lack what it would have written
    std::uint64_t writes = 0;
    // Which part of a copy is being checked. A landing is not traced, because its writes were traced at the copy's issue.
    enum class CopyStep : std::uint8_t { none, issue, landing } copy_step = CopyStep::none;
};
inline State& state() {
    static State& all = *new State;  // never destroyed: device memory outlives main
    return all;
}

/// A Place as the origin of an access.
Origin intern(Place place);
/// The number of an origin in the launch. All beyond the first kMostOrigins share one, and are reported as the last of them.
[[gnu::noinline]] std::uint32_t new_origin_number(Origin origin);
inline std::uint32_t origin_number(State& s, Origin origin) {
    const State::KnownOrigin& known = s.known_origins[(origin.bits ^ origin.bits >> 10) % 1024];
    return known.origin.bits == origin.bits && known.number != 0 ? known.number : new_origin_number(origin);
}
inline std::uint32_t origin_number(Origin origin) { return origin_number(state(), origin); }
inline Origin origin_of(const Access& access) { return state().origins[access.origin()]; }

/// Creates the shadow of a page of device memory that was not touched before (memory.cpp).
Page& new_device_page(std::size_t offset);
/// The same for a mapped range, whose bytes all count as allocated and written.
Page& new_mapped_page(Space& space, std::size_t offset);
/// The mapped range that contains the address, with its shadow; null if there is none.
MappedRange* mapped_range(const void* address);

/// Makes all checks of one access by the running thread. `structure`: it may be a copy of one, with padding.
void check(const void* address, std::size_t bytes, Kind kind, Origin origin, bool reads_too = false, bool structure = false);

/// Undoes what note_for_annotations() did for the last read, which has happened by now.
void settle_read();
namespace detail {
extern bool has_unsettled_read;
}
/// Where an access went.
enum class Memory : std::uint8_t { device, shared, variable };
/// Notes an access for annotations, and gives a read a value of its own where nothing is known of the memory.
void note_for_annotations(void* address, std::size_t bytes, bool writes, Memory memory);
/// The threads have met at a barrier: what they accessed before is of no interest to annotations.
void forget_observed(std::span<const ThreadId> threads);
void forget_observed_block(std::uint64_t number);
void forget_all_observed();

/// A volatile access by the running thread, before which another thread may run.
void volatile_access(void* address, std::size_t bytes, bool writes, const void* code);

/// Reports (report.cpp). Those of races and of unwritten memory return in launches that go on.
struct Target {
    const std::byte* address;
    std::size_t bytes;
    Kind kind;
    Origin origin;
};
/// The kind of event for an access of this kind, at the current step of a copy.
Action traced_action(Kind kind);
void report_race(const Target& target, const Block& block, const Access& other, bool shared);
/// Once in each launch: the two would race if they did not mix().
void note_mixed(const Target& target, const Block& block, const Access& other, bool shared);
void report_unwritten(const Target& target, const std::byte* byte, const Arena* arena);
[[noreturn]] void report_not_allocated(const Target& target, const std::byte* byte);
[[noreturn]] void report_outside_shared(const Target& target, const std::byte* byte, const Block& block, const Arena& arena);
[[noreturn]] void report_host_memory(const Target& target);
[[noreturn]] void report_constant(const Target& target);
[[noreturn]] void report_misaligned(const Target& target);
void report_in_flight(const Target& target, const Block& block, const Copy& copy, bool destination);
/// The time of the run is over, and the running thread accesses memory.
[[noreturn]] void report_time(Origin origin);
/// Called when a launch begins: clears last_reported_access() (reported.h).
void forget_reported();
/// Whether it is data of the program: its constants, and its variables if `writable_too`.
bool is_in_program(const void* address, bool writable_too);
/// Whether a kernel may read this host memory: the program's constants.
bool is_constant_data(const void* address);
/// Whether the access is in a function of the standard library or the emulator. The linker keeps one copy of an inline function
/// such as std::string's, so the emulator may call the copy from a kernel file.
bool is_library_code(Origin origin);

/// A copy in flight whose source contains the byte; null if there is none.
const Copy* copy_reading(const std::byte* first, std::size_t bytes);
void drop_copies(std::uint32_t block_ordinal);

}  // namespace heddle::emulator::checker
