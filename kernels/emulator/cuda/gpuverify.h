// GPUVerify's annotations, and parameters for kernels whose callers it does not know (frontend/gpuverify.h). Included in front of
// a file of its testsuite. GPUVerify proves what holds for any two threads; here the threads that run take the places of both.
#pragma once

#include <stdlib.h>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/foreign.h"
#include "kernels/emulator/include/cuda_runtime.h"

namespace heddle::emulator::gpuverify {

/// How launches are checked from now on: every write of the value that already stands there is told, no read of what nobody
/// wrote is, and the accesses that __read and its kin ask about are kept.
void begin(bool keeps_accesses);
/// From now on a local variable without a value has another one in each thread and, with `memory_too`, so has each read of shared
/// memory, variables and what add_arbitrary() names: GPUVerify knows nothing of what they hold ("adversarial abstraction").
void make_arbitrary(bool memory_too);
void add_arbitrary(void* start, unsigned long bytes);
/// 0; a number of the running thread's own where memory is arbitrary.
unsigned long long own_number();

/// Called right before a thread's first statement. False: an axiom says that there is no such thread.
bool thread_begins();
/// __axiom: threads for which it does not hold do not run.
struct Axiom {
    explicit Axiom(bool (*holds)());
};

/// A precondition does not hold: that of the kernel leaves out this draw, that of another function is a mistake. `function`: that
/// states it; null: an __assume.
[[noreturn]] void unmet(const char* text, const char* function, const char* file, int line);

// An annotation may ask about another thread, or about an access: it has to hold for each one that was there before.
void start_choices();
bool next_choice();
/// In a condition that is false: whether it asked about another thread and there was none.
bool is_without_another();
/// The value of another thread that was here as often as this one.
long long another(Place place, long long value);
/// Whether the thread has read (written) the array since its last barrier, and where.
bool has_accessed(const volatile void* array, bool writes);
unsigned long accessed_offset(const volatile void* array, bool writes);
/// Of a pointer in its array.
unsigned long offset_in_array(const volatile void* pointer);
/// Arrays have no bounds there. So this pointer stands for the start of one, and memory lies in front of it, too.
void add_array(void* start);

template <class F>
bool holds(F condition) {
    start_choices();
    do {
        if (!condition() && !is_without_another()) return false;
    } while (next_choice());
    return true;
}

// ---- parameters ----

/// A value of the scalar parameter with this index of the kernel with this number.
struct Chosen {
    int kernel, index;
    long long value;
};

struct Draw {
    int number = 1, kernel = -1;
    unsigned long long threads_of_block = 1, threads = 1;
    const Chosen* chosen = nullptr;
    int chosen_count = 0;
    unsigned long long state = 0x9e3779b97f4a7c15ull;
    unsigned long long next() { return state ^= state << 13, state ^= state >> 7, state ^= state << 17; }
};
inline Draw draw;

template <class T>
T value();
struct Any {
    template <class T>
    operator T() const {
        return value<T>();
    }
};
template <int>
using Same = Any;
template <int... I>
struct List {};
template <int N, int... I>
struct Make : Make<N - 1, N - 1, I...> {};
template <int... I>
struct Make<0, I...> {
    using type = List<I...>;
};
template <class T, class Indices, class = void>
struct Takes {
    static constexpr bool yes = false;
};
template <class T, int... I>
struct Takes<T, List<I...>, decltype(void(T{Same<I>{}...}))> {
    static constexpr bool yes = true;
};
template <class T, int... I>
T made_of(List<I...>) {
    return T{Same<I>{}...};
}
/// A structure of draws of its members.
template <class T, int N>
T structure() {
    if constexpr (N == 0)
        return T{};
    else if constexpr (Takes<T, typename Make<N>::type>::yes)
        return made_of<T>(typename Make<N>::type{});
    else
        return structure<T, N - 1>();
}

#if defined(__clang__)
#define HEDDLE_UNWATCHED __attribute__((no_sanitize("thread")))
#else
#define HEDDLE_UNWATCHED __attribute__((no_sanitize("thread"), optimize("O2")))
#endif
HEDDLE_UNWATCHED inline void* memory_of_array(bool holds_numbers) {
    unsigned long bytes = 4ul << 20;  // as many as all threads may need with 16 bytes each, on either side
    while (bytes < 32 * draw.threads && bytes < 64ul << 20) bytes *= 2;
    void* memory = nullptr;
    cudaMalloc(&memory, bytes);
    auto* const host = static_cast<unsigned*>(malloc(bytes));
    for (unsigned long i = 0; i < bytes / 4; ++i)
        host[i] = draw.number == 1 ? 0 : draw.number == 2 ? static_cast<unsigned>(draw.next() >> 40 & 15) : 1;
    cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice);
    free(host);
    if (holds_numbers) add_arbitrary(memory, bytes);
    void* const middle = static_cast<char*>(memory) + bytes / 2;
    add_array(middle);
    return middle;
}
template <class P>
struct Pointed {
    static constexpr bool is = false;
};
template <class T>
struct Pointed<T*> {
    static constexpr bool is = true;
    static T* get() { return static_cast<T*>(memory_of_array(true)); }
};
template <class T>
struct Pointed<T**> {
    static constexpr bool is = true;
    static T** get() {
        T* host[1024];
        T* const one = Pointed<T*>::get();
        for (T*& each : host) each = one;
        T** const memory = static_cast<T**>(memory_of_array(false));
        cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice);
        return memory;
    }
};
template <class R, class... A>
R nothing(A...) {
    return R();
}
template <class R, class... A>
struct Pointed<R (*)(A...)> {
    static constexpr bool is = true;
    static auto get() -> R (*)(A...) { return &nothing<R, A...>; }
};
template <class T>
T value() {
    if constexpr (Pointed<T>::is)
        return Pointed<T>::get();
    else if constexpr (__is_enum(T))
        return T(draw.number - 1);
    else if constexpr (__is_class(T))
        return structure<T, 12>();
    else if constexpr (sizeof(T) == 1)
        return T(draw.number == 1 ? 1 : draw.number == 2 ? 0 : 2);
    else
        return T(draw.number == 1 ? draw.threads_of_block : draw.number == 2 ? 1 : draw.threads);
}
template <class T>
T argument(int index) {
    if constexpr (!Pointed<T>::is && !__is_class(T))
        for (int i = 0; i < draw.chosen_count; ++i)
            if (draw.chosen[i].kernel == draw.kernel && draw.chosen[i].index == index) return T(draw.chosen[i].value);
    return value<T>();
}
template <class T>
struct Bare {
    using type = T;
};
template <class T>
struct Bare<const T> {
    using type = T;
};
template <class... P, int... I>
void launch(void (*kernel)(P...), const cuda::Configuration& configuration, List<I...>) {
    ++draw.kernel;
    cuda::configure(configuration);
    kernel(argument<typename Bare<P>::type>(I)...);
    cudaDeviceSynchronize();
}
/// Launches the next kernel of the file.
template <class... P>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, bool cooperative) {
    cuda::Configuration configuration;
    configuration.grid = grid, configuration.block = block, configuration.cooperative = cooperative;
    launch(kernel, configuration, typename Make<sizeof...(P)>::type{});
}

/// main(): the words are the number of the draw, what is arbitrary (0 nothing, 1 local variables, 2 memory, too), and choices as
/// three numbers each.
template <class F>
int run(int count, char** words, bool keeps_accesses, unsigned long long threads_of_block, unsigned long long blocks,
        F&& launches) {
    static Chosen chosen[64];
    draw.number = atoi(words[1]);
    draw.threads_of_block = threads_of_block, draw.threads = threads_of_block * blocks;
    draw.chosen = chosen;
    for (int i = 3; i + 2 < count && draw.chosen_count < 64; i += 3)
        chosen[draw.chosen_count++] = {atoi(words[i]), atoi(words[i + 1]), atoll(words[i + 2])};
    begin(keeps_accesses);
    if (words[2][0] != '0') make_arbitrary(words[2][0] == '2');
    launches();
    return 0;
}

}  // namespace heddle::emulator::gpuverify

#define HEDDLE_HOLDS(...) ::heddle::emulator::gpuverify::holds([&] { return static_cast<bool>(__VA_ARGS__); })
#define HEDDLE_ASSERTED(text, ...) \
    (HEDDLE_HOLDS(__VA_ARGS__)     \
         ? static_cast<void>(0)    \
         : ::heddle::emulator::failed_assertion(text, __FILE__, __LINE__, __extension__ __PRETTY_FUNCTION__))
#define HEDDLE_MET(text, function, ...) \
    (HEDDLE_HOLDS(__VA_ARGS__) ? static_cast<void>(0) : ::heddle::emulator::gpuverify::unmet(text, function, __FILE__, __LINE__))
#define HEDDLE_JOINED_(a, b) a##b
#define HEDDLE_JOINED(a, b) HEDDLE_JOINED_(a, b)

#define __requires(...) HEDDLE_MET(#__VA_ARGS__, __func__, __VA_ARGS__)
#define __global_requires(...) HEDDLE_MET(#__VA_ARGS__, __func__, __VA_ARGS__)
#define __assume(...) HEDDLE_MET(#__VA_ARGS__, nullptr, __VA_ARGS__)
#define __assert(...) HEDDLE_ASSERTED(#__VA_ARGS__, __VA_ARGS__)
#define __global_assert(...) HEDDLE_ASSERTED(#__VA_ARGS__, __VA_ARGS__)
#define __axiom(...)                                                                                                    \
    static bool HEDDLE_JOINED(heddle_axiom_, __LINE__)();                                                               \
    static const ::heddle::emulator::gpuverify::Axiom HEDDLE_JOINED(heddle_known_axiom_,                                \
                                                                    __LINE__){&HEDDLE_JOINED(heddle_axiom_, __LINE__)}; \
    static bool HEDDLE_JOINED(heddle_axiom_, __LINE__)() { return static_cast<bool>(__VA_ARGS__); }                     \
    static_assert(true)

// What only helps a prover: a run shows how loops go and what functions return.
#define __requires_fresh_array(...) static_cast<void>(0)
#define __ensures(...) static_cast<void>(0)
#define __global_ensures(...) static_cast<void>(0)
#define __invariant(...) static_cast<void>(0)
#define __global_invariant(...) static_cast<void>(0)
#define __function_wide_invariant(...) static_cast<void>(0)
#define __function_wide_candidate_invariant(...) static_cast<void>(0)
#define __candidate_invariant(...) static_cast<void>(0)
#define __candidate_assert(...) static_cast<void>(0)

// The others are functions, so that headers of the C++ library which the file includes may use these names as theirs.
inline bool __enabled() { return true; }
inline bool __implies(bool a, bool b) { return !a || b; }
template <class A, class B>
auto __ite(bool condition, A a, B b) {
    return condition ? a : b;
}
template <class T>
T __mod_pow2(T a, T b) {
    return a & (b - 1);
}
inline unsigned __add_noovfl_unsigned_int(unsigned a, unsigned b) { return a + b; }

#define HEDDLE_ABOUT_ANOTHER(name, type)                                                                                \
    inline type __other_##name(type value, ::heddle::emulator::Place place = ::heddle::emulator::Place::current()) {    \
        return static_cast<type>(::heddle::emulator::gpuverify::another(place, static_cast<long long>(value)));         \
    }                                                                                                                   \
    inline bool __uniform_##name(type value, ::heddle::emulator::Place place = ::heddle::emulator::Place::current()) {  \
        return value == __other_##name(value, place);                                                                   \
    }                                                                                                                   \
    inline bool __distinct_##name(type value, ::heddle::emulator::Place place = ::heddle::emulator::Place::current()) { \
        return value != __other_##name(value, place);                                                                   \
    }
HEDDLE_ABOUT_ANOTHER(bool, bool)
HEDDLE_ABOUT_ANOTHER(char, char)
HEDDLE_ABOUT_ANOTHER(short, short)
HEDDLE_ABOUT_ANOTHER(int, int)
HEDDLE_ABOUT_ANOTHER(unsigned_int, unsigned)
HEDDLE_ABOUT_ANOTHER(long, long)
HEDDLE_ABOUT_ANOTHER(unsigned_long, unsigned long)
HEDDLE_ABOUT_ANOTHER(long_long, long long)
#undef HEDDLE_ABOUT_ANOTHER
inline bool __at_most_one(bool value, ::heddle::emulator::Place place = ::heddle::emulator::Place::current()) {
    return !(value & __other_bool(value, place));
}
inline bool __exclusive(bool value, ::heddle::emulator::Place place = ::heddle::emulator::Place::current()) {
    return __at_most_one(value, place);
}

inline bool __read(const volatile void* array) { return ::heddle::emulator::gpuverify::has_accessed(array, false); }
inline bool __write(const volatile void* array) { return ::heddle::emulator::gpuverify::has_accessed(array, true); }
inline bool __no_read(const volatile void* array) { return !__read(array); }
inline bool __no_write(const volatile void* array) { return !__write(array); }
inline unsigned long __read_offset_bytes(const volatile void* array) {
    return ::heddle::emulator::gpuverify::accessed_offset(array, false);
}
inline unsigned long __write_offset_bytes(const volatile void* array) {
    return ::heddle::emulator::gpuverify::accessed_offset(array, true);
}
inline bool __read_implies(const volatile void* array, bool condition) { return !__read(array) || condition; }
inline bool __write_implies(const volatile void* array, bool condition) { return !__write(array) || condition; }
inline unsigned long __ptr_offset_bytes(const volatile void* pointer) {
    return ::heddle::emulator::gpuverify::offset_in_array(pointer);
}

// Without optimisation the compiler makes copies of a fixed size unwatched moves.
extern "C" void* heddle_memcpy(void* to, const void* from, unsigned long bytes);
extern "C" void* heddle_memset(void* to, int value, unsigned long bytes);
#define __builtin_memcpy(to, from, bytes) heddle_memcpy(to, from, bytes)
#define __builtin_memset(to, value, bytes) heddle_memset(to, value, bytes)

// GPUVerify knows nothing of what these write.
#define curand_init(seed, ...) curand_init((seed) ^ ::heddle::emulator::gpuverify::own_number(), __VA_ARGS__)
