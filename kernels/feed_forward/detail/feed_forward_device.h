// The activation between the two layers on one number, for kernels. Which one is known when a kernel starts: all threads go the
// same way.
#pragma once

#include "kernels/device/activation.h"
#include "kernels/feed_forward/feed_forward.h"

namespace heddle::kernels {

/// act(u)
template <class A>
__device__ __forceinline__ A activated(A u, Activation activation) {
    if (activation == Activation::relu) return device::relu(u);
    return activation == Activation::gelu ? device::gelu(u) : device::gelu_tanh(u);
}
/// act'(u) of the two GELUs
template <class A>
__device__ __forceinline__ A gelu_slope_of(A u, Activation activation) {
    return activation == Activation::gelu ? device::gelu_slope(u) : device::gelu_tanh_slope(u);
}

}  // namespace heddle::kernels
