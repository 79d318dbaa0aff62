// Reference-counted memory with a version, and the caching allocator behind it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/dtype.h"
#include "core/where.h"

namespace heddle {

class Pool;

/// CUDA memory for captured work (core/graph.h). While a Use exists, this thread's allocations come from the arena and return to
/// it, and nobody else gets that memory, so a replayed graph finds its addresses unchanged. Several graphs may share an arena if
/// they run one after the other in one stream and pass each other no data in it; it is then about as large as the largest of
/// them needs. For one stream.
class MemoryArena {
  public:
    MemoryArena();
    /// `exact`: each tensor has memory of exactly its bytes, so that accesses beyond its end are detected. Otherwise tensors are
    /// cut from large segments, which graphs of all sizes share. By default exact on the emulated device.
    explicit MemoryArena(bool exact);
    /// Its memory is released only after the last tensor in it is destroyed.
    ~MemoryArena();
    MemoryArena(const MemoryArena&) = delete;
    MemoryArena& operator=(const MemoryArena&) = delete;

    class Use {
      public:
        explicit Use(MemoryArena& arena);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        std::shared_ptr<Pool> before_;
    };

  private:
    std::shared_ptr<Pool> pool_;
};

/// While one exists, this thread's tensors on CUDA get memory that lasts as long as the process, whatever arena is in use, also
/// during a capture: for workspaces and tables, which would keep the arena of a batch or graph alive. Not for temporary tensors:
/// blocks are not kept apart by stream.
class LastingMemory {
  public:
    LastingMemory();

  private:
    MemoryArena::Use use_;
};

/// A block of device memory, shared by tensors. The last one returns it to the allocator, which keeps it for reuse.
class Storage {
  public:
    /// `bytes` bytes of uninitialised memory, aligned to 64 on the CPU and to 256 on CUDA, where it belongs to the current
    /// stream. Error if the device is out of memory or not available.
    Storage(std::int64_t bytes, Device device);
    /// Memory on the CPU that belongs to somebody else, such as an array of another library; `owner` (not null) keeps it alive.
    Storage(std::byte* data, std::int64_t bytes, std::shared_ptr<const void> owner);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    std::byte* data() const { return data_; }
    std::int64_t bytes() const { return bytes_; }
    Device device() const { return device_; }

    /// Counts in-place changes, so that backward can detect that a saved value was overwritten.
    std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
    void bump_version(const Where& where) {
        version_.fetch_add(1, std::memory_order_relaxed);
        changed_at_ = where;
    }
    /// Where the last in-place change was made.
    const Where& changed_at() const { return changed_at_; }
    /// Unique in the process, even after the address was reused.
    std::uint64_t id() const { return id_; }

  private:
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
    std::int64_t capacity_ = 0;
    Device device_;
    void* stream_ = nullptr;
    std::shared_ptr<Pool> arena_;        // null: the device's own pool
    std::shared_ptr<const void> owner_;  // null: the allocator's memory
    std::atomic<std::uint64_t> version_{0};
    Where changed_at_;
    std::uint64_t id_;
};

/// State of a device's caching allocator, in bytes; arenas are not counted. (The emulated device keeps nothing: each tensor has
/// its own memory of exactly its size, so that every access beyond its end is detected.)
struct MemoryStatistics {
    std::int64_t in_use = 0;       ///< handed out now
    std::int64_t peak = 0;         ///< the most that was handed out at once
    std::int64_t kept = 0;         ///< free, kept for the next request
    std::int64_t requests = 0;     ///< blocks requested so far
    std::int64_t from_system = 0;  ///< of these, how many were taken from the system
};

MemoryStatistics memory_statistics(Device device = Device::cpu);
/// Starts a new measurement of the peak.
void reset_peak_memory(Device device = Device::cpu);
/// Returns all free blocks to the system.
void release_kept_memory(Device device = Device::cpu);

}  // namespace heddle
