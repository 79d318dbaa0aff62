// CUDA's cooperative groups. reduce, scan and memcpy_async are in cooperative_groups/.
//
// A group of at most 32 threads is a mask of lanes, and its functions are the warp's collectives with that mask.
// coalesced_threads() are the lanes that __activemask() finds. Not modelled: multi_grid_group, which newer CUDA does not have
// either.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

namespace cooperative_groups {

namespace details {

inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
inline unsigned thread_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
inline unsigned lane() { return thread_number() % 32; }
/// The lanes of the thread's warp that exist.
inline unsigned existing() {
    const unsigned left = block_threads() - thread_number() / 32 * 32;
    return left >= 32 ? ~0u : (1u << left) - 1;
}
/// The lane of the rank-th thread of the mask; -1 if there is none.
inline int lane_of(unsigned mask, unsigned rank) {
    for (; mask != 0; mask &= mask - 1)
        if (rank-- == 0) return __builtin_ctz(mask);
    return -1;
}
inline unsigned rank_of(unsigned mask, unsigned lane) {
    return static_cast<unsigned>(__builtin_popcount(mask & ((1u << lane) - 1)));
}

enum class kind { none, thread, lanes, warps, block, cluster, grid };
struct shape_of_tile {};

}  // namespace details

/// Any group, as functions take it. A group of warps counts its threads from `first`.
class thread_group {
  protected:
    details::kind kind_ = details::kind::none;
    unsigned mask_ = 0;   // of lanes
    unsigned first_ = 0;  // a tile's first thread in the block, or lane
    unsigned count_ = 0;
    unsigned meta_rank_ = 0, meta_size_ = 1;

    thread_group(details::kind kind, unsigned mask, unsigned first, unsigned count, unsigned meta_rank = 0,
                 unsigned meta_size = 1)
        : kind_(kind), mask_(mask), first_(first), count_(count), meta_rank_(meta_rank), meta_size_(meta_size) {}
    explicit thread_group(details::kind kind) : kind_(kind) {}

  public:
    thread_group() = default;
    unsigned long long size() const {
        switch (kind_) {
            case details::kind::thread: return 1;
            case details::kind::block: return details::block_threads();
            case details::kind::cluster: return 1ull * details::block_threads() * heddle::emulator::cluster_blocks();
            case details::kind::grid: return 1ull * details::block_threads() * gridDim.x * gridDim.y * gridDim.z;
            default: return count_;
        }
    }
    unsigned long long num_threads() const { return size(); }
    unsigned long long thread_rank() const {
        const unsigned own = details::thread_number();
        switch (kind_) {
            case details::kind::lanes: return details::rank_of(mask_, own % 32);
            case details::kind::warps: return own - first_;
            case details::kind::block: return own;
            case details::kind::cluster:
                return 1ull * blockIdx.x % heddle::emulator::cluster_blocks() * details::block_threads() + own;
            case details::kind::grid:
                return ((1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * details::block_threads() + own;
            default: return 0;
        }
    }
    void sync(HEDDLE_PLACE) const {
        switch (kind_) {
            case details::kind::lanes: return heddle::emulator::warp_barrier(mask_, place);
            case details::kind::warps: return heddle::emulator::partial_barrier(first_, count_, place);
            case details::kind::block: return heddle::emulator::block_barrier(place);
            case details::kind::cluster: return heddle::emulator::cluster_barrier(place);
            case details::kind::grid: return heddle::emulator::grid_barrier(place);
            default: return;
        }
    }
    bool is_valid() const { return kind_ != details::kind::grid || heddle::emulator::is_cooperative(); }
    // For the functions in cooperative_groups/.
    details::kind heddle_kind() const { return kind_; }
    unsigned heddle_mask() const { return mask_; }
    unsigned heddle_first() const { return first_; }
};

/// The memory that CUDA needs for groups of more than a warp; none here.
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
    char unused;
};

class thread_block : public thread_group {
  public:
    thread_block() : thread_group(details::kind::block) {}
    struct arrival_token {};
    static unsigned thread_rank() { return details::thread_number(); }
    static unsigned size() { return details::block_threads(); }
    static unsigned num_threads() { return details::block_threads(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
    static void sync(HEDDLE_PLACE) { heddle::emulator::block_barrier(place); }
    // The barrier stands at the wait.
    static arrival_token barrier_arrive() { return {}; }
    static void barrier_wait(arrival_token&&, HEDDLE_PLACE) { heddle::emulator::block_barrier(place); }
};
inline thread_block this_thread_block() { return {}; }
template <unsigned Size>
thread_block this_thread_block(block_tile_memory<Size>&) {
    return {};
}

class grid_group : public thread_group {
  public:
    grid_group() : thread_group(details::kind::grid) {}
    struct arrival_token {};
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
    static dim3 block_index() { return blockIdx; }
    static unsigned long long block_rank() { return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    static dim3 dim_threads() { return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z); }
    static arrival_token barrier_arrive() { return {}; }
    static void barrier_wait(arrival_token&&, HEDDLE_PLACE) { heddle::emulator::grid_barrier(place); }
};
inline grid_group this_grid() { return {}; }

/// Clusters lie along x.
class cluster_group : public thread_group {
  public:
    cluster_group() : thread_group(details::kind::cluster) {}
    struct arrival_token {};
    static unsigned num_blocks() { return heddle::emulator::cluster_blocks(); }
    static dim3 dim_blocks() { return dim3(heddle::emulator::cluster_blocks()); }
    static dim3 block_index() { return dim3(blockIdx.x % heddle::emulator::cluster_blocks(), 0, 0); }
    static unsigned block_rank() { return blockIdx.x % heddle::emulator::cluster_blocks(); }
    static dim3 dim_threads() { return dim3(blockDim.x * heddle::emulator::cluster_blocks(), blockDim.y, blockDim.z); }
    static void sync(HEDDLE_PLACE) { heddle::emulator::cluster_barrier(place); }
    static arrival_token barrier_arrive() { return {}; }
    static void barrier_wait(arrival_token&&, HEDDLE_PLACE) { heddle::emulator::cluster_barrier(place); }
    static void barrier_wait(HEDDLE_PLACE) { heddle::emulator::cluster_barrier(place); }
    template <class T>
    static T* map_shared_rank(T* address, unsigned rank, HEDDLE_PLACE) {
        return static_cast<T*>(heddle::emulator::cluster_shared(address, rank, place));
    }
};
inline cluster_group this_cluster() { return {}; }

namespace details {

/// Base of the groups within a warp.
class lanes_group : public thread_group {
  protected:
    using thread_group::thread_group;
    lanes_group(const thread_group& g) : thread_group(g) {}

    template <class T>
    T from_lane(heddle::emulator::Exchange kind, const T& value, int source, heddle::emulator::Place place) const {
        T result;
        heddle::emulator::exchange(kind, mask_, &value, sizeof(T), source, &result, place);
        return result;
    }
    /// The lanes of a vote as ranks of the group.
    unsigned packed(unsigned lanes) const {
        unsigned ranks = 0, rank = 0;
        for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank)
            if ((lanes & rest & -rest) != 0) ranks |= 1u << rank;
        return ranks;
    }

  public:
    unsigned size() const { return count_; }
    unsigned num_threads() const { return count_; }
    unsigned thread_rank() const { return rank_of(mask_, lane()); }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }
    void sync(HEDDLE_PLACE) const { heddle::emulator::warp_barrier(mask_, place); }

    /// The value of a rank, modulo the size.
    template <class T>
    T shfl(T value, int rank, HEDDLE_PLACE) const {
        const unsigned wanted = static_cast<unsigned>(rank) % count_;
        return from_lane(heddle::emulator::Exchange::shuffle, value, lane_of(mask_, wanted), place);
    }
    template <class T>
    T shfl_up(T value, unsigned distance, HEDDLE_PLACE) const {
        const unsigned own = thread_rank();
        return from_lane(heddle::emulator::Exchange::up, value, lane_of(mask_, own < distance ? own : own - distance), place);
    }
    template <class T>
    T shfl_down(T value, unsigned distance, HEDDLE_PLACE) const {
        const unsigned own = thread_rank();
        const bool inside = own + distance < static_cast<unsigned>(__builtin_popcount(mask_));
        return from_lane(heddle::emulator::Exchange::down, value, lane_of(mask_, inside ? own + distance : own), place);
    }
    int any(int predicate, HEDDLE_PLACE) const { return heddle::emulator::ballot(mask_, predicate, place) != 0; }
    int all(int predicate, HEDDLE_PLACE) const { return heddle::emulator::ballot(mask_, predicate == 0, place) == 0; }
    unsigned ballot(int predicate, HEDDLE_PLACE) const { return packed(heddle::emulator::ballot(mask_, predicate, place)); }
    template <class T>
    unsigned match_any(T value, HEDDLE_PLACE) const {
        return packed(heddle::emulator::match(mask_, heddle::emulator::to_bits(value), false, place));
    }
    template <class T>
    unsigned match_all(T value, int& equal, HEDDLE_PLACE) const {
        const unsigned lanes = heddle::emulator::match(mask_, heddle::emulator::to_bits(value), true, place);
        equal = lanes != 0;
        return packed(lanes);
    }
};

}  // namespace details

class coalesced_group : public details::lanes_group {
  public:
    /// For the functions that make one.
    coalesced_group(details::shape_of_tile, unsigned mask, unsigned meta_rank, unsigned meta_size)
        : lanes_group(details::kind::lanes, mask, 0, static_cast<unsigned>(__builtin_popcount(mask)), meta_rank, meta_size) {}
};
inline coalesced_group coalesced_threads(HEDDLE_PLACE) { return {{}, heddle::emulator::active_lanes(place), 0, 1}; }

class thread_group_of_one : public thread_group {
  public:
    thread_group_of_one() : thread_group(details::kind::thread) {}
};
inline thread_group_of_one this_thread() { return {}; }

template <unsigned Size, class ParentT = void>
class thread_block_tile : public details::lanes_group {
    static_assert(Size <= 32 && (Size & (Size - 1)) == 0 && Size > 0, "the size of a tile is a power of two");

  public:
    thread_block_tile(details::shape_of_tile, unsigned meta_rank, unsigned meta_size)
        : lanes_group(details::kind::lanes, tile_mask() & details::existing(), details::lane() / Size * Size, Size, meta_rank,
                      meta_size) {}
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>& other) : lanes_group(other) {}  // NOLINT: as in CUDA
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return details::lane() % Size; }
    template <class T>
    T shfl_xor(T value, unsigned mask, HEDDLE_PLACE) const {
        return this->from_lane(heddle::emulator::Exchange::exclusive_or, value, static_cast<int>(details::lane() ^ (mask % Size)),
                               place);
    }

  private:
    static unsigned tile_mask() { return Size == 32 ? ~0u : ((1u << Size % 32) - 1) << details::lane() / Size * Size; }
};

/// A tile of 64 to 1024 threads: whole warps.
namespace details {
template <unsigned Size>
class warps_group : public thread_group {
  public:
    warps_group()
        : thread_group(kind::warps, 0, thread_number() / Size * Size, Size, thread_number() / Size,
                       (block_threads() + Size - 1) / Size) {}
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return thread_number() % Size; }
    unsigned meta_group_rank() const { return meta_rank_; }
    unsigned meta_group_size() const { return meta_size_; }
    /// The value of a rank.
    template <class T>
    T shfl(T value, int rank, HEDDLE_PLACE) const {
        heddle::emulator::show(&value);
        sync(place);
        T result;
        heddle::emulator::read_shown(first_ + static_cast<unsigned>(rank) % Size, &result, sizeof(T));
        sync(place);
        return result;
    }
    int any(int predicate, HEDDLE_PLACE) const { return votes(predicate, place) != 0; }
    int all(int predicate, HEDDLE_PLACE) const { return votes(predicate == 0, place) == 0; }

  private:
    int votes(int predicate, heddle::emulator::Place place) const {
        heddle::emulator::show(&predicate);
        sync(place);
        int count = 0;
        for (unsigned i = 0; i < Size && first_ + i < block_threads(); ++i) {
            int other = 0;
            heddle::emulator::read_shown(first_ + i, &other, sizeof other);
            count += other != 0;
        }
        sync(place);
        return count;
    }
};
}  // namespace details
#define HEDDLE_TILE_OF_WARPS(n)                                                           \
    template <class ParentT>                                                              \
    class thread_block_tile<n, ParentT> : public details::warps_group<n> {                \
      public:                                                                             \
        thread_block_tile(details::shape_of_tile, unsigned, unsigned) {}                  \
        template <class Other>                                                            \
        thread_block_tile(const thread_block_tile<n, Other>&) {} /* NOLINT: as in CUDA */ \
    };
HEDDLE_TILE_OF_WARPS(64)
HEDDLE_TILE_OF_WARPS(128)
HEDDLE_TILE_OF_WARPS(256)
HEDDLE_TILE_OF_WARPS(512)
HEDDLE_TILE_OF_WARPS(1024)
#undef HEDDLE_TILE_OF_WARPS

// ---- partitions ----

template <unsigned Size>
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block) {
    return {{}, block.thread_rank() / Size, (block.size() + Size - 1) / Size};
}
template <unsigned Size, unsigned Parent, class Grandparent>
thread_block_tile<Size, thread_block_tile<Parent, Grandparent>> tiled_partition(
    const thread_block_tile<Parent, Grandparent>& tile) {
    static_assert(Size <= Parent, "a tile of a tile is not larger than it");
    return {{}, static_cast<unsigned>(tile.thread_rank()) / Size, Parent / Size};
}
/// `size` threads each, at most 32.
inline thread_group tiled_partition(const thread_group& parent, unsigned size, HEDDLE_PLACE) {
    if (size == 0 || size > 32 || (size & (size - 1)) != 0)
        heddle::emulator::failed_requirement("the size of a tile is a power of two up to 32", place);
    const auto rank = static_cast<unsigned>(parent.thread_rank()), count = static_cast<unsigned>(parent.size());
    unsigned lanes = 0;
    if (parent.heddle_kind() == details::kind::lanes) {
        for (unsigned i = rank / size * size; i < rank / size * size + size; ++i)
            if (const int lane = details::lane_of(parent.heddle_mask(), i); lane >= 0) lanes |= 1u << lane;
    } else {
        lanes = (size == 32 ? ~0u : ((1u << size) - 1) << details::lane() / size * size) & details::existing();
    }
    return coalesced_group({}, lanes, rank / size, (count + size - 1) / size);
}
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size, HEDDLE_PLACE) {
    const thread_group tile = tiled_partition(static_cast<const thread_group&>(parent), size, place);
    return {{}, tile.heddle_mask(), parent.thread_rank() / size, (parent.size() + size - 1) / size};
}
/// The threads of the group with the same label.
template <class Group, class T>
coalesced_group labeled_partition(const Group& group, T label, HEDDLE_PLACE) {
    const unsigned lanes = heddle::emulator::match(group.heddle_mask(), heddle::emulator::to_bits(label), false, place);
    const auto leader = static_cast<unsigned>(__builtin_ctz(lanes));
    const unsigned leaders = heddle::emulator::ballot(group.heddle_mask(), details::lane() == leader, place);
    return {{}, lanes, details::rank_of(leaders, leader), static_cast<unsigned>(__builtin_popcount(leaders))};
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, HEDDLE_PLACE) {
    return labeled_partition(group, static_cast<int>(predicate), place);
}

// ---- functions of any group ----

template <class Group>
void sync(const Group& group, HEDDLE_PLACE) {
    group.sync(place);
}
/// The name of the programming guide for the same.
template <class Group>
void synchronize(const Group& group, HEDDLE_PLACE) {
    group.sync(place);
}
template <class Group>
auto thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group) {
    return group.size();
}
/// One thread of the group calls it.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}
/// The same; all get its result.
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments)
    -> decltype(function(static_cast<Arguments&&>(arguments)...)) {
    decltype(function(static_cast<Arguments&&>(arguments)...)) result{};
    if (group.thread_rank() == 0) result = function(static_cast<Arguments&&>(arguments)...);
    return group.shfl(result, 0);
}

namespace experimental {
using cooperative_groups::block_tile_memory;
using cooperative_groups::this_thread_block;
using cooperative_groups::thread_block_tile;
using cooperative_groups::tiled_partition;
}  // namespace experimental

}  // namespace cooperative_groups

#undef HEDDLE_PLACE
