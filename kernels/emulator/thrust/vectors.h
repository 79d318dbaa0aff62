// Thrust's vectors.
#pragma once

#include <initializer_list>
#include <vector>

#include "kernels/emulator/thrust/algorithms.h"

namespace thrust {

template <class T, class Allocator = void>
class device_vector;

template <class T, class Allocator = std::allocator<T>>
class host_vector : public std::vector<T, Allocator> {
  public:
    using std::vector<T, Allocator>::vector;
    host_vector() = default;
    host_vector(const std::vector<T, Allocator>& other) : std::vector<T, Allocator>(other) {}  // NOLINT: as in Thrust
    template <class U, class A>
    host_vector(const device_vector<U, A>& other) {  // NOLINT: as in Thrust
        *this = other;
    }
    template <class U, class A>
    host_vector& operator=(const device_vector<U, A>& other) {
        this->resize(other.size());
        thrust::copy(other.begin(), other.end(), this->begin());
        return *this;
    }
};

/// Elements in device memory. They are constructed by kernels and copied as bytes.
template <class T, class Allocator>
class device_vector {
  public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using pointer = device_ptr<T>;
    using const_pointer = device_ptr<const T>;
    using reference = device_reference<T>;
    using const_reference = device_reference<const T>;
    using iterator = device_ptr<T>;
    using const_iterator = device_ptr<const T>;
    using Place = heddle::emulator::Place;

    device_vector() = default;
    explicit device_vector(size_type n, Place place = Place::current()) { resize(n, T(), place); }
    device_vector(size_type n, const T& value, Place place = Place::current()) { resize(n, value, place); }
    template <class It, class = std::enable_if_t<detail::is_iterator<It>>>
    device_vector(It first, It last, Place place = Place::current()) {
        assign(first, last, place);
    }
    device_vector(std::initializer_list<T> values, Place place = Place::current()) {
        assign(values.begin(), values.end(), place);
    }
    device_vector(const device_vector& other, Place place = Place::current()) { assign(other.begin(), other.end(), place); }
    device_vector(device_vector&& other) noexcept { swap(other); }
    template <class A>
    device_vector(const std::vector<T, A>& other, Place place = Place::current()) {  // NOLINT: as in Thrust
        assign(other.begin(), other.end(), place);
    }
    template <class U, class A, class = std::enable_if_t<!std::is_same_v<device_vector<U, A>, device_vector>>>
    device_vector(const device_vector<U, A>& other, Place place = Place::current()) {  // NOLINT: as in Thrust
        assign(other.begin(), other.end(), place);
    }
    ~device_vector() { free(); }

    device_vector& operator=(const device_vector& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector& operator=(device_vector&& other) noexcept {
        swap(other);
        return *this;
    }
    template <class A>
    device_vector& operator=(const std::vector<T, A>& other) {
        assign(other.begin(), other.end());
        return *this;
    }
    device_vector& operator=(std::initializer_list<T> values) {
        assign(values.begin(), values.end());
        return *this;
    }

    size_type size() const { return size_; }
    size_type capacity() const { return capacity_; }
    bool empty() const { return size_ == 0; }
    pointer data() { return pointer(data_); }
    const_pointer data() const { return const_pointer(data_); }
    iterator begin() { return iterator(data_); }
    iterator end() { return iterator(data_ + size_); }
    const_iterator begin() const { return const_iterator(data_); }
    const_iterator end() const { return const_iterator(data_ + size_); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reference operator[](size_type i) { return reference(data_ + i); }
    const_reference operator[](size_type i) const { return const_reference(data_ + i); }
    reference front() { return (*this)[0]; }
    const_reference front() const { return (*this)[0]; }
    reference back() { return (*this)[size_ - 1]; }
    const_reference back() const { return (*this)[size_ - 1]; }

    void reserve(size_type n, Place place = Place::current()) {
        if (n <= capacity_) return;
        T* made = nullptr;
        detail::check(cudaMalloc(reinterpret_cast<void**>(&made), n * sizeof(T), place));
        if (size_ > 0) detail::check(cudaMemcpy(made, data_, size_ * sizeof(T), cudaMemcpyDeviceToDevice, place));
        const size_type kept = size_;
        free();
        data_ = made;
        size_ = kept;
        capacity_ = n;
    }
    void resize(size_type n, const T& value = T(), Place place = Place::current()) {
        reserve(n, place);
        if (n > size_) detail::fill({true, true, nullptr, place}, end(), begin() + static_cast<difference_type>(n), value);
        size_ = n;
    }
    template <class It, class = std::enable_if_t<detail::is_iterator<It>>>
    void assign(It first, It last, Place place = Place::current()) {
        const auto n = static_cast<size_type>(detail::length(first, last));
        size_ = 0;
        reserve(n, place);
        size_ = n;
        detail::copy({true, true, nullptr, place}, first, last, begin());
    }
    void assign(size_type n, const T& value, Place place = Place::current()) {
        size_ = 0;
        resize(n, value, place);
    }
    void push_back(const T& value, Place place = Place::current()) {
        if (size_ == capacity_) reserve(capacity_ == 0 ? 8 : 2 * capacity_, place);
        ++size_;
        back() = value;
    }
    void pop_back() { --size_; }
    void clear() { size_ = 0; }
    void shrink_to_fit() {}
    /// Removes [first, last).
    iterator erase(iterator first, iterator last) {
        const std::vector<T> rest = host_copy(last, end());
        thrust::copy(rest.begin(), rest.end(), first);
        size_ -= static_cast<size_type>(detail::length(first, last));
        return first;
    }
    iterator erase(iterator at) { return erase(at, at + 1); }
    iterator insert(iterator at, const T& value) {
        const difference_type position = at - begin();
        const std::vector<T> rest = host_copy(at, end());
        resize(size_ + 1);
        (*this)[static_cast<size_type>(position)] = value;
        thrust::copy(rest.begin(), rest.end(), begin() + position + 1);
        return begin() + position;
    }
    template <class It, class = std::enable_if_t<detail::is_iterator<It>>>
    void insert(iterator at, It first, It last) {
        const difference_type position = at - begin(), n = detail::length(first, last);
        const std::vector<T> rest = host_copy(at, end());
        resize(size_ + static_cast<size_type>(n));
        thrust::copy(first, last, begin() + position);
        thrust::copy(rest.begin(), rest.end(), begin() + position + n);
    }
    void swap(device_vector& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }
    friend bool operator==(const device_vector& a, const device_vector& b) {
        return a.size_ == b.size_ && thrust::equal(a.begin(), a.end(), b.begin());
    }
    friend bool operator!=(const device_vector& a, const device_vector& b) { return !(a == b); }

  private:
    static std::vector<T> host_copy(iterator first, iterator last) {
        std::vector<T> kept(static_cast<size_type>(detail::length(first, last)));
        thrust::copy(first, last, kept.begin());
        return kept;
    }
    void free() {
        if (data_ != nullptr) cudaFree(data_);
        data_ = nullptr;
        size_ = capacity_ = 0;
    }

    T* data_ = nullptr;
    size_type size_ = 0, capacity_ = 0;
};

template <class T, class A>
void swap(device_vector<T, A>& a, device_vector<T, A>& b) noexcept {
    a.swap(b);
}
template <class T, class A, class B>
bool operator==(const host_vector<T, A>& a, const device_vector<T, B>& b) {
    return a == host_vector<T, A>(b);
}
template <class T, class A, class B>
bool operator==(const device_vector<T, A>& a, const host_vector<T, B>& b) {
    return b == a;
}
/// Managed memory's vector: here its elements lie on the device like the others, and host code reads them by copies.
template <class T, class A = void>
using universal_vector = device_vector<T, A>;

}  // namespace thrust
