// clang-format off
// More programs for frontend_programs_slow_test.cpp, in the form of frontend_programs.cu: what device functions, groups and
// barriers of CUDA compute, and the mistakes in their use; mistakes in functions of host and device.

// CASE name_of_the_function: right
__device__ bool same(const char* a, const char* b) { while (*a && *a == *b) ++a, ++b; return *a == *b; }
template <class T> __global__ void kernel_of(T* x) { *x = same(__func__, "kernel_of") && same(__FUNCTION__, "kernel_of"); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    kernel_of<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 1;
}
// CASE names_of_warps: right
#define HOLDS(condition) do { if (!(condition)) *failed = __LINE__; } while (0)
__device__ int failures;
__global__ void k() {
    volatile int line = 0, *failed = &line;
    unsigned t = threadIdx.x, lane = t % 32;
    HOLDS(__activemask() == 0xffffffffu);
    if (lane < 10) {
        unsigned m = __activemask();
        HOLDS(m == 0x3ffu);
        HOLDS(__reduce_add_sync(m, 1) == 10);
    } else {
        HOLDS(__activemask() == 0xfffffc00u);
    }
    HOLDS(__match_any_sync(~0u, t % 4) == 0x11111111u << t % 4);
    int equal;
    HOLDS(__match_all_sync(~0u, 7.0, &equal) == ~0u && equal);
    HOLDS(__match_all_sync(~0u, lane, &equal) == 0 && !equal);
    HOLDS(__reduce_min_sync(~0u, (int)lane - 5) == -5);
    HOLDS(__reduce_max_sync(~0u, lane) == 31);
    HOLDS(__reduce_xor_sync(~0u, 1u << lane) == ~0u);
    HOLDS(__shfl_down_sync(~0u, (double)t, 16) == (lane < 16 ? t + 16 : t));
    HOLDS(__shfl_xor_sync(~0u, (long long)t << 40, 1, 8) == (long long)(t ^ 1) << 40);
    HOLDS(__uni_sync(~0u, 1) && __any_sync(~0u, lane == 3) && !__all_sync(~0u, lane == 3));
    HOLDS(__syncthreads_count(t < 5) == 5);
    HOLDS(__syncthreads_or(t == 77) && !__syncthreads_and(t != 77));
    if (line != 0) atomicMax(&failures, line);
}
int main() {
    k<<<1, 128>>>();
    int line = -1;
    cudaMemcpyFromSymbol(&line, failures, sizeof line);
    return line;
}
// CASE names_of_atomics: right
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
struct All {
    int i; unsigned inc, dec; float f; double d; unsigned long long m; float4 v; __half h; unsigned short s; __half2 h2;
    __nv_bfloat162 b2; int r;
};
__global__ void k(All* a) {
    atomicAdd(&a->i, 1); atomicInc(&a->inc, 9); atomicDec(&a->dec, 9); atomicAdd(&a->f, 0.5f); atomicAdd_block(&a->d, 0.25);
    atomicMax(&a->m, (unsigned long long)threadIdx.x); atomicAdd(&a->v, make_float4(1, 2, 3, 4)); atomicAdd(&a->h, __float2half(1));
    atomicAdd(&a->h2, __floats2half2_rn(1, 2)); atomicAdd(&a->b2, __floats2bfloat162_rn(1, 2));
    unsigned short old = 0, seen;
    while ((seen = atomicCAS(&a->s, old, (unsigned short)(old + 1))) != old) old = seen;
    cuda::atomic_ref<int, cuda::thread_scope_device> r(a->r);
    r.fetch_add(1, cuda::memory_order_relaxed);
    ++r;
}
int main() {
    All* a;
    cudaMallocManaged(&a, sizeof *a);
    cudaMemset(a, 0, sizeof *a);
    k<<<2, 64>>>(a);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    return !(a->i == 128 && a->inc == 8 && a->dec == 2 && a->f == 64 && a->d == 32 && a->m == 63 && a->v.w == 512 && (float)a->h == 128 &&
             (float)a->h2.y == 256 && (float)a->b2.x == 128 && a->s == 128 && a->r == 256);
}
// CASE names_of_groups: right
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define HOLDS(condition) do { if (!(condition)) *failed = __LINE__; } while (0)
__device__ int failures;
__device__ unsigned sizes(cg::thread_group g) { g.sync(); return (unsigned)g.size() * 100 + (unsigned)g.thread_rank(); }
__global__ void k() {
    volatile int line = 0, *failed = &line;
    cg::thread_block block = cg::this_thread_block();
    unsigned t = block.thread_rank();
    auto tile = cg::tiled_partition<8>(block);
    HOLDS(tile.thread_rank() == t % 8 && tile.meta_group_rank() == t / 8 && tile.meta_group_size() == 16);
    HOLDS(cg::reduce(tile, (int)t, cg::plus<int>()) == (int)(t / 8 * 64 + 28));
    HOLDS(cg::reduce(tile, (float)t, cg::greater<float>()) == t / 8 * 8 + 7);
    HOLDS(tile.shfl((int)t, 3) == (int)(t / 8 * 8 + 3) && tile.shfl_xor(t, 1) == (t ^ 1));
    HOLDS(tile.shfl_up(t, 1) == (t % 8 ? t - 1 : t) && tile.shfl_down(t, 1) == (t % 8 != 7 ? t + 1 : t));
    HOLDS(tile.ballot(t % 2) == 0xaa && tile.match_any(t % 4) == 0x11u << t % 4);
    HOLDS(cg::inclusive_scan(tile, 1) == (int)(t % 8 + 1));
    HOLDS(cg::exclusive_scan(tile, 2, cg::plus<int>()) == (int)(t % 8 * 2));
    struct Wide { double a, b, c; } wide = {1.0 * t, 2.0 * t, 3.0 * t};
    HOLDS(tile.shfl(wide, 1).c == 3.0 * (t / 8 * 8 + 1));
    if (t % 3 == 0) {
        auto some = cg::coalesced_threads();
        HOLDS(some.size() == 10 || some.size() == 11);
        HOLDS(cg::reduce(some, 1, cg::plus<int>()) == (int)some.size());
        HOLDS(some.shfl(t, 0) % 3 == 0);
    }
    auto warp = cg::tiled_partition<32>(block);
    auto labels = cg::labeled_partition(warp, (int)(t % 32 % 5));
    HOLDS(labels.size() == (t % 32 % 5 < 2 ? 7u : 6u) && labels.meta_group_size() == 5);
    HOLDS(cg::binary_partition(warp, t % 2 == 0).size() == 16);
    auto half = cg::tiled_partition<64>(block);
    HOLDS(cg::reduce(half, (int)(t % 64), cg::plus<int>()) == 2016 && half.any(t == 127) == (t > 63));
    HOLDS(sizes(block) == 12800 + t && sizes(tile) == 800 + t % 8 && sizes(cg::tiled_partition(block, 4)) == 400 + t % 4);
    cg::grid_group grid = cg::this_grid();
    HOLDS(grid.size() == 256 && grid.thread_rank() == blockIdx.x * 128 + t);
    grid.sync();
    if (line != 0) atomicMax(&failures, line);
}
int main() {
    void* none[1] = {};
    if (cudaLaunchCooperativeKernel((void*)k, dim3(2), dim3(128), none, 0, 0) != cudaSuccess) return 1;
    int line = -1;
    cudaMemcpyFromSymbol(&line, failures, sizeof line);
    return line;
}
// CASE names_of_barriers_and_pipelines: right
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <utility>
namespace cg = cooperative_groups;
__global__ void k(const float* in, float* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ float buffer[2][64];
    auto block = cg::this_thread_block();
    unsigned other = 63 - threadIdx.x;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, buffer[0], in, sizeof(float) * 64, bar);
    bar.arrive_and_wait();
    float sum = buffer[0][other];
    auto token = bar.arrive();
    bar.wait(std::move(token));
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < 6; ++i) {
        if (i < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[i % 2], in + 64 * i, sizeof(float) * 64, pipe);
            pipe.producer_commit();
        }
        if (i < 1) continue;
        if (i > 4) break;
        pipe.consumer_wait();
        sum += buffer[(i - 1) % 2][other];
        pipe.consumer_release();
    }
    block.sync();
    auto own = cuda::make_pipeline();
    own.producer_acquire();
    cuda::memcpy_async(&buffer[0][threadIdx.x], in + threadIdx.x, cuda::aligned_size_t<4>(4), own);
    own.producer_commit();
    own.consumer_wait();
    sum += buffer[0][threadIdx.x];
    own.consumer_release();
    __pipeline_memcpy_async(&buffer[1][threadIdx.x], in + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    sum += buffer[1][threadIdx.x];
    block.sync();
    cg::memcpy_async(block, buffer[1], in, sizeof(float) * 64);
    cg::wait(block);
    out[threadIdx.x] = sum + buffer[1][other];
}
int main() {
    float *in, *out;
    cudaMallocManaged(&in, 256 * 4), cudaMallocManaged(&out, 64 * 4);
    for (int i = 0; i < 256; ++i) in[i] = i;
    k<<<1, 64>>>(in, out);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 64; ++i)
        if (out[i] != 6 * (63 - i) + 64 * 6 + 2 * i) return 2;
}
// CASE names_of_half_precision: right
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] = x[threadIdx.x] * by + x[threadIdx.x]; }
__global__ void pairs(half2* x) { x[threadIdx.x] = __hfma2(x[threadIdx.x], x[threadIdx.x], __float2half2_rn(1)); }
int main() {
    half* h;
    __nv_bfloat16* b;
    cudaMallocManaged(&h, 64), cudaMallocManaged(&b, 64);
    for (int i = 0; i < 32; ++i) h[i] = (float)i, b[i] = (float)i;
    scale<<<1, 32>>>(h, __float2half(0.5f));
    scale<<<1, 32>>>(b, __float2bfloat16(0.5f));
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 32; ++i)
        if ((float)h[i] != 1.5f * i || (float)b[i] != 1.5f * i) return 2;
    pairs<<<1, 16>>>(reinterpret_cast<half2*>(h));
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    return __half2float(h[20]) != 901;
}
// CASE names_of_matrices: right
#include <mma.h>
using namespace nvcuda;
template <int M, int N, class T, class LayoutA, class LayoutB>
__global__ void product(const T* a, const T* b, float* c) {
    wmma::fragment<wmma::matrix_a, M, N, 16, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, M, N, 16, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, N, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    wmma::load_matrix_sync(fa, a, std::is_same<LayoutA, wmma::row_major>::value ? 16 : M);
    wmma::load_matrix_sync(fb, b, std::is_same<LayoutB, wmma::row_major>::value ? N : 16);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
    wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}
template <int M, int N, class T, class LayoutA, class LayoutB> bool fails() {
    T *a, *b;
    float* c;
    cudaMallocManaged(&a, M * 16 * sizeof(T)), cudaMallocManaged(&b, N * 16 * sizeof(T)), cudaMallocManaged(&c, M * N * 4);
    const bool rows_a = std::is_same<LayoutA, wmma::row_major>::value, rows_b = std::is_same<LayoutB, wmma::row_major>::value;
    const auto left = [](int i, int k) { return (float)((i * 3 + k * 5) % 7 - 3); };
    const auto right = [](int k, int j) { return (float)((j * 4 + k) % 9 - 4); };
    for (int k = 0; k < 16; ++k) {
        for (int i = 0; i < M; ++i) a[rows_a ? i * 16 + k : k * M + i] = left(i, k);
        for (int j = 0; j < N; ++j) b[rows_b ? k * N + j : j * 16 + k] = right(k, j);
    }
    product<M, N, T, LayoutA, LayoutB><<<1, 32>>>(a, b, c);
    if (cudaDeviceSynchronize() != cudaSuccess) return true;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 1;
            for (int k = 0; k < 16; ++k) sum += left(i, k) * right(k, j);
            if (c[i * N + j] != 2 * sum) return true;
        }
    return false;
}
int main() {
    using R = wmma::row_major;
    using C = wmma::col_major;
    return fails<16, 16, half, R, R>() + fails<16, 16, __nv_bfloat16, C, R>() + fails<32, 8, half, R, C>() + fails<8, 32, half, C, R>();
}
// CASE misaligned_vector: misaligned 2
__global__ void k(const float* x, float4* y, int offset) {
    const float4* p = reinterpret_cast<const float4*>(x + offset + 4 * threadIdx.x); y[threadIdx.x] = *p; y[threadIdx.x].x += p->x;
}
int main() {
    float* x;
    float4* y;
    cudaMalloc(&x, 256), cudaMalloc(&y, 256), cudaMemset(x, 0, 256);
    k<<<1, 8>>>(x, y, 4);
    k<<<1, 8>>>(x, y, 2);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE cuda_barrier_without_sync_after_init: race 4
// LAUNCH k 1 64
#include <cuda/barrier>
__global__ void k() {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, 64);
    if (threadIdx.x == 40) bar.arrive();
}
// CASE read_between_arrive_and_wait: race 11
// LAUNCH k 1 64 x=i32[64]:none
#include <cuda/barrier>
#include <utility>
__global__ void k(int* x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&bar, 64);
    s[threadIdx.x] = 0;
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    auto token = bar.arrive();
    x[threadIdx.x] = s[threadIdx.x ^ 32];
    bar.wait(std::move(token));
}
// CASE atomic_flag_without_release: race 8
// LAUNCH k 2 1 x=i32[1]:none
#include <cuda/atomic>
__device__ int data;
__device__ cuda::atomic<int, cuda::thread_scope_device> flag;
__global__ void k(int* x) {
    if (blockIdx.x == 0) {
        data = 1; flag.store(1, cuda::memory_order_relaxed);
    } else {
        if (flag.load(cuda::memory_order_acquire) == 1 || true) x[0] = data;
    }
}
// CASE tile_sync_is_no_block_sync: race 7
// LAUNCH k 1 64 x=i32[64]:none
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    cg::tiled_partition<32>(cg::this_thread_block()).sync();
    x[threadIdx.x] = s[threadIdx.x ^ 32];
}
// CASE race_of_a_pair: race 2
#include <thrust/pair.h>
__global__ void k(thrust::pair<int, int>* x) { *x = thrust::make_pair<int, int>(threadIdx.x, 1); }
int main() {
    thrust::pair<int, int>* x;
    cudaMalloc(&x, sizeof *x);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE race_of_a_complex_sum: race 2
#include <complex>
__global__ void k(std::complex<float>* x) { *x += std::complex<float>(threadIdx.x, 1); }
int main() {
    std::complex<float>* x;
    cudaMalloc(&x, sizeof *x);
    cudaMemset(x, 0, sizeof *x);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE race_in_a_helper_of_the_host: race 1
// LAUNCH k 1 64 x=i32[1]:none
void put(int* x, int v) { *x = v; }
__global__ void k(int* x) { put(x, threadIdx.x); }
// CASE race_in_a_helper_of_an_operator: race 1
void put(int* x, int v) { *x = v; }
struct Put {
    void operator()(int* x, int v) const { put(x, v); }
};
template <class F> __global__ void k(F f, int* x) { f(x, threadIdx.x); }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(Put(), x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE race_in_a_member_of_a_functor: race 2
struct Put {
    void put(int* x, int v) const { *x = v; }
};
template <class F> __global__ void k(F f, int* x) { f.put(x, threadIdx.x); }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(Put(), x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE race_in_a_lambda_of_main: race 5
template <class F> __global__ void k(F f) { f(threadIdx.x); }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>([=](int i) { *x = i; });
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE out_of_bounds_in_an_overrider: out-of-bounds 3
// LAUNCH k 1 33 x=i32[32]:none
struct Shape { __device__ virtual void put(int* x, int i) const = 0; };
struct Square final : Shape {
    void put(int* x, int i) const override { x[i] = i; }
};
__global__ void k(int* x) {
    const Square square;
    const Shape& shape = square;
    shape.put(x, threadIdx.x);
}
// CASE race_in_what_a_header_declares_for_the_device: race put.cu 2
#include "put.cuh"
__global__ void k(int* x, Put f) { f(x, threadIdx.x); }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(x, Put());
    return cudaDeviceSynchronize() != cudaSuccess;
}
// FILE put.cuh
__device__ void put(int* x, int v);
struct Put { __device__ void operator()(int* x, int v) const { put(x, v); } };
// FILE put.cu
#include "put.cuh"
void put(int* x, int v) { *x = v; }
// CASE several_files: right
#include "kernels.cuh"
int main() {
    int* x;
    cudaMallocManaged(&x, 4), *x = 0;
    add<int><<<1, 1>>>(x, 1);
    elsewhere<<<1, 1>>>(x);
    call_elsewhere(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 2211;
}
// FILE kernels.cuh
#pragma once
#include <cuda_runtime.h>
extern __constant__ int thousand;
template <class T> __global__ void add(T* x, T v) { *x += v; }
__global__ void elsewhere(int* x);
void call_elsewhere(int* x);
// FILE other.cu
#include "kernels.cuh"
__constant__ int thousand = 1100;
__global__ void elsewhere(int* x) { *x += thousand; }
void call_elsewhere(int* x) { add<int><<<1, 1>>>(x, 10), elsewhere<<<1, 1>>>(x); }
