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
    const int t = threadIdx.x;
    x[t + 32 * blockIdx.x] = piece<int>()[t] + (int)piece<float>()[t] + other()[t] + sum()[t];
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
__global__ void __launch_bounds__(128, 2) k(int* __restrict__ x, const int* __restrict__ y) {
    *x = (Pair(*y, 2) + Pair(3, 4)).a + square(3) * arch();
}
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
