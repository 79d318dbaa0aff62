// clang-format off
// More programs for frontend_programs_slow_test.cpp, in the form of frontend_programs.cu: mistakes in kernels and launches, inline PTX.

// CASE inline_ptx: right
__device__ unsigned lane() { unsigned r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__global__ void k(unsigned* x) {
    unsigned v = lane();
    asm("{\n\t"
        "add.u32 %0, %0, 1;\n\t"
        "}" : "+r"(v));
    x[threadIdx.x] = v;
}
int main() {
    unsigned* x;
    cudaMallocManaged(&x, 256);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || x[63] != 32;
}
// CASE race_in_shared_memory: race 6
// LAUNCH k 1 64 x=f32[64]:zeros
#include <cstdio>
__global__ void k(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] += tile[(threadIdx.x + 1) % 64];
    __syncthreads(); x[threadIdx.x] = tile[threadIdx.x];
}
// CASE race_in_global_memory: race 1
// LAUNCH k 2 32 n=i32[1]:zeros
__global__ void k(int* n) { *n += 1; }
// CASE race_in_a_header: race sum.cuh 3
#include "sum.cuh"
#define START(...) sum<<<__VA_ARGS__>>>
int main() {
    int* n;
    cudaMalloc(&n, 4), cudaMemset(n, 0, 4);
    START(1,
          64)(n);
    cudaDeviceSynchronize();
}
// FILE sum.cuh
__global__ void sum(int* n) {
#pragma unroll
    *n = threadIdx.x;
}
// CASE race_that_nobody_waits_for: race 2
// LAUNCH k 1 64 n=i32[1]:none
__global__ void k(int* n) {
    *n = threadIdx.x;
}
// CASE values_never_written: uninitialized 3
// LAUNCH k 1 32 x=f32[32]:none
__global__ void k(float* x) {
    __shared__ float tile[32], unused;
    x[threadIdx.x] = tile[threadIdx.x];
}
// CASE one_too_far: out-of-bounds 4
__global__ void k(float* x) {
    extern __shared__ float s[];
    __shared__ float a[32], b[32];
    a[threadIdx.x + 1] = x[threadIdx.x];
    b[threadIdx.x] = 1, s[threadIdx.x] = 2;
}
int main() {
    float* x;
    cudaMalloc(&x, 128), cudaMemset(x, 0, 128);
    k<<<1, 32, 128>>>(x);
    cudaDeviceSynchronize();
}
// CASE a_write_to_a_constant: out-of-bounds 2
// LAUNCH k 1 1
__constant__ int c = 3;
__global__ void k() { c = 4; }
// CASE a_missing_barrier: barrier 4
// LAUNCH k 1 64 x=i32[64]:none
__global__ void k(int* x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) __syncthreads();
    else { s[threadIdx.x] = 1; __syncthreads(); }
    x[threadIdx.x] = s[threadIdx.x];
}
// CASE a_call_without_a_launch: bad-launch 5
__global__ void k(int* x) { *x = 1; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k(x);
    cudaDeviceSynchronize();
}
// CASE a_launch_in_a_kernel: bad-launch 3
// LAUNCH k 1 1
__global__ void child() {}
__global__ void k() {
    child<<<1, 1>>>();
}
// CASE a_block_beyond_its_bounds: bad-launch 3
__global__ void __launch_bounds__(128) k() {}
int main() {
    k<<<1, 256>>>();
    cudaDeviceSynchronize();
}
// CASE too_much_shared_memory: bad-launch 2
// LAUNCH k 1 32
__global__ void k() {
    __shared__ double a[8000];
    a[threadIdx.x] = 1;
}
// CASE symbols_by_name_and_offset: right
__constant__ float c[4];
__device__ int d[3] = {1, 2, 3};
__global__ void k(float* x) { *x = c[0] + c[3] + d[1], d[2] = 7; }
int main() {
    float h[] = {5, 6}, *x, r;
    int i[3];
    cudaMalloc(&x, 4);
    cudaMemcpyToSymbol(c, h, 4), cudaMemcpyToSymbolAsync(c, h, 4, 12, cudaMemcpyHostToDevice, 0);
    k<<<1, 1>>>(x);
    cudaMemcpy(&r, x, 4, cudaMemcpyDeviceToHost);
    cudaMemcpyFromSymbol(i, d, sizeof i);
    void* p;
    size_t n;
    cudaGetSymbolAddress(&p, d), cudaGetSymbolSize(&n, d);
    cudaMemcpy(i, p, 8, cudaMemcpyDeviceToHost);
    return r != 12 || i[2] != 7 || i[0] != 1 || n != 12 || cudaGetSymbolSize(&n, r) != cudaErrorInvalidSymbol;
}
// CASE race_on_a_device_variable: race 2
// LAUNCH k 1 64
__device__ int total;
__global__ void k() { total += threadIdx.x; }
// CASE race_in_a_device_function_template: race 3
template <class T> __device__ T sum(const T* x) {
    __shared__ T part[32];
    return (part[threadIdx.x] = x[threadIdx.x]) + part[31 - threadIdx.x];
}
__global__ void k(float* x) { x[threadIdx.x] = sum(x); }
int main() {
    float* x;
    cudaMalloc(&x, 128), cudaMemset(x, 0, 128);
    k<<<1, 32>>>(x);
    return cudaDeviceSynchronize();
}
// CASE from_one_shared_array_into_the_next: out-of-bounds 3
// LAUNCH k 1 8 x=i32[1]:none i=1
__global__ void k(int* x, int i) {
    __shared__ int a[8], b[8];
    a[threadIdx.x + i] = 1;
    b[threadIdx.x] = 2;
    if (threadIdx.x == 0) *x = b[0];
}
// CASE no_dynamic_shared_memory: out-of-bounds 3
// LAUNCH k 1 8
__global__ void k() {
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
}
// CASE much_dynamic_shared_memory: right
__global__ void k(int* x) {
    extern __shared__ int s[];
    s[20000 + threadIdx.x] = threadIdx.x;
    *x = s[20000];
}
int main() {
    int* x;
    cudaMalloc(&x, 4);
    cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 90000);
    k<<<1, 1, 90000>>>(x);
    return cudaDeviceSynchronize();
}
// CASE too_much_dynamic_shared_memory: bad-launch 3
__global__ void k() {}
int main() {
    k<<<1, 1, 50000>>>();
    cudaDeviceSynchronize();
}
// CASE copies_of_any_size: out-of-bounds 2
__global__ void k(char* to, const char* from, int n) {
    memcpy(to, from, n);
}
int main() {
    char* x;
    cudaMalloc(&x, 100), cudaMemset(x, 1, 100);
    k<<<1, 1>>>(x + 60, x, 41);
    cudaDeviceSynchronize();
}
// CASE fills_by_two_threads: race 1
__global__ void k(char* to, int n) { memset(to, 0, n); }
int main() {
    char* x;
    cudaMalloc(&x, 100);
    k<<<1, 2>>>(x, 100);
    cudaDeviceSynchronize();
}
// CASE a_misaligned_vector: misaligned 1
// LAUNCH k 1 1 x=f32[16]:none
__global__ void k(float* x) { *reinterpret_cast<float4*>(x + 2) = make_float4(1, 2, 3, 4); }
// CASE waiting_for_another_warp: right
__device__ int flag, value;
__global__ void k(int* x) {
    if (threadIdx.x == 0) value = 5, __threadfence(), atomicExch(&flag, 1);
    else if (threadIdx.x == 32) { while (atomicAdd(&flag, 0) == 0) {} __threadfence(); *x = value; }
}
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 5;
}
// CASE waiting_by_a_volatile_variable: race 4
__global__ void k(int* x) {
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads(); while (flag == 0) if (threadIdx.x == 31) flag = 1;
    if (threadIdx.x == 0) *x = flag;
}
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    k<<<1, 32>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 1;
}
// CASE waiting_for_nobody: no-progress 3
// LAUNCH k 1 32 x=i32[1]:zeros
__global__ void k(volatile int* x) {
    if (threadIdx.x == 0)
        while (*x == 0) {}
}
// CASE a_thread_that_left_early: right
__global__ void k(int* x, int n) {
    if (threadIdx.x >= n) return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
int main() {
    int* x;
    cudaMallocManaged(&x, 128);
    k<<<1, 32>>>(x, 30);
    return cudaDeviceSynchronize() != cudaSuccess || x[29] != 1;
}
// CASE a_deep_stack: right
__device__ __noinline__ int deep(int n) {
    volatile char room[2000];
    room[n] = n;
    return n == 0 ? 0 : deep(n - 1) + room[n];
}
__global__ void k(int* x) { *x = deep(100); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 5050;
}
// CASE a_failing_assert: assert 3
// LAUNCH k 1 32 n=31
#include <cassert>
__global__ void k(int n) {
    assert(threadIdx.x < n);
}
// CASE ptx_that_is_not_known: refused 3: inline PTX: `frob.u32` is not emulated
__global__ void k(unsigned r) {
    asm("add.u32 %0, %0, 1;"
        "frob.u32 %0;" : "+r"(r));
}
int main() { k<<<1, 1>>>(1); }
// CASE a_name_that_is_not_emulated: refused 1: 'cudaMemPoolCreate' was not declared in this scope
int main() { return cudaMemPoolCreate(nullptr, nullptr); }
// CASE a_launch_without_arguments: refused 2: this <<< has no >>> with arguments in parentheses after it
__global__ void k() {}
int main() { k<<<1, 1>>>; }
// CASE ptx_instructions: right
__global__ void k(const float* x, float* y, unsigned* out) {
    __shared__ unsigned tile[32];
    unsigned lane, neighbour, votes, sum, found, high;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    tile[lane] = lane * lane;
    __syncwarp();
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&tile[31 - lane]));
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(sum) : "r"(address));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(neighbour) : "r"(lane));
    asm volatile(
        "{ .reg .pred p;\n"
        "  setp.lt.u32 p, %1, 5;\n"
        "  vote.sync.ballot.b32 %0, p, 0xffffffff;\n"
        "  @!p add.u32 %0, %0, 1; }"
        : "=r"(votes) : "r"(lane));
    asm("{ .reg .b32 i;\n"
        "  mov.u32 i, 0; mov.u32 %0, 0;\n"
        "LOOP: add.u32 %0, %0, %1; add.u32 i, i, 1;\n"
        "  { .reg .pred q; setp.lt.u32 q, i, 3; @q bra LOOP; } }"
        : "=r"(found) : "r"(lane));
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(high) : "r"(0x80000000u), "r"(lane));
    asm volatile("red.global.add.u32 [%0], %1;" :: "l"(out), "r"(sum) : "memory");
    const bool good = neighbour == (lane ^ 1) && votes == 31u + (lane >= 5 ? 1 : 0) && found == 3 * lane && high == lane / 2;
    if (!good) asm volatile("trap;");
    float2 pair;
    asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "l"(x + 2 * lane));
    float r;
    asm("fma.rn.f32 %0, %1, 0f40000000, %2;" : "=f"(r) : "f"(pair.x), "f"(pair.y));
    asm volatile("st.global.cs.f32 [%0+4], %1;" :: "l"(y + lane - 1), "f"(r) : "memory");
}
int main() {
    float *x, *y; unsigned* out;
    cudaMallocManaged(&x, 256); cudaMallocManaged(&y, 128); cudaMallocManaged(&out, 4);
    for (int i = 0; i < 64; ++i) x[i] = i;
    *out = 0;
    k<<<1, 32>>>(x, y, out);
    if (cudaDeviceSynchronize() != cudaSuccess || *out != 10416) return 1;
    for (int i = 0; i < 32; ++i) if (y[i] != 6 * i + 1) return 2;
    return 0;
}
// CASE ptx_copies_and_matrices: right
// D = A B by mma.sync, its operands by cp.async and ldmatrix; A is the unit matrix.
#include <cuda_bf16.h>
__global__ void k(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
    __shared__ __align__(16) __nv_bfloat16 as[16][16], bs[8][16];
    unsigned lane = threadIdx.x, ra[4], rb[2];
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&as[lane / 2][lane % 2 * 8]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(a + lane * 8) : "memory");
    if (lane < 16) {
        to = static_cast<unsigned>(__cvta_generic_to_shared(&bs[lane / 2][lane % 2 * 8]));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(to), "l"(b + lane * 8) : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(row));
    row = static_cast<unsigned>(__cvta_generic_to_shared(&bs[lane % 8][lane / 8 % 2 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(row));
    float c[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
int main() {
    __nv_bfloat16 *a, *b; float* d;
    cudaMallocManaged(&a, 512); cudaMallocManaged(&b, 256); cudaMallocManaged(&d, 512);
    for (int i = 0; i < 256; ++i) a[i] = __float2bfloat16(i / 16 == i % 16 ? 1.0f : 0.0f);
    for (int i = 0; i < 128; ++i) b[i] = __float2bfloat16(i);  // column by column: b[n][k]
    k<<<1, 32>>>(a, b, d);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int m = 0; m < 16; ++m) for (int n = 0; n < 8; ++n) if (d[m * 8 + n] != n * 16 + m) return 2;
    return 0;
}
// CASE ptx_products_of_fewer_registers: right
__global__ void k(unsigned* out) {
    unsigned one = 0x3c003c00, d0, d1, c0 = 0x40003c00, c1 = 0x44004200;  // halves 1, 2 and 3, 4
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2}, {%2}, {%3, %4};"
                 : "=r"(d0), "=r"(d1) : "r"(one), "r"(c0), "r"(c1));
    float f[4] = {0, 1, 2, 3};
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(__float_as_uint(1.0f)));
    if (threadIdx.x == 7) out[0] = d0, out[1] = d1, out[2] = f[0] * 1000 + f[1] * 100 + f[2] * 10 + f[3];
}
int main() {
    unsigned* out;
    cudaMallocManaged(&out, 12);
    k<<<1, 32>>>(out);
    // 8 + c in halves, and 4 + c.
    return cudaDeviceSynchronize() != cudaSuccess || out[0] != 0x49004880 || out[1] != 0x4a004980 || out[2] != 4567;
}
// CASE ptx_that_races: race 3
// LAUNCH k 1 32 x=u32[1]:none
__global__ void k(unsigned* x) {
    unsigned lane = threadIdx.x;
    asm volatile("st.global.u32 [%0], %1;" :: "l"(x), "r"(lane) : "memory");
}
// CASE thrust_algorithms: right
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>
#include <vector>
struct Saxpy { float a; __host__ __device__ float operator()(float x, float y) const { return a * x + y; } };
int main() {
    thrust::host_vector<int> h(1000);
    for (int i = 0; i < 1000; ++i) h[i] = i * 7919 % 1000;
    thrust::device_vector<int> d = h, values(1000);
    thrust::sequence(values.begin(), values.end());
    thrust::sort_by_key(d.begin(), d.end(), values.begin());
    for (int i = 0; i < 1000; ++i) if (d[i] != i || h[values[i]] != i) return 1;
    if (thrust::reduce(d.begin(), d.end()) != 499500 || thrust::reduce(d.begin(), d.end(), -1, thrust::maximum<int>()) != 999) return 2;
    thrust::device_vector<float> x(10, 1.0f), y(10), z(10);
    thrust::sequence(y.begin(), y.end());
    thrust::transform(x.begin(), x.end(), y.begin(), z.begin(), Saxpy{2});
    using namespace thrust::placeholders;
    thrust::transform(z.begin(), z.end(), z.begin(), 3.0f * _1 - 1.0f);
    if (z[4] != 17) return 3;
    std::vector<int> sums(1000), wanted(1000);
    thrust::device_vector<int> scanned(1000);
    thrust::inclusive_scan(d.begin(), d.end(), scanned.begin());
    thrust::copy(scanned.begin(), scanned.end(), sums.begin());
    for (int i = 0, sum = 0; i < 1000; ++i) if (sums[i] != (sum += i)) return 4;
    thrust::exclusive_scan(d.begin(), d.end(), d.begin(), 5, thrust::plus<int>());
    if (d[0] != 5 || d[3] != 8) return 5;
    auto zipped = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
    thrust::for_each(zipped, zipped + 10, [] __device__(thrust::tuple<float&, float&> t) { thrust::get<0>(t) += thrust::get<1>(t); });
    if (x[9] != 10 || thrust::inner_product(x.begin(), x.end(), y.begin(), 0.0f) != 330) return 6;
    int* raw = thrust::raw_pointer_cast(values.data());
    const thrust::counting_iterator<int> first(1), last(11);
    thrust::for_each(thrust::device, first, last, [=] __device__(int i) { atomicAdd(raw, i); });
    thrust::sort(values.begin(), values.end(), [] __host__ __device__(int a, int b) { return a > b; });
    if (values[0] != 999 || thrust::count_if(y.begin(), y.end(), _1 > 4.5f) != 5) return 7;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    thrust::fill(thrust::cuda::par.on(stream), values.begin(), values.end(), 3);
    values.erase(thrust::unique(values.begin(), values.end()), values.end());
    if (values.size() != 1 || values[0] != 3 || *thrust::max_element(y.begin(), y.end()) != 9) return 8;
    thrust::sort(h.begin(), h.end());
    return h[77] == 77 ? 0 : 9;
}
