// clang-format off
// More programs for frontend_programs_slow_test.cpp, in the form of frontend_programs.cu: libraries, memory of host and device, blocks
// that wait for each other.

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
    cudaMalloc(&states, 64 * sizeof(curandState)); cudaMalloc(&others, 64 * sizeof(curandStatePhilox4_32_10_t));
    cudaMallocManaged(&sums, 4096);
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
