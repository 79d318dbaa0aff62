#include "kernels/cast/cast.h"

#include <algorithm>

#include "core/check.h"
#include "core/dual.h"
#include "core/parallel.h"

namespace heddle::kernels {

Tensor cast(const Tensor& x, DType dtype) {
    check_defined("cast", "x", x);
    if (x.dtype() == dtype) return x;
    Tensor y = Tensor::empty(x.shape(), dtype, x.device());
    if (x.device() == Device::cuda) {
        cast_cuda(x, y);
        return y;
    }
    dispatch_all(x.dtype(), [&]<class From>(TypeTag<From>) {
        dispatch_all(dtype, [&]<class To>(TypeTag<To>) {
            const From* from = x.data<From>();
            To* to = y.mutable_data<To>();
            parallel_for(x.numel(), grain_for(2), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
            });
        });
    });
    return y;
}

void fill(Tensor& y, double value) {
    check_defined("fill", "y", y);
    if (y.device() == Device::cuda) return fill_cuda(y, value);
    dispatch_all(y.dtype(), [&]<class T>(TypeTag<T>) {
        T* to = y.mutable_data<T>();
        const T element = convert<T>(value);
        parallel_for(y.numel(), grain_for(1),
                     [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin, to + end, element); });
    });
}

}  // namespace heddle::kernels
