// All inline PTX of the project: what CUDA C++ has no function for. PTX ISA 8.x, section numbers in the comments. Kernels use
// mma.h and pipeline.h, not this file. Nothing without a GPU executes it: tests/kernels/device_layer_device_test.cpp
// compares each wrapper with its model.
#pragma once

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstdint>

namespace heddle::device::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// 9.7.9.25.3 cp.async: the first `valid` bytes are copied, the rest is zero. `valid` is a register: __pipeline_memcpy_async
/// takes it for a constant, and branches around one instruction with zeros and one without for each copy of `there ? 16 : 0`.
template <int Bytes>
__device__ __forceinline__ void cp_async(void* to, const void* from, int valid) {
    if constexpr (Bytes == 16)  // past the first-level cache: only copies of 16 bytes can
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "r"(valid)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :
                     : "r"(shared_address(to)), "l"(__cvta_generic_to_global(from)), "n"(Bytes), "r"(valid)
                     : "memory");
}
__device__ __forceinline__ void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until all but the last `Pending` groups of this thread have landed. "memory": no read of what they bring moves before it.
template <int Pending>
__device__ __forceinline__ void cp_async_wait_group() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// 9.7.14.5.15 ldmatrix: four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/// 9.7.14.5.8 mma.m16n8k16, bf16 in, f32 out: d += a b
__device__ __forceinline__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// 9.7.3.20 ex2.approx: 2^x with a relative error of 2^-22; results below 2^-126 are 0.
__device__ __forceinline__ float power_of_two(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

/// 9.7.9.12 st.global of 16 and 8 bytes, the first word lowest.
__device__ __forceinline__ void store_global(void* to, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}
__device__ __forceinline__ void store_global(void* to, std::uint32_t a, std::uint32_t b) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(a), "r"(b) : "memory");
}

}  // namespace heddle::device::ptx

#endif
