// What the scheduler, the runtime and instrumented code tell the checker: it keeps for each byte of device and shared memory
// whether it is allocated, written, in flight, and by whom it was last touched, and for each thread what happened before it. In a
// build without instrumentation (HEDDLE_EMULATOR_CHECK undefined) every function is empty.
//
// Threads are numbered within their block; calls about a thread are made on its fiber unless a parameter names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/emulator/kernel.h"

namespace heddle::emulator::checker {

/// (block, thread) pairs, for barriers across blocks. `block` counts all blocks of the grid, x first; threads are numbered alike.
struct ThreadId {
    std::uint64_t block;
    int thread;
};

/// The thread that runs: the scheduler sets it whenever it goes to a thread's fiber, and back to {} when it leaves for its own
/// stack. The checker looks at nothing while thread is -1, nor at the fiber's own stack.
struct Running {
    std::uint64_t block = 0;
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

/// While one lives no other thread uses the checker's state: a checked launch holds one from its beginning to its end, so that
/// what other threads allocate, free and copy meanwhile waits for it. Nested ones of one thread count. Taken before the memory's
/// books.
class Alone {
  public:
    Alone();
    ~Alone();
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
};

/// Blocks of a checked launch run one at a time (or one group of co-resident blocks at a time) on one CPU thread. The request
/// must be the one whose `thread` then runs: the arguments inside it may be read by every thread.
void launch_begins(const LaunchRequest& request);
/// Also after a violation.
void launch_ends();
/// The arena is the block's shared memory, poisoned and nowhere valid; its pieces are announced by shared_piece when a thread
/// first takes them (again and again does no harm), everything between is red zone.
void block_begins(std::uint64_t block, int threads, std::span<std::byte> arena);
/// Of the running thread's block.
void shared_piece(std::byte* start, std::size_t bytes);
void block_ends(std::uint64_t block);

/// The threads have met at a barrier of any kind (block, warp mask, named, cluster, grid): whatever each did before happened
/// before whatever each does from now on. Called once, before any of them continues.
void joined(std::span<const ThreadId> threads);
/// The running thread passed a fence: scope 0 the block, 1 the device. A fence before an atomic releases, an atomic before a
/// fence acquires.
void fence(int scope);
/// The running thread made an atomic access (it orders nothing by itself). Called before the access.
void atomic_access(const void* address, std::size_t bytes, bool reads, bool writes, Place place);
/// A plain access of the running thread that is not seen by instrumentation: vector accesses, ldmatrix rows. Called before the
/// access.
void read(const void* address, std::size_t bytes, Place place);
void write(void* address, std::size_t bytes, Place place);

/// The running thread issues an asynchronous copy: until it waits for it, nobody may touch the destination, nor write the source,
/// of which the first `valid` bytes are read. `copy` numbers it. `landed`: its issuer has waited; the destination now counts as
/// written by the issuer.
void copy_issued(std::uint64_t copy, void* to, const void* from, int bytes, int valid, Place place);
void copy_landed(std::uint64_t copy);

/// The runtime's side: allocations, releases, copies and fills of the host, in the stream's order.
void allocated(std::byte* start, std::size_t bytes);
void released(std::byte* start, std::size_t bytes);
void host_wrote(const void* start, std::size_t bytes);
/// The first of the bytes that was never written, or null.
const void* first_unwritten(const void* start, std::size_t bytes);
/// What the launch that ended last has touched of device memory, byte for byte: what operations of other streams are compared
/// with.
std::vector<Touched> touched();

#else

inline constexpr bool kEnabled = false;

struct Alone {
    Alone() {}  // so that it is used, for the compiler
};

inline void launch_begins(const LaunchRequest&) {}
inline void launch_ends() {}
inline void block_begins(std::uint64_t, int, std::span<std::byte>) {}
inline void shared_piece(std::byte*, std::size_t) {}
inline void block_ends(std::uint64_t) {}
inline void joined(std::span<const ThreadId>) {}
inline void fence(int) {}
inline void atomic_access(const void*, std::size_t, bool, bool, Place) {}
inline void read(const void*, std::size_t, Place) {}
inline void write(void*, std::size_t, Place) {}
inline void copy_issued(std::uint64_t, void*, const void*, int, int, Place) {}
inline void copy_landed(std::uint64_t) {}
inline void allocated(std::byte*, std::size_t) {}
inline void released(std::byte*, std::size_t) {}
inline void host_wrote(const void*, std::size_t) {}
inline const void* first_unwritten(const void*, std::size_t) { return nullptr; }
inline std::vector<Touched> touched() { return {}; }

#endif

/// Says who runs now. Free of charge in a build without the checker.
inline void runs([[maybe_unused]] const Running& thread) {
#if defined(HEDDLE_EMULATOR_CHECK)
    running = thread;
#endif
}

}  // namespace heddle::emulator::checker
