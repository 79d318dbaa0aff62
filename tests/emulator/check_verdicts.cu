// clang-format off
// Programs with one mistake each, and their sound twins, for frontend_programs_slow_test.cpp; frontend_programs.cu says how they are written. They
// are about what a program of anybody's does beside its mistake: it ignores errors, ends by _exit or abort, forks, or never ends.

// CASE race_without_a_barrier: race 3
__global__ void k(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
int main() {
    float* x;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE race_with_a_barrier: right
__global__ void k(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
int main() {
    float* x;
    cudaMalloc(&x, 256);
    cudaMemset(x, 0, 256);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
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
// CASE shared_memory_that_nobody_writes: uninitialized 3 `tile`
__global__ void k(float* x) {
    __shared__ float tile[64];
    x[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    float* x;
    cudaMalloc(&x, 256);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
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
// CASE barrier_behind_an_early_return: right
__global__ void k(int* x, int n) {
    if (threadIdx.x >= n) return;
    x[threadIdx.x] = 1;
    __syncthreads();
    x[n - 1 - threadIdx.x] += 1;
}
int main() {
    int *x, h[40];
    cudaMalloc(&x, 160);
    k<<<1, 64>>>(x, 40);
    cudaMemcpy(h, x, 160, cudaMemcpyDeviceToHost);
    for (int v : h) if (v != 2) return 1;
    return 0;
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
// CASE barriers_of_two_branches: barrier 2
__global__ void k(int* x) {
    if (threadIdx.x < 32) __syncthreads();
    else
        __syncthreads();
    x[threadIdx.x] = 1;
}
int main() {
    int* x;
    cudaMalloc(&x, 256);
    k<<<1, 64>>>(x);
    return cudaDeviceSynchronize() != cudaSuccess;
}
// CASE volatile_flag: right
__global__ void k(volatile int* flag, int* data) {
    if (threadIdx.x == 0) { while (*flag == 0); __threadfence(); data[1] = data[0]; }
    if (threadIdx.x == 40) { data[0] = 5; __threadfence(); *flag = 1; }
}
int main() {
    int *flag, *data, h = 0;
    cudaMalloc(&flag, 4), cudaMalloc(&data, 8), cudaMemset(flag, 0, 4);
    k<<<1, 64>>>(flag, data);
    cudaMemcpy(&h, data + 1, 4, cudaMemcpyDeviceToHost);
    return h != 5;
}
// CASE volatile_flag_that_nobody_sets: no-progress 2
__global__ void k(volatile int* flag) {
    while (*flag == 0);
}
int main() {
    int* flag;
    cudaMalloc(&flag, 4), cudaMemset(flag, 0, 4);
    k<<<1, 64>>>(flag);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE lock_that_nobody_opens: no-progress 2
__global__ void k(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0);
}
int main() {
    int* lock;
    cudaMalloc(&lock, 4), cudaMemset(lock, 0, 4);
    k<<<1, 64>>>(lock);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE loop_without_an_end: no-progress 3
__global__ void k(int* x, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = n; i != 4; i = i * i) sum += i ^ sum;
    x[threadIdx.x] = sum;
}
int main() {
    int* x;
    cudaMalloc(&x, 256);
    k<<<1, 2>>>(x, 3);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE assertion_in_a_kernel: assert 2 x[1] == 4
#include <cassert>
__global__ void k(const int* x) { assert(x[1] == 4); }
int main() {
    int* x;
    cudaMalloc(&x, 8), cudaMemset(x, 0, 8);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() == cudaErrorAssert ? 0 : 1;
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
__global__ void k() { if (threadIdx.x == 3) __trap(); }
int main() {
    k<<<1, 32>>>();
    return cudaDeviceSynchronize() == cudaSuccess;
}
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
// CASE end_by_return_without_a_wait: race 1
__global__ void k(int* x) { *x = threadIdx.x; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 64>>>(x);
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
// CASE too_large_a_block: bad-launch 5 2048
__global__ void k(int* x) { *x = 1; }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 2048>>>(x);
    return cudaGetLastError() == cudaSuccess;
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
__device__ __noinline__ int down(int n) {
    volatile char room[4096];
    room[n % 4096] = 1;
    return n == 0 ? 0 : down(n - 1) + room[n % 4096];
}
__global__ void k(int* x) { *x = down(1000000); }
int main() {
    int* x;
    cudaMalloc(&x, 4);
    k<<<1, 1>>>(x);
    return cudaDeviceSynchronize() == cudaSuccess;
}
// CASE printing_kernel: right
#include <unistd.h>
__global__ void k(const char* text) { printf("thread %d of %s, %f\n", threadIdx.x, text, 0.5); }
int main() {
    char* text;
    cudaMalloc(&text, 8), cudaMemcpy(text, "a block", 8, cudaMemcpyHostToDevice);
    k<<<1, 4>>>(text);
    _exit(cudaDeviceSynchronize() != cudaSuccess);
}
