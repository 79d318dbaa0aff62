// clang-format off
// Programs with one mistake each, and their sound twins, for frontend_programs_slow_test.cpp; frontend_programs.cu says how they
// are written. Each also does what a real program may do: it ignores errors, ends by _exit or abort, forks, or never ends.

// CASE race_of_equal_values: race 1 both write the same value
__global__ void k(int* found, const int* x) { if (x[threadIdx.x] == 0) *found = 1; }
int main() {
    int *x, *found, h = 0;
    cudaMalloc(&x, 256), cudaMalloc(&found, 4);
    cudaMemset(x, 0, 256), cudaMemset(found, 0, 4);
    k<<<1, 64>>>(found, x);
    cudaMemcpy(&h, found, 4, cudaMemcpyDeviceToHost);
    return h != 1;
}
// CASE copy_of_what_nobody_wrote: uninitialized 6
__global__ void k(float* x) { if (threadIdx.x != 5) x[threadIdx.x] = 1; }
int main() {
    float *x, h[64];
    cudaMalloc(&x, 256);
    k<<<1, 64>>>(x);
    cudaMemcpy(h, x, 256, cudaMemcpyDeviceToHost);
    return h[4] != 1;
}
// CASE past_the_end_and_later_work: out-of-bounds 1
__global__ void k(int* x, int n) { if (threadIdx.x <= n) x[threadIdx.x] = 1; }
__global__ void later(int* x) { *x = 7; }
int main() {
    int *x, *y, h = 0;
    cudaMalloc(&x, 40), cudaMalloc(&y, 4);
    k<<<1, 64>>>(x, 10);
    later<<<1, 1>>>(y);
    if (cudaDeviceSynchronize() == cudaSuccess) return 1;
    cudaMemcpy(&h, y, 4, cudaMemcpyDeviceToHost);
    return h == 7 ? 0 : 1;
}
// CASE shuffle_behind_an_early_return: right
__global__ void k(int* x, int n) {
    if (threadIdx.x >= n) return;
    int v = __shfl_sync(0xffffffff, threadIdx.x, 3);
    x[threadIdx.x] = v + (__ballot_sync(0xffffffff, 1) == (1u << n) - 1);
}
int main() {
    int *x, h[20];
    cudaMalloc(&x, 80);
    k<<<1, 32>>>(x, 20);
    cudaMemcpy(h, x, 80, cudaMemcpyDeviceToHost);
    for (int v : h) if (v != 4) return 1;
    return 0;
}
// CASE lock_that_nobody_opens: no-progress 2
// LAUNCH k 1 64 lock=i32[1]:zeros
__global__ void k(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0);
}
// CASE loop_without_an_end: no-progress 3
// LAUNCH k 1 2 x=i32[64]:none n=3
__global__ void k(int* x, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = n; i != 4; i = i * i) sum += i ^ sum;
    x[threadIdx.x] = sum;
}
// CASE assertions_that_hold: right
#include <assert.h>
__global__ void k(const int* x) { assert(x[1] == 0 && "zeros"); }
int main() {
    int* x;
    cudaMalloc(&x, 8), cudaMemset(x, 0, 8);
    k<<<1, 1>>>(x);
    assert(x != nullptr);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE trap_in_a_kernel: fault 1 __trap()
// LAUNCH k 1 32
__global__ void k() { if (threadIdx.x == 3) __trap(); }
// CASE end_by_exit_without_a_wait: race 2
#include <unistd.h>
__global__ void k(int* x) { *x = threadIdx.x; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(x);
    close(1), close(2);
    _exit(0);
}
// CASE end_by_abort_without_a_wait: race 1
__global__ void k(int* x) { *x = threadIdx.x; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(x);
    abort();
}
// CASE work_of_a_static_object: race 1
__global__ void k(int* x) { *x = threadIdx.x; }
struct S {
    int* x = nullptr;
    ~S() { cudaFree(x); }
} s;
int main() {
    cudaMalloc(&s.x, 4);
    k<<<1, 64>>>(s.x);
}
// CASE fork_of_the_program: right
#include <sys/wait.h>
#include <unistd.h>
__global__ void k(int* x) { *x = threadIdx.x; }
int main() {
    if (fork() == 0) {
        int* x;
        cudaMalloc(&x, 4);
        k<<<1, 64>>>(x);
        cudaDeviceSynchronize();
        exit(0);
    }
    int status = 1;
    wait(&status);
    return status;
}
// CASE host_code_in_device_memory: host-access 5
int main() {
    int* x;
    cudaMalloc(&x, 64);
    cudaMemset(x, 0, 64);
    return x[3];
}
// CASE host_memcpy_of_device_memory: host-access 4
int main() {
    char *x, h[64];
    cudaMalloc(&x, 64), cudaMemset(x, 0, 64);
    memcpy(h, x, 63);
    return h[3];
}
// CASE copy_past_an_allocation: api 4
int main() {
    int *x, h[8] = {};
    cudaMalloc(&x, 16);
    cudaMemcpy(x, h, 32, cudaMemcpyHostToDevice);
    cudaDeviceSynchronize();
}
// CASE streams_without_an_event: stream-race 8
__global__ void k(int* x) { atomicAdd(x, 1); }
int main() {
    int* x;
    cudaStream_t a, b;
    cudaMalloc(&x, 4), cudaMemset(x, 0, 4);
    cudaStreamCreate(&a), cudaStreamCreate(&b);
    k<<<1, 1, 0, a>>>(x);
    k<<<1, 1, 0, b>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE too_deep_a_recursion: stack-overflow 3
// LAUNCH k 1 1 x=i32[1]:none
__device__ __noinline__ int down(int n) {
    volatile char room[4096];
    room[n % 4096] = 1;
    return n == 0 ? 0 : down(n - 1) + room[n % 4096];
}
__global__ void k(int* x) { *x = down(1000000); }
// CASE printing_kernel: right
#include <unistd.h>
__global__ void k(const char* text) { printf("thread %d of %s, %f\n", threadIdx.x, text, 0.5); }
int main() {
    char* text;
    cudaMalloc(&text, 8), cudaMemcpy(text, "a block", 8, cudaMemcpyHostToDevice);
    k<<<1, 4>>>(text);
    _exit(cudaDeviceSynchronize() != cudaSuccess);
}
// CASE plain_read_before_a_loop_of_atomicCAS: right
__device__ void add(double* p, double v) {
    unsigned long long *word = (unsigned long long*)p, old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(__longlong_as_double(assumed) + v));
    } while (assumed != old);
}
__global__ void k(double* x) {
    __shared__ double sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    add(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) add(x, sum);
}
int main() {
    double *x, h = 0;
    cudaMalloc(&x, 8), cudaMemset(x, 0, 8);
    k<<<3, 64>>>(x);
    cudaMemcpy(&h, x, 8, cudaMemcpyDeviceToHost);
    return h != 3 * 2016;
}
// CASE plain_read_before_an_atomicMax: right
__global__ void k(int* best, const int* x) {
    int v = x[blockIdx.x * 64 + threadIdx.x];
    if (v > *best) atomicMax(best, v);
}
int main() {
    int *best, *x, h[256];
    for (int i = 0; i < 256; ++i) h[i] = i * 37 % 256;
    cudaMalloc(&best, 4), cudaMemset(best, 0, 4), cudaMalloc(&x, 1024);
    cudaMemcpy(x, h, 1024, cudaMemcpyHostToDevice);
    k<<<4, 64>>>(best, x);
    cudaMemcpy(h, best, 4, cudaMemcpyDeviceToHost);
    return h[0] != 255;
}
// CASE histogram_without_a_barrier_before_its_use: race 6 atomically changed
__global__ void k(const int* x, int* y) {
    __shared__ int count[64];
    count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[x[threadIdx.x]], 1);
    y[threadIdx.x] = count[threadIdx.x];
}
int main() {
    int *x, *y, h[64];
    for (int i = 0; i < 64; ++i) h[i] = i * 5 % 64;
    cudaMalloc(&x, 256), cudaMalloc(&y, 256);
    cudaMemcpy(x, h, 256, cudaMemcpyHostToDevice);
    k<<<1, 64>>>(x, y);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE plain_write_beside_atomics: race 3
// LAUNCH k 1 34 x=i32[1]:zeros
__global__ void k(int* x) {
    if (threadIdx.x == 33)
        *x = 5;
    else
        atomicAdd(x, 1);
}
// CASE kind_of_copy_that_contradicts_the_pointers: right
__global__ void k(int* x) { x[threadIdx.x] = threadIdx.x; }
int main() {
    int *x, *y, h[64];
    cudaMalloc(&x, 256), cudaMalloc(&y, 256);
    k<<<1, 64>>>(x);
    if (cudaMemcpy(y, x, 256, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
    if (cudaMemcpy(h, y, 256, cudaMemcpyHostToDevice) != cudaSuccess) return 2;
    for (int i = 0; i < 64; ++i) if (h[i] != i) return 3;
    return 0;
}
// CASE names_that_later_standards_took: right
#include <algorithm>
#include <cmath>
using namespace std;
__host__ __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
__global__ void k(float* x) { *x = lerp(1.0f, 3.0f, 0.5f); }
int main() {
    float *x, h = 0;
    cudaMalloc(&x, 4);
    k<<<1, 1>>>(x);
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    return h != 2 || lerp(0.f, 2.f, 0.5f) != 1;
}
// CASE padding_that_nobody_writes: right
struct Small { char c; int n; };
struct Tail { double d; float f; };
struct Large { char c; double d; short s; int n; int more[5]; char last; };
template <class T> struct Pair { T first, second; };
__global__ void make(Small* small, Tail* tail, Large* large, Pair<Small>* pairs) {
    int i = threadIdx.x;
    small[i].c = 'a', small[i].n = i;
    tail[i].d = i, tail[i].f = 1;
    Large& l = large[i];
    l.c = l.last = 'b', l.d = i, l.s = 3, l.n = i;
    for (int& more : l.more) more = i;
    pairs[i].first.c = 'c', pairs[i].first.n = 1, pairs[i].second.c = 'd', pairs[i].second.n = i;
}
__global__ void move(Small* small, Tail* tail, Large* large, Pair<Small>* pairs, int* sum) {
    __shared__ Small tile[32];
    int i = threadIdx.x;
    tile[i] = small[i + 32], small[i] = tile[i];
    tail[i] = tail[i + 32], large[i] = large[i + 32], pairs[i] = pairs[i + 32];
    Large own = large[i];
    sum[i] = small[i].n + (int)tail[i].d + own.n + pairs[i].second.n + own.more[own.s];
}
int main() {
    Small *small, h[64];
    Tail* tail;
    Large* large;
    Pair<Small>* pairs;
    int *sum, sums[32];
    cudaMalloc(&small, 64 * sizeof *small), cudaMalloc(&tail, 64 * sizeof *tail), cudaMalloc(&large, 64 * sizeof *large);
    cudaMalloc(&pairs, 64 * sizeof *pairs), cudaMalloc(&sum, sizeof sums);
    make<<<1, 64>>>(small, tail, large, pairs);
    move<<<1, 32>>>(small, tail, large, pairs, sum);
    cudaMemcpy(sums, sum, sizeof sums, cudaMemcpyDeviceToHost);
    cudaMemcpy(h, small, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; ++i) if (sums[i] != 5 * (i + 32) || h[i].n != i + 32) return 1;
    return 0;
}
// CASE member_that_nobody_writes: uninitialized 3 never written
struct Mixed { int a; char c; int n, more[4]; };
__global__ void k(Mixed* x) { if (threadIdx.x == 0) x[0].a = 1, x[0].c = 'c', x[0].more[0] = 1; }
__global__ void move(Mixed* x) { x[1] = x[0]; }
int main() {
    Mixed* x;
    cudaMalloc(&x, 2 * sizeof *x);
    k<<<1, 32>>>(x);
    move<<<1, 1>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE half_of_a_vector_that_nobody_writes: uninitialized 2
__global__ void k(float* x) { x[2 * threadIdx.x] = 1; }
__global__ void move(float2* x) { x[1] = x[0]; }
int main() {
    float* x;
    cudaMalloc(&x, 256);
    k<<<1, 32>>>(x);
    move<<<1, 1>>>((float2*)x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE assertion_in_a_template: assert 2 of k<int>(int*) failed
#include <cassert>
template <class T> __global__ void k(T* x) { auto check = [&](T v) { return v == 4; }; assert(check(x[0])); }
int main() {
    int* x;
    cudaMalloc(&x, 8), cudaMemset(x, 0, 8);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() == cudaErrorAssert ? 0 : 1;
}
// CASE cooperative_grid_as_large_as_fits: right
#include <cooperative_groups.h>
__global__ void k(int* x) {
    atomicAdd(x, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) x[1 + blockIdx.x] = *x;
}
int main() {
    int each = 0, *x, count = 0;
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, k, 1024, 0);
    int blocks = each * p.multiProcessorCount;
    cudaMallocManaged(&x, 4 + 4 * blocks);
    x[0] = 0;
    void* arguments[] = {&x};
    if (cudaLaunchCooperativeKernel((void*)k, blocks, 1024, arguments) != cudaSuccess) return 1;
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    for (int i = 1; i <= blocks; ++i) count += x[i] == 1024 * blocks;
    return blocks < 2 || count != blocks;
}
