// The checker's interface for the scheduler, the runtime and instrumented code (the room checker implements it). For each byte of
// device and shared memory the checker records whether it is allocated, written or in flight, and its last accesses; for each
// thread, what happened before it. In a build without instrumentation (HEDDLE_EMULATOR_CHECK undefined) every function is empty.
//
// Threads are numbered within their block. Functions about a thread are called on its fiber unless a parameter names it.
#pragma once

#if defined(HEDDLE_EMULATOR_SHARED)
#error \
    "this source is compiled for builds with and without the checker at once; include checker_hooks.h in it directly and run cmake again"
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/interface.h"
#include "kernels/emulator/launch_request.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator::checker {

/// (block, thread) pairs, for barriers across blocks. `block` is the linear index in the grid, x fastest; threads are numbered
/// alike.
struct ThreadId {
    std::uint64_t block;
    int thread;
};

/// What the checker keeps of a block.
struct Block;

/// The running thread: the scheduler sets it when it switches to a thread's fiber, and resets it to {} when it returns to its own
/// stack. The checker ignores all accesses while thread is -1, and those to the fiber's own stack.
struct Running {
    Block* block = nullptr;
    int thread = -1;
    const std::byte* stack = nullptr;
    std::size_t stack_bytes = 0;
};

/// Device memory that a launch has touched.
struct Touched {
    std::byte* start;
    std::size_t bytes;
    bool written;
};

#if defined(HEDDLE_EMULATOR_CHECK)

inline constexpr bool kEnabled = true;

extern thread_local constinit Running running;

/// A recursive lock on the checker's state. A checked launch holds it from beginning to end, so allocations, frees and copies of
/// other threads wait for it. Acquired before the lock of the memory's bookkeeping.
class Alone {
  public:
    Alone();
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
};

namespace detail {
extern bool unsettled;
void settle_now();
}  // namespace detail
/// Tells the race of a write whose value was not known before it was made. Called before another thread runs.
inline void settle() {
    if (detail::unsettled) detail::settle_now();
}
/// While one lives, the checker ignores the running thread: the emulator's own code runs, which may be an instrumented copy.
class Unwatched {
  public:
    Unwatched() : before_(running) { running = {}; }
    ~Unwatched() { running = before_; }
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;

  private:
    const Running before_;
};

/// The number of writes that were checked so far.
std::uint64_t writes();
/// A mistake of the running launch that is told last, if nothing else was.
std::optional<ViolationRecord> held_back();
/// A launch was abandoned: from now on no read of global memory that nobody wrote is reported, because that launch might have.
void forgive_unwritten();

/// Blocks of a checked launch run one at a time (or one group of co-resident blocks at a time) on one CPU thread. `request` must
/// be the request whose `thread` runs, because all threads may read its arguments.
void launch_begins(const LaunchRequest& request);
/// Also called after a violation.
void launch_ends();
/// The arena is the block's shared memory, poisoned and initially invalid. shared_piece() makes a piece valid when a thread takes
/// it (repeated calls are harmless); everything between pieces is red zone.
Block* block_begins(std::uint64_t block, int threads, std::span<std::byte> arena);
/// Declares a piece of the running thread's block.
void shared_piece(std::byte* start, std::size_t bytes);
/// The piece is the variable `name`; both live as long as the program.
void name_shared_piece(std::byte* start, const char* name, const cuda::Shape& shape);
void block_ends(std::uint64_t block);

/// The threads have met at a barrier of any kind (block, warp mask, named, cluster, grid): everything that each of them did
/// before happened before everything that each does from now on. Called once, before any of them continues.
void joined(std::span<const ThreadId> threads);
/// The same for all threads of a block.
void joined(Block& block);
/// The running thread passed a fence; scope 0 is the block, 1 the device. A fence before an atomic releases, a fence after an
/// atomic acquires.
void fence(int scope);
/// The running thread made an atomic access (it orders nothing by itself). Called before the access.
void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Place place);
/// The running thread arrives at a barrier that is an object in memory: a fence of this scope and an atomic change, of which only
/// the last arrival learns what the others released.
void arrival(const void* address, std::size_t bytes, bool is_last, int scope, Place place);
/// A plain access of the running thread that is not instrumented: vector accesses, ldmatrix rows. Called before the access.
void read(const void* address, std::size_t bytes, Place place);
void write(void* address, std::size_t bytes, Place place);

/// The running thread issues an asynchronous copy: until it has waited for it, no thread may touch the destination or write the
/// source, whose first `valid` bytes are read. `copy` is the copy's number. `landed`: the issuer has waited; the destination now
/// counts as written by the issuer.
void copy_issued(std::uint64_t copy, void* to, const void* from, int bytes, int valid, Place place);
void copy_landed(std::uint64_t copy);

/// Called by the runtime: allocations, releases, copies and fills of the host, in the stream's order.
/// `written`: its bytes count as written from the start, because the host writes them unseen.
void allocated(std::byte* start, std::size_t bytes, bool written);
void released(std::byte* start, std::size_t bytes);
void host_wrote(const void* start, std::size_t bytes);
/// Memory outside of the device's range that kernels reach (run/memory.h, map_memory); `constant`: they may only read it.
void mapped(std::byte* start, std::size_t bytes, bool constant);
void unmapped(const void* start);
/// The first byte that was never written, or null.
const void* first_unwritten(const void* start, std::size_t bytes);
/// The bytes of device memory that the last launch touched, to be compared with operations of other streams.
std::vector<Touched> touched();
/// Whether reads of shared memory that no thread has written are reported; on by default. Where a barrier is missing, a read may
/// run before its write and is then reported as unwritten. With this off, the later write is reported as the race.
void report_unwritten_shared(bool reported);

#else

inline constexpr bool kEnabled = false;

struct Alone {
    Alone() {}  // avoids an unused-variable warning
};
struct Unwatched {
    Unwatched() {}
};

inline void settle() {}
inline std::uint64_t writes() { return 0; }
inline void forgive_unwritten() {}
inline std::optional<ViolationRecord> held_back() { return {}; }

inline void launch_begins(const LaunchRequest&) {}
inline void launch_ends() {}
inline Block* block_begins(std::uint64_t, int, std::span<std::byte>) { return nullptr; }
inline void shared_piece(std::byte*, std::size_t) {}
inline void name_shared_piece(std::byte*, const char*, const cuda::Shape&) {}
inline void block_ends(std::uint64_t) {}
inline void joined(std::span<const ThreadId>) {}
inline void joined(Block&) {}
inline void fence(int) {}
inline void atomic_access(const void*, std::size_t, bool, bool, Place) {}
inline void arrival(const void*, std::size_t, bool, int, Place) {}
inline void read(const void*, std::size_t, Place) {}
inline void write(void*, std::size_t, Place) {}
inline void copy_issued(std::uint64_t, void*, const void*, int, int, Place) {}
inline void copy_landed(std::uint64_t) {}
inline void allocated(std::byte*, std::size_t, bool) {}
inline void released(std::byte*, std::size_t) {}
inline void host_wrote(const void*, std::size_t) {}
inline void mapped(std::byte*, std::size_t, bool) {}
inline void unmapped(const void*) {}
inline const void* first_unwritten(const void*, std::size_t) { return nullptr; }
inline std::vector<Touched> touched() { return {}; }
inline void report_unwritten_shared(bool) {}

#endif

/// Sets the running thread. Costs nothing in a build without the checker.
inline void runs([[maybe_unused]] const Running& thread) {
#if defined(HEDDLE_EMULATOR_CHECK)
    running = thread;
#endif
}

}  // namespace heddle::emulator::checker
