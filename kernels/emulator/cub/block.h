// CUB's collectives of a block and of a warp.
//
// A block's collective stores each thread's value in its TempStorage, meets at a barrier, and thread 0 combines them in order. So
// its TempStorage is used as on a GPU: using it again without __syncthreads() between is a race that the checker finds. A warp's
// collectives are shuffles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "kernels/emulator/cub/operators.h"
#include "kernels/emulator/device_calls.h"

namespace cub {

namespace detail {

using heddle::emulator::Place;

/// The storage of a collective that was made without one.
template <class S, class Tag>
S& own_storage(Place place) {
    return heddle::emulator::cuda::shared<S, heddle::emulator::cuda::Tag<Tag, 0>>("a collective's own storage", place);
}

/// The value of the lane `distance` below or above; lanes of logical warps of `width`.
template <class T>
T from_lane(heddle::emulator::Shuffle kind, const T& value, int lane, int width, Place place) {
    const int first = thread_in_block() / 32 * 32, own = thread_in_block() % 32 / width * width;
    const int exist = std::min(32, threads_of_block() - first);
    const std::uint64_t group = (width == 32 ? 0xffffffffull : (1ull << width) - 1) << own;
    const auto mask = static_cast<unsigned>(group & (exist == 32 ? 0xffffffffull : (1ull << exist) - 1));
    T result;
    for (std::size_t at = 0; at < sizeof(T); at += 8) {
        const std::size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        std::uint64_t word = 0;
        __builtin_memcpy(&word, reinterpret_cast<const unsigned char*>(&value) + at, bytes);
        word = heddle::emulator::shuffle(kind, mask, word, lane, width, place);
        __builtin_memcpy(reinterpret_cast<unsigned char*>(&result) + at, &word, bytes);
    }
    return result;
}

}  // namespace detail

#define HEDDLE_PLACE heddle::emulator::Place place = heddle::emulator::Place::current()

/// Thread 0 gets the result.
template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  public:
    using TempStorage = detail::Storage<T, X * Y * Z>;
    BlockReduce(HEDDLE_PLACE) : storage_(detail::own_storage<TempStorage, BlockReduce>(place)) {}
    BlockReduce(TempStorage& storage) : storage_(storage) {}  // NOLINT: as in CUB

    template <class Op>
    T Reduce(T value, Op op, int valid, HEDDLE_PLACE) {
        T* const values = storage_.values();
        const int own = detail::thread_in_block();
        values[own] = value;
        heddle::emulator::block_barrier(place);
        if (own != 0) return value;
        for (int i = 1; i < valid; ++i) value = op(value, values[i]);
        return value;
    }
    template <class Op>
    T Reduce(T value, Op op, HEDDLE_PLACE) {
        return Reduce(value, op, X * Y * Z, place);
    }
    template <int N, class Op>
    T Reduce(T (&items)[N], Op op, HEDDLE_PLACE) {
        return Reduce(detail::combine(items, op), op, X * Y * Z, place);
    }
    T Sum(T value, HEDDLE_PLACE) { return Reduce(value, cub::Sum(), X * Y * Z, place); }
    T Sum(T value, int valid, HEDDLE_PLACE) { return Reduce(value, cub::Sum(), valid, place); }
    template <int N>
    T Sum(T (&items)[N], HEDDLE_PLACE) {
        return Reduce(items, cub::Sum(), place);
    }

  private:
    TempStorage& storage_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  public:
    using TempStorage = detail::Storage<T, X * Y * Z + 1>;
    BlockScan(HEDDLE_PLACE) : storage_(detail::own_storage<TempStorage, BlockScan>(place)) {}
    BlockScan(TempStorage& storage) : storage_(storage) {}  // NOLINT: as in CUB

    void ExclusiveSum(T in, T& out, HEDDLE_PLACE) { one(in, out, T(), cub::Sum(), true, kNone, place); }
    template <class Extra>
    void ExclusiveSum(T in, T& out, Extra& extra, HEDDLE_PLACE) {
        one(in, out, T(), cub::Sum(), true, &extra, place);
    }
    template <int N>
    void ExclusiveSum(T (&in)[N], T (&out)[N], HEDDLE_PLACE) {
        many(in, out, T(), cub::Sum(), true, kNone, place);
    }
    template <int N, class Extra>
    void ExclusiveSum(T (&in)[N], T (&out)[N], Extra& extra, HEDDLE_PLACE) {
        many(in, out, T(), cub::Sum(), true, &extra, place);
    }
    void InclusiveSum(T in, T& out, HEDDLE_PLACE) { one(in, out, T(), cub::Sum(), false, kNone, place); }
    template <class Extra>
    void InclusiveSum(T in, T& out, Extra& extra, HEDDLE_PLACE) {
        one(in, out, T(), cub::Sum(), false, &extra, place);
    }
    template <int N>
    void InclusiveSum(T (&in)[N], T (&out)[N], HEDDLE_PLACE) {
        many(in, out, T(), cub::Sum(), false, kNone, place);
    }
    template <int N, class Extra>
    void InclusiveSum(T (&in)[N], T (&out)[N], Extra& extra, HEDDLE_PLACE) {
        many(in, out, T(), cub::Sum(), false, &extra, place);
    }
    template <class Op>
    void ExclusiveScan(T in, T& out, T start, Op op, HEDDLE_PLACE) {
        one(in, out, start, op, true, kNone, place);
    }
    template <class Op, class Extra>
    void ExclusiveScan(T in, T& out, T start, Op op, Extra& extra, HEDDLE_PLACE) {
        one(in, out, start, op, true, &extra, place);
    }
    template <int N, class Op>
    void ExclusiveScan(T (&in)[N], T (&out)[N], T start, Op op, HEDDLE_PLACE) {
        many(in, out, start, op, true, kNone, place);
    }
    template <class Op>
    void InclusiveScan(T in, T& out, Op op, HEDDLE_PLACE) {
        one(in, out, T(), op, false, kNone, place);
    }
    template <class Op, class Extra>
    void InclusiveScan(T in, T& out, Op op, Extra& extra, HEDDLE_PLACE) {
        one(in, out, T(), op, false, &extra, place);
    }
    template <int N, class Op>
    void InclusiveScan(T (&in)[N], T (&out)[N], Op op, HEDDLE_PLACE) {
        many(in, out, T(), op, false, kNone, place);
    }

  private:
    static constexpr std::nullptr_t* kNone = nullptr;
    template <class Op, class Extra>
    void one(T in, T& out, T start, Op op, bool exclusive, Extra* extra, heddle::emulator::Place place) {
        T items[1] = {in}, made[1];
        many(items, made, start, op, exclusive, extra, place);
        out = made[0];
    }
    /// `extra` takes the sum of all, or is called with it for what comes before the block. An inclusive scan has no start.
    template <int N, class Op, class Extra>
    void many(T (&in)[N], T (&out)[N], T start, Op op, bool exclusive, Extra* extra, heddle::emulator::Place place) {
        T* const values = storage_.values();
        const int own = detail::thread_in_block(), threads = X * Y * Z;
        values[own] = detail::combine(in, op);
        heddle::emulator::block_barrier(place);
        constexpr bool called = !std::is_same_v<Extra, T> && !std::is_same_v<Extra, std::nullptr_t>;
        bool starts = exclusive;
        if (own == 0) {
            T total = values[0];
            for (int i = 1; i < threads; ++i) total = op(total, values[i]);
            if constexpr (called) {
                start = (*extra)(total);
                starts = true;
            }
            T sum = start;
            bool any = starts;
            for (int i = 0; i < threads; ++i) {  // values[i] becomes what comes before thread i
                const T mine = values[i];
                values[i] = sum;
                sum = any ? op(sum, mine) : mine;
                any = true;
            }
            values[threads] = total;
        }
        heddle::emulator::block_barrier(place);
        T sum = values[own];
        bool any = starts || called || own != 0;
        for (int i = 0; i < N; ++i) {
            const T mine = in[i];
            const T before = sum;
            sum = any ? op(sum, mine) : mine;
            any = true;
            out[i] = exclusive ? before : sum;
        }
        if constexpr (std::is_same_v<Extra, T>) *extra = values[threads];
    }
    TempStorage& storage_;
};

/// Items in memory as those of each thread: item i of thread t is element t N + i, or, striped, i X + t.
template <class T, int X, int N, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
    static constexpr bool kTransposes = Algorithm >= BLOCK_LOAD_TRANSPOSE;
    static constexpr int kThreads = X * Y * Z;

  public:
    using TempStorage = detail::Storage<T, kTransposes ? kThreads * N : 1>;
    BlockLoad(HEDDLE_PLACE) : storage_(detail::own_storage<TempStorage, BlockLoad>(place)) {}
    BlockLoad(TempStorage& storage) : storage_(storage) {}  // NOLINT: as in CUB

    template <class It>
    void Load(It from, T (&items)[N], HEDDLE_PLACE) {
        load(from, items, kThreads * N, static_cast<const T*>(nullptr), place);
    }
    template <class It>
    void Load(It from, T (&items)[N], int valid, HEDDLE_PLACE) {
        load(from, items, valid, static_cast<const T*>(nullptr), place);
    }
    template <class It, class Default>
    void Load(It from, T (&items)[N], int valid, Default other, HEDDLE_PLACE) {
        const T filled = static_cast<T>(other);
        load(from, items, valid, &filled, place);
    }

  private:
    template <class It>
    void load(It from, T (&items)[N], int valid, const T* other, heddle::emulator::Place place) {
        const int own = detail::thread_in_block();
        const bool striped = kTransposes || Algorithm == BLOCK_LOAD_STRIPED;
        for (int i = 0; i < N; ++i) {
            const int at = striped ? i * kThreads + own : own * N + i;
            if (at < valid)
                items[i] = from[at];
            else if (other != nullptr)
                items[i] = *other;
        }
        if constexpr (kTransposes) {
            for (int i = 0; i < N; ++i)
                if (i * kThreads + own < valid || other != nullptr) storage_.values()[i * kThreads + own] = items[i];
            heddle::emulator::block_barrier(place);
            for (int i = 0; i < N; ++i)
                if (own * N + i < valid || other != nullptr) items[i] = storage_.values()[own * N + i];
        }
    }
    TempStorage& storage_;
};

template <class T, int X, int N, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
    static constexpr bool kTransposes = Algorithm >= BLOCK_STORE_TRANSPOSE;
    static constexpr int kThreads = X * Y * Z;

  public:
    using TempStorage = detail::Storage<T, kTransposes ? kThreads * N : 1>;
    BlockStore(HEDDLE_PLACE) : storage_(detail::own_storage<TempStorage, BlockStore>(place)) {}
    BlockStore(TempStorage& storage) : storage_(storage) {}  // NOLINT: as in CUB

    template <class It>
    void Store(It to, T (&items)[N], HEDDLE_PLACE) {
        Store(to, items, kThreads * N, place);
    }
    template <class It>
    void Store(It to, T (&items)[N], int valid, HEDDLE_PLACE) {
        const int own = detail::thread_in_block();
        if constexpr (kTransposes) {
            for (int i = 0; i < N; ++i) storage_.values()[own * N + i] = items[i];
            heddle::emulator::block_barrier(place);
            for (int i = 0; i < N; ++i)
                if (i * kThreads + own < valid) to[i * kThreads + own] = storage_.values()[i * kThreads + own];
        } else {
            for (int i = 0; i < N; ++i) {
                const int at = Algorithm == BLOCK_STORE_STRIPED ? i * kThreads + own : own * N + i;
                if (at < valid) to[at] = items[i];
            }
        }
    }

  private:
    TempStorage& storage_;
};

template <class Key, int X, int N, class Value = NullType, int = 4, bool = true, BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS,
          int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
    static constexpr int kThreads = X * Y * Z, kItems = kThreads * N;
    struct Entry {
        Key key;
        Value value;
    };

  public:
    using TempStorage = detail::Storage<Entry, kItems>;
    BlockRadixSort(HEDDLE_PLACE) : storage_(detail::own_storage<TempStorage, BlockRadixSort>(place)) {}
    BlockRadixSort(TempStorage& storage) : storage_(storage) {}  // NOLINT: as in CUB

    void Sort(Key (&keys)[N], HEDDLE_PLACE) { sort(keys, none_, false, false, place); }
    void Sort(Key (&keys)[N], Value (&values)[N], HEDDLE_PLACE) { sort(keys, values, false, false, place); }
    void SortDescending(Key (&keys)[N], HEDDLE_PLACE) { sort(keys, none_, true, false, place); }
    void SortDescending(Key (&keys)[N], Value (&values)[N], HEDDLE_PLACE) { sort(keys, values, true, false, place); }
    void SortBlockedToStriped(Key (&keys)[N], HEDDLE_PLACE) { sort(keys, none_, false, true, place); }
    void SortBlockedToStriped(Key (&keys)[N], Value (&values)[N], HEDDLE_PLACE) { sort(keys, values, false, true, place); }
    void SortDescendingBlockedToStriped(Key (&keys)[N], HEDDLE_PLACE) { sort(keys, none_, true, true, place); }

  private:
    void sort(Key (&keys)[N], Value (&values)[N], bool descending, bool striped, heddle::emulator::Place place) {
        Entry* const entries = storage_.values();
        const int own = detail::thread_in_block();
        for (int i = 0; i < N; ++i) {
            entries[own * N + i].key = keys[i];
            if constexpr (!std::is_same_v<Value, NullType>) entries[own * N + i].value = values[i];
        }
        heddle::emulator::block_barrier(place);
        if (own == 0) {
            std::vector<Entry> sorted(kItems);
            for (int i = 0; i < kItems; ++i) {
                sorted[i].key = entries[i].key;
                if constexpr (!std::is_same_v<Value, NullType>) sorted[i].value = entries[i].value;
            }
            std::stable_sort(sorted.begin(), sorted.end(),
                             [descending](const Entry& a, const Entry& b) { return descending ? b.key < a.key : a.key < b.key; });
            for (int i = 0; i < kItems; ++i) {
                entries[i].key = sorted[i].key;
                if constexpr (!std::is_same_v<Value, NullType>) entries[i].value = sorted[i].value;
            }
        }
        heddle::emulator::block_barrier(place);
        for (int i = 0; i < N; ++i) {
            const int at = striped ? i * kThreads + own : own * N + i;
            keys[i] = entries[at].key;
            if constexpr (!std::is_same_v<Value, NullType>) values[i] = entries[at].value;
        }
    }
    TempStorage& storage_;
    Value none_[N];
};

/// Lane 0 of each logical warp gets the result.
template <class T, int Width = 32, int = 0>
class WarpReduce {
  public:
    using TempStorage = NullType;
    WarpReduce() = default;
    WarpReduce(TempStorage&) {}  // NOLINT: as in CUB

    template <class Op>
    T Reduce(T value, Op op, int valid, HEDDLE_PLACE) {
        const int lane = detail::thread_in_block() % Width;
        for (int by = 1; by < Width; by *= 2) {
            const T other = detail::from_lane(heddle::emulator::Shuffle::down, value, by, Width, place);
            if (lane + by < valid) value = op(value, other);
        }
        return value;
    }
    template <class Op>
    T Reduce(T value, Op op, HEDDLE_PLACE) {
        return Reduce(value, op, Width, place);
    }
    T Sum(T value, HEDDLE_PLACE) { return Reduce(value, cub::Sum(), Width, place); }
    T Sum(T value, int valid, HEDDLE_PLACE) { return Reduce(value, cub::Sum(), valid, place); }
    T Max(T value, HEDDLE_PLACE) { return Reduce(value, cub::Max(), Width, place); }
    T Min(T value, HEDDLE_PLACE) { return Reduce(value, cub::Min(), Width, place); }
};

template <class T, int Width = 32, int = 0>
class WarpScan {
  public:
    using TempStorage = NullType;
    WarpScan() = default;
    WarpScan(TempStorage&) {}  // NOLINT: as in CUB

    template <class Op>
    void InclusiveScan(T in, T& out, Op op, HEDDLE_PLACE) {
        const int lane = detail::thread_in_block() % Width;
        for (int by = 1; by < Width; by *= 2) {
            const T other = detail::from_lane(heddle::emulator::Shuffle::up, in, by, Width, place);
            if (lane >= by) in = op(other, in);
        }
        out = in;
    }
    template <class Op>
    void InclusiveScan(T in, T& out, Op op, T& all, HEDDLE_PLACE) {
        InclusiveScan(in, out, op, place);
        all = Broadcast(out, Width - 1, place);
    }
    template <class Op>
    void ExclusiveScan(T in, T& out, T start, Op op, HEDDLE_PLACE) {
        T inclusive;
        InclusiveScan(in, inclusive, op, place);
        const T before = detail::from_lane(heddle::emulator::Shuffle::up, inclusive, 1, Width, place);
        out = detail::thread_in_block() % Width == 0 ? start : op(start, before);
    }
    template <class Op>
    void ExclusiveScan(T in, T& out, T start, Op op, T& all, HEDDLE_PLACE) {
        T inclusive;
        InclusiveScan(in, inclusive, op, all, place);
        ExclusiveScan(in, out, start, op, place);
    }
    void InclusiveSum(T in, T& out, HEDDLE_PLACE) { InclusiveScan(in, out, cub::Sum(), place); }
    void InclusiveSum(T in, T& out, T& all, HEDDLE_PLACE) { InclusiveScan(in, out, cub::Sum(), all, place); }
    void ExclusiveSum(T in, T& out, HEDDLE_PLACE) { ExclusiveScan(in, out, T(), cub::Sum(), place); }
    void ExclusiveSum(T in, T& out, T& all, HEDDLE_PLACE) { ExclusiveScan(in, out, T(), cub::Sum(), all, place); }
    T Broadcast(T value, unsigned lane, HEDDLE_PLACE) {
        return detail::from_lane(heddle::emulator::Shuffle::index, value, static_cast<int>(lane), Width, place);
    }
};
#undef HEDDLE_PLACE

inline unsigned LaneId() { return static_cast<unsigned>(detail::thread_in_block() % 32); }
inline unsigned WarpId() { return static_cast<unsigned>(detail::thread_in_block() / 32); }
inline int RowMajorTid(int, int, int) { return detail::thread_in_block(); }

}  // namespace cub
