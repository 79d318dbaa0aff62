// Thrust's pointers to device memory and its iterators.
#pragma once

#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "kernels/emulator/thrust/execution.h"

namespace thrust {

template <class... T>
using tuple = std::tuple<T...>;
template <class A, class B>
using pair = std::pair<A, B>;
using std::get;
using std::ignore;
using std::make_pair;
using std::make_tuple;
using std::tie;
using std::tuple_element;
using std::tuple_size;

template <class T>
class device_ptr;

/// An element of device memory. In host code it is read and written by copies.
template <class T>
class device_reference {
  public:
    using value_type = std::remove_cv_t<T>;
    using pointer = device_ptr<T>;
    explicit device_reference(T* at) : at_(at) {}
    device_reference(const device_reference&) = default;

    operator value_type() const { return load(); }  // NOLINT: as in Thrust
    const device_reference& operator=(const value_type& value) const { return store(value), *this; }
    const device_reference& operator=(const device_reference& other) const { return store(other.load()), *this; }
    template <class U>
    const device_reference& operator=(const device_reference<U>& other) const {
        return store(static_cast<value_type>(static_cast<typename device_reference<U>::value_type>(other))), *this;
    }
    device_ptr<T> operator&() const { return device_ptr<T>(at_); }
#define HEDDLE_ASSIGNS(SIGN)                                          \
    template <class U>                                                \
    const device_reference& operator SIGN##=(const U& by) const {     \
        return store(static_cast<value_type>(load() SIGN by)), *this; \
    }
    HEDDLE_ASSIGNS(+)
    HEDDLE_ASSIGNS(-)
    HEDDLE_ASSIGNS(*)
    HEDDLE_ASSIGNS(/)
#undef HEDDLE_ASSIGNS
    const device_reference& operator++() const { return *this += 1; }
    const device_reference& operator--() const { return *this -= 1; }
    void swap(const device_reference& other) const {
        const value_type own = load();
        store(other.load());
        other.store(own);
    }
    friend void swap(const device_reference& a, const device_reference& b) { a.swap(b); }

  private:
    value_type load() const {
        if (heddle::emulator::in_a_kernel()) return *at_;
        alignas(value_type) unsigned char bytes[sizeof(value_type)];
        detail::check(cudaMemcpy(bytes, at_, sizeof bytes, cudaMemcpyDeviceToHost));
        return *reinterpret_cast<value_type*>(bytes);
    }
    void store(const value_type& value) const {
        if (heddle::emulator::in_a_kernel())
            *const_cast<value_type*>(at_) = value;
        else
            detail::check(cudaMemcpy(const_cast<value_type*>(at_), &value, sizeof value, cudaMemcpyHostToDevice));
    }
    T* at_;
};

/// Base of random-access iterators: makes their arithmetic of at(i) and a position.
template <class Derived, class Value, class Reference, class Pointer = void>
class iterator_base {
  public:
    using value_type = Value;
    using reference = Reference;
    using pointer = Pointer;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::random_access_iterator_tag;

    Reference operator*() const { return self().at(0); }
    Reference operator[](difference_type i) const { return self().at(i); }
    Derived& operator++() { return self() += 1; }
    Derived& operator--() { return self() += -1; }
    Derived operator++(int) { return step(1); }
    Derived operator--(int) { return step(-1); }
    Derived& operator+=(difference_type n) { return self().advance(n), self(); }
    Derived& operator-=(difference_type n) { return self().advance(-n), self(); }
    friend Derived operator+(Derived i, difference_type n) { return i += n; }
    friend Derived operator+(difference_type n, Derived i) { return i += n; }
    friend Derived operator-(Derived i, difference_type n) { return i -= n; }
    friend difference_type operator-(const Derived& a, const Derived& b) { return a.from(b); }
    friend bool operator==(const Derived& a, const Derived& b) { return a.from(b) == 0; }
    friend bool operator!=(const Derived& a, const Derived& b) { return a.from(b) != 0; }
    friend bool operator<(const Derived& a, const Derived& b) { return a.from(b) < 0; }
    friend bool operator>(const Derived& a, const Derived& b) { return a.from(b) > 0; }
    friend bool operator<=(const Derived& a, const Derived& b) { return a.from(b) <= 0; }
    friend bool operator>=(const Derived& a, const Derived& b) { return a.from(b) >= 0; }

  private:
    Derived& self() { return static_cast<Derived&>(*this); }
    const Derived& self() const { return static_cast<const Derived&>(*this); }
    Derived step(difference_type n) {
        Derived before = self();
        self() += n;
        return before;
    }
};

/// A pointer to device memory.
template <class T>
class device_ptr : public iterator_base<device_ptr<T>, std::remove_cv_t<T>, device_reference<T>, device_ptr<T>> {
  public:
    using heddle_system = device_system_tag;
    using element_type = T;
    device_ptr() = default;
    device_ptr(std::nullptr_t) {}  // NOLINT: as in Thrust
    explicit device_ptr(T* at) : at_(at) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    device_ptr(const device_ptr<U>& other) : at_(other.get()) {}  // NOLINT: as in Thrust
    T* get() const { return at_; }
    explicit operator bool() const { return at_ != nullptr; }
    device_reference<T> at(std::ptrdiff_t i) const { return device_reference<T>(at_ + i); }
    void advance(std::ptrdiff_t n) { at_ += n; }
    std::ptrdiff_t from(const device_ptr& other) const { return at_ - other.at_; }

  private:
    T* at_ = nullptr;
};
template <class T>
device_ptr<T> device_pointer_cast(T* at) {
    return device_ptr<T>(at);
}
template <class T>
device_ptr<T> device_pointer_cast(const device_ptr<T>& at) {
    return at;
}
template <class T>
T* raw_pointer_cast(const device_ptr<T>& at) {
    return at.get();
}
template <class T>
T* raw_pointer_cast(T* at) {
    return at;
}
template <class T>
T& raw_reference_cast(const device_reference<T>& reference) {
    return *(&reference).get();
}
template <class T>
device_ptr<T> device_malloc(std::size_t n) {
    T* made = nullptr;
    detail::check(cudaMalloc(reinterpret_cast<void**>(&made), n * sizeof(T)));
    return device_ptr<T>(made);
}
template <class T>
void device_free(const device_ptr<T>& at) {
    detail::check(cudaFree(const_cast<std::remove_cv_t<T>*>(at.get())));
}

/// n, n + 1, n + 2, ..
template <class T>
class counting_iterator : public iterator_base<counting_iterator<T>, T, T> {
  public:
    counting_iterator() = default;
    explicit counting_iterator(T start) : start_(start) {}
    T at(std::ptrdiff_t i) const { return static_cast<T>(start_ + static_cast<T>(i)); }
    void advance(std::ptrdiff_t n) { start_ = at(n); }
    std::ptrdiff_t from(const counting_iterator& other) const {
        return static_cast<std::ptrdiff_t>(start_) - static_cast<std::ptrdiff_t>(other.start_);
    }
    using heddle_system = any_system_tag;

  private:
    T start_{};
};
template <class T>
counting_iterator<T> make_counting_iterator(T start) {
    return counting_iterator<T>(start);
}

template <class T>
class constant_iterator : public iterator_base<constant_iterator<T>, T, T> {
  public:
    explicit constant_iterator(T value = T(), std::ptrdiff_t position = 0) : value_(value), position_(position) {}
    T at(std::ptrdiff_t) const { return value_; }
    void advance(std::ptrdiff_t n) { position_ += n; }
    std::ptrdiff_t from(const constant_iterator& other) const { return position_ - other.position_; }
    using heddle_system = any_system_tag;

  private:
    T value_;
    std::ptrdiff_t position_;
};
template <class T>
constant_iterator<T> make_constant_iterator(T value) {
    return constant_iterator<T>(value);
}

template <class It>
struct iterator_traits : std::iterator_traits<It> {};
template <class It>
struct iterator_system {
    using type = typename detail::system_of<It>::type;
};
template <class It>
using iterator_value_t = typename std::iterator_traits<It>::value_type;

/// f(*it).
template <class F, class It, class Reference = void, class Value = void>
class transform_iterator
    : public iterator_base<transform_iterator<F, It, Reference, Value>,
                           std::decay_t<std::invoke_result_t<const F&, typename std::iterator_traits<It>::reference>>,
                           std::invoke_result_t<const F&, typename std::iterator_traits<It>::reference>> {
  public:
    using heddle_system = typename detail::system_of<It>::type;
    transform_iterator() = default;
    explicit transform_iterator(It base, F function = F()) : base_(base), function_(function) {}
    decltype(auto) at(std::ptrdiff_t i) const { return function_(base_[i]); }
    void advance(std::ptrdiff_t n) { base_ += n; }
    std::ptrdiff_t from(const transform_iterator& other) const { return base_ - other.base_; }
    const It& base() const { return base_; }
    const F& functor() const { return function_; }

  private:
    It base_;
    F function_;
};
template <class F, class It>
transform_iterator<F, It> make_transform_iterator(It base, F function) {
    return transform_iterator<F, It>(base, function);
}

/// Several iterators that go together; an element is a tuple of references.
template <class Tuple>
class zip_iterator;
template <class... It>
class zip_iterator<std::tuple<It...>>
    : public iterator_base<zip_iterator<std::tuple<It...>>, std::tuple<typename std::iterator_traits<It>::value_type...>,
                           std::tuple<typename std::iterator_traits<It>::reference...>> {
  public:
    using heddle_system = std::conditional_t<detail::runs_on_device<It...>(), device_system_tag, host_system_tag>;
    zip_iterator() = default;
    explicit zip_iterator(std::tuple<It...> iterators) : iterators_(iterators) {}
    auto at(std::ptrdiff_t i) const {
        return std::apply([i](const It&... it) { return std::tuple<typename std::iterator_traits<It>::reference...>(it[i]...); },
                          iterators_);
    }
    void advance(std::ptrdiff_t n) {
        std::apply([n](It&... it) { ((it += n), ...); }, iterators_);
    }
    std::ptrdiff_t from(const zip_iterator& other) const { return std::get<0>(iterators_) - std::get<0>(other.iterators_); }
    const std::tuple<It...>& get_iterator_tuple() const { return iterators_; }

  private:
    std::tuple<It...> iterators_;
};
template <class... It>
zip_iterator<std::tuple<It...>> make_zip_iterator(std::tuple<It...> iterators) {
    return zip_iterator<std::tuple<It...>>(iterators);
}
template <class First, class Second, class... It>
zip_iterator<std::tuple<First, Second, It...>> make_zip_iterator(First first, Second second, It... others) {
    return zip_iterator<std::tuple<First, Second, It...>>(std::make_tuple(first, second, others...));
}

template <class It>
std::ptrdiff_t distance(It first, It last) {
    return std::distance(first, last);
}
template <class It, class N>
void advance(It& it, N n) {
    std::advance(it, n);
}

namespace detail {

// The form of an iterator that kernels get: pointers instead of device_ptr.
template <class It>
auto raw(It it) {
    return it;
}
template <class T>
T* raw(device_ptr<T> it) {
    return it.get();
}
template <class F, class It>
auto raw(const transform_iterator<F, It>& it);
template <class... It>
auto raw(const zip_iterator<std::tuple<It...>>& it);

template <class F, class It>
auto raw(const transform_iterator<F, It>& it) {
    return make_transform_iterator(raw(it.base()), it.functor());
}
template <class... It>
auto raw(const zip_iterator<std::tuple<It...>>& it) {
    return make_zip_iterator(
        std::apply([](const It&... each) { return std::make_tuple(raw(each)...); }, it.get_iterator_tuple()));
}

template <class It>
std::ptrdiff_t length(It first, It last) {
    const std::ptrdiff_t n = std::distance(first, last);
    return n > 0 ? n : 0;
}
template <class It>
using value_of = typename std::iterator_traits<It>::value_type;

}  // namespace detail
}  // namespace thrust
