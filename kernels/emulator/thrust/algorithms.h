// Thrust's algorithms on elements and their sums. Those that look at one element after the other run as one thread (execution.h).
#pragma once

#include <vector>

#include "kernels/emulator/thrust/functional.h"
#include "kernels/emulator/thrust/iterators.h"

namespace thrust {
namespace detail {

template <class It>
inline constexpr bool on_device = std::is_same_v<typename system_of<It>::type, device_system_tag>;
template <class It>
inline constexpr bool is_contiguous = std::is_pointer_v<It>;
template <class T>
inline constexpr bool is_contiguous<device_ptr<T>> = true;
#if __cplusplus >= 202002L
template <std::contiguous_iterator It>
inline constexpr bool is_contiguous<It> = true;
#endif

template <class It>
auto* address_of(It it) {
    if constexpr (std::is_pointer_v<decltype(raw(it))>)
        return raw(it);
    else
        return &*it;
}
template <class Element>
using Staged = std::vector<std::conditional_t<std::is_same_v<Element, bool>, char, Element>>;

/// Elements that lie on the same side as the result.
template <class It, class Out>
void copy_on_one_side(Policy policy, It first, It last, Out out) {
    if constexpr (on_device<It> || on_device<Out>) policy.on_device = true;
    if constexpr (std::is_base_of_v<std::random_access_iterator_tag, typename std::iterator_traits<It>::iterator_category>)
        run_each(policy, "thrust::copy", length(first, last),
                 [from = raw(first), to = raw(out)](std::ptrdiff_t i) mutable { to[i] = from[i]; });
    else
        for (; first != last; ++first, ++out) *out = *first;
}
/// Between host and device: through host memory, as the type that the device has.
template <class It, class Out>
void copy_across(const Policy& policy, It first, It last, Out out) {
    using Element = std::conditional_t<on_device<Out>, typename std::iterator_traits<Out>::value_type, value_of<It>>;
    constexpr bool direct = on_device<Out> ? is_contiguous<Out> : is_contiguous<It>;
    const auto n = static_cast<std::size_t>(length(first, last)), bytes = n * sizeof(Element);
    const Scratch<Element> there(direct ? 0 : n, policy.place);
    Staged<Element> staged;
    if constexpr (on_device<Out>) {
        staged.reserve(n);
        for (It from = first; from != last; ++from) staged.push_back(static_cast<Element>(*from));
        void* to = there.data();
        if constexpr (direct) to = address_of(out);
        check(cudaMemcpyAsync(to, staged.data(), bytes, cudaMemcpyHostToDevice, policy.stream, policy.place));
        check(cudaStreamSynchronize(policy.stream));
        if constexpr (!direct)
            copy_on_one_side(policy, device_ptr<Element>(there.data()), device_ptr<Element>(there.data() + n), out);
    } else {
        staged.resize(n);
        const void* from = there.data();
        if constexpr (direct)
            from = address_of(first);
        else
            copy_on_one_side(policy, first, last, device_ptr<Element>(there.data()));
        check(cudaMemcpyAsync(staged.data(), from, bytes, cudaMemcpyDeviceToHost, policy.stream, policy.place));
        check(cudaStreamSynchronize(policy.stream));
        for (const auto& value : staged) *out = static_cast<Element>(value), ++out;
    }
}
template <class It, class Out>
Out copy(const Policy& policy, It first, It last, Out out) {
    const std::ptrdiff_t n = length(first, last);
    if (n == 0) return out;
    if constexpr (on_device<It> != on_device<Out>)
        copy_across(policy, first, last, out);
    else
        copy_on_one_side(policy, first, last, out);
    return std::next(out, n);
}
template <class It, class N, class Out>
Out copy_n(const Policy& policy, It first, N n, Out out) {
    return detail::copy(policy, first, std::next(first, static_cast<std::ptrdiff_t>(n)), out);
}

template <class It, class T>
void fill(const Policy& policy, It first, It last, const T& value) {
    run_each(policy, "thrust::fill", length(first, last),
             [to = raw(first), v = static_cast<value_of<It>>(value)](std::ptrdiff_t i) mutable { to[i] = v; });
}
template <class It, class N, class T>
It fill_n(const Policy& policy, It first, N n, const T& value) {
    detail::fill(policy, first, first + static_cast<std::ptrdiff_t>(n), value);
    return first + static_cast<std::ptrdiff_t>(n);
}
template <class It, class T = value_of<It>, class S = T>
void sequence(const Policy& policy, It first, It last, T start = T(), S step = S(1)) {
    using V = value_of<It>;
    run_each(policy, "thrust::sequence", length(first, last), [to = raw(first), start, step](std::ptrdiff_t i) mutable {
        to[i] = static_cast<V>(start + step * static_cast<V>(i));
    });
}
template <class It, class F>
void tabulate(const Policy& policy, It first, It last, F function) {
    run_each(policy, "thrust::tabulate", length(first, last),
             [to = raw(first), function](std::ptrdiff_t i) mutable { to[i] = function(i); });
}
/// The generator's copies count on in one thread: element i is its i-th result, as on the host.
template <class It, class F>
void generate(const Policy& policy, It first, It last, F function) {
    run_alone(policy, "thrust::generate", [to = raw(first), n = length(first, last), function]() mutable {
        for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = function();
    });
}
template <class It, class F>
It for_each(const Policy& policy, It first, It last, F function) {
    run_each(policy, "thrust::for_each", length(first, last),
             [at = raw(first), function](std::ptrdiff_t i) mutable { function(at[i]); });
    return last;
}
template <class It, class N, class F>
It for_each_n(const Policy& policy, It first, N n, F function) {
    return detail::for_each(policy, first, first + static_cast<std::ptrdiff_t>(n), function);
}
template <class It, class Out, class F>
Out transform(const Policy& policy, It first, It last, Out out, F function) {
    run_each(policy, "thrust::transform", length(first, last),
             [from = raw(first), to = raw(out), function](std::ptrdiff_t i) mutable { to[i] = function(from[i]); });
    return out + length(first, last);
}
template <class It, class Other, class Out, class F>
Out transform(const Policy& policy, It first, It last, Other other, Out out, F function) {
    run_each(policy, "thrust::transform", length(first, last),
             [from = raw(first), with = raw(other), to = raw(out), function](std::ptrdiff_t i) mutable {
                 to[i] = function(from[i], with[i]);
             });
    return out + length(first, last);
}
template <class It, class Stencil, class Out, class F, class Predicate>
Out transform_if(const Policy& policy, It first, It last, Stencil stencil, Out out, F function, Predicate predicate) {
    run_each(policy, "thrust::transform_if", length(first, last),
             [from = raw(first), mask = raw(stencil), to = raw(out), function, predicate](std::ptrdiff_t i) mutable {
                 if (predicate(mask[i])) to[i] = function(from[i]);
             });
    return out + length(first, last);
}
template <class It, class Out, class F, class Predicate>
Out transform_if(const Policy& policy, It first, It last, Out out, F function, Predicate predicate) {
    return detail::transform_if(policy, first, last, first, out, function, predicate);
}
template <class It, class Predicate, class T>
void replace_if(const Policy& policy, It first, It last, Predicate predicate, const T& value) {
    run_each(policy, "thrust::replace", length(first, last), [at = raw(first), predicate, value](std::ptrdiff_t i) mutable {
        if (predicate(at[i])) at[i] = value;
    });
}
template <class Map, class In, class Out>
Out gather(const Policy& policy, Map first, Map last, In in, Out out) {
    run_each(policy, "thrust::gather", length(first, last),
             [map = raw(first), from = raw(in), to = raw(out)](std::ptrdiff_t i) mutable {
                 to[i] = from[static_cast<std::ptrdiff_t>(map[i])];
             });
    return out + length(first, last);
}
template <class In, class Map, class Out>
void scatter(const Policy& policy, In first, In last, Map map, Out out) {
    run_each(policy, "thrust::scatter", length(first, last),
             [from = raw(first), where = raw(map), to = raw(out)](std::ptrdiff_t i) mutable {
                 to[static_cast<std::ptrdiff_t>(where[i])] = from[i];
             });
}
template <class It>
void reverse(const Policy& policy, It first, It last) {
    run_each(policy, "thrust::reverse", length(first, last) / 2,
             [at = raw(first), end = length(first, last) - 1](std::ptrdiff_t i) mutable {
                 value_of<It> kept = at[i];
                 at[i] = at[end - i];
                 at[end - i] = kept;
             });
}

// ---- sums ----

template <class It, class T, class F, class Op>
T transform_reduce(const Policy& policy, It first, It last, F function, T start, Op op) {
    return run_for<T>(policy, "thrust::reduce", [from = raw(first), n = length(first, last), function, start, op]() mutable {
        T sum = start;
        for (std::ptrdiff_t i = 0; i < n; ++i) sum = static_cast<T>(op(sum, function(from[i])));
        return sum;
    });
}
template <class It, class T = value_of<It>, class Op = plus<>>
T reduce(const Policy& policy, It first, It last, T start = T(), Op op = Op()) {
    return detail::transform_reduce(policy, first, last, identity<>(), start, op);
}
template <class It, class Other, class T, class Op = plus<>, class Product = multiplies<>>
T inner_product(const Policy& policy, It first, It last, Other other, T start, Op op = Op(), Product product = Product()) {
    return run_for<T>(policy, "thrust::inner_product",
                      [a = raw(first), b = raw(other), n = length(first, last), start, op, product]() mutable {
                          T sum = start;
                          for (std::ptrdiff_t i = 0; i < n; ++i) sum = static_cast<T>(op(sum, product(a[i], b[i])));
                          return sum;
                      });
}
template <class It, class Predicate>
std::ptrdiff_t count_if(const Policy& policy, It first, It last, Predicate predicate) {
    return run_for<std::ptrdiff_t>(policy, "thrust::count_if", [from = raw(first), n = length(first, last), predicate]() mutable {
        std::ptrdiff_t sum = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i) sum += predicate(from[i]) ? 1 : 0;
        return sum;
    });
}
template <class T>
struct EqualTo {
    T value;
    template <class U>
    bool operator()(const U& other) const {
        return other == value;
    }
};
template <class It, class T>
std::ptrdiff_t count(const Policy& policy, It first, It last, const T& value) {
    return detail::count_if(policy, first, last, EqualTo<T>{value});
}
/// The first i for which found(i) holds, or n.
template <class Found>
std::ptrdiff_t search(const Policy& policy, const char* name, std::ptrdiff_t n, Found found) {
    return run_for<std::ptrdiff_t>(policy, name, [n, found]() mutable {
        std::ptrdiff_t i = 0;
        while (i < n && !found(i)) ++i;
        return i;
    });
}
template <class It, class Predicate>
It find_if(const Policy& policy, It first, It last, Predicate predicate) {
    return first +
           detail::search(policy, "thrust::find_if", length(first, last),
                          [at = raw(first), predicate](std::ptrdiff_t i) mutable { return static_cast<bool>(predicate(at[i])); });
}
template <class It, class T>
It find(const Policy& policy, It first, It last, const T& value) {
    return detail::find_if(policy, first, last, EqualTo<T>{value});
}
template <class It, class Predicate>
bool any_of(const Policy& policy, It first, It last, Predicate predicate) {
    return detail::find_if(policy, first, last, predicate) != last;
}
template <class It, class Predicate>
bool none_of(const Policy& policy, It first, It last, Predicate predicate) {
    return !detail::any_of(policy, first, last, predicate);
}
template <class It, class Predicate>
bool all_of(const Policy& policy, It first, It last, Predicate predicate) {
    return detail::find_if(policy, first, last, unary_negate<Predicate>{predicate}) == last;
}
template <class It, class Other, class Same = equal_to<>>
bool equal(const Policy& policy, It first, It last, Other other, Same same = Same()) {
    const std::ptrdiff_t n = length(first, last);
    return detail::search(policy, "thrust::equal", n,
                          [a = raw(first), b = raw(other), same](std::ptrdiff_t i) mutable { return !same(a[i], b[i]); }) == n;
}
template <class It, class Less = less<>>
bool is_sorted(const Policy& policy, It first, It last, Less before = Less()) {
    const std::ptrdiff_t pairs = length(first, last) - 1;
    return detail::search(policy, "thrust::is_sorted", pairs,
                          [at = raw(first), before](std::ptrdiff_t i) mutable { return before(at[i + 1], at[i]); }) >= pairs;
}
/// The first least and the first largest.
template <class It, class Less = less<>>
pair<It, It> minmax_element(const Policy& policy, It first, It last, Less before = Less()) {
    struct Both {
        std::ptrdiff_t least, most;
    };
    const Both found =
        run_for<Both>(policy, "thrust::minmax_element", [at = raw(first), n = length(first, last), before]() mutable {
            Both both{0, 0};
            for (std::ptrdiff_t i = 1; i < n; ++i) {
                if (before(at[i], at[both.least])) both.least = i;
                if (before(at[both.most], at[i])) both.most = i;
            }
            return both;
        });
    return {first + found.least, first + found.most};
}
template <class It, class Less = less<>>
It min_element(const Policy& policy, It first, It last, Less before = Less()) {
    return detail::minmax_element(policy, first, last, before).first;
}
template <class It, class Less = less<>>
It max_element(const Policy& policy, It first, It last, Less before = Less()) {
    return detail::minmax_element(policy, first, last, before).second;
}

}  // namespace detail

HEDDLE_ALGORITHM(copy)
HEDDLE_ALGORITHM(copy_n)
HEDDLE_ALGORITHM(fill)
HEDDLE_ALGORITHM(fill_n)
HEDDLE_ALGORITHM(sequence)
HEDDLE_ALGORITHM(tabulate)
HEDDLE_ALGORITHM(generate)
HEDDLE_ALGORITHM(for_each)
HEDDLE_ALGORITHM(for_each_n)
HEDDLE_ALGORITHM(transform)
HEDDLE_ALGORITHM(transform_if)
HEDDLE_ALGORITHM(replace_if)
HEDDLE_ALGORITHM(gather)
HEDDLE_ALGORITHM(scatter)
HEDDLE_ALGORITHM(reverse)
HEDDLE_ALGORITHM(transform_reduce)
HEDDLE_ALGORITHM(reduce)
HEDDLE_ALGORITHM(inner_product)
HEDDLE_ALGORITHM(count)
HEDDLE_ALGORITHM(count_if)
HEDDLE_ALGORITHM(find)
HEDDLE_ALGORITHM(find_if)
HEDDLE_ALGORITHM(any_of)
HEDDLE_ALGORITHM(none_of)
HEDDLE_ALGORITHM(all_of)
HEDDLE_ALGORITHM(equal)
HEDDLE_ALGORITHM(is_sorted)
HEDDLE_ALGORITHM(min_element)
HEDDLE_ALGORITHM(max_element)
HEDDLE_ALGORITHM(minmax_element)

}  // namespace thrust
