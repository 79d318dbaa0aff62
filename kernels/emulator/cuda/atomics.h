// CUDA's atomics for foreign files, floating-point ones included. All are relaxed. The scopes _block and _system are the
// device's.
#pragma once

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/interface.h"

namespace heddle::emulator::cuda {

/// T if the condition holds, else no type.
template <bool condition, class T>
struct If {};
template <class T>
struct If<true, T> {
    using type = T;
};

template <class T>
constexpr Number number_of(T) {
    return static_cast<T>(-1) < static_cast<T>(1) ? Number::signed_integer : Number::unsigned_integer;
}
constexpr Number number_of(float) { return Number::f32; }
constexpr Number number_of(double) { return Number::f64; }

template <class T>
inline T atomic_of(Atomic kind, Number type, T* address, T value, T compare, Place place) {
    return from_bits<T>(atomic(kind, type, const_cast<void*>(static_cast<const volatile void*>(address)), sizeof(T),
                               to_bits(value), to_bits(compare), place));
}

}  // namespace heddle::emulator::cuda

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

// One function for one type, in each scope. CUDA's take no volatile pointers, nor do these.
#define HEDDLE_ATOMIC_IN(T, name, kind)                                                                                    \
    inline T name(T* address, T value, HEDDLE_PLACE) {                                                                     \
        return heddle::emulator::cuda::atomic_of(heddle::emulator::Atomic::kind, heddle::emulator::cuda::number_of(value), \
                                                 address, value, value, place);                                            \
    }
#define HEDDLE_ATOMIC(T, name, kind)        \
    HEDDLE_ATOMIC_IN(T, name, kind)         \
    HEDDLE_ATOMIC_IN(T, name##_block, kind) \
    HEDDLE_ATOMIC_IN(T, name##_system, kind)
#define HEDDLE_CAS_IN(T, name)                                                                                              \
    inline T name(T* address, T compare, T value, HEDDLE_PLACE) {                                                           \
        return heddle::emulator::cuda::atomic_of(heddle::emulator::Atomic::compare_exchange,                                \
                                                 heddle::emulator::cuda::number_of(value), address, value, compare, place); \
    }
#define HEDDLE_CAS(T) HEDDLE_CAS_IN(T, atomicCAS) HEDDLE_CAS_IN(T, atomicCAS_block) HEDDLE_CAS_IN(T, atomicCAS_system)
#define HEDDLE_INTEGER(T)                  \
    HEDDLE_ATOMIC(T, atomicAdd, add)       \
    HEDDLE_ATOMIC(T, atomicExch, exchange) \
    HEDDLE_ATOMIC(T, atomicMin, minimum)   \
    HEDDLE_ATOMIC(T, atomicMax, maximum)   \
    HEDDLE_ATOMIC(T, atomicAnd, bit_and)   \
    HEDDLE_ATOMIC(T, atomicOr, bit_or)     \
    HEDDLE_ATOMIC(T, atomicXor, bit_xor)   \
    HEDDLE_CAS(T)

HEDDLE_INTEGER(int)
HEDDLE_INTEGER(unsigned)
HEDDLE_INTEGER(unsigned long long)
HEDDLE_ATOMIC(int, atomicSub, subtract)
HEDDLE_ATOMIC(unsigned, atomicSub, subtract)
// nvcc has these for long long, and none for long and size_t.
HEDDLE_ATOMIC(long long, atomicMin, minimum)
HEDDLE_ATOMIC(long long, atomicMax, maximum)
HEDDLE_ATOMIC(long long, atomicAnd, bit_and)
HEDDLE_ATOMIC(long long, atomicOr, bit_or)
HEDDLE_ATOMIC(long long, atomicXor, bit_xor)
HEDDLE_ATOMIC(unsigned, atomicInc, increment)
HEDDLE_ATOMIC(unsigned, atomicDec, decrement)
HEDDLE_CAS(unsigned short)
HEDDLE_ATOMIC(float, atomicAdd, add)
HEDDLE_ATOMIC(float, atomicExch, exchange)
HEDDLE_ATOMIC(double, atomicAdd, add)

// Vectors (sm_90): each element is one atomic, not the whole.
inline float2 atomicAdd(float2* address, float2 value, HEDDLE_PLACE) {
    return {atomicAdd(&address->x, value.x, place), atomicAdd(&address->y, value.y, place)};
}
inline float4 atomicAdd(float4* address, float4 value, HEDDLE_PLACE) {
    return {atomicAdd(&address->x, value.x, place), atomicAdd(&address->y, value.y, place),
            atomicAdd(&address->z, value.z, place), atomicAdd(&address->w, value.w, place)};
}
inline float2 atomicAdd_block(float2* address, float2 value, HEDDLE_PLACE) { return atomicAdd(address, value, place); }
inline float2 atomicAdd_system(float2* address, float2 value, HEDDLE_PLACE) { return atomicAdd(address, value, place); }
inline float4 atomicAdd_block(float4* address, float4 value, HEDDLE_PLACE) { return atomicAdd(address, value, place); }
inline float4 atomicAdd_system(float4* address, float4 value, HEDDLE_PLACE) { return atomicAdd(address, value, place); }

// Any plain type of 16 bytes that is aligned to them (sm_90).
template <class T>
auto atomicExch(T* address, T value, HEDDLE_PLACE) ->
    typename heddle::emulator::cuda::If<sizeof(T) == 16 && alignof(T) == 16, T>::type {
    T old;
    heddle::emulator::atomic_wide(heddle::emulator::Atomic::exchange, address, &value, nullptr, &old, place);
    return old;
}
template <class T>
auto atomicCAS(T* address, T compare, T value, HEDDLE_PLACE) ->
    typename heddle::emulator::cuda::If<sizeof(T) == 16 && alignof(T) == 16, T>::type {
    T old;
    heddle::emulator::atomic_wide(heddle::emulator::Atomic::compare_exchange, address, &value, &compare, &old, place);
    return old;
}

#undef HEDDLE_INTEGER
#undef HEDDLE_CAS
#undef HEDDLE_CAS_IN
#undef HEDDLE_ATOMIC
#undef HEDDLE_ATOMIC_IN
#undef HEDDLE_PLACE
