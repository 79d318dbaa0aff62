// Thrust's scans, sorts and what depends on the order of elements: one thread each, but sorts of numbers by < or >, which the
// library does (kernels/emulator/thrust/radix_sort.h).
#pragma once

#include "kernels/emulator/thrust/algorithms.h"
#include "kernels/emulator/thrust/radix_sort.h"

namespace thrust {
namespace detail {

template <class It, class Out, class T, class Op>
Out scan(const Policy& policy, const char* name, It first, It last, Out out, T start, Op op, bool inclusive) {
    run_alone(policy, name, [from = raw(first), to = raw(out), n = length(first, last), start, op, inclusive]() mutable {
        T sum = start;
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const value_of<It> value = from[i];  // read first: the scan may be in place
            if (!inclusive) to[i] = sum;
            sum = i == 0 && inclusive ? static_cast<T>(value) : static_cast<T>(op(sum, value));
            if (inclusive) to[i] = sum;
        }
    });
    return out + length(first, last);
}
template <class It, class Out, class Op = plus<>>
Out inclusive_scan(const Policy& policy, It first, It last, Out out, Op op = Op()) {
    return detail::scan(policy, "thrust::inclusive_scan", first, last, out, value_of<It>(), op, true);
}
template <class It, class Out, class T = value_of<It>, class Op = plus<>>
Out exclusive_scan(const Policy& policy, It first, It last, Out out, T start = T(), Op op = Op()) {
    return detail::scan(policy, "thrust::exclusive_scan", first, last, out, start, op, false);
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
template <class It, class Out, class Op = minus<>>
Out adjacent_difference(const Policy& policy, It first, It last, Out out, Op op = Op()) {
    run_alone(policy, "thrust::adjacent_difference", [from = raw(first), to = raw(out), n = length(first, last), op]() mutable {
        value_of<It> before{};
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const value_of<It> value = from[i];
            to[i] = i == 0 ? value : op(value, before);
            before = value;
        }
    });
    return out + length(first, last);
}

// ---- filters: each returns how many elements it kept ----

template <class It, class Stencil, class Out, class Predicate>
Out copy_if(const Policy& policy, It first, It last, Stencil stencil, Out out, Predicate predicate) {
    return out + run_for<std::ptrdiff_t>(
                     policy, "thrust::copy_if",
                     [from = raw(first), mask = raw(stencil), to = raw(out), n = length(first, last), predicate]() mutable {
                         std::ptrdiff_t kept = 0;
                         for (std::ptrdiff_t i = 0; i < n; ++i)
                             if (predicate(mask[i])) to[kept++] = from[i];
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

template <class It, class Predicate>
It stable_partition(const Policy& policy, It first, It last, Predicate predicate) {
    const std::ptrdiff_t n = length(first, last);
    Buffer<value_of<It>> buffer(policy, static_cast<std::size_t>(n));
    return first +
           run_for<std::ptrdiff_t>(policy, "thrust::partition", [at = raw(first), rest = buffer.data(), n, predicate]() mutable {
               std::ptrdiff_t kept = 0, others = 0;
               for (std::ptrdiff_t i = 0; i < n; ++i) {
                   const value_of<It> value = at[i];
                   if (predicate(value))
                       at[kept++] = value;
                   else
                       rest[others++] = value;
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
    return out + run_for<std::ptrdiff_t>(policy, "thrust::unique",
                                         [from = raw(first), to = raw(out), n = length(first, last), same]() mutable {
                                             std::ptrdiff_t kept = 0;
                                             value_of<It> before{};
                                             for (std::ptrdiff_t i = 0; i < n; ++i) {
                                                 const value_of<It> value = from[i];
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
    const auto groups = run_for<std::ptrdiff_t>(policy, "thrust::reduce_by_key",
                                                [keys = raw(first), from = raw(values), to_keys = raw(keys_out), to = raw(out),
                                                 n = length(first, last), same, op]() mutable {
                                                    std::ptrdiff_t made = 0;
                                                    for (std::ptrdiff_t i = 0; i < n;) {
                                                        const value_of<Keys> key = keys[i];
                                                        value_of<It> sum = from[i];
                                                        for (++i; i < n && same(key, keys[i]); ++i) sum = op(sum, from[i]);
                                                        to_keys[made] = key;
                                                        to[made++] = sum;
                                                    }
                                                    return made;
                                                });
    return {keys_out + groups, out + groups};
}
template <class Keys, class It, class Same = equal_to<>>
pair<Keys, It> unique_by_key(const Policy& policy, Keys first, Keys last, It values, Same same = Same()) {
    return detail::reduce_by_key(policy, first, last, values, first, values, same, project1st<value_of<It>, value_of<It>>());
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
/// Of one value, or of a range of values.
template <class It, class T, class... Rest>
auto bound(const Policy& policy, bool upper, It first, It last, T value, Rest... rest) {
    const char* const name = upper ? "thrust::upper_bound" : "thrust::lower_bound";
    const auto arguments = std::make_tuple(rest..., less<>());
    if constexpr (sizeof...(Rest) >= 2) {
        const auto [end, out, before] = std::tuple{std::get<0>(arguments), std::get<1>(arguments), std::get<2>(arguments)};
        run_each(policy, name, length(value, end),
                 [at = raw(first), n = length(first, last), of = raw(value), to = raw(out), before = before,
                  upper](std::ptrdiff_t i) mutable {
                     const value_of<T> one = of[i];
                     to[i] = static_cast<std::decay_t<decltype(to[i])>>(bound_in(at, n, one, before, upper));
                 });
        return out + length(value, end);
    } else {
        const auto before = std::get<0>(arguments);
        return first +
               run_for<std::ptrdiff_t>(policy, name, [at = raw(first), n = length(first, last), value, before, upper]() mutable {
                   return bound_in(at, n, value, before, upper);
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
    return run_for<int>(policy, "thrust::binary_search", [at = raw(first), n = length(first, last), value]() mutable {
               const std::ptrdiff_t i = bound_in(at, n, value, less<>(), false);
               return i < n && !(value < at[i]) ? 1 : 0;
           }) != 0;
}
template <class A, class B, class Out, class Less = less<>>
Out merge(const Policy& policy, A a, A a_end, B b, B b_end, Out out, Less before = Less()) {
    const std::ptrdiff_t n = length(a, a_end), m = length(b, b_end);
    run_alone(policy, "thrust::merge", [x = raw(a), y = raw(b), to = raw(out), n, m, before]() mutable {
        for (std::ptrdiff_t i = 0, j = 0; i + j < n + m;) {
            const bool right = i == n || (j < m && before(y[j], x[i]));
            const std::ptrdiff_t k = i + j;
            if (right)
                to[k] = y[j++];
            else
                to[k] = x[i++];
        }
    });
    return out + (n + m);
}

/// Merges runs of twice the length until one is left: stable. `order` and `next` hold positions.
template <class Keys, class Less>
void order_by(Keys keys, std::ptrdiff_t n, Less before, std::ptrdiff_t* order, std::ptrdiff_t* next) {
    for (std::ptrdiff_t i = 0; i < n; ++i) order[i] = i;
    std::ptrdiff_t *from = order, *to = next;
    for (std::ptrdiff_t run = 1; run < n; run *= 2) {
        for (std::ptrdiff_t start = 0; start < n; start += 2 * run) {
            const std::ptrdiff_t middle = start + run < n ? start + run : n, end = middle + run < n ? middle + run : n;
            std::ptrdiff_t i = start, j = middle;
            for (std::ptrdiff_t k = start; k < end; ++k) {
                const bool right = i == middle || (j < end && before(keys[from[j]], keys[from[i]]));
                to[k] = right ? from[j++] : from[i++];
            }
        }
        std::ptrdiff_t* const kept = from;
        from = to;
        to = kept;
    }
    for (std::ptrdiff_t i = 0; from != order && i < n; ++i) order[i] = from[i];
}
/// Brings the elements into the order, by a copy of them.
template <class It>
void permute(It at, value_of<It>* kept, const std::ptrdiff_t* order, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) kept[i] = at[i];
    for (std::ptrdiff_t i = 0; i < n; ++i) at[i] = kept[order[i]];
}

template <class Less>
inline constexpr int direction = 0;  // 1: by <, -1: by >
template <class T>
inline constexpr int direction<less<T>> = 1;
template <class T>
inline constexpr int direction<greater<T>> = -1;

template <class Keys, class Values, class Less>
void sort_both(const Policy& policy, const char* name, Keys first, std::ptrdiff_t n, Values values, Less before) {
    using Key = value_of<Keys>;
    constexpr bool pairs = !std::is_same_v<Values, std::nullptr_t>;
    if (n < 2) return;
    const auto size = static_cast<std::size_t>(n);
    if constexpr (direction<Less> != 0 && is_key<Key> && std::is_pointer_v<decltype(raw(first))> &&
                  (!pairs || std::is_pointer_v<decltype(raw(values))>)) {
        if (policy.on_device) {
            SortRequest request = sort_request<Key>(name, size, direction<Less> < 0, policy.stream, policy.place);
            request.keys_in = request.keys_out = raw(first);
            if constexpr (pairs) {
                request.values_in = request.values_out = raw(values);
                request.value_bytes = sizeof(value_of<Values>);
            }
            check(sort_numbers(request));
            return finish(policy);
        }
    }
    Buffer<std::ptrdiff_t> order(policy, 2 * size);
    Buffer<Key> kept(policy, size);
    run_alone(policy, name, [keys = raw(first), n, before, o = order.data(), k = kept.data()]() mutable {
        order_by(keys, n, before, o, o + n);
        permute(keys, k, o, n);
    });
    if constexpr (pairs) {
        Buffer<value_of<Values>> kept_values(policy, size);
        run_alone(policy, name,
                  [with = raw(values), n, o = order.data(), v = kept_values.data()]() mutable { permute(with, v, o, n); });
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
HEDDLE_ALGORITHM(adjacent_difference)
HEDDLE_ALGORITHM(copy_if)
HEDDLE_ALGORITHM(remove_if)
HEDDLE_ALGORITHM(remove)
HEDDLE_ALGORITHM(partition)
HEDDLE_ALGORITHM(stable_partition)
HEDDLE_ALGORITHM(unique)
HEDDLE_ALGORITHM(unique_copy)
HEDDLE_ALGORITHM(unique_by_key)
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
