// CUB's algorithms of the whole device. The first call, with a null pointer for the temporary memory, tells its size; the second
// queues the work in the stream: radix sorts as one operation of the library, everything else as a kernel of one thread that
// combines the elements in order.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/emulator/cub/operators.h"
#include "kernels/emulator/thrust/iterators.h"
#include "kernels/emulator/thrust/radix_sort.h"
#include "kernels/emulator/thrust/sorts.h"

namespace cub {

template <class T, class Difference = std::ptrdiff_t>
using CountingInputIterator = thrust::counting_iterator<T>;
template <class T, class Difference = std::ptrdiff_t>
using ConstantInputIterator = thrust::constant_iterator<T>;
template <class T, class F, class It, class Difference = std::ptrdiff_t>
class TransformInputIterator : public thrust::transform_iterator<F, It> {
  public:
    TransformInputIterator(It base, F function) : thrust::transform_iterator<F, It>(base, function) {}
};

namespace detail {

using heddle::emulator::Place;
using thrust::detail::raw;
template <class It>
using value_of = typename std::iterator_traits<It>::value_type;

/// The size of the temporary memory; the emulator does not touch it, but wants as much as it asked for.
inline constexpr std::size_t kTemporary = 1024;
/// Whether the call only asks for the size, or has too little memory.
inline bool asks(const void* temporary, std::size_t& bytes, cudaError_t& error) {
    error = cudaSuccess;
    if (temporary == nullptr)
        bytes = kTemporary;
    else if (bytes >= kTemporary)
        return false;
    else
        error = cudaErrorInvalidValue;
    return true;
}
/// body() by one thread of a kernel.
template <class Body>
cudaError_t queue(const char* name, cudaStream_t stream, Place place, Body body) {
    heddle::emulator::cuda::configure(dim3(1), dim3(1), 0, stream, place);
    heddle::emulator::cuda::launch(name, nullptr, [=]() mutable { body(); });
    return cudaPeekAtLastError();
}

}  // namespace detail

#define HEDDLE_TEMPORARY void *temporary, std::size_t &bytes
#define HEDDLE_STREAM cudaStream_t stream = nullptr, heddle::emulator::Place place = heddle::emulator::Place::current()
#define HEDDLE_ASKED \
    if (cudaError_t error; detail::asks(temporary, bytes, error)) return error

struct DeviceReduce {
    template <class In, class Out, class Op, class T, class N>
    static cudaError_t Reduce(HEDDLE_TEMPORARY, In in, Out out, N n, Op op, T start, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return detail::queue("cub::DeviceReduce", stream, place,
                             [from = detail::raw(in), to = detail::raw(out), n, op, start]() mutable {
                                 T sum = start;
                                 for (N i = 0; i < n; ++i) sum = static_cast<T>(op(sum, from[i]));
                                 *to = sum;
                             });
    }
    template <class In, class Out, class N>
    static cudaError_t Sum(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        return Reduce(temporary, bytes, in, out, n, thrust::plus<>(), static_cast<result_of<In, Out>>(0), stream, place);
    }
    template <class In, class Out, class N>
    static cudaError_t Max(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        return Reduce(temporary, bytes, in, out, n, thrust::maximum<>(), std::numeric_limits<detail::value_of<In>>::lowest(),
                      stream, place);
    }
    template <class In, class Out, class N>
    static cudaError_t Min(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        return Reduce(temporary, bytes, in, out, n, thrust::minimum<>(), std::numeric_limits<detail::value_of<In>>::max(), stream,
                      place);
    }
    template <class In, class Out, class N>
    static cudaError_t ArgMax(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        return extreme("cub::DeviceReduce::ArgMax", temporary, bytes, in, out, n, thrust::greater<>(), stream, place);
    }
    template <class In, class Out, class N>
    static cudaError_t ArgMin(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        return extreme("cub::DeviceReduce::ArgMin", temporary, bytes, in, out, n, thrust::less<>(), stream, place);
    }
    template <class In, class Out, class N, class Op, class F, class T>
    static cudaError_t TransformReduce(HEDDLE_TEMPORARY, In in, Out out, N n, Op op, F function, T start, HEDDLE_STREAM) {
        return Reduce(temporary, bytes, thrust::make_transform_iterator(in, function), out, n, op, start, stream, place);
    }

  private:
    template <class In, class Out>
    using result_of = std::conditional_t<std::is_void_v<detail::value_of<Out>>, detail::value_of<In>, detail::value_of<Out>>;
    template <class In, class Out, class N, class Less>
    static cudaError_t extreme(const char* name, HEDDLE_TEMPORARY, In in, Out out, N n, Less before, cudaStream_t stream,
                               detail::Place place) {
        HEDDLE_ASKED;
        return detail::queue(name, stream, place, [from = detail::raw(in), to = detail::raw(out), n, before]() mutable {
            N best = 0;
            for (N i = 1; i < n; ++i)
                if (before(from[i], from[best])) best = i;
            detail::value_of<Out> found;
            found.key = static_cast<decltype(found.key)>(best);
            found.value = from[best];
            *to = found;
        });
    }
};

struct DeviceScan {
    template <class In, class Out, class Op, class T, class N>
    static cudaError_t ExclusiveScan(HEDDLE_TEMPORARY, In in, Out out, Op op, T start, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return scan("cub::DeviceScan::ExclusiveScan", in, out, op, start, n, true, stream, place);
    }
    template <class In, class Out, class Op, class N>
    static cudaError_t InclusiveScan(HEDDLE_TEMPORARY, In in, Out out, Op op, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return scan("cub::DeviceScan::InclusiveScan", in, out, op, detail::value_of<In>(), n, false, stream, place);
    }
    template <class In, class Out, class N>
    static cudaError_t ExclusiveSum(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return scan("cub::DeviceScan::ExclusiveSum", in, out, cub::Sum(), detail::value_of<In>(), n, true, stream, place);
    }
    template <class In, class Out, class N>
    static cudaError_t InclusiveSum(HEDDLE_TEMPORARY, In in, Out out, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return scan("cub::DeviceScan::InclusiveSum", in, out, cub::Sum(), detail::value_of<In>(), n, false, stream, place);
    }
    /// The same sum in place: `data` is both the input and the output.
    template <class It, class N, class = std::enable_if_t<std::is_integral_v<N>>>
    static cudaError_t ExclusiveSum(HEDDLE_TEMPORARY, It data, N n, HEDDLE_STREAM) {
        return ExclusiveSum(temporary, bytes, data, data, n, stream, place);
    }
    template <class It, class N, class = std::enable_if_t<std::is_integral_v<N>>>
    static cudaError_t InclusiveSum(HEDDLE_TEMPORARY, It data, N n, HEDDLE_STREAM) {
        return InclusiveSum(temporary, bytes, data, data, n, stream, place);
    }

  private:
    template <class In, class Out, class Op, class T, class N>
    static cudaError_t scan(const char* name, In in, Out out, Op op, T start, N n, bool exclusive, cudaStream_t stream,
                            detail::Place place) {
        return detail::queue(
            name, stream, place, [from = detail::raw(in), to = detail::raw(out), op, start, n, exclusive]() mutable {
                T sum = start;
                for (N i = 0; i < n; ++i) {
                    const detail::value_of<In> value = from[i];
                    if (exclusive) to[i] = sum;
                    sum = i == 0 && !exclusive ? static_cast<T>(value) : static_cast<T>(op(sum, static_cast<T>(value)));
                    if (!exclusive) to[i] = sum;
                }
            });
    }
};

struct DeviceRadixSort {
    template <class Key, class N>
    static cudaError_t SortKeys(HEDDLE_TEMPORARY, const Key* in, Key* out, N n, int begin_bit = 0, int end_bit = 8 * sizeof(Key),
                                HEDDLE_STREAM) {
        return sort<Key, Key>("cub::DeviceRadixSort::SortKeys", temporary, bytes, in, out, nullptr, nullptr, n, false, begin_bit,
                              end_bit, stream, place);
    }
    template <class Key, class N>
    static cudaError_t SortKeysDescending(HEDDLE_TEMPORARY, const Key* in, Key* out, N n, int begin_bit = 0,
                                          int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort<Key, Key>("cub::DeviceRadixSort::SortKeysDescending", temporary, bytes, in, out, nullptr, nullptr, n, true,
                              begin_bit, end_bit, stream, place);
    }
    template <class Key, class Value, class N>
    static cudaError_t SortPairs(HEDDLE_TEMPORARY, const Key* in, Key* out, const Value* values_in, Value* values_out, N n,
                                 int begin_bit = 0, int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort("cub::DeviceRadixSort::SortPairs", temporary, bytes, in, out, values_in, values_out, n, false, begin_bit,
                    end_bit, stream, place);
    }
    template <class Key, class Value, class N>
    static cudaError_t SortPairsDescending(HEDDLE_TEMPORARY, const Key* in, Key* out, const Value* values_in, Value* values_out,
                                           N n, int begin_bit = 0, int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort("cub::DeviceRadixSort::SortPairsDescending", temporary, bytes, in, out, values_in, values_out, n, true,
                    begin_bit, end_bit, stream, place);
    }
    template <class Key, class N>
    static cudaError_t SortKeys(HEDDLE_TEMPORARY, DoubleBuffer<Key>& keys, N n, int begin_bit = 0, int end_bit = 8 * sizeof(Key),
                                HEDDLE_STREAM) {
        return sort_buffers<Key, Key>(temporary, bytes, keys, nullptr, n, false, begin_bit, end_bit, stream, place);
    }
    template <class Key, class N>
    static cudaError_t SortKeysDescending(HEDDLE_TEMPORARY, DoubleBuffer<Key>& keys, N n, int begin_bit = 0,
                                          int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort_buffers<Key, Key>(temporary, bytes, keys, nullptr, n, true, begin_bit, end_bit, stream, place);
    }
    template <class Key, class Value, class N>
    static cudaError_t SortPairs(HEDDLE_TEMPORARY, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, N n, int begin_bit = 0,
                                 int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort_buffers(temporary, bytes, keys, &values, n, false, begin_bit, end_bit, stream, place);
    }
    template <class Key, class Value, class N>
    static cudaError_t SortPairsDescending(HEDDLE_TEMPORARY, DoubleBuffer<Key>& keys, DoubleBuffer<Value>& values, N n,
                                           int begin_bit = 0, int end_bit = 8 * sizeof(Key), HEDDLE_STREAM) {
        return sort_buffers(temporary, bytes, keys, &values, n, true, begin_bit, end_bit, stream, place);
    }

  private:
    template <class Key, class Value, class N>
    static cudaError_t sort(const char* name, HEDDLE_TEMPORARY, const Key* in, Key* out, const Value* values_in,
                            Value* values_out, N n, bool descending, int begin_bit, int end_bit, cudaStream_t stream,
                            detail::Place place) {
        HEDDLE_ASKED;
        thrust::detail::SortRequest request =
            thrust::detail::sort_request<Key>(name, static_cast<std::size_t>(n), descending, stream, place);
        request.keys_in = in;
        request.keys_out = out;
        request.values_in = values_in;
        request.values_out = values_out;
        request.value_bytes = values_in != nullptr ? sizeof(Value) : 0;
        request.begin_bit = begin_bit;
        request.end_bit = end_bit;
        return thrust::detail::sort_numbers(request);
    }
    template <class Key, class Value, class N>
    static cudaError_t sort_buffers(HEDDLE_TEMPORARY, DoubleBuffer<Key>& keys, DoubleBuffer<Value>* values, N n, bool descending,
                                    int begin_bit, int end_bit, cudaStream_t stream, detail::Place place) {
        HEDDLE_ASKED;
        const cudaError_t error =
            sort<Key, Value>("cub::DeviceRadixSort", temporary, bytes, keys.Current(), keys.Alternate(),
                             values != nullptr ? values->Current() : nullptr, values != nullptr ? values->Alternate() : nullptr,
                             n, descending, begin_bit, end_bit, stream, place);
        keys.selector ^= 1;
        if (values != nullptr) values->selector ^= 1;
        return error;
    }
};

struct DeviceSelect {
    template <class In, class Flags, class Out, class Count, class N>
    static cudaError_t Flagged(HEDDLE_TEMPORARY, In in, Flags flags, Out out, Count count, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return select(
            "cub::DeviceSelect::Flagged", in, out, count, n,
            [f = detail::raw(flags)](auto, N i) mutable { return static_cast<bool>(f[i]); }, stream, place);
    }
    template <class In, class Out, class Count, class N, class Predicate>
    static cudaError_t If(HEDDLE_TEMPORARY, In in, Out out, Count count, N n, Predicate predicate, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return select(
            "cub::DeviceSelect::If", in, out, count, n,
            [predicate](auto from, N i) mutable { return static_cast<bool>(predicate(from[i])); }, stream, place);
    }
    template <class In, class Out, class Count, class N>
    static cudaError_t Unique(HEDDLE_TEMPORARY, In in, Out out, Count count, N n, HEDDLE_STREAM) {
        HEDDLE_ASKED;
        return select(
            "cub::DeviceSelect::Unique", in, out, count, n, [](auto from, N i) { return i == 0 || !(from[i] == from[i - 1]); },
            stream, place);
    }

  private:
    template <class In, class Out, class Count, class N, class Keep>
    static cudaError_t select(const char* name, In in, Out out, Count count, N n, Keep keep, cudaStream_t stream,
                              detail::Place place) {
        return detail::queue(name, stream, place,
                             [from = detail::raw(in), to = detail::raw(out), c = detail::raw(count), n, keep]() mutable {
                                 N kept = 0;
                                 for (N i = 0; i < n; ++i)
                                     if (keep(from, i)) to[kept++] = from[i];
                                 *c = kept;
                             });
    }
};

#undef HEDDLE_ASKED
#undef HEDDLE_STREAM
#undef HEDDLE_TEMPORARY

/// Allocates at each call; the emulator finds more mistakes in memory that is not kept.
struct CachingDeviceAllocator {
    explicit CachingDeviceAllocator(bool = false, bool = false) {}
    cudaError_t DeviceAllocate(void** pointer, std::size_t bytes, cudaStream_t = nullptr) { return cudaMalloc(pointer, bytes); }
    cudaError_t DeviceFree(void* pointer) { return cudaFree(pointer); }
};

}  // namespace cub
