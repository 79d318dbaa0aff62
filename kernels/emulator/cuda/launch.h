// Launches and kernels of CUDA C++ are rewritten to these calls (frontend/rewrite.h):
//
//     k<float><<<grid, block, shared, stream>>>(x, n);        (configure(grid, block, shared, stream), k<float>(x, n));
//
//     template <class T> __global__ void k(T* x, int n)       template <class T> void k(T* x, int n)
//     { BODY }                                                { return launch("k", Kernel<...>::registration(), [=]() mutable {
//     BODY }); }
//
// Each thread of the launch runs its own copy of the closure, because kernels write to their parameters.
#pragma once

#include <new>

#include "kernels/emulator/include/driver_types.h"
#include "kernels/emulator/include/vector_types.h"
#include "kernels/emulator/place.h"

#if defined(HEDDLE_GPUVERIFY)
namespace heddle::emulator::gpuverify {
bool thread_begins();  // cuda/gpuverify.h
}
#endif

namespace heddle::emulator::cuda {

/// A kernel that the program can launch by its address, and what its declaration says about it.
struct Registration {
    const void* address;                ///< of the function whose body calls launch()
    const char* signature;              ///< contains "F = name<arguments>", as the compiler writes it
    void (*call)(void* const* values);  ///< calls the kernel's function with the arguments that these point to
    unsigned long parameter_bytes;
    unsigned most_threads;  ///< __launch_bounds__: of a block; 0: not given
    unsigned least_blocks;  ///< __launch_bounds__: of a multiprocessor; 0: not given
    dim3 cluster;           ///< __cluster_dims__; x is 0 if not given
    // Set while the program runs:
    unsigned long most_dynamic_shared = 48 * 1024;  ///< cudaFuncAttributeMaxDynamicSharedMemorySize
    unsigned long static_shared = 0;                ///< the most that a block of it has taken so far
};
/// Makes the kernel known to find_kernel(). Called before main().
bool enlist(Registration& kernel);
/// The kernel with this address; null if it is none.
Registration* find_kernel(const void* address);

/// The geometry of a launch.
struct Configuration {
    dim3 grid, block;
    unsigned long shared = 0;  ///< bytes of dynamic shared memory
    cudaStream_t stream = nullptr;
    unsigned cluster = 1;  ///< blocks of a cluster along x
    bool cooperative = false;
    Place place;
};
/// Keeps the geometry for the launch() that this thread calls next; a launch in that one's arguments takes its own.
void configure(const Configuration& configuration);
inline void configure(dim3 grid, dim3 block, unsigned long shared = 0, cudaStream_t stream = nullptr,
                      Place place = Place::current()) {
    Configuration configuration;
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    configuration.place = place;
    configure(configuration);
}
/// cudaLaunchKernel and its kin: launches the kernel with this address. Returns what cudaGetLastError() would.
cudaError_t launch_by_address(const void* address, const Configuration& configuration, void* const* arguments);

namespace detail {

/// A kernel's body with its arguments.
struct Closure {
    const void* object;
    unsigned long bytes, alignment;
    void (*move)(void* to, void* from);  ///< constructs the frozen one
    void (*destroy)(void* object);       ///< null: nothing to do
    void (*run)(const void* frozen);     ///< what each thread runs
};
void launch(const char* name, Registration* kernel, const Closure& closure);

template <class F>
void move(void* to, void* from) {
    new (to) F(static_cast<F&&>(*static_cast<F*>(from)));
}
template <class F>
void destroy(void* object) {
    static_cast<F*>(object)->~F();
}
/// Called right before a thread's first statement. False: there is no such thread.
static inline bool thread_begins() {
#if defined(HEDDLE_GPUVERIFY)
    return gpuverify::thread_begins();
#else
    return true;
#endif
}
#if defined(HEDDLE_GPUVERIFY)
/// Calls the body further down the stack, where thread_begins() has left the thread's own numbers.
template <class F>
void call(F& body) {
    volatile char between[1024];
    between[0] = 0;
    body();
}
#else
template <class F>
void call(F& body) {
    body();
}
#endif

template <class F>
void run(const void* frozen) {
    if constexpr (__is_trivially_copyable(F)) {
        F own(*static_cast<const F*>(frozen));  // a local object whose address stays here: its accesses are not watched
        if (thread_begins()) call(own);
    } else {
        // The bytes alone, as they reach a GPU: a copy constructor of the host's may allocate or count.
        alignas(F) unsigned char own[sizeof(F)];
        __builtin_memcpy(own, frozen, sizeof own);
        if (thread_begins()) call(*std::launder(reinterpret_cast<F*>(own)));
    }
}

template <class T>
struct Plain {
    using type = T;
};
template <class T>
struct Plain<const T> {
    using type = T;
};
template <class T>
struct Plain<T&> {
    using type = typename Plain<T>::type;
};

template <class K, K* F>
struct Caller;
template <class... P, void (*F)(P...)>
struct Caller<void(P...), F> {
    static constexpr unsigned long bytes = (0ul + ... + sizeof(P));
    struct Call {
        template <class... A>
        explicit Call(A&... values) {
            F(values...);
        }
    };
    struct Arguments {
        void* const* next;
        template <class T>
        T& take() {
            return *static_cast<T*>(*next++);
        }
    };
    static void call(void* const* values) {
        [[maybe_unused]] Arguments arguments{values};
        Call{arguments.template take<typename Plain<P>::type>()...};  // within braces from left to right
    }
};
template <class K>
struct Pointee;
template <class K>
struct Pointee<K*> {
    using type = K;
};

}  // namespace detail

/// The registration of the kernel F, with the numbers of __launch_bounds__ and __cluster_dims__. The kernel's own body names it,
/// as Kernel<static_cast<void (*)(T*, int)>(&k<T>), (256)>::registration(), so that each kernel that the program can launch has
/// one.
template <auto F, unsigned MostThreads = 0, unsigned LeastBlocks = 0, unsigned ClusterX = 0, unsigned ClusterY = 1,
          unsigned ClusterZ = 1>
class Kernel {
  public:
    static Registration* registration() {
        static_cast<void>(&enlisted_);  // its use makes it exist
        return &data_;
    }

  private:
    using Caller = detail::Caller<typename detail::Pointee<decltype(F)>::type, F>;
    static constexpr const char* signature() { return __PRETTY_FUNCTION__; }
    static inline Registration data_{
        reinterpret_cast<const void*>(F), signature(), &Caller::call, Caller::bytes, MostThreads, LeastBlocks,
        {ClusterX, ClusterY, ClusterZ}};
    static inline const bool enlisted_ = enlist(data_);
};

/// Launches the body of the kernel `name` with the geometry of the last configure(). `kernel` is null where it cannot be
/// registered.
template <class F>
void launch(const char* name, Registration* kernel, F&& body) {
    static_assert(alignof(F) <= 4096, "a kernel's parameters are aligned to more than a page");
    detail::Closure closure{&body, sizeof(F), alignof(F), &detail::move<F>, nullptr, &detail::run<F>};
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    // It is searched for stale pointers. In larger ones GCC 12 clears other bytes (kernels/emulator/launch.h).
    if constexpr (__is_trivially_copyable(F) && sizeof(F) <= 64) __builtin_clear_padding(&body);
#endif
#endif
    if constexpr (!__is_trivially_copyable(F)) closure.destroy = &detail::destroy<F>;
    detail::launch(name, kernel, closure);
}

}  // namespace heddle::emulator::cuda
