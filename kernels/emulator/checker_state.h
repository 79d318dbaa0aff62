// The checker's whole state, for its own files: one launch at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/emulator/checker_clocks.h"
#include "kernels/emulator/checker_shadow.h"

namespace heddle::emulator::checker {

/// An asynchronous copy between its issue and its landing.
struct Copy {
    std::uint64_t number = 0;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    int bytes = 0, valid = 0;
    Access issue;
};

/// A block's shared memory. `shadow` outlives the block: the next one at the same addresses takes it over.
struct Arena {
    std::unique_ptr<Space> shadow;
    Block* block = nullptr;  // whose it is now
    std::vector<std::span<std::byte>> pieces;
};

struct State {
    // Memory
    std::unique_ptr<Space> device;                  // made with the first allocation
    std::map<std::byte*, std::size_t> allocations;  // the live ones
    std::vector<std::unique_ptr<Arena>> arenas;
    std::vector<std::size_t> touched;  // offsets of the device's pages that the launch has touched
    // The launch
    const LaunchRequest* request = nullptr;
    std::uint32_t next_ordinal = 1;              // of the block that begins next
    std::uint32_t first_ordinal = 1;             // of the launch's first block
    std::vector<std::uint64_t> numbers;          // of the launch's blocks, by ordinal - first_ordinal
    std::vector<std::unique_ptr<Block>> blocks;  // the live ones
    Block* current = nullptr;                    // the one found last
    std::unordered_map<const void*, std::shared_ptr<const Releases>> releases;  // of atomic locations
    // Copies in flight; a cell's `destination` is an index here plus one
    std::vector<Copy> copies;
    std::vector<std::uint32_t> free_copies;
    std::unordered_map<std::uint64_t, std::uint32_t> in_flight;  // from a copy's number to its index
    std::vector<Place> places;                                   // interned
};
State& state();

/// The running thread's block; null when it is none that the checker knows.
Block* running_block();
/// A Place as the origin of an access.
Origin intern(Place place);

/// The shadow of a page of device memory that nobody touched so far (checker_memory.cpp).
Page& new_device_page(std::size_t offset);

/// The running thread touches memory: everything that is checked.
void check(const void* address, std::size_t bytes, Kind kind, Origin origin, bool reads_too = false);

/// Reports (checker_report.cpp); none of them returns.
struct Target {
    const std::byte* address;
    std::size_t bytes;
    Kind kind;
    Origin origin;
};
[[noreturn]] void report_race(const Target& target, const Block& block, const Access& other, bool shared);
[[noreturn]] void report_unwritten(const Target& target, const std::byte* byte, const Arena* arena);
[[noreturn]] void report_not_allocated(const Target& target, const std::byte* byte);
[[noreturn]] void report_outside_shared(const Target& target, const std::byte* byte, const Block& block, const Arena& arena);
[[noreturn]] void report_host_memory(const Target& target);
[[noreturn]] void report_misaligned(const Target& target);
[[noreturn]] void report_in_flight(const Target& target, const Block& block, const Copy& copy, bool destination);
/// Whether a kernel may read there although it is host memory: the program's constants.
bool is_constant_data(const void* address);
/// Whether the access stands in a function of the standard library or the emulator. The linker keeps one of several equal
/// functions, such as std::string's, and the one that the emulator then calls may be that of a kernel file.
bool is_library_code(Origin origin);

/// A copy whose source holds the byte; null when there is none.
const Copy* copy_reading(const std::byte* first, std::size_t bytes);
void drop_copies(std::uint32_t block_ordinal);

}  // namespace heddle::emulator::checker
