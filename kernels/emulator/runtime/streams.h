// The emulated device's work: streams are queues, events order work of different streams, and work runs when the host waits for
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/place.h"

struct Capture;

namespace heddle::emulator {

/// `height` pieces of `width` bytes, `pitch` apart: what a copy touches.
struct Rows {
    std::byte* start = nullptr;
    std::size_t pitch = 0, width = 0, height = 0;
    static Rows of(const void* start, std::size_t bytes) {
        return {static_cast<std::byte*>(const_cast<void*>(start)), bytes, bytes, std::size_t{1}};
    }
    bool empty() const { return width == 0 || height == 0; }
    std::size_t extent() const { return empty() ? 0 : (height - 1) * pitch + width; }
};
/// Whether the two share a byte.
bool overlap(const Rows& a, const Rows& b);

/// For each stream, by its number: how many of its operations happened before. Unlike the order in which operations ran, it shows
/// which of them are ordered.
using Clock = std::vector<std::uint64_t>;
void join(Clock& clock, const Clock& other);
inline std::uint64_t at(const Clock& clock, std::size_t stream) { return stream < clock.size() ? clock[stream] : 0; }

/// Why work failed.
struct FailedWork {
    std::string report;
    int code = 0;  ///< the cudaError_t of the calls that wait for it
};

/// Work in a stream: a kernel, a copy, a fill, a mark.
struct Operation {
    std::string what;                 ///< the call: "cudaMemcpyAsync"
    const void* kernel = nullptr;     ///< for a launch
    Place place;                      ///< of the call
    std::function<void()> work;       ///< throws what went wrong; may be empty
    std::vector<Rows> reads, writes;  ///< device memory that it is known to touch, as far as the call says so
    Rows pinned;                      ///< pinned host memory that it reads or writes when it runs
    bool pinned_written = false;
    std::function<void()> check;   ///< throws when memory that it uses is gone; may be empty
    std::shared_ptr<void> staged;  ///< a copy of what `work` reads, kept until it runs
    bool keeps_books = false;      ///< runs even if work before it failed, because it frees memory or marks a time
    bool on_host = false;          ///< calls a function of the host
    bool marks_time = false;       ///< touches no memory
    std::optional<int> fills;      ///< its only work is to write this byte to the first of `writes`
    bool reaches_pinned = false;   ///< a kernel with a pointer to pinned memory, which it may change

    // Set by the queue:
    std::size_t stream = 0;
    std::uint64_t number = 0;  ///< in its stream, from 1
    std::uint64_t order = 0;   ///< in all streams, from 1
    Clock clock;               ///< what happened before it, including itself
    std::vector<std::shared_ptr<Operation>> after;
    bool done = false;
    bool watched = false;  ///< whether `pinned` must still have this sum when it runs
    std::uint64_t sum = 0;
    std::shared_ptr<const FailedWork> failure;  ///< why it did not run
};
/// "cudaMemcpyAsync at core/device_cuda.cpp:31", "kernel softmax_rows_kernel<float>".
std::string title(const Operation& operation);

}  // namespace heddle::emulator

/// A stream.
struct CUstream_st {
    std::size_t number = 0;
    bool blocking = true;  ///< waits for the default stream, and it for this one
    bool destroyed = false;
    int priority = 0;
    std::uint64_t count = 0;
    heddle::emulator::Clock clock;  ///< of its last operation
    std::shared_ptr<heddle::emulator::Operation> last;
    std::deque<std::shared_ptr<heddle::emulator::Operation>> queue;
    std::shared_ptr<const heddle::emulator::FailedWork>
        owed;                     ///< why work of it failed or was dropped; reported to the next caller that waits for it
    std::uint64_t owed_from = 0;  ///< the first operation that did not run
    // While it is being captured (graphs.h):
    Capture* capture = nullptr;
    std::vector<std::size_t> tips;  ///< nodes that the next one comes after
    std::size_t lane = 0;
};

namespace heddle::emulator {

/// The result of a wait: null if all went well, else the report.
using Failure = std::shared_ptr<const FailedWork>;

/// All streams. One lock guards the queues, another one is held by the thread that runs operations, so that others can queue
/// meanwhile.
class Streams {
  public:
    /// The process's only object; never destroyed.
    static Streams& all();

    CUstream_st* create(bool blocking);
    void destroy(CUstream_st* stream);
    /// The stream itself; for null and cudaStreamLegacy the default stream, for cudaStreamPerThread the thread's; null if it is
    /// no stream.
    CUstream_st* find(cudaStream_t stream);
    /// From now on null means cudaStreamPerThread.
    void default_is_per_thread() { per_thread_ = true; }

    /// Puts the operation at the stream's end, after those that `after` names.
    std::shared_ptr<Operation> enqueue(CUstream_st* stream, Operation operation,
                                       std::vector<std::shared_ptr<Operation>> after = {});

    /// Runs what the target needs, and perhaps more, in an order given by the seed. A failure is returned once, and once more for
    /// each stream whose work was dropped because of it. With `keep` the next wait returns it, too.
    Failure wait(const std::shared_ptr<Operation>& target, bool keep = false);
    Failure wait_for(CUstream_st* stream);
    Failure wait_for_all(bool keep = false);
    /// Random: whether a query ("is it done?") runs the work now.
    bool lucky();
    bool done(const std::shared_ptr<Operation>& operation);
    /// Describes the work that is still queued; "" if only marks and memory to be freed are left.
    std::string left_over();

    /// Guards streams, events and captures.
    std::recursive_mutex& mutex() { return mutex_; }

  private:
    Streams();
    Failure run(const std::vector<std::shared_ptr<Operation>>& targets, bool keep);
    std::shared_ptr<Operation> choose(const Clock& until, bool everything);
    void execute(const std::shared_ptr<Operation>& operation);
    void fail(const std::shared_ptr<Operation>& operation, const std::string& report, int code);
    void watch_pinned(Operation& operation);
    void tidy();
    std::uint64_t draw();
    /// A fill, after which nothing but the same fill has touched device memory: a loop that measures times empties a cache so.
    struct Fill {
        Rows rows;
        int byte;
        std::uint64_t allocations;
    };
    bool repeats_last_fill(const Operation& operation) const;

    std::recursive_mutex mutex_;
    std::mutex running_;
    std::atomic<bool> per_thread_ = false;
    std::vector<std::unique_ptr<CUstream_st>> streams_;  // by number
    Clock observed_;  // operations that a host thread has waited for; they happened before all work queued from now on
    Failure untold_;  // a failure that no wait has returned yet
    std::optional<Fill> last_fill_;
    std::uint64_t random_ = 0;
    std::optional<std::uint64_t> generation_;  ///< the generation of the seed that random_ began with
};

inline Streams& streams() { return Streams::all(); }

/// True on a thread that runs a host function of a stream: such a function must not call the runtime.
bool in_host_function();

}  // namespace heddle::emulator
