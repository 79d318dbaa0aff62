// CUDA's barriers, fences and warp functions for foreign files.
#pragma once

#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/interface.h"

#define HEDDLE_PLACE ::heddle::emulator::Place place = ::heddle::emulator::Place::current()

// ---- barriers and fences ----

inline void __syncthreads(HEDDLE_PLACE) { heddle::emulator::block_barrier(place); }
inline int __syncthreads_count(int predicate, HEDDLE_PLACE) { return heddle::emulator::block_barrier_count(predicate, place); }
inline int __syncthreads_or(int predicate, HEDDLE_PLACE) { return heddle::emulator::block_barrier_count(predicate, place) != 0; }
inline int __syncthreads_and(int predicate, HEDDLE_PLACE) {
    return heddle::emulator::block_barrier_count(predicate == 0, place) == 0;
}
inline void __barrier_sync(unsigned id, HEDDLE_PLACE) {
    if (id == 0) return heddle::emulator::block_barrier(place);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    heddle::emulator::named_barrier(static_cast<int>(id), static_cast<int>(threads), place);
}
inline void __barrier_sync_count(unsigned id, unsigned threads, HEDDLE_PLACE) {
    heddle::emulator::named_barrier(static_cast<int>(id), static_cast<int>(threads), place);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, HEDDLE_PLACE) { heddle::emulator::warp_barrier(mask, place); }
inline void __threadfence(HEDDLE_PLACE) { heddle::emulator::fence(1, place); }
inline void __threadfence_block(HEDDLE_PLACE) { heddle::emulator::fence(0, place); }
inline void __threadfence_system(HEDDLE_PLACE) { heddle::emulator::fence(1, place); }

// ---- votes ----

inline unsigned __activemask(HEDDLE_PLACE) { return heddle::emulator::active_lanes(place); }
inline unsigned __ballot_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate, place);
}
inline int __any_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate, place) != 0;
}
inline int __all_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(mask, predicate == 0, place) == 0;
}
inline int __uni_sync(unsigned mask, int predicate, HEDDLE_PLACE) {
    const unsigned votes = heddle::emulator::ballot(mask, predicate, place);
    return votes == 0 || votes == mask;
}
// The forms without a mask, which nvcc refuses for sm_70 and later, take the lanes that are active.
inline unsigned __ballot(int predicate, HEDDLE_PLACE) {
    return heddle::emulator::ballot(heddle::emulator::active_lanes(place), predicate, place);
}
inline int __any(int predicate, HEDDLE_PLACE) { return ::__any_sync(heddle::emulator::active_lanes(place), predicate, place); }
inline int __all(int predicate, HEDDLE_PLACE) { return ::__all_sync(heddle::emulator::active_lanes(place), predicate, place); }

// ---- shuffles, matches, reductions ----

namespace heddle::emulator::cuda {

template <class T>
inline T shuffled(Shuffle kind, unsigned mask, T value, int lane, int width, Place place) {
    return from_bits<T>(shuffle(kind, mask, to_bits(value), lane, width, place));
}

}  // namespace heddle::emulator::cuda

// For one type, as CUDA overloads them; the types of half precision are in cuda_fp16.h and cuda_bf16.h.
#define HEDDLE_SHUFFLE(T, name, form, Lane)                                                                                  \
    inline T name##_sync(unsigned mask, T value, Lane lane, int width = warpSize, HEDDLE_PLACE) {                            \
        return heddle::emulator::cuda::shuffled(heddle::emulator::Shuffle::form, mask, value, static_cast<int>(lane), width, \
                                                place);                                                                      \
    }                                                                                                                        \
    inline T name(T value, Lane lane, int width = warpSize, HEDDLE_PLACE) {                                                  \
        return name##_sync(heddle::emulator::active_lanes(place), value, lane, width, place);                                \
    }
#define HEDDLE_SHUFFLES(T)                           \
    HEDDLE_SHUFFLE(T, __shfl, index, int)            \
    HEDDLE_SHUFFLE(T, __shfl_xor, exclusive_or, int) \
    HEDDLE_SHUFFLE(T, __shfl_down, down, unsigned)   \
    HEDDLE_SHUFFLE(T, __shfl_up, up, unsigned)
#define HEDDLE_MATCH(T)                                                                                      \
    inline unsigned __match_any_sync(unsigned mask, T value, HEDDLE_PLACE) {                                 \
        return heddle::emulator::match(mask, heddle::emulator::to_bits(value), false, place);                \
    }                                                                                                        \
    inline unsigned __match_all_sync(unsigned mask, T value, int* equal, HEDDLE_PLACE) {                     \
        const unsigned lanes = heddle::emulator::match(mask, heddle::emulator::to_bits(value), true, place); \
        *equal = lanes != 0;                                                                                 \
        return lanes;                                                                                        \
    }
#define HEDDLE_FOR(T) HEDDLE_SHUFFLES(T) HEDDLE_MATCH(T)
HEDDLE_FOR(int)
HEDDLE_FOR(unsigned)
HEDDLE_FOR(long)
HEDDLE_FOR(unsigned long)
HEDDLE_FOR(long long)
HEDDLE_FOR(unsigned long long)
HEDDLE_FOR(float)
HEDDLE_FOR(double)
#undef HEDDLE_FOR
#undef HEDDLE_MATCH

#define HEDDLE_REDUCE(T, name, kind)                                                                                       \
    inline T __reduce_##name##_sync(unsigned mask, T value, HEDDLE_PLACE) {                                                \
        return static_cast<T>(heddle::emulator::reduce(heddle::emulator::Reduction::kind, static_cast<T>(-1) < T{1}, mask, \
                                                       static_cast<unsigned>(value), place));                              \
    }
HEDDLE_REDUCE(int, add, add)
HEDDLE_REDUCE(unsigned, add, add)
HEDDLE_REDUCE(int, min, minimum)
HEDDLE_REDUCE(unsigned, min, minimum)
HEDDLE_REDUCE(int, max, maximum)
HEDDLE_REDUCE(unsigned, max, maximum)
HEDDLE_REDUCE(unsigned, and, bit_and)
HEDDLE_REDUCE(unsigned, or, bit_or)
HEDDLE_REDUCE(unsigned, xor, bit_xor)
#undef HEDDLE_REDUCE
#undef HEDDLE_PLACE
