// cooperative_groups::inclusive_scan and exclusive_scan, in the order of the ranks.
#pragma once

#include "kernels/emulator/include/cooperative_groups/reduce.h"

namespace cooperative_groups {

namespace details {

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

// What an exclusive scan gives rank 0.
template <class T, class Op>
struct identity {
    static constexpr T value() { return T{}; }
};
template <class T>
struct identity<T, bit_and<T>> {
    static constexpr T value() { return static_cast<T>(~T{}); }
};

}  // namespace details

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
