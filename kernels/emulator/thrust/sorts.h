// Thrust's scans, sorts and what depends on the order of elements: one thread each, but sorts of numbers by < or >, which the
// library does (kernels/emulator/thrust/radix_sort.h).
#pragma once

#include "kernels/emulator/thrust/algorithms.h"
#include "kernels/emulator/thrust/radix_sort.h"

namespace thrust {
namespace detail {

/// Calls body(write, i) for each element in order; write(j) says that element i goes to position j. Returns the number written.
template <class Body>
std::ptrdiff_t run_filter(const Policy& policy, const char* name, Body body) {
    return run_for<std::ptrdiff_t>(policy, name, body);
}

template <class It, class Out, class T, class Op>
Out scan(const Policy& policy, const char* name, It first, It last, Out out, T start, Op op, bool with_start, bool inclusive) {
    const std::size_t n = length(first, last);
    run_alone(policy, name, [from = raw(first), to = raw(out), n, start, op, with_start, inclusive]() mutable {
        T sum = start;
        for (std::size_t i = 0; i < n; ++i) {
            const auto k = static_cast<std::ptrdiff_t>(i);
            const value_of<It> value = from[k];  // read first: the scan may be in place
            if (!inclusive) to[k] = sum;
            sum = i == 0 && !with_start ? static_cast<T>(value) : static_cast<T>(op(sum, value));
            if (inclusive) to[k] = sum;
        }
    });
    return out + static_cast<std::ptrdiff_t>(n);
}
template <class It, class Out, class Op = plus<>>
Out inclusive_scan(const Policy& policy, It first, It last, Out out, Op op = Op()) {
    return detail::scan(policy, "thrust::inclusive_scan", first, last, out, value_of<It>(), op, false, true);
}
template <class It, class Out, class T = value_of<It>, class Op = plus<>>
Out exclusive_scan(const Policy& policy, It first, It last, Out out, T start = T(), Op op = Op()) {
    return detail::scan(policy, "thrust::exclusive_scan", first, last, out, start, op, true, false);
}
template <class It, class Out, class F, class Op>
Out transform_inclusive_scan(const Policy& policy, It first, It last, Out out, F function, Op op) {
    return detail::inclusive_scan(policy, make_transform_iterator(first, function), make_transform_iterator(last, function), out,
                                  op);
}
template <class It, class Out, class F, class T, class Op>
Out transform_exclusive_scan(const Policy& policy, It first, It last, Out out, F function, T start, Op op) {
    return detail::exclusive_scan(policy, make_transform_iterator(first, function), make_transform_iterator(last, function), out,
                                  start, op);
}
template <class Keys, class It, class Out, class Same, class Op>
Out scan_by_key(const Policy& policy, const char* name, Keys first, Keys last, It values, Out out, value_of<It> start, Same same,
                Op op, bool inclusive) {
    const std::size_t n = length(first, last);
    run_alone(policy, name, [keys = raw(first), from = raw(values), to = raw(out), n, start, same, op, inclusive]() mutable {
        value_of<It> sum = start;
        for (std::size_t i = 0; i < n; ++i) {
            const auto k = static_cast<std::ptrdiff_t>(i);
            const value_of<It> value = from[k];
            const bool begins = i == 0 || !same(keys[k - 1], keys[k]);
            if (!inclusive) to[k] = begins ? start : sum;
            sum = begins ? (inclusive ? value : op(start, value)) : op(sum, value);
            if (inclusive) to[k] = sum;
        }
    });
    return out + static_cast<std::ptrdiff_t>(n);
}
template <class Keys, class It, class Out, class Same = equal_to<>, class Op = plus<>>
Out inclusive_scan_by_key(const Policy& policy, Keys first, Keys last, It values, Out out, Same same = Same(), Op op = Op()) {
    return detail::scan_by_key(policy, "thrust::inclusive_scan_by_key", first, last, values, out, value_of<It>(), same, op, true);
}
template <class Keys, class It, class Out, class T = value_of<It>, class Same = equal_to<>, class Op = plus<>>
Out exclusive_scan_by_key(const Policy& policy, Keys first, Keys last, It values, Out out, T start = T(), Same same = Same(),
                          Op op = Op()) {
    return detail::scan_by_key(policy, "thrust::exclusive_scan_by_key", first, last, values, out,
                               static_cast<value_of<It>>(start), same, op, false);
}
template <class It, class Out, class Op = minus<>>
Out adjacent_difference(const Policy& policy, It first, It last, Out out, Op op = Op()) {
    const std::size_t n = length(first, last);
    run_alone(policy, "thrust::adjacent_difference", [from = raw(first), to = raw(out), n, op]() mutable {
        value_of<It> before{};
        for (std::size_t i = 0; i < n; ++i) {
            const value_of<It> value = from[static_cast<std::ptrdiff_t>(i)];
            if (i == 0)
                to[0] = value;
            else
                to[static_cast<std::ptrdiff_t>(i)] = op(value, before);
            before = value;
        }
    });
    return out + static_cast<std::ptrdiff_t>(n);
}

// ---- filters ----

template <class It, class Stencil, class Out, class Predicate>
Out copy_if(const Policy& policy, It first, It last, Stencil stencil, Out out, Predicate predicate) {
    return out +
           run_filter(policy, "thrust::copy_if",
                      [from = raw(first), mask = raw(stencil), to = raw(out), n = length(first, last), predicate]() mutable {
                          std::ptrdiff_t kept = 0;
                          for (std::size_t i = 0; i < n; ++i) {
                              const auto k = static_cast<std::ptrdiff_t>(i);
                              if (predicate(mask[k])) to[kept++] = from[k];
                          }
                          return kept;
                      });
}
template <class It, class Out, class Predicate>
Out copy_if(const Policy& policy, It first, It last, Out out, Predicate predicate) {
    return detail::copy_if(policy, first, last, first, out, predicate);
}
template <class It, class Predicate>
It remove_if(const Policy& policy, It first, It last, Predicate predicate) {
    return detail::copy_if(policy, first, last, first, first, unary_negate<Predicate>{predicate});
}
template <class It, class Stencil, class Predicate>
It remove_if(const Policy& policy, It first, It last, Stencil stencil, Predicate predicate) {
    return detail::copy_if(policy, first, last, stencil, first, unary_negate<Predicate>{predicate});
}
template <class It, class T>
It remove(const Policy& policy, It first, It last, const T& value) {
    return detail::remove_if(policy, first, last, EqualTo<T>{value});
}
template <class It, class Out, class Predicate>
Out remove_copy_if(const Policy& policy, It first, It last, Out out, Predicate predicate) {
    return detail::copy_if(policy, first, last, first, out, unary_negate<Predicate>{predicate});
}
template <class It, class Predicate>
It stable_partition(const Policy& policy, It first, It last, Predicate predicate) {
    const std::size_t n = length(first, last);
    std::vector<value_of<It>> elements(policy.on_device ? 0 : n);
    const Scratch<value_of<It>> there(policy.on_device ? n : 0, policy.place);
    return first +
           run_filter(
               policy, "thrust::partition",
               [at = raw(first), rest = policy.on_device ? there.data() : elements.data(), n, predicate]() mutable {
                   std::ptrdiff_t kept = 0, others = 0;
                   for (std::size_t i = 0; i < n; ++i) {
                       const value_of<It> value = at[static_cast<std::ptrdiff_t>(i)];
                       (predicate(value) ? static_cast<void>(at[kept++] = value) : static_cast<void>(rest[others++] = value));
                   }
                   for (std::ptrdiff_t i = 0; i < others; ++i) at[kept + i] = rest[i];
                   return kept;
               });
}
template <class It, class Predicate>
It partition(const Policy& policy, It first, It last, Predicate predicate) {
    return detail::stable_partition(policy, first, last, predicate);
}
template <class It, class Out, class Same = equal_to<>>
Out unique_copy(const Policy& policy, It first, It last, Out out, Same same = Same()) {
    return out +
           run_filter(policy, "thrust::unique", [from = raw(first), to = raw(out), n = length(first, last), same]() mutable {
               std::ptrdiff_t kept = 0;
               value_of<It> before{};
               for (std::size_t i = 0; i < n; ++i) {
                   const value_of<It> value = from[static_cast<std::ptrdiff_t>(i)];
                   if (i == 0 || !same(before, value)) to[kept++] = value;
                   before = value;
               }
               return kept;
           });
}
template <class It, class Same = equal_to<>>
It unique(const Policy& policy, It first, It last, Same same = Same()) {
    return detail::unique_copy(policy, first, last, first, same);
}
template <class Keys, class It, class KeysOut, class Out, class Same = equal_to<>, class Op = plus<>>
pair<KeysOut, Out> reduce_by_key(const Policy& policy, Keys first, Keys last, It values, KeysOut keys_out, Out out,
                                 Same same = Same(), Op op = Op()) {
    const auto groups = run_filter(policy, "thrust::reduce_by_key",
                                   [keys = raw(first), from = raw(values), to_keys = raw(keys_out), to = raw(out),
                                    n = length(first, last), same, op]() mutable {
                                       std::ptrdiff_t made = 0;
                                       for (std::size_t i = 0; i < n;) {
                                           const value_of<Keys> key = keys[static_cast<std::ptrdiff_t>(i)];
                                           value_of<It> sum = from[static_cast<std::ptrdiff_t>(i)];
                                           for (++i; i < n && same(key, keys[static_cast<std::ptrdiff_t>(i)]); ++i)
                                               sum = op(sum, from[static_cast<std::ptrdiff_t>(i)]);
                                           to_keys[made] = key;
                                           to[made++] = sum;
                                       }
                                       return made;
                                   });
    return {keys_out + groups, out + groups};
}
template <class Keys, class It, class KeysOut, class Out, class Same = equal_to<>>
pair<KeysOut, Out> unique_by_key_copy(const Policy& policy, Keys first, Keys last, It values, KeysOut keys_out, Out out,
                                      Same same = Same()) {
    return detail::reduce_by_key(policy, first, last, values, keys_out, out, same, project1st<value_of<It>, value_of<It>>());
}
template <class Keys, class It, class Same = equal_to<>>
pair<Keys, It> unique_by_key(const Policy& policy, Keys first, Keys last, It values, Same same = Same()) {
    return detail::unique_by_key_copy(policy, first, last, values, first, values, same);
}

// ---- order ----

template <class It, class T, class Less>
std::ptrdiff_t bound_in(It at, std::ptrdiff_t n, const T& value, Less before, bool upper) {
    std::ptrdiff_t low = 0;
    while (n > 0) {
        const std::ptrdiff_t half = n / 2;
        const bool right = upper ? !before(value, at[low + half]) : static_cast<bool>(before(at[low + half], value));
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}
template <class It, class Values, class Out, class Less>
Out bounds(const Policy& policy, It first, It last, Values values, Values values_end, Out out, Less before, bool upper) {
    const std::size_t n = length(values, values_end);
    run_each(
        policy, upper ? "thrust::upper_bound" : "thrust::lower_bound", n,
        [at = raw(first), size = length(first, last), of = raw(values), to = raw(out), before, upper](std::size_t i) mutable {
            const auto k = static_cast<std::ptrdiff_t>(i);
            const value_of<Values> value = of[k];
            to[k] = static_cast<value_of<Out>>(bound_in(at, static_cast<std::ptrdiff_t>(size), value, before, upper));
        });
    return out + static_cast<std::ptrdiff_t>(n);
}
template <class It, class T, class... Rest>
auto bound(const Policy& policy, bool upper, It first, It last, T value, Rest... rest) {
    if constexpr (sizeof...(Rest) >= 2) {  // a range of values
        const auto arguments = std::make_tuple(rest..., less<>());
        return detail::bounds(policy, first, last, value, std::get<0>(arguments), std::get<1>(arguments), std::get<2>(arguments),
                              upper);
    } else {
        const auto before = std::get<0>(std::make_tuple(rest..., less<>()));
        return first + run_for<std::ptrdiff_t>(policy, "thrust::lower_bound",
                                               [at = raw(first), n = length(first, last), value, before, upper]() mutable {
                                                   return bound_in(at, static_cast<std::ptrdiff_t>(n), value, before, upper);
                                               });
    }
}
template <class It, class T, class... Rest>
auto lower_bound(const Policy& policy, It first, It last, T value, Rest... rest) {
    return detail::bound(policy, false, first, last, value, rest...);
}
template <class It, class T, class... Rest>
auto upper_bound(const Policy& policy, It first, It last, T value, Rest... rest) {
    return detail::bound(policy, true, first, last, value, rest...);
}
template <class It, class T>
bool binary_search(const Policy& policy, It first, It last, const T& value) {
    const auto n = static_cast<std::ptrdiff_t>(length(first, last));
    return run_for<int>(policy, "thrust::binary_search", [at = raw(first), n, value]() mutable {
               const std::ptrdiff_t i = bound_in(at, n, value, less<>(), false);
               return i < n && !(value < at[i]) ? 1 : 0;
           }) != 0;
}
template <class A, class B, class Out, class Less = less<>>
Out merge(const Policy& policy, A a, A a_end, B b, B b_end, Out out, Less before = Less()) {
    const std::size_t n = length(a, a_end), m = length(b, b_end);
    run_alone(policy, "thrust::merge", [x = raw(a), y = raw(b), to = raw(out), n, m, before]() mutable {
        std::size_t i = 0, j = 0;
        for (std::size_t k = 0; k < n + m; ++k) {
            const bool right = i == n || (j < m && before(y[static_cast<std::ptrdiff_t>(j)], x[static_cast<std::ptrdiff_t>(i)]));
            if (right)
                to[static_cast<std::ptrdiff_t>(k)] = y[static_cast<std::ptrdiff_t>(j++)];
            else
                to[static_cast<std::ptrdiff_t>(k)] = x[static_cast<std::ptrdiff_t>(i++)];
        }
    });
    return out + static_cast<std::ptrdiff_t>(n + m);
}

/// Merges runs of twice the length until one is left: stable. `order` and `next` hold positions.
template <class Keys, class Less>
void order_by(Keys keys, std::size_t n, Less before, std::size_t* order, std::size_t* next) {
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::size_t *from = order, *to = next;
    for (std::size_t run = 1; run < n; run *= 2) {
        for (std::size_t start = 0; start < n; start += 2 * run) {
            const std::size_t middle = start + run < n ? start + run : n, end = middle + run < n ? middle + run : n;
            std::size_t i = start, j = middle;
            for (std::size_t k = start; k < end; ++k) {
                const bool right = i == middle || (j < end && before(keys[static_cast<std::ptrdiff_t>(from[j])],
                                                                     keys[static_cast<std::ptrdiff_t>(from[i])]));
                to[k] = right ? from[j++] : from[i++];
            }
        }
        std::size_t* const kept = from;
        from = to;
        to = kept;
    }
    for (std::size_t i = 0; from != order && i < n; ++i) order[i] = from[i];
}
/// Brings the elements into the order, by a copy of them.
template <class It>
void permute(It at, value_of<It>* kept, const std::size_t* order, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) kept[i] = at[static_cast<std::ptrdiff_t>(i)];
    for (std::size_t i = 0; i < n; ++i) at[static_cast<std::ptrdiff_t>(i)] = kept[order[i]];
}
/// Host or device memory, as the policy says.
template <class T>
class Buffer {
  public:
    Buffer(const Policy& policy, std::size_t n)
        : there_(policy.on_device ? n : 0, policy.place), here_(policy.on_device ? 0 : n) {}
    T* data() { return there_.data() != nullptr ? there_.data() : here_.data(); }

  private:
    Scratch<T> there_;
    std::vector<T> here_;
};

template <class Less>
inline constexpr int direction = 0;  // 1: by <, -1: by >
template <class T>
inline constexpr int direction<less<T>> = 1;
template <class T>
inline constexpr int direction<greater<T>> = -1;

template <class Keys, class Values, class Less>
void sort_both(const Policy& policy, const char* name, Keys first, std::size_t n, Values values, Less before) {
    using Key = value_of<Keys>;
    constexpr bool pairs = !std::is_same_v<Values, std::nullptr_t>;
    if (n < 2) return;
    if constexpr (direction<Less> != 0 && is_key<Key> && std::is_pointer_v<decltype(raw(first))> &&
                  (!pairs || std::is_pointer_v<decltype(raw(values))>)) {
        if (policy.on_device) {
            SortRequest request = sort_request<Key>(name, n, direction<Less> < 0, policy.stream, policy.place);
            request.keys_in = request.keys_out = raw(first);
            if constexpr (pairs) {
                request.values_in = request.values_out = raw(values);
                request.value_bytes = sizeof(value_of<Values>);
            }
            check(sort_numbers(request));
            return finish(policy);
        }
    }
    Buffer<std::size_t> order(policy, 2 * n);
    Buffer<Key> kept(policy, n);
    if constexpr (pairs) {
        Buffer<value_of<Values>> kept_values(policy, n);
        run_alone(policy, name,
                  [keys = raw(first), with = raw(values), n, before, o = order.data(), k = kept.data(),
                   v = kept_values.data()]() mutable {
                      order_by(keys, n, before, o, o + n);
                      permute(keys, k, o, n);
                      permute(with, v, o, n);
                  });
    } else {
        run_alone(policy, name, [keys = raw(first), n, before, o = order.data(), k = kept.data()]() mutable {
            order_by(keys, n, before, o, o + n);
            permute(keys, k, o, n);
        });
    }
}
template <class It, class Less = less<>>
void sort(const Policy& policy, It first, It last, Less before = Less()) {
    detail::sort_both(policy, "thrust::sort", first, length(first, last), nullptr, before);
}
template <class It, class Less = less<>>
void stable_sort(const Policy& policy, It first, It last, Less before = Less()) {
    detail::sort_both(policy, "thrust::stable_sort", first, length(first, last), nullptr, before);
}
template <class Keys, class Values, class Less = less<>>
void sort_by_key(const Policy& policy, Keys first, Keys last, Values values, Less before = Less()) {
    detail::sort_both(policy, "thrust::sort_by_key", first, length(first, last), values, before);
}
template <class Keys, class Values, class Less = less<>>
void stable_sort_by_key(const Policy& policy, Keys first, Keys last, Values values, Less before = Less()) {
    detail::sort_both(policy, "thrust::stable_sort_by_key", first, length(first, last), values, before);
}

}  // namespace detail

HEDDLE_ALGORITHM(inclusive_scan)
HEDDLE_ALGORITHM(exclusive_scan)
HEDDLE_ALGORITHM(transform_inclusive_scan)
HEDDLE_ALGORITHM(transform_exclusive_scan)
HEDDLE_ALGORITHM(inclusive_scan_by_key)
HEDDLE_ALGORITHM(exclusive_scan_by_key)
HEDDLE_ALGORITHM(adjacent_difference)
HEDDLE_ALGORITHM(copy_if)
HEDDLE_ALGORITHM(remove_if)
HEDDLE_ALGORITHM(remove)
HEDDLE_ALGORITHM(remove_copy_if)
HEDDLE_ALGORITHM(partition)
HEDDLE_ALGORITHM(stable_partition)
HEDDLE_ALGORITHM(unique)
HEDDLE_ALGORITHM(unique_copy)
HEDDLE_ALGORITHM(unique_by_key)
HEDDLE_ALGORITHM(unique_by_key_copy)
HEDDLE_ALGORITHM(reduce_by_key)
HEDDLE_ALGORITHM(lower_bound)
HEDDLE_ALGORITHM(upper_bound)
HEDDLE_ALGORITHM(binary_search)
HEDDLE_ALGORITHM(merge)
HEDDLE_ALGORITHM(sort)
HEDDLE_ALGORITHM(stable_sort)
HEDDLE_ALGORITHM(sort_by_key)
HEDDLE_ALGORITHM(stable_sort_by_key)

}  // namespace thrust
