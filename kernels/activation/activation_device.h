// An activation of one number, for kernels. Which one is known when a kernel starts: all threads go the same way.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/device/activation.h"

namespace heddle::kernels {

/// act(u)
template <class A>
__device__ __forceinline__ A activated(A u, Activation activation) {
    switch (activation) {
        case Activation::relu: return device::relu(u);
        case Activation::gelu: return device::gelu(u);
        case Activation::gelu_tanh: return device::gelu_tanh(u);
        case Activation::silu: break;
    }
    return device::silu(u);
}
/// act'(u) of the smooth ones
template <class A>
__device__ __forceinline__ A smooth_slope_of(A u, Activation activation) {
    if (activation == Activation::silu) return device::silu_slope(u);
    return activation == Activation::gelu ? device::gelu_slope(u) : device::gelu_tanh_slope(u);
}

}  // namespace heddle::kernels
