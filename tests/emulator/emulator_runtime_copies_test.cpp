// The emulated CUDA runtime: copies, fills and pinned memory.
#include <algorithm>
#include <cmath>

#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

TEST(EmulatorRuntimeCopies, CopiesAndFills) {
    const Stream stream;
    std::vector<float> values(1000), back(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    DeviceArray<float> x(1000), y(1000);
    expect_ok(cudaMemcpyAsync(x, values.data(), 4000, cudaMemcpyHostToDevice, stream));
    std::fill(values.begin(), values.end(), -1.0f);  // pageable, so it was read at the call
    expect_ok(cudaMemcpyAsync(y, x, 4000, cudaMemcpyDeviceToDevice, stream));
    expect_ok(cudaMemsetAsync(y, 0, 8, stream));
    expect_ok(cudaMemcpyAsync(back.data(), y, 4000, cudaMemcpyDefault, stream));  // pageable, so the call waits
    EXPECT_EQ(back[0], 0);
    EXPECT_EQ(back[1], 0);
    for (std::size_t i = 2; i < back.size(); ++i) ASSERT_EQ(back[i], static_cast<float>(i));
    expect_ok(cudaMemset(y, 0xff, 4));
    EXPECT_TRUE(std::isnan(y.values()[0]));
}

// A fill that repeats the last work on device memory is not done again.
TEST(EmulatorRuntimeCopies, FillsAgainWhatSomethingElseHasWritten) {
    DeviceArray<int> x(100, 7), y(100, 8);
    expect_ok(cudaMemset(x, 0, 400));
    expect_ok(cudaMemset(x, 0, 400));
    EXPECT_EQ(x.values()[99], 0);
    expect_ok(cudaMemset(x, 0, 400));
    expect_ok(cudaMemset(x, 1, 400));
    expect_ok(cudaMemset(x, 0, 400));
    EXPECT_EQ(x.values()[0], 0);
    expect_ok(cudaMemset(x, 0, 400));
    expect_ok(cudaMemcpy(x, y, 4, cudaMemcpyDeviceToDevice));
    expect_ok(cudaMemset(x, 0, 400));
    EXPECT_EQ(x.values()[0], 0);
    // A kernel, too.
    DeviceArray<float> z(100, 7);
    expect_ok(cudaMemset(z, 0, 400));
    expect_ok(add(z, 1, 100, nullptr));
    expect_ok(cudaMemset(z, 0, 400));
    EXPECT_EQ(z.values()[99], 0);
    expect_ok(cudaMemset(x, 0, 400));
    expect_ok(cudaMemset(y, 0, 396));
    EXPECT_EQ(y.values()[98], 0);
    EXPECT_EQ(y.values()[99], 8);
}

TEST(EmulatorRuntimeCopies, CopiesPitchedRows) {
    const Stream stream;
    DeviceArray<int> x(6 * 5, 7);
    const std::vector<int> rows = {1, 2, 3, 4, 5, 6};  // [3, 2], into columns 1 and 2 of [6, 5]
    expect_ok(cudaMemcpy2DAsync(x + 1, 20, rows.data(), 8, 8, 3, cudaMemcpyHostToDevice, stream));
    std::vector<int> back(3 * 2);
    expect_ok(cudaMemcpy2DAsync(back.data(), 8, x + 1, 20, 8, 3, cudaMemcpyDeviceToHost, stream));
    EXPECT_EQ(back, rows);
    EXPECT_EQ(x.values()[0], 7);
    EXPECT_EQ(x.values()[3], 7);
    expect_refused(cudaMemcpy2DAsync(x, 4, rows.data(), 8, 8, 3, cudaMemcpyHostToDevice, stream), cudaErrorInvalidPitchValue,
                   "pitches of 4 and 8");
}

TEST(EmulatorRuntimeCopies, RefusesWrongCopies) {
    DeviceArray<int> x(100, 1);
    std::vector<int> host(200);
    expect_refused(cudaMemcpy(x, host.data(), 404, cudaMemcpyHostToDevice), cudaErrorInvalidValue, "4 bytes too many");
    expect_refused(cudaMemcpy(host.data(), x + 90, 80, cudaMemcpyDeviceToHost), cudaErrorInvalidValue,
                   "360 bytes into an allocation of 400 bytes");
    expect_refused(cudaMemcpy(host.data(), x, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue, "the source is the host's");
    expect_refused(cudaMemcpy(nullptr, x, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue, "null");
    expect_refused(cudaMemcpy(x, x + 1, 8, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue, "overlap");
    expect_refused(cudaMemset(x + 99, 0, 8), cudaErrorInvalidValue, "too many");
    expect_refused(cudaMemset(host.data(), 0, 8), cudaErrorInvalidValue, "an address of the host");
    // The message has the call's source line.
    expect_refused(cudaMemset(x + 99, 0, 8), cudaErrorInvalidValue, "runtime_copies_test.cpp:" + std::to_string(__LINE__));
}

TEST(EmulatorRuntimeCopies, ReadsPinnedMemoryLate) {
    in_orders([] {
        const Stream stream;
        PinnedArray<float> staging(64, 1.0f);
        DeviceArray<float> x(64);
        expect_ok(cudaMemcpyAsync(x, staging, staging.bytes(), cudaMemcpyHostToDevice, stream));
        staging.fill(2);  // too early
        expect_report(cudaStreamSynchronize(stream), "pinned buffer reused too early");
        staging.fill(1);
        expect_ok(cudaMemcpyAsync(x, staging, staging.bytes(), cudaMemcpyHostToDevice, stream));
        expect_ok(cudaStreamSynchronize(stream));
        staging.fill(2);
        EXPECT_EQ(x.values()[63], 1);
    });
}

TEST(EmulatorRuntimeCopies, FillsPinnedMemoryLate) {
    in_orders([] {
        const Stream stream;
        PinnedArray<float> result(64, 5.0f);
        DeviceArray<float> x(64, 1.0f);
        expect_ok(cudaMemcpyAsync(result, x, result.bytes(), cudaMemcpyDeviceToHost, stream));
        EXPECT_TRUE(std::isnan(result[0]));  // without a wait
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(result[0], 1);
        expect_ok(cudaMemcpyAsync(result, x, result.bytes(), cudaMemcpyDeviceToHost, stream));
        result[3] = 9;
        expect_report(cudaStreamSynchronize(stream), "the host wrote to the pinned memory");
    });
}

TEST(EmulatorRuntimeCopies, LetsTheDeviceUsePinnedMemoryTwice) {
    in_orders([] {
        const Stream stream;
        PinnedArray<float> buffer(64, 0.0f);
        DeviceArray<float> x(64, 1.0f), y(64);
        // The second copy reads the first one's result; the host does not access it in between.
        expect_ok(cudaMemcpyAsync(buffer, x, buffer.bytes(), cudaMemcpyDeviceToHost, stream));
        expect_ok(cudaMemcpyAsync(y, buffer, buffer.bytes(), cudaMemcpyHostToDevice, stream));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(y.values()[5], 1);
        // A host function fills it in stream order.
        expect_ok(cudaLaunchHostFunc(
            stream, [](void* data) { std::fill_n(static_cast<float*>(data), 64, 3.0f); }, buffer));
        expect_ok(cudaMemcpyAsync(y, buffer, buffer.bytes(), cudaMemcpyHostToDevice, stream));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(y.values()[5], 3);
    });
}

}  // namespace
}  // namespace heddle::emulator
