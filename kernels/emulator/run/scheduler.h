// The scheduler: the threads of one block (or of a group of blocks that must be resident together), each on a fiber, all on one
// CPU thread.
//
// A thread runs until it must wait. It is then registered with what it waits for, and another ready thread is drawn at random.
// The thread that ends the wait (the last one at a barrier, the last lane of a shuffle) makes it ready again. wait_until() waits
// for a condition without a signal; such conditions are checked when no thread is ready. If no thread is ready and no condition
// holds, that is a deadlock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/emulator/interface.h"
#include "kernels/emulator/launch_request.h"
#include "kernels/emulator/run/fiber.h"
#include "kernels/emulator/violation_record.h"

namespace heddle::emulator {

namespace checker {
struct Block;
}
struct Block;
struct Warp;

/// Random numbers (splitmix64, Steele et al. 2014): good enough for scheduling, about two nanoseconds.
class Random {
  public:
    explicit Random(std::uint64_t seed = 0) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>((next() >> 32) * n >> 32); }

  private:
    std::uint64_t state_;
};

/// One asynchronous copy that its thread has not waited for.
struct PendingCopy {
    std::uint64_t number;
    std::byte* to;
    const std::byte* from;
    int bytes, valid;
    std::uint64_t group;
    bool landed;  ///< the bytes moved before the wait
    Place place;
};

enum class State : std::uint8_t { fresh, ready, waiting, exited };

/// A CUDA thread. What each switch needs is one line of the cache.
struct alignas(64) Thread {
    Block* block = nullptr;
    Warp* warp = nullptr;
    Fiber* fiber = nullptr;     ///< while it is neither fresh nor exited
    const char* waits_in = "";  ///< while it waits: the call, and its location
    Place place;
    uint3 index = {};
    std::uint16_t number = 0;  ///< in its block
    State state = State::fresh;
    bool closes_meeting = false;  ///< the last lane that others waited for has left: this one ends their meeting

    const void* frame = nullptr;  ///< where its stack begins
    bool (*condition)(void*) = nullptr;
    void* argument = nullptr;
    const std::byte* awaited = nullptr;  ///< what the condition is about
    std::vector<PendingCopy> copies;
    std::uint64_t groups = 0;  ///< committed groups of copies
    int lane() const { return number % 32; }
};

/// A barrier of any kind except a warp's.
struct Barrier {
    std::vector<Thread*> waiting;
    Place place;
    int count = 0;       ///< named barriers: the announced number of threads
    int predicates = 0;  ///< sum of those of the threads that have arrived
    int result = 0;      ///< the last meeting's sum
    unsigned generation = 0;
    char order[2] = {};  ///< addresses for ThreadSanitizer, one for each of two meetings in a row
};

/// A warp collective that some lanes have reached.
struct Meeting {
    const char* what;
    unsigned mask, arrived;
    Place place;
};
inline constexpr std::uint8_t kNoLane = 0xff;
struct Warp {
    Thread* threads = nullptr;  ///< lane 0's
    unsigned exists = 0, exited = 0;
    unsigned present = 0;     ///< in compute(): the lanes that met, which are all of the mask that have not left
    std::uint64_t value[32];  ///< each lane's value
    std::uint64_t result[32];
    std::uint8_t source[32];  ///< the lane whose value a shuffle returns; kNoLane if it has left
    void* part[32];           ///< each lane's operand for mma or ldmatrix
    /// A lane's call of __activemask().
    struct Question {
        Place place;
        const void* code;
        std::ptrdiff_t depth;
    };
    unsigned asking = 0;  ///< the lanes that wait in one
    int patience = 0;
    Question question[32];
    int meetings = 0;
    Meeting meeting[32];
    char order[32][2];
    unsigned generation[32];
};

/// One piece of shared memory that threads took.
struct Piece {
    int start, bytes;
    Place place;
};
/// A variable in shared memory, behind the pieces.
struct StaticPiece {
    const void* tag;
    std::byte* at;
    std::size_t start, bytes;  ///< in the block's static memory, without red zones
    const char* name;
};
struct Block {
    std::uint64_t number = 0;
    uint3 index = {};
    int threads = 0, exited = 0;
    Thread* first = nullptr;
    Warp* warps = nullptr;
    Barrier barrier;
    Barrier named[16];
    bool named_used = false;
    Barrier partial[32];             ///< of groups of warps, by their first one
    std::vector<const void*> shown;  ///< the threads' values for groups of warps
    std::vector<Piece> pieces;
    std::vector<StaticPiece> statics;
    std::byte* arena = nullptr;
    std::size_t arena_bytes = 0;
    checker::Block* checked = nullptr;
};

/// A running launch, shared by the CPU threads that work on it.
struct Launch {
    const LaunchRequest* request;
    std::uint64_t number;  ///< index among the launches since the seed was set
    const std::vector<std::uint64_t>* chosen;
    std::uint64_t groups;  ///< number of groups of blocks
    int blocks_per_group;
    std::uint64_t first, stride;  ///< groups run in the order first, first + stride, ... (mod groups)
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::atomic<std::uint64_t> copies{0};  ///< number of asynchronous copies so far
    std::mutex mutex;
    std::string error;           ///< ", block .., thread ..: what"
    std::string kind;            ///< of that violation
    bool is_told = false;        ///< a record of a violation is written: it is the launch's only one
    bool is_late = false;        ///< the time of the run was over when it began
    bool notes_exited = false;   ///< one says that a barrier did not wait for threads that had left
    bool notes_no_lane = false;  ///< one says that a shuffle read a lane that is not there
};

/// The emulator's state for one CPU thread.
class Scheduler {
  public:
    Scheduler() = default;
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;
    /// Binds it to the running CPU thread.
    void attach();
    /// Runs groups of blocks of the launch until none is left or one has failed.
    void work(Launch& launch);

    Thread* current = nullptr;  ///< null outside of kernels
    Launch* launch = nullptr;
    Random random;
    std::vector<Block> blocks;   ///< the group's blocks, and those that were admitted because it waits for them
    Barrier group_barrier;       ///< for all blocks of the group, which is a cluster or a grid
    std::uint64_t spins = 0;     ///< consecutive accesses that wait for another thread, with nothing else in between
    std::uint64_t progress = 0;  ///< counts threads that left, barriers and collectives

    /// The running thread waits in `what`: others run until make_ready() is called for it.
    void wait(const char* what, Place place);
    void make_ready(Thread* thread) {
        thread->state = State::ready;
        ready_.push_back({thread, thread->fiber, thread->fiber->stack_pointer});
    }
    /// Waits until condition(argument) holds; it is checked whenever no thread is ready. `awaited` is the memory that it is
    /// about.
    void wait_until(bool (*condition)(void*), void* argument, const std::byte* awaited, const char* what, Place place);
    /// Lets another thread run first, if one can.
    void step_aside();
    /// The running thread reads or changes memory by which threads wait for each other: an atomic or a volatile access. Another
    /// one may run first. Ends the launch if it has only spun for long. `code`: the access's address if `place` is unknown.
    void spin(const void* code, Place place);
    /// Abandons the launch with this message. The running fiber is dropped.
    [[noreturn]] void abandon(ViolationRecord about, const Block* block, const Thread* thread);
    /// Fills in the launch, and the block and thread that are not null.
    void complete(ViolationRecord& about, const Block* block, const Thread* thread) const;
    /// Tells it of the running thread if it is a note or the launch's first violation.
    void tell_once(ViolationRecord about, const Block* block, const Thread* thread);

  private:
    static void fiber_main();
    void run_group(std::uint64_t group);
    void begin_block(Block& block, std::uint64_t number);
    void end_block(Block& block);
    bool admit();
    void give_memory(Block& block, std::size_t slot);
    void start(Thread* thread);
    void now_runs(Thread* thread);
    void finish(Thread* thread);
    void enter(Fiber& from, Thread* thread);
    Thread* draw();
    void look_at_conditions();
    /// Whether some thread waits for a change of memory that other blocks reach.
    bool waits_outside_of_its_block() const;
    [[noreturn]] void deadlock();
    Fiber* idle_fiber();
    Fiber* new_fiber();

    Fiber own_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<Fiber*> idle_;  // fibers idle in fiber_main, or never started
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    // The fiber and its stack are stored here so that prefetching them follows no pointer. A fresh thread has no fiber.
    struct Ready {
        Thread* thread;
        const Fiber* fiber;
        const void* stack;
    };
    std::vector<Ready> ready_;
    std::vector<Thread*> conditional_;
    struct Arena {
        std::byte* start = nullptr;
        std::size_t bytes = 0;
    };
    std::vector<Arena> arenas_;
    int unfinished_ = 0;
    std::size_t most_resident_ = 0;  // blocks that the chip holds at once
    bool dropped_ = false;
    char begin_order_ = 0, end_order_ = 0;  // addresses for ThreadSanitizer
};

/// Ends a launch that still runs when the time of the run is over: the running thread is at this code, or at the place. The next
/// ones end as they begin.
[[noreturn]] void out_of_time(const void* code, Place place);

/// This CPU thread's scheduler while it works on a launch, else null.
extern thread_local constinit Scheduler* scheduler;
/// The scheduler, for functions that only kernels may call; throws if host code calls them.
Scheduler& in_kernel(const char* what);

/// Arrives at a barrier of `expected` threads; the last one releases all. Returns the sum of the predicates.
int meet(Barrier& barrier, int expected, int predicate, const char* what, Place place);

// Meetings of a warp's lanes at a collective.

/// The running thread arrives at `what` (a literal, compared by address). Checks its mask and location against those of the
/// waiting lanes.
Meeting* join(Warp& warp, Thread& thread, const char* what, unsigned mask, Place place);
/// All lanes have arrived: makes all ready except the last one, which is running.
void close(Warp& warp, Meeting* meeting, const Thread& last);
/// The meeting that the lane waits in.
Meeting* meeting_of(Warp& warp, int lane);
/// The lanes of the mask that a collective waits for: all, but in programs of the front end those that have not left.
unsigned awaited(const Warp& warp, unsigned mask);
/// The thread has left a launch of a program of the front end: completes the barrier and the collectives that waited for it
/// alone.
void stop_waiting_for(Thread& thread);

/// Waits until every lane of the mask has arrived; the last one calls compute(warp) before any lane continues.
template <class Compute>
void together(const char* what, unsigned mask, Place place, Compute&& compute) {
    Thread& thread = *scheduler->current;
    Warp& warp = *thread.warp;
    Meeting* meeting = join(warp, thread, what, mask, place);
    if (meeting->arrived != awaited(warp, mask)) {
        scheduler->wait(what, place);
        if (!thread.closes_meeting) return;
        thread.closes_meeting = false;
        meeting = meeting_of(warp, thread.lane());
    }
    warp.present = meeting->arrived;
    compute(warp);
    close(warp, meeting, thread);
}

/// A lane has begun to wait or has left the kernel: those that wait in __activemask() may go on.
void lane_waits(Warp& warp);
/// A lane lets others run, perhaps in a loop.
void lane_spins(Warp& warp);

bool same_place(const Place& a, const Place& b);
/// Records that a kernel synchronises here; true if a mutation skips it.
bool skipped(const Place& place, const char* what);
std::string text_of(const uint3& index);
/// "thread (5, 0, 0)", with the block if it differs from that of `beside`.
std::string name_of(const Thread& thread, const Thread* beside = nullptr);
/// "waits in __syncthreads at kernels/x.cu:41", "has left the kernel", ...
std::string whereabouts(const Thread& thread);
/// Whether `bytes` bytes from `address` on are in one piece of the block's shared memory.
bool in_shared_piece(const Block& block, const void* address, std::size_t bytes);

/// The size of the red zones between and around the pieces of an arena.
inline constexpr int kRedZone = 1024;
inline constexpr int kMostPieces = 64;
/// The limits of a block's variables in shared memory, and the end of an arena that holds them.
inline constexpr std::size_t kMostStaticPieces = 128;
inline std::size_t most_static = std::size_t{48} * 1024;  // changed before the first launch only
inline std::size_t static_bytes() { return most_static + (kMostStaticPieces + 2) * (kRedZone + std::size_t{256}); }
/// The offset of a variable as the kernel counts it: behind the dynamic memory.
std::size_t logical_start(const Block& block, const StaticPiece& piece);
/// Checks the red zones of a block that has ended; returns "" or what was written there.
std::string damage(const Block& block);

}  // namespace heddle::emulator
