// clang-format off
// Small programs for frontend_programs_slow_test.cpp, which cuts this file at its CASE lines and gives each to `heddle check`. A
// program without a mistake compares what it computed and returns 0. After the name stands the verdict: `right`; `KIND LINE` for
// a violation on that line, where the line below CASE is 1, or `KIND FILE LINE`; or `refused LINE: TEXT` for what does not get
// as far as running. FILE lines begin further files; a .cu is one more source of the program. A WITH line is an option for the
// compiler. A LAUNCH line is a kernel of a file without main(), its grid, its block and its arguments.

// CASE launch_with_numbers: right
__global__ void k(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() {
    int *x, sum = 0, h[64];
    cudaMalloc(&x, sizeof h);
    k<<<2, 32>>>(x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int v : h) sum += v;
    return sum != 64;
}
// CASE launch_of_nested_templates: right
template <class T> struct A { T v; };
template <class T, int N = 4> __global__ void k(T* x) { x[threadIdx.x].v.v = N; }
int main() {
    A<A<int>>* x;
    cudaMallocManaged(&x, 8 * sizeof *x);
    k<A<A<int>>><<<1,8>>>(x);
    cudaDeviceSynchronize();
    int four = x[7].v.v;
    k<A<A<int>>, 1 << 3><<<dim3(1), dim3(8)>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || four != 4 || x[7].v.v != 8;
}
// CASE launch_through_pointers: right
__global__ void one(int* x) { *x += 1; }
__global__ void ten(int* x) { *x += 10; }
using kernel_t = void (*)(int*);
kernel_t pick(bool b) { return b ? one : ten; }
void start(void f(int*), int* x) { f<<<1, 1>>>(x); (*f)<<<1, 1>>>(x); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4), *x = 0;
    kernel_t all[] = {one, ten};
    for (int i = 0; i < 2; ++i) all[i]<<<1, 1>>>(x);
    pick(true)<<<1, 1>>>(x);
    start(ten, x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 32;
}
// CASE launch_of_a_lambda: right
template <class F> __global__ void each(F f, int n) { if (threadIdx.x < n) f(threadIdx.x); }
int main() {
    int *x, y = 3;
    cudaMallocManaged(&x, 32);
    each<<<1, 32>>>([=] __device__ (int i) { x[i] = i * y; }, 8);
    each<<<1, 32>>>([=] __host__ __device__ __forceinline__ (int i) -> void { x[i] += 1; }, 8);
    return cudaDeviceSynchronize() != cudaSuccess || x[7] != 22;
}
// CASE launch_of_members: right
struct S {
    static __global__ void k(int* x, int v) { *x += v; }
    template <int N> static __global__ void t(int* x) { *x += N; }
    int* x;
    void run() { k<<<1, 1>>>(x, 1); this->k<<<1, 1>>>(x, 2); this->template t<4><<<1, 1>>>(x); }
};
template <class T> struct R { static __global__ void k(T* x) { *x += 32; } };
template <class T> void both(S s) { R<T>::k<<<1, 1>>>(s.x); s.t<64><<<1, 1>>>(s.x); }
int main() {
    S s;
    cudaMallocManaged(&s.x, 4), *s.x = 0;
    s.run(), s.k<<<1, 1>>>(s.x, 8), S::t<16><<<1, 1>>>(s.x), both<int>(s);
    return cudaDeviceSynchronize() != cudaSuccess || *s.x != 127;
}
// CASE launch_in_a_macro: right
#define LAUNCH(kernel, n, ...) do { kernel<<<((n) + 31) / 32, 32, 0, 0>>>(__VA_ARGS__); } while (0)
#define CONFIG <<< dim3(1, 2), 4 >>>
template <class T> __global__ void k(T* x, int n) { atomicAdd(x, n); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4), *x = 0;
    LAUNCH(k<int>, 33, x,
           1);
    k CONFIG (x, 2);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 80;
}
// CASE launch_with_shared_memory_and_stream: right
__global__ void k(int* x) {
    extern __shared__ int s[];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
int main() {
    int* x;
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMallocManaged(&x, 256);
    k<<<1, 64, 64 * sizeof(int), stream>>>(x);
    return cudaStreamSynchronize(stream) != cudaSuccess || x[0] != 63;
}
// CASE shifts_and_operators_are_no_launches: right
struct Out { int v = 0; };
Out& operator<<(Out& o, int v) { o.v += v; return o; }
template <class T> Out& operator<<(Out& o, T* v) { o.v += *v; return o; }
template <class T> struct P { static constexpr int v = sizeof(T); };
__global__ void k(int* x, int n) { *x = n << 1 >> 1; }
int main() {
    int* x, four = 4;
    Out out;
    out << 1 << (2 << 3) << P<P<P<int>>>::v;
    operator<< <int>(out, &four);
    cudaMallocManaged(&x, 4);
    k<<<four >> 2, 1>>>(x, out.v);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 22;
}
// CASE configuration_with_templates_and_comparisons: right
template <int N> struct Grid { static constexpr int value = N; };
template <class T> int half(int n) { return n / 2; }
__global__ void k(int* x) { atomicAdd(x, 1); }
int main() {
    int *x, n = 8;
    cudaMallocManaged(&x, 4), *x = 0;
    k<<<Grid<2>::value, half<Grid<Grid<3>::value>>(n)>>>(x);
    k<<<n < 32 ? 1 : 2, {4, 2}>>>(x);
    k<<<1, sizeof(Grid<3>) + (n > 3), 0>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 18;
}
// CASE overloads_and_default_arguments: right
__global__ void k(int* x, int n = 5) { *x += n; }
__global__ void k(float* x) { *x += 0.5f; }
template <class T> __global__ void k(T* x, T* y) { *x += *y; }
int main() {
    int* x;
    float* y;
    cudaMallocManaged(&x, 4), cudaMallocManaged(&y, 4), *x = 0, *y = 0;
    k<<<1, 1>>>(x), k<<<1, 1>>>(x, 1), k<<<1, 1>>>(y), k<<<1, 1>>>(x, x), k<<<1, 1>>>(y, y);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 12 || *y != 1;
}
// CASE variadic_templates: right
template <int N, typename = void, class... Ts> __global__ void k(int* x, Ts... values) { *x = (0 + ... + values) + N + (int)sizeof...(Ts); }
template <class... A> void start(int* x, A... a) { k<100><<<1, 1>>>(x, a...); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    start(x, 1, 2.0, 3l);
    if (cudaDeviceSynchronize() != cudaSuccess || *x != 109) return 1;
    start(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 100;
}
// CASE kernels_write_to_their_parameters: right
struct Big { int v[40]; };
__global__ void k(int* x, int n, Big big) {
    n += threadIdx.x, big.v[3] += n, x += threadIdx.x;
    *x = big.v[3];
}
int main() {
    int* x;
    Big big = {};
    big.v[3] = 1;
    cudaMallocManaged(&x, 256);
    k<<<1, 64>>>(x, 1, big);
    big.v[3] = 100;
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 2 || x[63] != 65;
}
// CASE parameters_with_constructors_are_copied_by_the_host_alone: right
struct Counted {
    int* copies;
    explicit Counted(int* counter) : copies(counter) {}
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    ~Counted() { --*copies; }
};
__global__ void k(Counted c, const int* counter, int* same) { same[threadIdx.x] = c.copies == counter; }
int main() {
    int copies = 1, *x;
    cudaMallocManaged(&x, 128);
    Counted one(&copies);
    k<<<1, 32>>>(one, &copies, x);
    return copies != 2 || cudaDeviceSynchronize() != cudaSuccess || x[31] != 1;
}
// CASE linkage_and_namespaces: right
extern "C" __global__ void c_kernel(int* x);
extern "C" { __global__ void other(int* x) { *x += 1; } }
extern "C" __global__ void c_kernel(int* x) { *x += 2; }
namespace a::b { __global__ void k(int* x) { *x += 4; } }
namespace { template <class T> __global__ static void k(T* x) { *x += 8; } }
inline namespace v1 { __global__ void v(int* x); }
void __global__ __attribute__((noinline)) v1::v(int* x) { *x += 16; }
int main() {
    int* x;
    cudaMallocManaged(&x, 4), *x = 0;
    c_kernel<<<1, 1>>>(x), other<<<1, 1>>>(x), ::a::b::k<<<1, 1>>>(x), k<int><<<1, 1>>>(x), v<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 31;
}
// CASE instantiation_and_specialisation: right
template <class T, int N> __global__ void k(T* x) { *x += N; }
template __global__ void k<int, 3>(int*);
template <> __global__ void k<int, 4>(int* x) { *x += 40; }
template <class T> __global__ void only(T* x);
template <> __global__ void only(int* x) { *x += 100; }
int main() {
    int* x;
    cudaMallocManaged(&x, 4), *x = 0;
    k<int, 3><<<1, 1>>>(x), k<int, 4><<<1, 1>>>(x), only<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 143;
}
// CASE launch_by_address: right
template <class T> __global__ void k(T* x, int n) { x[threadIdx.x] = n; }
struct S { static __global__ void k(int* x) { x[0] = 3; } };
int main() {
    int *x, n = 7;
    cudaMallocManaged(&x, 256);
    void* arguments[] = {&x, &n};
    cudaLaunchKernel((void*)k<int>, dim3(1), dim3(64), arguments, 0, nullptr);
    if (cudaDeviceSynchronize() != cudaSuccess || x[63] != 7) return 1;
    cudaLaunchKernel((const void*)&S::k, 1, 1, arguments, 0, 0);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 3;
}
// CASE a_constraint_before_a_kernel: right
// WITH -std=c++20
template <class T> concept Small = sizeof(T) <= 4;
template <class T> requires Small<T> && (sizeof(T) > 1) __global__ void k(T* x) { *x = 1; }
template <class T> __global__ void k(T* x) requires (!Small<T>) { *x = 2; }
int main() {
    int* x;
    double* y;
    cudaMallocManaged(&x, 4), cudaMallocManaged(&y, 8);
    k<<<1, 1>>>(x), k<<<1, 1>>>(y);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 1 || *y != 2;
}
// CASE shared_arrays: right
__global__ void k(float* x) {
    const int n = 8;
    __shared__ float a[n][n + 1], b[n], *p;
    __shared__ volatile int c;
    const int i = threadIdx.x;
    if (i == 0) p = b, c = 2;
    __syncthreads();
    a[i][0] = i, p[i] = 2 * i;
    __syncthreads();
    x[i] = a[n - 1 - i][0] + b[n - 1 - i] + c + sizeof(a) / sizeof(a[0][0]);
}
int main() {
    float* x;
    cudaMallocManaged(&x, 32);
    k<<<1, 8>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 95;
}
// CASE shared_structs_and_unions: right
struct alignas(16) Cell { float4 v; int n; Cell() { n = 99; } };
__global__ void k(int* x, size_t* at) {
    __shared__ Cell cells[4];
    __shared__ struct Point { int x, y; } p[32];
    __shared__ union { int i; float f; } u;
    __shared__ __align__(128) char aligned[3];
    Point own = {(int)threadIdx.x, 1};
    p[threadIdx.x] = own;
    if (threadIdx.x == 0) u.f = 1, cells[3].n = 5, *at = (size_t)aligned;
    __syncthreads();
    x[threadIdx.x] = p[31 - threadIdx.x].x + p[0].y + u.i / 0x3f800000 + cells[3].n;
}
int main() {
    int* x;
    cudaMallocManaged(&x, 136);
    k<<<1, 32>>>(x, (size_t*)(x + 32));
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 38 || *(size_t*)(x + 32) % 128 != 0;
}
// CASE shared_memory_of_functions_and_templates: right
template <class T> __device__ T* piece() {
    __shared__ T a[32];
    return a;
}
__device__ __noinline__ int* other() { static __shared__ int a[32]; return a; }
__global__ void k(int* x) {
    piece<int>()[threadIdx.x] = 1, piece<float>()[threadIdx.x] = 20, other()[threadIdx.x] = 300;
    auto sum = [&] { __shared__ int a[32]; a[threadIdx.x] = 4000; return a; };
    x[threadIdx.x + 32 * blockIdx.x] = piece<int>()[threadIdx.x] + (int)piece<float>()[threadIdx.x] + other()[threadIdx.x] + sum()[threadIdx.x];
}
int main() {
    int* x;
    cudaMallocManaged(&x, 384);
    k<<<3, 32>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || x[95] != 4321;
}
// CASE typed_dynamic_shared_memory: right
template <class T> __global__ void k(T* x, int n) {
    extern __shared__ __align__(sizeof(double)) unsigned char raw[];
    T* a = reinterpret_cast<T*>(raw);
    int* b = (int*)&raw[n * sizeof(T)];
    a[threadIdx.x] = threadIdx.x, b[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = a[n - 1 - threadIdx.x] + b[n - 1 - threadIdx.x];
}
template <class T> int run() {
    T* x;
    cudaMallocManaged(&x, 8 * sizeof(T));
    k<<<1, 8, 8 * (sizeof(T) + 4)>>>(x, 8);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 8;
}
int main() { return run<int>() + run<double>(); }
// CASE shared_memory_outside_of_functions: right
extern __shared__ float dynamic[];
__shared__ int fixed[4];
template <class T> __device__ T first(T* p) { return p[0]; }
__device__ float last(int n) { return dynamic[n - 1] + fixed[0]; }
__global__ void k(float* x, int n) {
    dynamic[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) fixed[0] = 10;
    __syncthreads();
    x[threadIdx.x] = last(n) + first(dynamic) + reinterpret_cast<int*>(dynamic)[0] + (&dynamic[1])[0];
}
int main() {
    float* x;
    cudaMallocManaged(&x, 32);
    int dynamic = 8;
    k<<<1, 8, dynamic * 4>>>(x, dynamic);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 18;
}
// CASE constants: right
__constant__ float table[] = {1, 2, 3};
__constant__ struct { int n; float scale; } options;
namespace n { static __constant__ int matrix[2][2]; }
__global__ void k(float* x) { *x = table[2] * options.scale + options.n + n::matrix[1][0]; }
int main() {
    float *x, three[3] = {4, 5, 6};
    int m[4] = {0, 0, 7, 0};
    cudaMallocManaged(&x, 4);
    decltype(options) o = {2, 0.5f};
    cudaMemcpyToSymbol(options, &o, sizeof o), cudaMemcpyToSymbol(n::matrix, m, sizeof m), cudaMemcpyToSymbol(table, three, sizeof three);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 12;
}
// CASE device_variables: right
__device__ int counter;
__device__ float values[4] = {1, 2, 3, 4}, *pointer = values;
struct S { static __device__ int total; };
__device__ int S::total = 5;
__device__ int twice(int v) { return 2 * v; }
__device__ int (*function)(int) = twice;
__global__ void k() { atomicAdd(&counter, 1), atomicAdd(&S::total, function(1)); if (blockIdx.x + threadIdx.x == 0) pointer[1] = 8; }
int main() {
    int n, total;
    float v;
    k<<<2, 32>>>();
    cudaMemcpyFromSymbol(&n, counter, sizeof n), cudaMemcpyFromSymbol(&total, S::total, sizeof total);
    cudaMemcpyFromSymbol(&v, values, sizeof v, sizeof v);
    return n != 64 || total != 133 || v != 8;
}
// CASE device_variables_of_classes_templates_and_functions: right
class S {
    static __device__ int hidden[2];
  public:
    static __device__ int get() { return hidden[1]; }
};
__device__ int S::hidden[2] = {7, 8};
template <class T> struct R { static __device__ T v; };
template <class T> __device__ T R<T>::v = 3;
template <class T> __device__ T w = 4;
__device__ int count() { static int n; static const int table[] = {1, 2}; return atomicAdd(&n, table[1]); }
__global__ void k(int* x) { count(), x[threadIdx.x] = S::get() + R<int>::v + w<int> + (count() >= 2); }
int main() {
    int *x, v = 10;
    cudaMallocManaged(&x, 128);
    cudaMemcpyToSymbol(R<int>::v, &v, 4);
    k<<<1, 32>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || x[31] != 23;
}
// CASE managed_variables: right
__device__ __managed__ int m[2] = {1, 2};
__managed__ float f;
__global__ void k() { m[1] += m[0], f = 2; }
int main() {
    m[0] = 5;
    k<<<1, 1>>>();
    return cudaDeviceSynchronize() != cudaSuccess || m[1] != 7 || f != 2;
}
// CASE host_and_device_functions: right
struct Pair {
    int a, b;
    __host__ __device__ Pair(int x, int y) : a{x}, b{y} {}
    __host__ __device__ __forceinline__ Pair operator+(const Pair& o) const { return {a + o.a, b + o.b}; }
};
__host__ __device__ constexpr int square(int v) { return v * v; }
static __device__ __forceinline__ int arch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && defined(__CUDACC__)
    return 1;
#endif
}
__global__ void __launch_bounds__(128, 2) k(int* __restrict__ x, const int* __restrict__ y) { *x = (Pair(*y, 2) + Pair(3, 4)).a + square(3) * arch(); }
int main() {
    int* x;
    cudaMallocManaged(&x, 8);
    x[1] = 1;
    k<<<1, 1>>>(x, x + 1);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 13 || (Pair(1, 1) + Pair(1, square(2))).b != 5;
}
// CASE names_of_builtins_as_variables: right
struct S { int threadIdx, blockDim; };
__global__ void k(int* x, S s) {
    int warpSize = 2;
    x[threadIdx.x] = s.threadIdx + s.blockDim + warpSize;
}
int main() {
    dim3 blockDim(8), gridDim(1);
    int* x;
    cudaMallocManaged(&x, 4 * blockDim.x);
    k<<<gridDim, blockDim>>>(x, {3, 4});
    return cudaDeviceSynchronize() != cudaSuccess || x[7] != 9;
}
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
// CASE name_of_the_function: right
__device__ bool same(const char* a, const char* b) { while (*a && *a == *b) ++a, ++b; return *a == *b; }
template <class T> __global__ void kernel_of(T* x) { *x = same(__func__, "kernel_of") && same(__FUNCTION__, "kernel_of"); }
int main() {
    int* x;
    cudaMallocManaged(&x, 4);
    kernel_of<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess || *x != 1;
}
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
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(row));
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
    thrust::for_each(thrust::device, thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(11), [=] __device__(int i) { atomicAdd(raw, i); });
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
// CASE thrust_functor_out_of_bounds: out-of-bounds 7
#include <thrust/device_vector.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
struct Shift {
    int* x;
    __device__ void operator()(int i) const {
        x[i + 1] = i;
    }
};
int main() {
    thrust::device_vector<int> x(100);
    try {
        thrust::for_each(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(100), Shift{thrust::raw_pointer_cast(x.data())});
    } catch (const thrust::system_error&) {
    }
}
// CASE cub_blocks_and_devices: right
#include <cub/cub.cuh>
#include <algorithm>
#include <vector>
template <int N>
__global__ void k(const int* in, int* scanned, int* total, int* sorted) {
    using Load = cub::BlockLoad<int, N, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Scan = cub::BlockScan<int, N>;
    using Reduce = cub::BlockReduce<int, N>;
    using Store = cub::BlockStore<int, N, 4, cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, N, 4>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
    } temp;
    int items[4], sums[4];
    Load(temp.load).Load(in, items);
    __syncthreads();
    Scan(temp.scan).ExclusiveSum(items, sums);
    __syncthreads();
    Store(temp.store).Store(scanned, sums);
    __syncthreads();
    const int sum = Reduce(temp.reduce).Sum(items);
    if (threadIdx.x == 0) *total = sum;
    __syncthreads();
    Sort(temp.sort).Sort(items);
    for (int i = 0; i < 4; ++i) sorted[threadIdx.x * 4 + i] = items[i];
    const int largest = cub::WarpReduce<int>().Reduce(static_cast<int>(threadIdx.x), cub::Max());
    if (threadIdx.x % 32 == 0 && largest != threadIdx.x + 31) __trap();
}
int main() {
    const int n = 512;
    std::vector<int> h(n), got(n);
    for (int i = 0; i < n; ++i) h[i] = i * 37 % n;
    int *in, *out, *total, *sorted;
    cudaMalloc(&in, 4 * n); cudaMalloc(&out, 4 * n); cudaMalloc(&sorted, 4 * n); cudaMallocManaged(&total, 4);
    cudaMemcpy(in, h.data(), 4 * n, cudaMemcpyHostToDevice);
    k<128><<<1, 128>>>(in, out, total, sorted);
    cudaMemcpy(got.data(), out, 4 * n, cudaMemcpyDeviceToHost);
    for (int i = 0, sum = 0; i < n; sum += h[i++]) if (got[i] != sum) return 1;
    cudaMemcpy(got.data(), sorted, 4 * n, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) if (got[i] != i) return 2;
    if (*total != n * (n - 1) / 2) return 3;
    void* temp = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(temp, bytes, in, total, n);
    cudaMalloc(&temp, bytes);
    cub::DeviceReduce::Sum(temp, bytes, in, total, n);
    cudaDeviceSynchronize();
    if (*total != n * (n - 1) / 2) return 4;
    cub::DeviceScan::InclusiveSum(temp, bytes, in, out, n);
    cudaMemcpy(got.data(), out, 4 * n, cudaMemcpyDeviceToHost);
    for (int i = 0, sum = 0; i < n; ++i) if (got[i] != (sum += h[i])) return 5;
    cub::DeviceRadixSort::SortKeysDescending(temp, bytes, in, out, n);
    cudaMemcpy(got.data(), out, 4 * n, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) if (got[i] != n - 1 - i) return 6;
    return 0;
}
// CASE cub_storage_used_twice: race 4
// LAUNCH k 1 64 out=f32[1]:none
#include <cub/block/block_reduce.cuh>
__global__ void k(float* out) {
    __shared__ typename cub::BlockReduce<float, 64>::TempStorage temp;
    float a = cub::BlockReduce<float, 64>(temp).Sum(1.0f);
    float b = cub::BlockReduce<float, 64>(temp).Sum(2.0f);
    if (threadIdx.x == 0) *out = a + b;
}
// CASE curand_in_kernels: right
#include <curand_kernel.h>
#include <cmath>
__global__ void start(curandState* states, curandStatePhilox4_32_10_t* others) {
    curand_init(1234, threadIdx.x, 0, &states[threadIdx.x]);
    curand_init(1234, threadIdx.x, 0, &others[threadIdx.x]);
}
__global__ void draw(curandState* states, curandStatePhilox4_32_10_t* others, float* sums) {
    curandState own = states[threadIdx.x];
    float sum = 0;
    for (int i = 0; i < 200; ++i) sum += curand_uniform(&own) + curand_normal(&others[threadIdx.x]);
    states[threadIdx.x] = own;
    sums[threadIdx.x] = sum;
}
int main() {
    curandState* states; curandStatePhilox4_32_10_t* others; float* sums;
    cudaMalloc(&states, 64 * sizeof(curandState)); cudaMalloc(&others, 64 * sizeof(curandStatePhilox4_32_10_t)); cudaMallocManaged(&sums, 4096);
    start<<<1, 64>>>(states, others);
    draw<<<1, 64>>>(states, others, sums);
    cudaDeviceSynchronize();
    double mean = 0;
    for (int i = 0; i < 64; ++i) mean += sums[i] / 64;
    if (std::fabs(mean - 100) > 10) return 1;
    return 0;
}
// CASE cublas_product_races_with_a_stream: stream-race 14
#include <cublas_v2.h>
__global__ void fill(float* a) { a[threadIdx.x] = threadIdx.x; }
int main() {
    float *a, *c;
    cudaMalloc(&a, 64 * 4); cudaMalloc(&c, 64 * 4);
    cudaMemset(a, 0, 256);
    cudaDeviceSynchronize();
    cublasHandle_t handle;
    cudaStream_t one, other;
    cudaStreamCreate(&one); cudaStreamCreate(&other);
    cublasCreate(&handle);
    cublasSetStream(handle, one);
    const float alpha = 1, beta = 0;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &alpha, a, 8, a, 8, &beta, c, 8);
    fill<<<1, 64, 0, other>>>(a);
    cudaDeviceSynchronize();
}
// CASE managed_memory_read_too_early: host-access 8
#include <cstdio>
__global__ void k(float* x) { x[threadIdx.x] += 1; }
int main() {
    float* x;
    cudaMallocManaged(&x, 32 * sizeof(float));
    for (int i = 0; i < 32; ++i) x[i] = 0;
    k<<<1, 32>>>(x);
    printf("%f", x[5]);
    return cudaDeviceSynchronize();
}
// CASE managed_memory_beside_the_kernels: right
__global__ void k(float* x) { x[threadIdx.x] += 1; }
int main() {
    float *x, *y;
    cudaMallocManaged(&x, 64 * sizeof(float));
    cudaMallocManaged(&y, 32 * sizeof(float));
    for (int i = 0; i < 64; ++i) x[i] = 0;
    k<<<1, 32>>>(x);
    y[0] = 1;
    x[40] = 2;
    return cudaDeviceSynchronize() != cudaSuccess || x[31] != 1 || x[40] != 2 || y[0] != 1;
}
// CASE zero_copy: right
#include <vector>
__global__ void k(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
int main() {
    float *x, *device_x, *device_y;
    cudaHostAlloc(&x, 32 * sizeof(float), cudaHostAllocMapped);
    std::vector<float> y(32);
    cudaHostRegister(y.data(), 32 * sizeof(float), cudaHostRegisterMapped);
    for (int i = 0; i < 32; ++i) x[i] = i;
    cudaHostGetDevicePointer(&device_x, x, 0);
    cudaHostGetDevicePointer(&device_y, y.data(), 0);
    k<<<1, 32>>>(device_x, device_y);
    return cudaDeviceSynchronize() != cudaSuccess || y[31] != 62;
}
// CASE zero_copy_out_of_bounds: out-of-bounds 1
__global__ void k(float* x) { x[threadIdx.x] = 1; }
int main() {
    float* x;
    cudaMallocHost(&x, 31 * sizeof(float));
    k<<<1, 32>>>(x);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE callback_that_nothing_waits_for: right
#include <condition_variable>
#include <mutex>
std::mutex mutex;
std::condition_variable change;
bool called = false;
void CUDART_CB on_done(cudaStream_t, cudaError_t, void*) {
    std::lock_guard<std::mutex> lock(mutex);
    called = true;
    change.notify_one();
}
__global__ void k(int* x) { *x = 1; }
int main() {
    int* x;
    cudaMalloc(&x, sizeof *x);
    k<<<1, 1>>>(x);
    cudaStreamAddCallback(0, on_done, nullptr, 0);
    std::unique_lock<std::mutex> lock(mutex);
    change.wait(lock, [] { return called; });
    lock.unlock();
    return cudaFree(x);
}
// CASE texture_object: right
__global__ void k(cudaTextureObject_t t, float* y) { y[threadIdx.x] = tex2D<float>(t, threadIdx.x + 1.0f, 0.5f); }
int main() {
    float pixels[] = {0, 2, 4, 6}, h[4], *y;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaMallocArray(&array, &format, 4, 1);
    cudaMemcpy2DToArray(array, 0, 0, pixels, sizeof pixels, sizeof pixels, 1, cudaMemcpyHostToDevice);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc reading = {};
    reading.addressMode[0] = reading.addressMode[1] = cudaAddressModeClamp;
    reading.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture = 0;
    if (cudaCreateTextureObject(&texture, &resource, &reading, nullptr) != cudaSuccess) return 1;
    cudaMalloc(&y, sizeof h);
    k<<<1, 4>>>(texture, y);
    if (cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    return h[0] != 1 || h[1] != 3 || h[2] != 5 || h[3] != 6;
}
// CASE look_back_scan_with_shared_memory: right
// Blocks that end give their shared memory to blocks that begin beside those that wait.
__global__ void scan(const int* x, int* y, int* sums, int* flags) {
    __shared__ int tile[64], before;
    const int t = threadIdx.x, b = blockIdx.x;
    tile[t] = x[b * 64 + t];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        const int other = t >= step ? tile[t - step] : 0;
        __syncthreads();
        tile[t] += other;
        __syncthreads();
    }
    if (t == 63) {
        before = 0;
        if (b > 0) {
            while (atomicAdd(&flags[b - 1], 0) == 0) {}
            __threadfence();
            before = sums[b - 1];
        }
        sums[b] = before + tile[63];
        __threadfence();
        atomicExch(&flags[b], 1);
    }
    __syncthreads();
    y[b * 64 + t] = before + tile[t];
}
int main() {
    const int blocks = 24;
    int *x, *y, *sums, *flags;
    cudaMallocManaged(&x, blocks * 256), cudaMallocManaged(&y, blocks * 256);
    cudaMalloc(&sums, blocks * 4), cudaMalloc(&flags, blocks * 4);
    for (int i = 0; i < blocks * 64; ++i) x[i] = i % 3;
    cudaMemset(flags, 0, blocks * 4);
    scan<<<blocks, 64>>>(x, y, sums, flags);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0, sum = 0; i < blocks * 64; ++i)
        if (y[i] != (sum += i % 3)) return 2;
    return 0;
}
// CASE flag_of_a_later_block: right
__global__ void k(int* flag, int* x) {
    if (blockIdx.x + 1 < gridDim.x) {
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        x[blockIdx.x] = x[gridDim.x - 1] + 1;
    } else {
        x[blockIdx.x] = 6;
        __threadfence();
        atomicExch(flag, 1);
    }
}
int main() {
    int *flag, *x;
    cudaMalloc(&flag, 4), cudaMallocManaged(&x, 48);
    cudaMemset(flag, 0, 4);
    k<<<12, 1>>>(flag, x);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 7 || x[10] != 7;
}
// CASE flag_of_a_block_for_which_the_chip_has_no_room: no-progress 3 no room
__global__ void k(volatile int* flag) {
    if (blockIdx.x + 1 < gridDim.x)
        while (*flag == 0) {}
    *flag = 1;
}
int main() {
    int* flag;
    cudaMalloc(&flag, 4);
    cudaMemset(flag, 0, 4);
    k<<<100000, 1, 48000>>>(flag);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE barrier_object_of_several_blocks: right
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_device>;
__global__ void begin(Barrier* meeting, int count) { init(meeting, count); }
__global__ void k(Barrier* meeting, int* x) {
    x[blockIdx.x * 32 + threadIdx.x] = threadIdx.x;
    meeting->arrive_and_wait();
    atomicAdd(&x[0], 1);
}
int main() {
    Barrier* meeting;
    int* x;
    cudaMalloc(&meeting, sizeof *meeting), cudaMallocManaged(&x, 640);
    begin<<<1, 1>>>(meeting, 160);
    k<<<5, 32>>>(meeting, x);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 160 || x[159] != 31;
}
// CASE barrier_object_that_a_block_never_comes_to: deadlock 5
#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_device>;
__global__ void begin(Barrier* meeting, int count) { init(meeting, count); }
__global__ void k(Barrier* meeting) {
    if (blockIdx.x != 3) meeting->arrive_and_wait();
}
int main() {
    Barrier* meeting;
    cudaMalloc(&meeting, sizeof *meeting);
    begin<<<1, 1>>>(meeting, 5);
    k<<<5, 1>>>(meeting);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE sum_of_the_last_block: right
__global__ void k(int* sum, int* ticket, int* result) {
    atomicAdd(sum, 1);
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    if (atomicAdd(ticket, 1) != gridDim.x - 1) return;
    __threadfence();
    *result = *sum;
    *sum = 0;
}
int main() {
    int* x;
    cudaMallocManaged(&x, 12);
    cudaMemset(x, 0, 12);
    k<<<3, 64>>>(x, x + 1, x + 2);
    return cudaDeviceSynchronize() != cudaSuccess || x[0] != 0 || x[2] != 192;
}
// CASE sum_of_the_last_block_without_a_barrier: race 8
// All have added by then, but only what thread 0 of each block did is ordered.
__global__ void k(int* sum, int* ticket) {
    atomicAdd(sum, 1);
    if (threadIdx.x != 0) return;
    while (*static_cast<volatile int*>(sum) < 3 * 64) {}
    __threadfence();
    if (atomicAdd(ticket, 1) != gridDim.x - 1) return;
    __threadfence(), *sum = 0;
}
int main() {
    int* x;
    cudaMalloc(&x, 8);
    cudaMemset(x, 0, 8);
    k<<<3, 64>>>(x, x + 1);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE wide_read_and_a_plain_one_before_an_update: race 10
// The plain read alone might stand beside the update.
__global__ void k(float4* x, volatile int* flag, float* y) {
    if (threadIdx.x == 0) {
        const float4 all = *x;
        __threadfence_block();
        *y = all.y + all.z + x->x;
        *flag = 1;
    } else {
        while (*flag == 0) {}
        atomicAdd(&x->x, 1);
    }
}
int main() {
    float4* x;
    int* flag;
    float* y;
    cudaMalloc(&x, 16), cudaMalloc(&flag, 4), cudaMalloc(&y, 4);
    cudaMemset(x, 0, 16), cudaMemset(flag, 0, 4);
    k<<<1, 2>>>(x, flag, y);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE pairs_and_complex_numbers: right
#include <algorithm>
#include <complex>
#include <thrust/complex.h>
#include <thrust/pair.h>
#include <tuple>
__global__ void k(thrust::pair<int, float>* x, std::tuple<int, float>* y, std::complex<float>* z, int* f) {
    const int i = threadIdx.x;
    x[i] = thrust::make_pair(i, 2.0f);
    y[i] = std::make_tuple(i, 3.0f);
    z[i] = std::complex<float>(1, 2);
    z[i] += std::complex<float>(i, i);
    std::fill(f + i * 2, f + i * 2 + 2, i);
}
int main() {
    thrust::pair<int, float>*x, a[32];
    std::tuple<int, float>*y, b[32];
    std::complex<float>*z, c[32];
    int *f, d[64];
    cudaMalloc(&x, sizeof a), cudaMalloc(&y, sizeof b), cudaMalloc(&z, sizeof c), cudaMalloc(&f, sizeof d);
    k<<<1, 32>>>(x, y, z, f);
    cudaMemcpy(a, x, sizeof a, cudaMemcpyDeviceToHost), cudaMemcpy(b, y, sizeof b, cudaMemcpyDeviceToHost);
    cudaMemcpy(c, z, sizeof c, cudaMemcpyDeviceToHost), cudaMemcpy(d, f, sizeof d, cudaMemcpyDeviceToHost);
    return a[7].first != 7 || std::get<0>(b[7]) != 7 || c[7].imag() != 9 || d[15] != 7;
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
