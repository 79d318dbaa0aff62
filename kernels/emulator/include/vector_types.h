// CUDA's vector types and their make_ functions, with CUDA's sizes and alignments.
//
// They are plain structures, as in CUDA. An access through a pointer that is not aligned for its type is found by the compiler's
// -fsanitize=alignment, which foreign files are compiled with (checker/compiler_hooks.cpp).
#pragma once

// `pair` and `four`: the alignments of the types with two and with four elements.
#define HEDDLE_VECTOR_TYPES(name, T, pair, four)                          \
    struct name##1 {                                                      \
        T x;                                                              \
    };                                                                    \
    struct alignas(pair) name##2 {                                        \
        T x, y;                                                           \
    };                                                                    \
    struct name##3 {                                                      \
        T x, y, z;                                                        \
    };                                                                    \
    struct alignas(four) name##4 {                                        \
        T x, y, z, w;                                                     \
    };                                                                    \
    constexpr name##1 make_##name##1(T x) { return {x}; }                 \
    constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }         \
    constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
// The types of four 8-byte elements whose names carry the alignment (CUDA 13).
#define HEDDLE_WIDE_VECTOR_TYPES(name, T)                                                 \
    struct alignas(16) name##4_16a {                                                      \
        T x, y, z, w;                                                                     \
    };                                                                                    \
    struct alignas(32) name##4_32a {                                                      \
        T x, y, z, w;                                                                     \
    };                                                                                    \
    constexpr name##4_16a make_##name##4_16a(T x, T y, T z, T w) { return {x, y, z, w}; } \
    constexpr name##4_32a make_##name##4_32a(T x, T y, T z, T w) { return {x, y, z, w}; }

HEDDLE_VECTOR_TYPES(char, signed char, 2, 4)
HEDDLE_VECTOR_TYPES(uchar, unsigned char, 2, 4)
HEDDLE_VECTOR_TYPES(short, short, 4, 8)
HEDDLE_VECTOR_TYPES(ushort, unsigned short, 4, 8)
HEDDLE_VECTOR_TYPES(int, int, 8, 16)
HEDDLE_VECTOR_TYPES(uint, unsigned int, 8, 16)
HEDDLE_VECTOR_TYPES(long, long int, 16, 16)
HEDDLE_VECTOR_TYPES(ulong, unsigned long, 16, 16)
HEDDLE_VECTOR_TYPES(longlong, long long, 16, 16)
HEDDLE_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
HEDDLE_VECTOR_TYPES(float, float, 8, 16)
HEDDLE_VECTOR_TYPES(double, double, 16, 16)
HEDDLE_WIDE_VECTOR_TYPES(long, long int)
HEDDLE_WIDE_VECTOR_TYPES(ulong, unsigned long)
HEDDLE_WIDE_VECTOR_TYPES(longlong, long long)
HEDDLE_WIDE_VECTOR_TYPES(ulonglong, unsigned long long)
HEDDLE_WIDE_VECTOR_TYPES(double, double)

#undef HEDDLE_VECTOR_TYPES
#undef HEDDLE_WIDE_VECTOR_TYPES

/// The size of a grid or of a block.
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT: as in CUDA
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}                                         // NOLINT
    constexpr operator uint3() const { return {x, y, z}; }                                      // NOLINT
};
