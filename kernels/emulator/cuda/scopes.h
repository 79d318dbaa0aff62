// The scopes and orders of cuda::atomic and cuda::barrier, and the names of cuda::std.
#pragma once

#include "kernels/emulator/cuda/intrinsics.h"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
enum memory_order {
    memory_order_relaxed,
    memory_order_consume,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};

namespace std {
using namespace ::std;  // NOLINT: the standard library's names, for kernels too
using cuda::memory_order;
using cuda::memory_order_acq_rel;
using cuda::memory_order_acquire;
using cuda::memory_order_consume;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
using cuda::memory_order_seq_cst;
}  // namespace std

namespace heddle_detail {

/// The scope of a fence as the emulator numbers it.
constexpr int fence_scope(thread_scope scope) { return scope == thread_scope_block || scope == thread_scope_thread ? 0 : 1; }
inline void fence_before(memory_order order, thread_scope scope, heddle::emulator::Place place) {
    if (order >= memory_order_release && heddle::emulator::in_a_kernel()) heddle::emulator::fence(fence_scope(scope), place);
}
inline void fence_after(memory_order order, thread_scope scope, heddle::emulator::Place place) {
    if (order != memory_order_relaxed && order != memory_order_release && heddle::emulator::in_a_kernel())
        heddle::emulator::fence(fence_scope(scope), place);
}

}  // namespace heddle_detail

}  // namespace cuda
