// What rewritten CUDA C++ calls (kernels/emulator/cuda): launches of closures, shared memory by tags, symbols. The kernels stand
// here as the front end would write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kernels/emulator/cuda/launch.h"
#include "kernels/emulator/cuda/shared.h"
#include "kernels/emulator/cuda/symbols.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/kernel.h"

namespace {

namespace cuda = heddle::emulator::cuda;
using testing::HasSubstr;

// Device memory of `count` values that are zero, and their copy on the host.
template <class T>
class Values {
  public:
    explicit Values(std::size_t count) : count_(count) {
        cudaMalloc(&device_, count * sizeof(T));
        cudaMemset(device_, 0, count * sizeof(T));
    }
    ~Values() { cudaFree(device_); }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    T* device() const { return device_; }
    std::vector<T> host() const {
        std::vector<T> values(count_);
        EXPECT_EQ(cudaMemcpy(values.data(), device_, count_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess)
            << cudaGetErrorString(cudaGetLastError());
        return values;
    }

  private:
    std::size_t count_;
    T* device_ = nullptr;
};

// The report of the work that is queued.
std::string report() {
    const cudaError_t error = cudaDeviceSynchronize();
    return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

struct Padded {
    char letter;
    int number;
    int* out;
};
void by_value(Padded p, int n) {
    return cuda::launch("by_value", cuda::Kernel<&by_value>::registration(), [=]() mutable {
        n += static_cast<int>(threadIdx.x);  // each thread changes its own copy
        p.number *= 2;
        p.out[threadIdx.x] = n + p.number + p.letter;
    });
}

TEST(CudaNames, EachThreadHasItsOwnParameters) {
    const Values<int> out(64);
    cuda::configure(1, 64);
    by_value({1, 50, out.device()}, 1000);
    const std::vector<int> values = out.host();
    for (int i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 1000 + i + 100 + 1);
}

// A parameter whose copies the host counts: as on a GPU, threads get its bytes.
struct Counted {
    explicit Counted(int* counter) : copies(counter) {}
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    ~Counted() { --*copies; }
    Counted& operator=(const Counted&) = delete;
    int* copies;
};
void counted(Counted c, char* same, const int* counter) {
    return cuda::launch("counted", cuda::Kernel<&counted>::registration(),
                        [=]() mutable { same[threadIdx.x] = c.copies == counter; });
}

TEST(CudaNames, ParametersWithConstructorsAreCopiedByTheHostAlone) {
    const Values<char> same(32);
    int copies = 0;
    {
        const Counted one(&copies);
        copies = 1;
        cuda::configure(1, 32);
        counted(one, same.device(), &copies);
        EXPECT_EQ(copies, 2);  // the frozen one
        EXPECT_THAT(same.host(), testing::Each(1));
    }
    EXPECT_EQ(copies, 0);
}

template <class T, int N>
void filled(T* x) {
    return cuda::launch("filled", cuda::Kernel<static_cast<void (*)(T*)>(&filled<T, N>), 64, 2>::registration(),
                        [=]() mutable { x[blockIdx.x * blockDim.x + threadIdx.x] = N; });
}

TEST(CudaNames, KernelsAreKnownByTheirAddresses) {
    const auto* const address = reinterpret_cast<const void*>(&filled<float, 7>);
    const cuda::Registration* const kernel = cuda::find_kernel(address);
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->most_threads, 64u);
    EXPECT_EQ(kernel->least_blocks, 2u);
    EXPECT_EQ(kernel->parameter_bytes, sizeof(float*));
    EXPECT_EQ(cuda::find_kernel(&kernel), nullptr);
    const char* name = nullptr;
    ASSERT_EQ(cudaFuncGetName(&name, address), cudaSuccess);
    EXPECT_STREQ(name, "filled<float, 7>");

    const Values<float> x(8);
    float* pointer = x.device();
    void* arguments[] = {&pointer};
    cuda::Configuration configuration;
    configuration.grid = 2;
    configuration.block = 4;
    EXPECT_EQ(cuda::launch_by_address(address, configuration, arguments), cudaSuccess);
    EXPECT_THAT(x.host(), testing::Each(7.0f));
    EXPECT_EQ(cuda::launch_by_address(&pointer, configuration, arguments), cudaErrorInvalidDeviceFunction);
    static_cast<void>(cudaGetLastError());
}

TEST(CudaNames, WrongLaunchesAreErrorsAndThrowNothing) {
    const Values<float> x(65);
    filled<float, 1>(x.device());
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidConfiguration), HasSubstr("it is called as a function"));
    cuda::configure(1, 65);
    filled<float, 1>(x.device());
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidValue), HasSubstr("64 are the most that its __launch_bounds__ allows"));
    cuda::configure(1, 2048);
    by_value({}, 1);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    cuda::configure(1, 1, 64 * 1024);
    by_value({}, 1);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidValue), HasSubstr("cudaFuncAttributeMaxDynamicSharedMemorySize"));
    EXPECT_THAT(x.host(), testing::Each(0.0f));
}

void one(int* x) {
    return cuda::launch("one", cuda::Kernel<&one>::registration(), [=]() mutable { *x += 1; });
}
int* after_one(int* x) {
    cuda::configure(1, 1);
    one(x);
    return x;
}
void ten(int* x) {
    return cuda::launch("ten", cuda::Kernel<&ten>::registration(), [=]() mutable { x[threadIdx.x] += 10; });
}

TEST(CudaNames, ALaunchMayStandInTheArgumentsOfAnother) {
    const Values<int> x(2);
    cuda::configure(1, 2);
    ten(after_one(x.device()));
    EXPECT_THAT(x.host(), testing::ElementsAre(11, 10));
}

void parent(int* x) {
    return cuda::launch("parent", cuda::Kernel<&parent>::registration(), [=]() mutable { after_one(x); });
}
void caller(int* x) {
    return cuda::launch("caller", cuda::Kernel<&caller>::registration(), [=]() mutable { one(x); });
}

TEST(CudaNames, KernelsLaunchNoKernels) {
    const Values<int> x(1);
    cuda::configure(1, 1);
    parent(x.device());
    EXPECT_THAT(report(), HasSubstr("launches another kernel at tests/emulator/emulator_cuda_names_test.cpp:"));
    cuda::configure(1, 1);
    caller(x.device());
    EXPECT_THAT(report(), HasSubstr("calls the kernel one as a function"));
}

template <class T>
T* tile() {
    struct Own {
        T tile[2][4];
    };
    auto& tile = cuda::shared<decltype(Own::tile), cuda::Tag<Own, 0>>("tile");
    return &tile[0][0];
}
void tiles(void** seen, int* sums) {
    return cuda::launch("tiles", cuda::Kernel<&tiles>::registration(), [=]() mutable {
        struct Own {
            alignas(128) int first;
            int second;
        };
        auto& second = cuda::shared<decltype(Own::second), cuda::Tag<Own, 1>>("second");
        using Bytes = unsigned char[];
        auto& bytes = cuda::dynamic_shared<Bytes>("bytes");
        int* const ints = tile<int>();
        float* const floats = tile<float>();
        void* const all[] = {&second, bytes, ints, floats};
        for (int i = 0; i < 4; ++i) seen[threadIdx.x * 4 + static_cast<unsigned>(i)] = all[i];
        if (threadIdx.x == 0) {
            sums[0] = ints[7] == -1 && bytes[15] == 255;  // nothing is constructed
            second = 0;
        }
        __syncthreads();
        ints[threadIdx.x] = static_cast<int>(threadIdx.x);
        floats[threadIdx.x] = 0.5f;
        bytes[threadIdx.x] = 3;
        atomicAdd(&second, 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 0; i < 8; ++i) sums[1] += ints[i] + static_cast<int>(2 * floats[i]) + bytes[i];
            sums[2] = second;
        }
    });
}

TEST(CudaNames, SharedMemoryBelongsToItsDeclaration) {
    const Values<void*> seen(8 * 4);
    const Values<int> sums(3);
    cuda::configure(1, 8, 16);
    tiles(seen.device(), sums.device());
    EXPECT_THAT(sums.host(), testing::ElementsAre(1, 28 + 8 + 24, 8));
    const std::vector<void*> addresses = seen.host();
    EXPECT_EQ(std::set<void*>(addresses.begin(), addresses.end()).size(), 4u);  // the same ones for all threads
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(addresses[0]) % 128, 0u);
    EXPECT_EQ(cuda::find_kernel(reinterpret_cast<const void*>(&tiles))->static_shared, 4 + 32 + 32u);
}

void co_resident(int* sums) {
    return cuda::launch("co_resident", cuda::Kernel<&co_resident>::registration(), [=]() mutable {
        struct Own {
            int count;
        };
        auto& count = cuda::shared<decltype(Own::count), cuda::Tag<Own, 0>>("count");
        if (threadIdx.x == 0) count = static_cast<int>(blockIdx.x) * 100;
        __syncthreads();
        heddle::emulator::grid_barrier();
        atomicAdd(&count, 1);
        heddle::emulator::grid_barrier();
        if (threadIdx.x == 0) sums[blockIdx.x] = count;
    });
}

TEST(CudaNames, BlocksThatRunTogetherHaveTheirOwnSharedMemory) {
    const Values<int> sums(4);
    cuda::Configuration configuration;
    configuration.grid = 4;
    configuration.block = 32;
    configuration.cooperative = true;
    cuda::configure(configuration);
    co_resident(sums.device());
    EXPECT_THAT(sums.host(), testing::ElementsAre(32, 132, 232, 332));
}

template <int N>
void large(int write) {
    return cuda::launch("large", cuda::Kernel<static_cast<void (*)(int)>(&large<N>)>::registration(), [=]() mutable {
        struct Own {
            char much[N];
        };
        auto& much = cuda::shared<decltype(Own::much), cuda::Tag<Own, 0>>("much");
        volatile char* const bytes = much;
        bytes[write] = 0;
    });
}

TEST(CudaNames, StaticSharedMemoryHasALimitAndRedZones) {
    cuda::configure(1, 1);
    large<48 * 1024>(0);
    EXPECT_EQ(report(), "");
    cuda::configure(1, 1);
    large<48 * 1024 + 1>(0);
    EXPECT_THAT(report(), HasSubstr("takes the shared memory `much` of 49153 bytes"));
    cuda::configure(1, 1);
    large<16>(17);
    EXPECT_THAT(report(), HasSubstr("the byte 1 behind the shared memory `much` of 16 bytes was written"));
    cuda::configure(1, 1);
    large<32>(-2);
    EXPECT_THAT(report(), HasSubstr("the byte 2 before the shared memory `much` of 32 bytes was written"));
}

float table[4] = {1, 2, 3, 4};
const cuda::Symbol table_symbol(table, sizeof table, "table", cuda::Symbol::constant);
int count = 5;
const cuda::Symbol count_symbol(count, sizeof count, "count", cuda::Symbol::device);
void uses_symbols(float* sum) {
    return cuda::launch("uses_symbols", cuda::Kernel<&uses_symbols>::registration(), [=]() mutable {
        *sum = table[0] + table[1] + table[2] + table[3];
        ++count;
    });
}

TEST(CudaNames, SymbolsAreFoundByReferenceAndByName) {
    const float changed[] = {20, 30};
    ASSERT_EQ(cudaMemcpyToSymbol(table, changed, sizeof changed, 4), cudaSuccess);
    ASSERT_EQ(cudaMemcpyToSymbolAsync("table", changed, 4, 12, cudaMemcpyDefault), cudaSuccess);
    const Values<float> sum(1);
    cuda::configure(1, 1);
    uses_symbols(sum.device());
    EXPECT_THAT(sum.host(), testing::ElementsAre(1 + 20 + 30 + 20));

    int now = 0;
    ASSERT_EQ(cudaMemcpyFromSymbol(&now, count, sizeof now), cudaSuccess);
    EXPECT_EQ(now, 6);
    void* address = nullptr;
    std::size_t bytes = 0;
    ASSERT_EQ(cudaGetSymbolAddress(&address, count), cudaSuccess);
    ASSERT_EQ(cudaMemset(address, 0, 4), cudaSuccess);
    ASSERT_EQ(cudaMemcpyFromSymbolAsync(&now, "count", sizeof now), cudaSuccess);
    EXPECT_EQ(now, 0);
    ASSERT_EQ(cudaGetSymbolSize(&bytes, table), cudaSuccess);
    EXPECT_EQ(bytes, sizeof table);

    EXPECT_EQ(cudaMemcpyToSymbol(table, changed, 8, 12), cudaErrorInvalidValue);
    EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidValue), HasSubstr("8 bytes from byte 12 of the variable `table` of 16 bytes"));
    EXPECT_EQ(cudaMemcpyToSymbol(changed, changed, 8), cudaErrorInvalidSymbol);
    EXPECT_EQ(cudaGetSymbolAddress(&address, "tables"), cudaErrorInvalidSymbol);
    EXPECT_THAT(cudaGetErrorString(cudaErrorInvalidSymbol),
                HasSubstr("`tables` is no __device__, __constant__ or __managed__ variable"));
    EXPECT_EQ(cudaMemcpyFromSymbol(&now, count, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
    static_cast<void>(cudaGetLastError());
}

}  // namespace
