// The emulated device's memory: allocation, cost and protection.
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string_view>

#include "core/sanitizers.h"
#include "kernels/emulator/launch.h"
#include "kernels/emulator/run/checker_hooks.h"
#include "kernels/emulator/run/memory.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

/// The resident memory of this process in bytes.
std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, pages = 0;
    file >> total >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(EmulatorMemory, AlignsAndSeparatesAllocations) {
    std::vector<std::byte*> starts;
    for (const std::size_t bytes : {1, 255, 256, 4096, 4097, 100000}) starts.push_back(allocate(bytes, "here"));
    for (std::byte* const start : starts) {
        ASSERT_NE(start, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 256, 0u);
        EXPECT_TRUE(is_device_memory(start));
        for (std::byte* const other : starts)
            EXPECT_TRUE(other <= start || other >= nearest_allocation(start)->start + nearest_allocation(start)->bytes + 256);
    }
    EXPECT_FALSE(is_device_memory(&starts));
    EXPECT_EQ(describe(starts[1]), "0 bytes into an allocation of 255 bytes made at here");
    EXPECT_EQ(describe(starts[1] + 256), "1 byte past the end of an allocation of 255 bytes made at here");
    EXPECT_EQ(describe(&starts), "an address of the host");
    for (std::byte* const start : starts) EXPECT_TRUE(release(start));
    EXPECT_FALSE(release(starts[0]));
    EXPECT_FALSE(release(starts[3] + 1));
    EXPECT_EQ(describe(starts[1] + 3), "3 bytes into an allocation of 255 bytes made at here, which was freed");
}

TEST(EmulatorMemory, IsNaNUntilItIsWritten) {
    if (checker::kEnabled) GTEST_SKIP() << "reading it is reported";
    for (const std::size_t n : {std::size_t{10}, std::size_t{1} << 20}) {  // filled, and mapped from a file
        DeviceArray<float> x(n);
        const std::vector<float> values = x.values();
        EXPECT_TRUE(std::isnan(values[0]));
        EXPECT_TRUE(std::isnan(values[n / 2]));
        EXPECT_TRUE(std::isnan(values[n - 1]));
    }
}

TEST(EmulatorMemory, ReportsACopyOfUnwrittenMemory) {
    if (!checker::kEnabled) GTEST_SKIP() << "only a checked build knows what was written";
    DeviceArray<float> x(100);
    expect_ok(cudaMemset(x, 0, 200));
    std::vector<float> back(100);
    expect_ok(cudaMemcpy(back.data(), x, 200, cudaMemcpyDeviceToHost));
    expect_report(cudaMemcpy(back.data(), x, 204, cudaMemcpyDeviceToHost),
                  "never written: 200 bytes into an allocation of 400 bytes");
}

TEST(EmulatorMemory, DoesNotReuseAddressesSoon) {
    const std::byte* const first = allocate(1000, "here");
    release(first);
    for (int i = 0; i < 1000; ++i) {
        std::byte* const next = allocate(1000, "here");
        ASSERT_NE(next, first);
        release(next);
    }
    EXPECT_TRUE(nearest_allocation(first)->freed);
}

TEST(EmulatorMemory, GivesFreedPagesBackLarge) {
    const std::size_t before = resident();
    for (int i = 0; i < 12; ++i) {
        DeviceArray<char> x(16 << 20);
        expect_ok(cudaMemset(x, 1, 16 << 20));
    }
    EXPECT_LT(resident(), before + (std::size_t{64} << 20));
}

TEST(EmulatorMemory, RunsOut) {
    std::size_t free = 0, total = 0;
    expect_ok(cudaMemGetInfo(&free, &total));
    EXPECT_LE(free, total);
    void *most = nullptr, *more = nullptr;
    expect_ok(cudaMalloc(&most, free));  // costs nothing, because it is never touched
    expect_refused(cudaMalloc(&more, 1 << 20), cudaErrorMemoryAllocation, "out of memory: wanted 1048576 bytes");
    EXPECT_EQ(more, nullptr);
    expect_ok(cudaFree(most));
    expect_ok(cudaMalloc(&more, 1 << 20));
    expect_ok(cudaFree(more));
    expect_ok(cudaMalloc(&more, 0));
    EXPECT_EQ(more, nullptr);
    expect_ok(cudaFree(nullptr));
}

// If the system refuses memory, so does the device: without an exception, and without counting the memory as used.
TEST(EmulatorMemory, RunsOutWhenTheSystemDoes) {
#if defined(HEDDLE_ADDRESS_SANITIZER) || defined(HEDDLE_THREAD_SANITIZER)
    GTEST_SKIP() << "a sanitizer's own memory would run out first";
#endif
    DeviceArray<float> x(32, 1.0f);
    const std::size_t used = memory_use().used;
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
    const rlimit none = {1, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &none), 0);
    void* pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, 900000);
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
    if (error == cudaSuccess) {
        cudaFree(pointer);
        GTEST_SKIP() << "this system counts no pages that become writable";
    }
    expect_refused(error, cudaErrorMemoryAllocation, "out of memory");
    EXPECT_EQ(pointer, nullptr);
    EXPECT_EQ(memory_use().used, used);
    DeviceArray<float> y(225000, 2.0f);
    EXPECT_EQ(y.values(), std::vector<float>(225000, 2.0f));
    EXPECT_EQ(x.values(), std::vector<float>(32, 1.0f));
}

TEST(EmulatorMemory, TakesBackWhatIsFreedInAStreamsOrder) {
    const Stream stream;
    std::size_t free = 0, total = 0;
    expect_ok(cudaMemGetInfo(&free, &total));
    const std::size_t bytes = free / 2 + 1;
    for (int i = 0; i < 3; ++i) {
        float* x = nullptr;
        expect_ok(cudaMallocAsync(&x, bytes, stream));  // the one before is freed by then
        expect_ok(cudaMemsetAsync(x, 0, 128, stream));
        expect_ok(add(x, 1, 32, stream));
        expect_ok(cudaFreeAsync(x, stream));
    }
    expect_ok(cudaStreamSynchronize(stream));
    std::size_t free_again = 0;
    expect_ok(cudaMemGetInfo(&free_again, &total));
    EXPECT_EQ(free_again, free);
}

TEST(EmulatorMemory, RefusesToFreeWhatIsNot) {
    float* x = nullptr;
    float host = 0;
    expect_ok(cudaMalloc(&x, 40));
    expect_refused(cudaFree(x + 1), cudaErrorInvalidValue,
                   "not the start of an allocation: 4 bytes into an allocation of 40 bytes");
    expect_refused(cudaFree(&host), cudaErrorInvalidValue, "an address of the host");
    expect_ok(cudaFree(x));
    expect_refused(cudaFree(x), cudaErrorInvalidValue, "freed twice");
    expect_refused(cudaFreeHost(&host), cudaErrorInvalidValue, "not the start of pinned memory");
    expect_refused(cudaHostAlloc(reinterpret_cast<void**>(&x), 8, 8), cudaErrorInvalidValue, "no such flags: 8");
}

TEST(EmulatorMemory, ReportsFreedMemoryInStreams) {
    in_orders([] {
        const Stream stream;
        float *x = nullptr, *y = nullptr;
        expect_ok(cudaMalloc(&x, 128));
        expect_ok(cudaMalloc(&y, 128));
        expect_ok(cudaMemsetAsync(x, 0, 128, stream));
        expect_ok(cudaFreeAsync(x, stream));
        expect_ok(cudaMemsetAsync(x, 0, 128, stream));  // allocated at the call, but not when it runs
        expect_report(cudaStreamSynchronize(stream), "which was freed");
        expect_refused(cudaMemset(x, 0, 128), cudaErrorInvalidValue, "which was freed");
        expect_ok(add(x, 1, 32, stream));
        expect_report(cudaStreamSynchronize(stream), "an argument points to freed memory");
        expect_ok(cudaMemset(y, 0, 128));
        expect_ok(cudaDeviceSynchronize());
        expect_ok(copy_through({1, x, y}, stream));
        expect_report(cudaStreamSynchronize(stream), "an argument points to freed memory");
        expect_ok(cudaFree(y));
    });
}

// The arguments are searched word by word, so half of an old pointer beside an int would look like one.
TEST(EmulatorMemory, ClearsThePaddingOfArguments) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    struct Padded {
        const float* x;
        int n;
    } argument;
    std::memset(&argument, 0xff, sizeof argument);
    argument.x = nullptr;
    argument.n = 1;
    const LaunchRequest made = request(
        {}, +[](Padded) {}, argument);
    const std::string_view bytes(static_cast<const char*>(made.arguments.get()), made.argument_bytes);
    EXPECT_EQ(bytes.find("\xff\xff\xff\xff"), std::string_view::npos);
    // GCC 12 clears half of the first pointer of such a structure.
    struct Table {
        struct {
            std::uint64_t value;
            std::uint64_t size;
        } rows[8];
        int count;
        const float* x;
    } table = {};
    table.rows[0].value = 0x7777777777777777;
    const LaunchRequest large = request(
        {}, +[](Table) {}, table);
    const std::string_view all(static_cast<const char*>(large.arguments.get()), large.argument_bytes);
    EXPECT_NE(all.find("wwwwwwww"), std::string_view::npos);
    return;
#endif
#endif
    GTEST_SKIP() << "this compiler does not clear padding";
}

TEST(EmulatorMemory, OrdersAllocationsInStreams) {
    in_orders([] {
        const Stream first, second;
        float* x = nullptr;
        expect_ok(cudaMallocAsync(&x, 128, first));
        expect_ok(cudaMemsetAsync(x, 0, 128, second));  // in the second stream it does not exist yet
        expect_report(cudaDeviceSynchronize(), "race between streams");
        expect_ok(cudaMemsetAsync(x, 0, 128, second));
        expect_ok(cudaFreeAsync(x, first));  // the fill may run later
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
        EXPECT_TRUE(nearest_allocation(x)->freed);
    });
}

TEST(EmulatorMemory, AKernelMustStayInIt) {
    const Stream stream;
    DeviceArray<float> x(100, 0.0f);
    expect_ok(store(x, 99, stream));
    expect_ok(cudaStreamSynchronize(stream));
    // 16 bytes further the closed page begins after the allocation's padding: detected in every build.
    expect_ok(store(x, 128, stream));
    expect_report(cudaStreamSynchronize(stream), "past the end of ");
    expect_ok(store(x, -2000, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure);
    EXPECT_EQ(x.values()[99], 1);
}

TEST(EmulatorMemory, LargeSparseTensorsCostWhatIsTouched) {
    // 12 GB, of which three blocks write 128 bytes each, two of them beyond 2^31 elements.
    const std::size_t before = resident();
    const std::int64_t stride = std::int64_t{1} << 20;
    const unsigned blocks = 3072;
    DeviceArray<float> x(static_cast<std::size_t>(stride) * blocks);
    const Stream stream;
    {
        const ChosenBlocks chosen({0, 2500, 3071});
        expect_ok(number_blocks(x, stride, blocks, stream));  // runs later, but still on these blocks only
    }
    expect_ok(cudaStreamSynchronize(stream));
    float value[32];
    for (const std::int64_t block : {0, 2500, 3071}) {
        expect_ok(cudaMemcpy(value, x + stride * block, sizeof value, cudaMemcpyDeviceToHost));
        EXPECT_EQ(value[0], static_cast<float>(block));
        EXPECT_EQ(value[31], static_cast<float>(block));
    }
    if (!checker::kEnabled) {
        expect_ok(cudaMemcpy(value, x + stride * 2501, sizeof value, cudaMemcpyDeviceToHost));
        EXPECT_TRUE(std::isnan(value[0]));
    }
    EXPECT_LT(resident(), before + (std::size_t{64} << 20));
}

// ---- memory of the host ----

using EmulatorMemoryDeathTest = testing::Test;

TEST(EmulatorMemoryDeathTest, HostCodeMustNotTouchIt) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    DeviceArray<float> x(100, 1.0f);
    const auto* const device = static_cast<volatile float*>(static_cast<float*>(x));
    EXPECT_DEATH(
        static_cast<void>(device[3]),
        "host code touched device memory: 12 bytes into an allocation of 400 bytes made at .*; copy it to the host first");
    {
        const Opened opened;
        EXPECT_EQ(device[3], 1);
    }
    float* freed = nullptr;
    expect_ok(cudaMalloc(&freed, 8));
    expect_ok(cudaFree(freed));
    EXPECT_DEATH(*static_cast<volatile float*>(freed) = 1, "which was freed");
}

TEST(EmulatorMemoryDeathTest, NotInAHostFunctionEither) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    DeviceArray<float> x(100, 1.0f);
    const Stream stream;
    const auto touch = [](void* data) { *static_cast<volatile float*>(data) = 1; };
    EXPECT_DEATH(
        {
            cudaMemsetAsync(x, 0, 400, stream);
            cudaLaunchHostFunc(stream, touch, x);
            cudaStreamSynchronize(stream);
        },
        "host code touched device memory");
}

TEST(EmulatorMemoryDeathTest, TheSizeMustBeOne) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    // Each death test is a separate process, in which the device's memory has not been queried yet.
    const auto total = [](const char* size) {
        setenv("HEDDLE_EMULATOR_MEMORY", size, 1);
        try {
            std::fprintf(stderr, "total %zu\n", memory_use().total);
        } catch (const std::runtime_error& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        std::exit(1);
    };
    EXPECT_EXIT(total("500M"), testing::ExitedWithCode(1), "total 524288000");
    EXPECT_EXIT(total("1.5G"), testing::ExitedWithCode(1), "total 1610612736");
    EXPECT_EXIT(total("much"), testing::ExitedWithCode(1), "HEDDLE_EMULATOR_MEMORY=much: wanted a size");
}

}  // namespace
}  // namespace heddle::emulator
