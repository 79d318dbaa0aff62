// cooperative_groups::reduce: tiles add in a butterfly, other groups from rank 0 upwards; and inclusive_scan and exclusive_scan,
// in the order of the ranks.
#pragma once

#include "kernels/emulator/include/cooperative_groups.h"

namespace cooperative_groups {

template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

namespace details {

template <class T>
T exchanged(heddle::emulator::Exchange kind, unsigned mask, const T& value, int source, heddle::emulator::Place place) {
    T result;
    heddle::emulator::exchange(kind, mask, &value, sizeof(T), source, &result, place);
    return result;
}

/// Within a warp.
template <class T, class Op>
T reduce_lanes(unsigned mask, T value, Op& op, heddle::emulator::Place place) {
    constexpr auto kind = heddle::emulator::Exchange::reduce;
    const auto count = static_cast<unsigned>(__builtin_popcount(mask)), own = rank_of(mask, lane());
    if ((count & (count - 1)) == 0) {
        for (unsigned distance = count / 2; distance > 0; distance /= 2) {
            const T other = exchanged(kind, mask, value, lane_of(mask, own ^ distance), place);
            value = (own & distance) == 0 ? op(value, other) : op(other, value);
        }
        return value;
    }
    T result = exchanged(kind, mask, value, lane_of(mask, 0), place);
    for (unsigned rank = 1; rank < count; ++rank) {
        const T other = exchanged(kind, mask, value, lane_of(mask, rank), place);
        result = op(result, other);
    }
    return result;
}

/// Reduces over groups of more than one warp.
template <class T, class Op>
T reduce_threads(const thread_group& group, const T& value, Op& op, heddle::emulator::Place place) {
    const T own = value;
    heddle::emulator::show(&own);
    group.sync(place);
    const unsigned first = group.heddle_first();
    T result;
    heddle::emulator::read_shown(first, &result, sizeof(T));
    for (unsigned i = 1; i < group.size() && first + i < block_threads(); ++i) {
        T other;
        heddle::emulator::read_shown(first + i, &other, sizeof(T));
        result = op(result, other);
    }
    group.sync(place);
    return result;
}

template <class T>
struct plain {
    using type = T;
};
template <class T>
struct plain<T&> : plain<T> {};
template <class T>
struct plain<T&&> : plain<T> {};
template <class T>
struct plain<const T> {
    using type = T;
};
template <class T>
struct plain<const T&> {
    using type = T;
};

/// The operation over the ranks before the own one, and the own one if `inclusive`. Rank 0 of an exclusive one gets `first`.
template <class T, class Op>
T scan_lanes(unsigned mask, T value, Op& op, bool inclusive, T first, heddle::emulator::Place place) {
    const auto count = static_cast<unsigned>(__builtin_popcount(mask)), own = rank_of(mask, lane());
    T result = first;
    bool any = false;
    for (unsigned rank = 0; rank < count; ++rank) {
        const T other = exchanged(heddle::emulator::Exchange::scan, mask, value, lane_of(mask, rank), place);
        if (rank > own || (rank == own && !inclusive)) continue;
        result = any ? op(result, other) : other;
        any = true;
    }
    return result;
}

// The value that an exclusive scan gives rank 0.
template <class T, class Op>
struct identity {
    static constexpr T value() { return T{}; }
};
template <class T>
struct identity<T, bit_and<T>> {
    static constexpr T value() { return static_cast<T>(~T{}); }
};

}  // namespace details

/// op over the values of the group; each thread gets it.
template <class Group, class T, class Op>
auto reduce(const Group& group, T&& value, Op&& op, heddle::emulator::Place place = heddle::emulator::Place::current()) ->
    typename details::plain<T>::type {
    using Value = typename details::plain<T>::type;
    if (group.heddle_kind() == details::kind::lanes) return details::reduce_lanes<Value>(group.heddle_mask(), value, op, place);
    return details::reduce_threads<Value>(group, value, op, place);
}

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()
template <class Group, class T, class Op>
auto inclusive_scan(const Group& group, T&& value, Op&& op, HEDDLE_PLACE) -> typename details::plain<T>::type {
    using Value = typename details::plain<T>::type;
    return details::scan_lanes<Value>(group.heddle_mask(), value, op, true, Value{}, place);
}
template <class Group, class T>
auto inclusive_scan(const Group& group, T&& value, HEDDLE_PLACE) -> typename details::plain<T>::type {
    plus<typename details::plain<T>::type> op;
    return inclusive_scan(group, value, op, place);
}
template <class Group, class T, class Op>
auto exclusive_scan(const Group& group, T&& value, Op&& op, HEDDLE_PLACE) -> typename details::plain<T>::type {
    using Value = typename details::plain<T>::type;
    return details::scan_lanes<Value>(group.heddle_mask(), value, op, false,
                                      details::identity<Value, typename details::plain<Op>::type>::value(), place);
}
template <class Group, class T>
auto exclusive_scan(const Group& group, T&& value, HEDDLE_PLACE) -> typename details::plain<T>::type {
    plus<typename details::plain<T>::type> op;
    return exclusive_scan(group, value, op, place);
}
#undef HEDDLE_PLACE

}  // namespace cooperative_groups
