// The emulated CUDA runtime: errors, the device, and the order of streams and events.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "core/sanitizers.h"
#include "kernels/emulator/run/memory.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

// ---- the device and its errors ----

TEST(EmulatorRuntime, NamesItselfAndItsLimits) {
    int count = 0, version = 0, value = 0;
    expect_ok(cudaGetDeviceCount(&count));
    EXPECT_EQ(count, 1);
    cudaDeviceProp properties;
    expect_ok(cudaGetDeviceProperties(&properties, 0));
    EXPECT_EQ(std::string(properties.name), std::string("Heddle emulator (") + profile().name + ")");
    EXPECT_EQ(properties.sharedMemPerBlockOptin, profile().shared_per_block);
    expect_ok(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    EXPECT_EQ(value, profile().major);
    expect_ok(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0));
    EXPECT_EQ(value, 65535);
    expect_ok(cudaRuntimeGetVersion(&version));
    EXPECT_GE(version, 12000);
    expect_refused(cudaSetDevice(1), cudaErrorInvalidDevice, "one device");
    expect_refused(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(127), 0), cudaErrorInvalidValue, "127");
}

TEST(EmulatorRuntime, RemembersTheLastError) {
    EXPECT_EQ(cudaSetDevice(7), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
}

TEST(EmulatorRuntime, RefusesAGeometryAtTheLaunch) {
    const Stream stream;
    expect_refused(launch_too_many(stream), cudaErrorInvalidConfiguration, "70000");
    expect_ok(cudaStreamSynchronize(stream));
}

TEST(EmulatorRuntime, TellsAKernelsReportToTheOneThatWaits) {
    in_orders([] {
        const Stream stream;
        DeviceArray<float> x(32, 1.0f);
        expect_ok(require_even(3, stream));
        expect_ok(add(x, 1, 32, stream));  // dropped, because it comes after the failure
        expect_report(cudaStreamSynchronize(stream), "the number must be even");
        const std::string report = cudaGetErrorString(cudaErrorLaunchFailure);
        EXPECT_NE(report.find("require_even_kernel"), std::string::npos) << report;
        EXPECT_NE(report.find("emulator_runtime_kernels.cu:"), std::string::npos) << report;
        EXPECT_EQ(x.values()[0], 1);
        expect_ok(add(x, 1, 32, stream));  // the device still works
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(x.values()[0], 2);
    });
}

TEST(EmulatorRuntime, KeepsAReportThatFreeingFinds) {
    const Stream stream;
    float* x = nullptr;
    expect_ok(cudaMalloc(&x, 4));
    expect_ok(require_even(5, stream));
    EXPECT_EQ(cudaFree(x), cudaErrorLaunchFailure);  // like in a destructor, which ignores errors
    expect_report(cudaStreamSynchronize(stream), "must be even");
}

TEST(EmulatorRuntime, KnowsAKernelsName) {
    const char* name = nullptr;
    expect_ok(cudaFuncGetName(&name, add_kernel_address()));
    EXPECT_NE(std::string(name).find("add_kernel"), std::string::npos) << name;
    expect_refused(cudaFuncGetName(&name, nullptr), cudaErrorInvalidValue, "null");
}

// ---- streams ----

TEST(EmulatorRuntime, RunsNothingBeforeSomebodyWaits) {
    in_orders([] {
        const Stream stream;
        int seen = 0;
        expect_ok(cudaLaunchHostFunc(
            stream, [](void* data) { *static_cast<int*>(data) = 1; }, &seen));
        EXPECT_EQ(seen, 0);
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(seen, 1);
    });
}

TEST(EmulatorRuntime, AnswersAQueryInTheEnd) {
    std::set<int> rounds;
    in_orders([&] {
        const Stream stream;
        DeviceArray<float> x(32, 0.0f);
        expect_ok(add(x, 1, 32, stream));
        int round = 0;
        while (cudaStreamQuery(stream) == cudaErrorNotReady) ASSERT_LT(++round, 1000);
        rounds.insert(round);
        EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
        const Event event;
        EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
        expect_ok(add(x, 1, 32, stream));
        expect_ok(cudaEventRecord(event, stream));
        for (round = 0; cudaEventQuery(event) == cudaErrorNotReady;) ASSERT_LT(++round, 1000);
    });
    EXPECT_GE(rounds.size(), 2u);  // sometimes immediately, sometimes later
}

// The order in which two streams write to a list: each stream's own order is kept; the interleaving is arbitrary.
std::vector<int> order_of_two_streams(bool with_event) {
    const Stream first, second;
    const Event event;
    std::vector<int> seen;
    struct Entry {
        std::vector<int>* seen;
        int value;
    };
    Entry entries[] = {{&seen, 1}, {&seen, 2}, {&seen, 11}, {&seen, 12}};
    const auto append = [](void* data) { static_cast<Entry*>(data)->seen->push_back(static_cast<Entry*>(data)->value); };
    expect_ok(cudaLaunchHostFunc(first, append, &entries[0]));
    expect_ok(cudaLaunchHostFunc(first, append, &entries[1]));
    if (with_event) {
        expect_ok(cudaEventRecord(event, first));
        expect_ok(cudaStreamWaitEvent(second, event));
    }
    expect_ok(cudaLaunchHostFunc(second, append, &entries[2]));
    expect_ok(cudaLaunchHostFunc(second, append, &entries[3]));
    expect_ok(cudaDeviceSynchronize());
    return seen;
}

TEST(EmulatorRuntime, OrdersStreamsByTheSeedUnlessAnEventDoes) {
    std::set<std::vector<int>> orders;
    in_orders([&] {
        const std::vector<int> order = order_of_two_streams(false);
        ASSERT_EQ(order.size(), 4u);
        EXPECT_LT(std::find(order.begin(), order.end(), 1), std::find(order.begin(), order.end(), 2));
        EXPECT_LT(std::find(order.begin(), order.end(), 11), std::find(order.begin(), order.end(), 12));
        orders.insert(order);
        EXPECT_EQ(order_of_two_streams(true), (std::vector<int>{1, 2, 11, 12}));
    });
    EXPECT_GE(orders.size(), 4u);  // of 6
}

TEST(EmulatorRuntime, TheSameSeedBeginsTheSameOrdersAgain) {
    std::vector<std::vector<int>> orders[2];
    for (auto& some : orders) {
        set_seed(7);
        for (int i = 0; i < 8; ++i) some.push_back(order_of_two_streams(false));
    }
    EXPECT_EQ(orders[0], orders[1]);
    EXPECT_GT(std::set(orders[0].begin(), orders[0].end()).size(), 1u);
}

TEST(EmulatorRuntime, LeavesOthersWorkAloneWhenOneStreamIsWaitedFor) {
    int alone = 0, in_all = 0;
    in_orders([&] {
        const Stream first, second;
        bool ran = false;
        expect_ok(cudaLaunchHostFunc(
            second, [](void* data) { *static_cast<bool*>(data) = true; }, &ran));
        int other = 0;
        expect_ok(cudaLaunchHostFunc(
            first, [](void* data) { *static_cast<int*>(data) = 1; }, &other));
        expect_ok(cudaStreamSynchronize(first));
        EXPECT_EQ(other, 1);
        alone += !ran;
        ++in_all;
        expect_ok(cudaDeviceSynchronize());
        EXPECT_TRUE(ran);
    });
    EXPECT_GT(alone, 0);
    EXPECT_LT(alone, in_all);  // it may also run early by chance
}

TEST(EmulatorRuntime, TheDefaultStreamWaitsForBlockingStreams) {
    in_orders([] {
        const Stream blocking(cudaStreamDefault);
        DeviceArray<float> x(32, 0.0f);
        for (int i = 0; i < 3; ++i) {
            expect_ok(add(x, 1, 32, blocking));
            expect_ok(cudaMemsetAsync(x, 0, 4, nullptr));  // no race: the default stream orders the two
        }
        expect_ok(add(x, 1, 32, blocking));
        const std::vector<float> values = x.values();
        EXPECT_EQ(values[0], 1);
        EXPECT_EQ(values[1], 4);
    });
}

TEST(EmulatorRuntime, RefusesStreamsAndEventsThatAreNone) {
    cudaStream_t stream = nullptr;
    expect_ok(cudaStreamCreate(&stream));
    expect_ok(cudaStreamDestroy(stream));
    expect_refused(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle, "not a stream");
    expect_refused(add(nullptr, 1, 1, stream), cudaErrorInvalidResourceHandle, "not a stream");
    cudaEvent_t event = nullptr;
    expect_ok(cudaEventCreate(&event));
    expect_ok(cudaEventDestroy(event));
    expect_refused(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle, "not an event");
    expect_refused(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle, "not a stream");
}

TEST(EmulatorRuntime, ADestroyedStreamsWorkStillRuns) {
    DeviceArray<float> x(32, 0.0f);
    {
        const Stream stream;
        expect_ok(add(x, 1, 32, stream));
    }
    expect_ok(cudaDeviceSynchronize());
    EXPECT_EQ(x.values()[0], 1);
}

TEST(EmulatorRuntime, TimesEvents) {
    const Stream stream;
    const Event start, end;
    float milliseconds = -1;
    expect_refused(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle, "never recorded");
    expect_ok(cudaEventRecord(start, stream));
    expect_ok(cudaEventRecord(end, stream));
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
    expect_ok(cudaEventSynchronize(end));
    expect_ok(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT_GE(milliseconds, 0);
}

TEST(EmulatorRuntime, AHostFunctionMayNotCallTheRuntime) {
    const Stream stream;
    cudaError_t inside = cudaSuccess;
    expect_ok(cudaLaunchHostFunc(
        stream, [](void* data) { *static_cast<cudaError_t*>(data) = cudaDeviceSynchronize(); }, &inside));
    expect_ok(cudaStreamSynchronize(stream));
    EXPECT_EQ(inside, cudaErrorNotPermitted);
}

using EmulatorRuntimeDeathTest = testing::Test;

TEST(EmulatorRuntimeDeathTest, SaysAtTheEndWhatNobodyWaitedFor) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto leave = [](bool wait) {
        const Stream stream;
        DeviceArray<float> x(32, 0.0f);
        expect_ok(cudaDeviceSynchronize());
        expect_ok(cudaMemsetAsync(x, 0, 4, stream));
        expect_ok(add(x, 1, 32, stream));
        if (wait) expect_ok(cudaStreamSynchronize(stream));
        float* freed = nullptr;
        expect_ok(cudaMallocAsync(&freed, 8, stream));
        expect_ok(cudaFreeAsync(freed, stream));
        std::exit(0);
    };
    EXPECT_EXIT(leave(false), testing::ExitedWithCode(0), "before somebody has waited for cudaMemsetAsync at .* and 1 more");
    EXPECT_EXIT(leave(true), testing::ExitedWithCode(0), "^$");
}

// ---- threads ----

// The emulator, which switches stacks, is not instrumented for TSan, so TSan does not see the guards of its statics: the main
// thread initialises them first.
void begin_on_the_main_thread() {
#if defined(HEDDLE_THREAD_SANITIZER)
    void* memory = nullptr;
    expect_ok(cudaMalloc(&memory, 4));
    expect_ok(cudaFree(memory));
#endif
}

TEST(EmulatorRuntime, ServesSeveralThreads) {
    begin_on_the_main_thread();
    std::vector<std::thread> threads;
    std::vector<float> results(4);
    for (std::size_t t = 0; t < results.size(); ++t)
        threads.emplace_back([&, t] {
            const Stream stream;
            DeviceArray<float> x(64, 0.0f);
            for (int i = 0; i < 20; ++i) {
                expect_ok(add(x, 1, 64, stream));
                if (i % 5 == 0) expect_ok(cudaStreamSynchronize(stream));
            }
            expect_ok(cudaStreamSynchronize(stream));
            results[t] = x.values()[63];
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(results, std::vector<float>(4, 20.0f));
}

// In a checked build allocations and frees of other threads are recorded between kernels, not during one.
TEST(EmulatorRuntime, OthersAllocateWhileAKernelRuns) {
    begin_on_the_main_thread();
    std::atomic<bool> stop = false;
    std::vector<std::thread> others;
    for (int t = 0; t < 2; ++t)
        others.emplace_back([&] {
            while (!stop) {
                std::byte* const block = allocate(5000, "another thread");
                EXPECT_TRUE(lives(block, 5000));
                const std::optional<Allocation> known = nearest_allocation(block);
                EXPECT_TRUE(release(block));
                EXPECT_FALSE(known->freed) << "as it was";
                EXPECT_EQ(known->place, "another thread");
            }
        });
    DeviceArray<float> x(2000, 0.0f);
    for (int i = 0; i < 20; ++i) {
        expect_ok(add(x, 1, 2000, nullptr));
        expect_ok(cudaDeviceSynchronize());
    }
    stop = true;
    for (std::thread& thread : others) thread.join();
    EXPECT_EQ(x.values(), std::vector<float>(2000, 20.0f));
}

}  // namespace
}  // namespace heddle::emulator
