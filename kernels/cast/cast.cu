// Conversion between element types on CUDA, and filling; cast.h says what becomes of what.
//
// Who owns what: a thread as many elements as make 16 bytes of the wider type: f32 to bf16 reads 16 bytes and writes 8. Wider
// reads of the narrow side would leave the lanes of one access 32 bytes apart on the other side.
//
// Memory traffic of an element: x's size plus y's; filling, y's.
#include "core/device.h"
#include "kernels/cast/cast.h"
#include "kernels/device/dispatch.h"
#include "kernels/device/sweep.h"

namespace heddle::kernels {
namespace {

using namespace device;

// convert() of core/dispatch.h for kernels: a change there belongs here, too.
template <class To, class From>
__device__ __forceinline__ To converted(From value) {
    if constexpr (std::is_same_v<From, bf16>) {
        return converted<To>(load(value));
    } else if constexpr (std::is_same_v<To, bf16>) {
        return store<bf16>(static_cast<float>(value));
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        constexpr double kLeast = std::is_same_v<To, std::uint8_t> ? 0 : -2147483648.0;
        constexpr double kMost = std::is_same_v<To, std::uint8_t> ? 255 : 2147483647.0;
        const double number = value;  // f32 cannot tell 2^31 - 1 from 2^31
        if (!(number >= kLeast)) return static_cast<To>(number < 0 ? kLeast : 0);
        return static_cast<To>(number > kMost ? kMost : number);
    } else {
        return static_cast<To>(value);
    }
}

// x, y [n]
template <class From, class To, int N>
__global__ void __launch_bounds__(kSweepBlock) cast_kernel(const From* x, To* y, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        const Vector<From, M> values = load_vector<M>(x + at);
        Vector<To, M> results;
#pragma unroll
        for (int j = 0; j < M; ++j) results[j] = converted<To>(values[j]);
        store_vector(y + at, results);
    });
}

// y [n]
template <class T, int N>
__global__ void __launch_bounds__(kSweepBlock) fill_kernel(T* y, T value, std::int64_t n) {
    sweep<N>(n, [&]<int M>(Width<M>, std::int64_t at) {
        Vector<T, M> values;
#pragma unroll
        for (int j = 0; j < M; ++j) values[j] = value;
        store_vector(y + at, values);
    });
}

}  // namespace

void cast_cuda(const Tensor& x, Tensor& y) {
    dispatch_any(x.dtype(), [&]<class From>(TypeTag<From>) {
        dispatch_any(y.dtype(), [&]<class To>(TypeTag<To>) {
            if constexpr (!std::is_same_v<From, To>) {
                const From* from = x.data<From>();
                To* to = y.mutable_data<To>();
                using Wider = std::conditional_t<(sizeof(From) > sizeof(To)), From, To>;
                with_width<Wider>({from, to}, [&]<int N>(Width<N>) {
                    launch(sweep_config(x.numel(), N), cast_kernel<From, To, N>, from, to, x.numel());
                });
            }
        });
    });
}

void fill_cuda(Tensor& y, double value) {
    dispatch_any(y.dtype(), [&]<class T>(TypeTag<T>) {
        T* to = y.mutable_data<T>();
        const T element = convert<T>(value);
        with_width<T>({to},
                      [&]<int N>(Width<N>) { launch(sweep_config(y.numel(), N), fill_kernel<T, N>, to, element, y.numel()); });
    });
}

}  // namespace heddle::kernels
