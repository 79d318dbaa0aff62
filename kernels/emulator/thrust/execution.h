// Where an algorithm of Thrust or CUB runs, and how: on the device as a kernel of the emulator, whose accesses are watched like
// those of any kernel; on the host as a loop.
//
// Algorithms that treat each element alone run one thread for each. Sums, scans and sorts are one thread in a fixed order: the
// emulator has no use for a parallel one, and the result does not change from run to run.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/device_calls.h"
#include "kernels/emulator/include/cuda_runtime.h"

namespace thrust {

/// Thrown by an algorithm when a kernel or a copy has failed.
class system_error : public std::runtime_error {
  public:
    explicit system_error(cudaError_t error) : std::runtime_error(cudaGetErrorString(error)), error_(error) {}
    int code() const { return error_; }

  private:
    cudaError_t error_;
};
namespace system {
using thrust::system_error;
}

namespace detail {

using heddle::emulator::Place;

/// Where to run: on the host, or in a stream.
struct Policy {
    bool on_device = true;
    bool waits = true;
    cudaStream_t stream = nullptr;
    Place place;
};

inline void check(cudaError_t error) {
    if (error != cudaSuccess) throw system_error(error);
}
inline void finish(const Policy& policy) {
    check(cudaPeekAtLastError());
    if (policy.waits) check(cudaStreamSynchronize(policy.stream));
}

inline constexpr std::ptrdiff_t kBlock = 256, kMostBlocks = 4096;

/// body(i) for each i < n.
template <class Body>
void run_each(const Policy& policy, const char* name, std::ptrdiff_t n, Body body) {
    if (n <= 0) return;
    if (!policy.on_device) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
        return;
    }
    const std::ptrdiff_t wanted = (n + kBlock - 1) / kBlock, blocks = wanted < kMostBlocks ? wanted : kMostBlocks;
    heddle::emulator::cuda::configure(dim3(static_cast<unsigned>(blocks)), dim3(kBlock), 0, policy.stream, policy.place);
    heddle::emulator::cuda::launch(name, nullptr, [=]() mutable {
        for (std::ptrdiff_t i = blockIdx.x * kBlock + threadIdx.x; i < n; i += blocks * kBlock) body(i);
    });
    finish(policy);
}

/// body() by one thread.
template <class Body>
void run_alone(const Policy& policy, const char* name, Body body) {
    if (!policy.on_device) return body();
    heddle::emulator::cuda::configure(dim3(1), dim3(1), 0, policy.stream, policy.place);
    heddle::emulator::cuda::launch(name, nullptr, [=]() mutable { body(); });
    finish(policy);
}

/// Device memory for the time of a call.
template <class T>
class Scratch {
  public:
    explicit Scratch(std::size_t n, Place place = Place::current()) {
        if (n > 0) check(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T), place));
    }
    ~Scratch() {
        if (data_ != nullptr) cudaFree(data_);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* data() const { return data_; }

  private:
    T* data_ = nullptr;
};

/// Runs body() in one thread and returns its result.
template <class T, class Body>
T run_for(const Policy& policy, const char* name, Body body) {
    if (!policy.on_device) return body();
    const Scratch<T> result(1, policy.place);
    run_alone(policy, name, [body, to = result.data()]() mutable { *to = body(); });
    alignas(T) unsigned char bytes[sizeof(T)];
    check(cudaMemcpy(bytes, result.data(), sizeof(T), cudaMemcpyDeviceToHost, policy.place));
    return *reinterpret_cast<T*>(bytes);
}

/// The base of what a program passes as the first argument.
struct policy_base {};
template <class T>
inline constexpr bool is_policy = std::is_base_of_v<policy_base, T>;

}  // namespace detail

template <class Derived>
struct execution_policy : detail::policy_base {};

struct host_execution_policy : execution_policy<host_execution_policy> {
    detail::Policy policy(detail::Place place) const { return {false, true, nullptr, place}; }
};
struct device_execution_policy : execution_policy<device_execution_policy> {
    cudaStream_t stream = nullptr;
    bool waits = true;
    constexpr device_execution_policy(cudaStream_t stream_ = nullptr, bool waits_ = true) : stream(stream_), waits(waits_) {}
    /// On a stream.
    constexpr device_execution_policy on(cudaStream_t other) const { return {other, waits}; }
    /// With an allocator for temporary memory, which the emulator has no use for.
    template <class Allocator>
    constexpr device_execution_policy operator()(Allocator&&) const {
        return *this;
    }
    detail::Policy policy(detail::Place place) const { return {true, waits, stream, place}; }
};
inline constexpr host_execution_policy host{}, seq{};
inline constexpr device_execution_policy device{};
namespace cuda {
inline constexpr device_execution_policy par{}, par_nosync{nullptr, false};
}
namespace omp {
inline constexpr host_execution_policy par{};
}
namespace cpp {
inline constexpr host_execution_policy par{};
}
namespace system {
namespace cuda {
using thrust::cuda::par;
using thrust::cuda::par_nosync;
}  // namespace cuda
}  // namespace system

struct any_system_tag {};
struct host_system_tag {};
struct device_system_tag {};

namespace detail {

template <class T, class = void>
inline constexpr bool is_iterator = std::is_pointer_v<T>;
template <class T>
inline constexpr bool is_iterator<T, std::void_t<typename T::iterator_category>> = true;

/// The system of an iterator; any_system_tag for what is none, and for iterators that hold their elements themselves.
template <class T, class = void>
struct system_of {
    using type = std::conditional_t<is_iterator<T>, host_system_tag, any_system_tag>;
};
template <class T>
struct system_of<T, std::void_t<typename T::heddle_system>> {
    using type = typename T::heddle_system;
};

/// Without a policy: on the device, if an argument lies there or none lies on the host.
template <class... A>
constexpr bool runs_on_device() {
    constexpr bool device = (std::is_same_v<typename system_of<A>::type, device_system_tag> || ...);
    constexpr bool host = (std::is_same_v<typename system_of<A>::type, host_system_tag> || ...);
    return device || !host;
}
template <class First, class... A>
Policy policy_for(const First& first, Place place) {
    if constexpr (is_policy<First>)
        return first.policy(place);
    else
        return {runs_on_device<First, A...>(), true, nullptr, place};
}

}  // namespace detail
}  // namespace thrust

/// The forms of an algorithm with and without a policy, both of which call detail::NAME(Policy, arguments..).
#define HEDDLE_ALGORITHM(NAME)                                                                       \
    template <class First, class... A>                                                               \
    [[gnu::always_inline]] inline auto NAME(First first, A... arguments) {                           \
        const detail::Place place = heddle::emulator::place_of_caller();                             \
        if constexpr (detail::is_policy<First>)                                                      \
            return detail::NAME(first.policy(place), arguments...);                                  \
        else                                                                                         \
            return detail::NAME(detail::policy_for<First, A...>(first, place), first, arguments...); \
    }
