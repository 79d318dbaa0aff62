// The trace of kernels: every access of every thread to global and shared memory with its source line, and where threads meet or
// wait, in the order in which the emulator ran them. Only for watched kernels (run/checker_hooks.h), which run on one CPU thread.
//
//     begin_trace();
//     ... launch and wait for the device ...
//     for (const TracedLaunch& launch : end_trace()) ... requests_of(launch) (requests.h)
//
// The order of threads between two waits is the scheduler's, not a chip's. There is no time in a trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/run/action.h"

namespace heddle::emulator {

struct TraceEvent {
    /// Global memory: the address; shared memory: the offset as the kernel counts it; collective: 1 + the index in
    /// TracedLaunch::exchanges, or 0 if it moves no values.
    std::uint64_t address = 0;
    std::array<std::byte, 16> value{};    ///< the first bytes read, or those in memory after the write; none for copy_write
    std::uint32_t block = 0, site = 0;    ///< linear number in the grid; index in TracedLaunch::sites
    std::uint32_t lanes = 0;              ///< collective, barrier: the lanes of this warp that met
    std::uint16_t thread = 0, bytes = 0;  ///< number in the block (of a meeting: of any lane)
    Action action = Action::read;
    bool shared = false;
};

/// A place in the code that acts. Two accesses in one line are two sites, where the compiler told them apart.
struct TraceSite {
    std::string place;  ///< "kernels/softmax/softmax.cu:41", followed by " (in ...)" for functions of the device layer
    std::string what;   ///< a collective or barrier: "__syncthreads"
};

/// Values of the lanes before and after a shuffle, a vote or another collective that moves values.
struct TracedExchange {
    static constexpr std::uint8_t kNobody = 0xff;
    std::array<std::uint64_t, 32> before{}, after{};  ///< of the lanes that met; bits, whose type is not known
    std::array<std::uint8_t, 32> from{};              ///< a shuffle: whose value it is; kNobody: no lane's alone
};

inline constexpr std::uint32_t kNoEvent = ~std::uint32_t{0};

/// A piece of shared memory that the kernel took.
struct TracedPiece {
    std::uint32_t start = 0, bytes = 0;  ///< offset as the kernel counts it
    std::string name = {};               ///< the variable's; empty if the kernel took it by its number
    bool operator==(const TracedPiece&) const = default;
};

struct TracedLaunch {
    std::string kernel;  ///< with its template arguments
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    std::vector<TraceSite> sites;
    std::vector<TraceEvent> events;
    std::vector<TracedExchange> exchanges;  ///< of the first kMostExchanges collectives of a trace
    std::vector<TracedPiece> pieces;        ///< in the order in which a block takes them
    /// Indices in `events`. `mistake`: the reported access; it was not made, so it has no value. `earlier`: if the report is
    /// about a race, the other thread's latest access at the reported place.
    std::uint32_t mistake = kNoEvent, earlier = kNoEvent;
    bool mistake_is_made = false;  ///< the launch went on, and the access was made after all
    bool is_cut = false;           ///< more happened than the trace holds
};

/// The events that a trace holds unless told otherwise: about 100 MB.
inline constexpr std::size_t kMostTraceEvents = 2'000'000;

/// The collectives whose values a trace holds: about 50 MB.
inline constexpr std::size_t kMostExchanges = 100'000;

/// What happens to a launch that exceeds the events of a trace.
enum class WhenFull {
    end_launch,     ///< it ends with a Violation that says so
    stop_recording  ///< it runs on, and is_cut
};

/// Traces all launches from now on. `most_events`: of all launches together. Of more than `most_launches` it keeps the first ones
/// and, if none of these has a mistake, the first that has one. Throws std::logic_error where kernels are not watched.
void begin_trace(std::size_t most_events = kMostTraceEvents, WhenFull when_full = WhenFull::end_launch,
                 std::size_t most_launches = ~std::size_t{0});
/// Ends it; the device must be idle. Launches in the order in which they ran.
std::vector<TracedLaunch> end_trace();
/// A copy of what is recorded so far, the running launch included: for a thread of the CPU that has stopped the one which runs
/// the kernel, such as the handler of a time limit. Nothing if that one was stopped while it recorded.
std::optional<std::vector<TracedLaunch>> trace_so_far();

}  // namespace heddle::emulator
