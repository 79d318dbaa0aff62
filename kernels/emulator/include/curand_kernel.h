// cuRAND's generators for kernels.
//
// Philox4x32-10 (Salmon et al. 2011) has the bits that cuRAND's has: the key is the seed, the counter the position (64 bits) and
// the subsequence (64 bits). XORWOW's seeding is not published: here it draws from Philox with another key, so that seeds,
// subsequences and offsets mean what they mean in cuRAND, and numbers agree in distribution only. The others are not
// declared.
#pragma once
#define CURAND_KERNEL_H_

#include <math.h>

#include <cstdint>

#include "kernels/emulator/include/vector_types.h"

#define CURAND_2POW32_INV (2.3283064e-10f)
#define CURAND_2POW32_INV_DOUBLE (2.3283064365386963e-10)
#define CURAND_2POW53_INV_DOUBLE (1.1102230246251565e-16)

namespace heddle::emulator::curand {

struct Words {
    std::uint32_t word[4];
};
/// Ten rounds of Philox4x32.
constexpr Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = 0xd2511f53ull * counter.word[0], b = 0xcd9e8d57ull * counter.word[2];
        counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(b),
                    static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(a)}};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return counter;
}

/// A position in a subsequence, and the four numbers around it.
struct State {
    std::uint64_t seed, subsequence, position;
    Words drawn;
    double normal_double;
    float normal;
    int kept, kept_double;  ///< whether there is a second normal number
    int unused;             ///< written, too: a copy of a state reads all of its bytes
    void draw() {
        const std::uint64_t block = position / 4;
        drawn = philox({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                         static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)}},
                       static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    }
    void start(std::uint64_t seed_, std::uint64_t subsequence_, std::uint64_t offset) {
        seed = seed_;
        subsequence = subsequence_;
        position = offset;
        normal = 0;
        normal_double = 0;
        kept = kept_double = unused = 0;
        draw();
    }
    std::uint32_t next() {
        const std::uint32_t value = drawn.word[position % 4];
        ++position;
        if (position % 4 == 0) {
            if (position == 0) ++subsequence;
            draw();
        }
        return value;
    }
    void skip(std::uint64_t n) {
        position += n;
        if (position < n) ++subsequence;
        draw();
    }
};

inline float uniform(std::uint32_t x) { return static_cast<float>(x) * CURAND_2POW32_INV + CURAND_2POW32_INV / 2.0f; }
inline double uniform_double(std::uint32_t x, std::uint32_t y) {
    const std::uint64_t z = static_cast<std::uint64_t>(x) ^ static_cast<std::uint64_t>(y) << (53 - 32);
    return static_cast<double>(z) * CURAND_2POW53_INV_DOUBLE + CURAND_2POW53_INV_DOUBLE / 2.0;
}
/// Box and Muller's pair.
inline float2 normal_pair(std::uint32_t x, std::uint32_t y) {
    const float u = uniform(x),
                v = static_cast<float>(y) * (CURAND_2POW32_INV * 6.2831855f) + CURAND_2POW32_INV * 6.2831855f / 2.0f;
    const float s = sqrtf(-2.0f * logf(u));
    return {s * sinf(v), s * cosf(v)};
}
inline double2 normal_pair_double(std::uint32_t x0, std::uint32_t x1, std::uint32_t y0, std::uint32_t y1) {
    const double u = uniform_double(x0, x1), v = uniform_double(y0, y1) * 2.0 * 3.1415926535897932;
    const double s = sqrt(-2.0 * log(u));
    return {s * sin(v), s * cos(v)};
}
}  // namespace heddle::emulator::curand

struct curandStatePhilox4_32_10 : heddle::emulator::curand::State {};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateXORWOW : heddle::emulator::curand::State {};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState_t;
typedef curandStateXORWOW curandState;

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t* state) {
    state->start(seed, subsequence, offset);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW_t* state) {
    state->start(seed ^ 0x786f72776f77ull << 16, subsequence, offset);
}

// Both kinds of state have the same functions.
template <class S>
inline constexpr bool heddle_is_curand_state = __is_base_of(heddle::emulator::curand::State, S);
#define HEDDLE_STATE template <class S, int = sizeof(char[heddle_is_curand_state<S> ? 1 : -1])>

HEDDLE_STATE unsigned curand(S* state) { return state->next(); }
/// Four at once, from the next place on.
HEDDLE_STATE uint4 curand4(S* state) {
    const unsigned x = state->next(), y = state->next(), z = state->next(), w = state->next();
    return {x, y, z, w};
}
HEDDLE_STATE void skipahead(unsigned long long n, S* state) { state->skip(n); }
HEDDLE_STATE void skipahead_sequence(unsigned long long n, S* state) {
    state->subsequence += n;
    state->draw();
}
HEDDLE_STATE float curand_uniform(S* state) { return heddle::emulator::curand::uniform(state->next()); }
HEDDLE_STATE float4 curand_uniform4(S* state) {
    const uint4 x = curand4(state);
    using heddle::emulator::curand::uniform;
    return {uniform(x.x), uniform(x.y), uniform(x.z), uniform(x.w)};
}
HEDDLE_STATE double curand_uniform_double(S* state) {
    const unsigned x = state->next();
    return heddle::emulator::curand::uniform_double(x, state->next());
}
HEDDLE_STATE float2 curand_normal2(S* state) {
    const unsigned x = state->next();
    return heddle::emulator::curand::normal_pair(x, state->next());
}
HEDDLE_STATE float curand_normal(S* state) {
    if (state->kept != 0) {
        state->kept = 0;
        return state->normal;
    }
    const float2 pair = curand_normal2(state);
    state->normal = pair.y;
    state->kept = 1;
    return pair.x;
}
HEDDLE_STATE float4 curand_normal4(S* state) {
    const float2 a = curand_normal2(state), b = curand_normal2(state);
    return {a.x, a.y, b.x, b.y};
}
HEDDLE_STATE double2 curand_normal2_double(S* state) {
    const uint4 x = curand4(state);
    return heddle::emulator::curand::normal_pair_double(x.x, x.y, x.z, x.w);
}
HEDDLE_STATE double curand_normal_double(S* state) {
    if (state->kept_double != 0) {
        state->kept_double = 0;
        return state->normal_double;
    }
    const double2 pair = curand_normal2_double(state);
    state->normal_double = pair.y;
    state->kept_double = 1;
    return pair.x;
}
#undef HEDDLE_STATE
