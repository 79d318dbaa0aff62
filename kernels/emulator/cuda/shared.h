// Shared memory of CUDA C++: what `__shared__ T a[N], b;` becomes (frontend/rewrite.h).
//
//     struct S { T a[N], b; };
//     auto& a = shared<decltype(S::a), Tag<S, 0>>("a"); auto& b = shared<decltype(S::b), Tag<S, 1>>("b");
//
// Nothing is constructed. A piece belongs to its tag: each function and each instantiation of a template has its own, and each
// block its own copy.
#pragma once

#include "kernels/emulator/place.h"

namespace heddle::emulator::cuda {

/// The N-th variable of a declaration; S also holds the alignment that the declaration asks for.
template <class S, int N>
struct Tag {
    static constexpr unsigned long alignment = alignof(S);
    static inline char id = 0;
};

/// The size of a variable, and how its bytes divide into elements: those of float[8][4] are 16 and 4 bytes apart.
struct Shape {
    unsigned long bytes, alignment;
    unsigned long strides[4];  ///< of the dimensions, outermost first; those behind the last one are 0
};
namespace detail {
template <class T>
struct Strides {
    static constexpr void fill(unsigned long*, int) {}
};
template <class T, unsigned long N>
struct Strides<T[N]> {
    static constexpr void fill(unsigned long* strides, int left) {
        if (left == 0) return;
        *strides = sizeof(T);
        Strides<T>::fill(strides + 1, left - 1);
    }
};
}  // namespace detail
template <class T>
constexpr Shape shape_of(unsigned long alignment = alignof(T)) {
    Shape shape{sizeof(T), alignment, {}};
    detail::Strides<T>::fill(shape.strides, 4);
    return shape;
}

/// The running block's piece with this tag; taken by the first thread that comes here.
void* static_shared(const void* tag, const char* name, const Shape& shape, Place place);
/// The block's dynamic shared memory, all of it. The shape is that of one element.
void* dynamic_shared_memory(const char* name, const Shape& shape, Place place);

template <class T, class Tag>
T& shared(const char* name, Place place = Place::current()) {
    static constexpr Shape shape = shape_of<T>(alignof(T) > Tag::alignment ? alignof(T) : Tag::alignment);
    return *static_cast<T*>(static_shared(&Tag::id, name, shape, place));
}

namespace detail {
template <class T>
struct Unbounded;
template <class T>
struct Unbounded<T[]> {
    using Element = T;
};
}  // namespace detail

/// `extern __shared__ T name[];`, with T[] for T: an array of unknown size, as in CUDA.
template <class T>
T& dynamic_shared(const char* name, Place place = Place::current()) {
    using Element = typename detail::Unbounded<T>::Element;
    static constexpr Shape shape = shape_of<Element[1]>();
    return *reinterpret_cast<T*>(dynamic_shared_memory(name, shape, place));
}

}  // namespace heddle::emulator::cuda
