// Races between the streams of the emulated runtime: operations on the same memory that no event orders.
#include "kernels/emulator/run/checker_hooks.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

TEST(EmulatorRaces, OfCopiesAndFills) {
    in_orders([] {
        const Stream first, second;
        DeviceArray<float> x(100), y(100, 1.0f);
        expect_ok(cudaMemsetAsync(x, 0, 400, first));
        expect_ok(cudaMemcpyAsync(x + 50, y, 200, cudaMemcpyDeviceToDevice, second));
        expect_report(cudaDeviceSynchronize(), "race between streams");
        const std::string report = cudaGetErrorString(cudaErrorLaunchFailure);
        EXPECT_NE(report.find("cudaMemsetAsync at tests/emulator/emulator_races_test.cpp:"), std::string::npos) << report;
        EXPECT_NE(report.find("cudaMemcpyAsync at tests/emulator/emulator_races_test.cpp:"), std::string::npos) << report;

        EXPECT_NE(report.find("(HEDDLE_EMULATOR_SEED=" + std::to_string(seed()) + ")"), std::string::npos) << report;

        // No race: other bytes, reads, an event, a host wait.
        expect_ok(cudaMemsetAsync(x, 0, 200, first));
        expect_ok(cudaMemcpyAsync(x + 50, y, 200, cudaMemcpyDeviceToDevice, second));
        expect_ok(cudaDeviceSynchronize());
        const Event event;
        expect_ok(cudaMemsetAsync(x, 0, 400, first));
        expect_ok(cudaEventRecord(event, first));
        expect_ok(cudaStreamWaitEvent(second, event));
        expect_ok(cudaMemcpyAsync(x + 50, y, 200, cudaMemcpyDeviceToDevice, second));
        expect_ok(cudaDeviceSynchronize());
        expect_ok(cudaMemsetAsync(x, 0, 400, first));
        expect_ok(cudaStreamSynchronize(first));
        expect_ok(cudaMemsetAsync(x, 0, 400, second));
        expect_ok(cudaDeviceSynchronize());
    });
}

TEST(EmulatorRaces, OfKernels) {
    if (!checker::kEnabled) GTEST_SKIP() << "only a checked build knows what a kernel touches";
    in_orders([] {
        const Stream first, second;
        DeviceArray<float> x(64, 0.0f), y(64, 0.0f), z(64, 0.0f);
        expect_ok(cudaDeviceSynchronize());
        expect_ok(add(x, 1, 32, first));
        expect_ok(copy(x + 16, y, 32, second));
        expect_report(cudaDeviceSynchronize(), "race between streams");
        expect_ok(add(x, 1, 32, first));
        expect_ok(cudaMemcpyAsync(y, x, 256, cudaMemcpyDeviceToDevice, second));
        expect_report(cudaDeviceSynchronize(), "add_kernel");
        expect_ok(add(x, 1, 9, first));
        expect_ok(add(x + 8, 1, 8, second));
        expect_report(cudaDeviceSynchronize(), "race between streams");
        // No race: other parts of an array, even within 64 bytes, and two kernels that read the same bytes.
        expect_ok(add(x, 1, 32, first));
        expect_ok(add(x + 32, 1, 32, second));
        expect_ok(cudaDeviceSynchronize());
        expect_ok(add(x, 1, 8, first));
        expect_ok(add(x + 8, 1, 8, second));
        expect_ok(cudaDeviceSynchronize());
        expect_ok(copy(x, y, 64, first));
        expect_ok(copy(x, z, 64, second));
        expect_ok(cudaDeviceSynchronize());
        const Event event;
        expect_ok(add(x, 1, 64, first));
        expect_ok(cudaEventRecord(event, first));
        expect_ok(cudaStreamWaitEvent(second, event));
        expect_ok(copy(x, y, 64, second));
        expect_ok(cudaDeviceSynchronize());
    });
}

TEST(EmulatorRaces, NotOfColumnsOfOneMatrix) {
    const Stream first, second;
    DeviceArray<int> x(8 * 8, 0);
    const std::vector<int> block(4 * 8, 1);
    expect_ok(cudaMemcpy2DAsync(x, 32, block.data(), 16, 16, 8, cudaMemcpyHostToDevice, first));
    expect_ok(cudaMemcpy2DAsync(x + 4, 32, block.data(), 16, 16, 8, cudaMemcpyHostToDevice, second));
    expect_ok(cudaDeviceSynchronize());
    expect_ok(cudaMemcpy2DAsync(x, 32, block.data(), 16, 16, 8, cudaMemcpyHostToDevice, first));
    expect_ok(cudaMemcpy2DAsync(x + 3, 32, block.data(), 16, 16, 8, cudaMemcpyHostToDevice, second));
    expect_report(cudaDeviceSynchronize(), "race between streams");
}

TEST(EmulatorRaces, AreFoundAmongThousandsOfOperations) {
    const Stream first, second;
    DeviceArray<float> x(1000, 0.0f), y(1000, 0.0f);
    expect_ok(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; ++i) {
        expect_ok(cudaMemsetAsync(x + i, 0, 4, first));
        expect_ok(cudaMemsetAsync(y + i, 0, 4, second));
    }
    expect_ok(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; ++i) expect_ok(cudaMemsetAsync(x + i, 0, 4, first));
    expect_ok(cudaMemsetAsync(x + 500, 0, 4, second));
    expect_report(cudaDeviceSynchronize(), "writes 4 bytes at 2000 bytes into");
}

}  // namespace
}  // namespace heddle::emulator
