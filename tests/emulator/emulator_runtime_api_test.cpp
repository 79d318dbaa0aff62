// CUDA's runtime beyond what Heddle itself calls: memory of all kinds, copies of rows and slices, attributes of kernels and of
// the device, streams' properties, and what is refused by name.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/emulator/run/checker_hooks.h"
#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

std::vector<float> counted(std::size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

// ---- memory ----

TEST(EmulatorRuntimeApi, ManagedMemoryServesBothSides) {
    in_orders([] {
        float* x = nullptr;
        expect_ok(cudaMallocManaged(&x, 400));
        std::fill_n(x, 100, 2.0f);
        expect_ok(cudaMemPrefetchAsync(x, 400, 0));
        expect_ok(cudaMemAdvise(x, 400, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
        expect_ok(add(x, 1, 100, nullptr));
        expect_ok(cudaDeviceSynchronize());
        EXPECT_EQ(std::count(x, x + 100, 3.0f), 100);
        cudaPointerAttributes attributes;
        expect_ok(cudaPointerGetAttributes(&attributes, x + 5));
        EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
        EXPECT_EQ(attributes.hostPointer, x + 5);
        expect_ok(cudaFree(x));
    });
    expect_refused(cudaMallocManaged(reinterpret_cast<void**>(0x10), 0), cudaErrorInvalidValue, "no bytes");
}

TEST(EmulatorRuntimeApi, ReportsHostAccessesToManagedMemoryThatQueuedWorkTouches) {
    in_orders([] {
        const Stream stream;
        float *x = nullptr, *other = nullptr;
        expect_ok(cudaMallocManaged(&x, 400));
        expect_ok(cudaMallocManaged(&other, 400));
        std::fill_n(x, 100, 2.0f);
        expect_ok(cudaMemsetAsync(x, 0, 400, stream));
        other[3] = 1;  // nothing that is queued touches it
        EXPECT_EQ(other[3], 1);
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(x[3], 0);

        expect_ok(cudaMemsetAsync(x, 0, 400, stream));
        volatile float seen = x[0];  // too early
        static_cast<void>(seen);
        expect_report(cudaStreamSynchronize(stream), "race with the host");
        EXPECT_EQ(x[0], 0);  // open again

        if (checker::kEnabled) {
            expect_ok(add(x, 1, 50, stream));
            x[99] = 5;  // on the same page, but not what the kernel touches
            expect_ok(cudaStreamSynchronize(stream));
            expect_ok(add(x, 1, 50, stream));
            x[20] = 5;
            expect_report(cudaStreamSynchronize(stream), "race with the host");
        }
        expect_ok(cudaFree(x));
        expect_ok(cudaFree(other));
    });
}

TEST(EmulatorRuntimeApi, KernelsReachPinnedAndRegisteredMemory) {
    in_orders([] {
        float *pinned = nullptr, *mapped = nullptr;
        expect_ok(cudaHostAlloc(&pinned, 400, cudaHostAllocMapped | cudaHostAllocPortable));
        std::fill_n(pinned, 100, 1.0f);
        expect_ok(cudaHostGetDevicePointer(&mapped, pinned, 0));
        EXPECT_EQ(mapped, pinned);
        std::vector<float> own(100, 7.0f);
        expect_ok(cudaHostRegister(own.data(), 400, cudaHostRegisterMapped));
        expect_refused(cudaHostRegister(own.data() + 1, 4, 0), cudaErrorHostMemoryAlreadyRegistered, "already");
        expect_ok(copy(own.data(), mapped, 50, nullptr));
        expect_ok(add(mapped, 1, 100, nullptr));
        expect_ok(cudaDeviceSynchronize());
        EXPECT_EQ(std::count(pinned, pinned + 50, 8.0f), 50);
        EXPECT_EQ(std::count(pinned + 50, pinned + 100, 2.0f), 50);
        unsigned flags = 0;
        expect_ok(cudaHostGetFlags(&flags, pinned));
        EXPECT_EQ(flags, cudaHostAllocMapped | cudaHostAllocPortable);
        expect_ok(cudaHostUnregister(own.data()));
        expect_refused(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered, "not the start");
        expect_refused(cudaHostGetDevicePointer(&mapped, own.data(), 0), cudaErrorInvalidValue, "not pinned");
        if (checker::kEnabled) {
            expect_ok(store(pinned, 100, nullptr));
            expect_report(cudaDeviceSynchronize(), "4 bytes past the end of pinned memory of 400 bytes");
            expect_ok(add(own.data(), 1, 1, nullptr));
            expect_report(cudaDeviceSynchronize(), "host memory");
        }
        expect_ok(cudaFreeHost(pinned));
    });
}

// A kernel writes the pinned source of a copy that is queued behind it: the host changed nothing.
TEST(EmulatorRuntimeApi, AKernelMayFillThePinnedSourceOfACopy) {
    in_orders([] {
        const Stream stream;
        PinnedArray<float> pinned(32, 1.0f);
        DeviceArray<float> x(32, 0.0f);
        expect_ok(add(pinned, 4, 32, stream));
        expect_ok(cudaMemcpyAsync(x, pinned, 128, cudaMemcpyHostToDevice, stream));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(x.values(), std::vector<float>(32, 5.0f));
    });
}

TEST(EmulatorRuntimeApi, KnowsPointers) {
    DeviceArray<float> x(4, 0.0f);
    float host = 0;
    cudaPointerAttributes attributes;
    expect_ok(cudaPointerGetAttributes(&attributes, x));
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.hostPointer, nullptr);
    expect_ok(cudaPointerGetAttributes(&attributes, &host));
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    expect_refused(cudaPointerGetAttributes(nullptr, x), cudaErrorInvalidValue, "null");
}

TEST(EmulatorRuntimeApi, ResettingTheDeviceFreesItsMemory) {
    float* x = nullptr;
    expect_ok(cudaMalloc(&x, 64));
    std::size_t before = 0, after = 0, total = 0;
    expect_ok(cudaMemGetInfo(&before, &total));
    expect_ok(cudaDeviceReset());
    expect_ok(cudaMemGetInfo(&after, &total));
    EXPECT_GE(after, before + 64);
    expect_refused(cudaFree(x), cudaErrorInvalidValue, "freed twice");
}

// ---- copies and fills ----

TEST(EmulatorRuntimeApi, CopiesRowsOfPitchedMemory) {
    in_orders([] {
        float* x = nullptr;
        std::size_t pitch = 0;
        expect_ok(cudaMallocPitch(&x, &pitch, 12, 4));
        EXPECT_EQ(pitch, 512u);
        expect_ok(cudaMemset2D(x, pitch, 0, 12, 4));
        const std::vector<float> from = counted(12);
        expect_ok(cudaMemcpy2D(x, pitch, from.data(), 12, 12, 3, cudaMemcpyHostToDevice));
        std::vector<float> to(12, -1.0f);
        expect_ok(cudaMemcpy2D(to.data(), 12, x, pitch, 12, 4, cudaMemcpyDeviceToHost));
        std::vector<float> wanted = from;
        std::fill_n(wanted.begin() + 9, 3, 0.0f);
        EXPECT_EQ(to, wanted);
        expect_refused(cudaMemcpy2D(to.data(), 8, x, pitch, 12, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue,
                       "pitches");
        expect_ok(cudaFree(x));
    });
}

TEST(EmulatorRuntimeApi, CopiesABox) {
    in_orders([] {
        const cudaExtent extent = make_cudaExtent(16, 3, 2);
        cudaPitchedPtr box = {};
        expect_ok(cudaMalloc3D(&box, extent));
        expect_ok(cudaMemset3D(box, 0, extent));
        std::vector<float> from = counted(24), to(24, -1.0f);
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(from.data(), 16, 16, 3);
        copy.dstPtr = box;
        copy.dstPos = make_cudaPos(4, 1, 0);
        copy.extent = make_cudaExtent(12, 2, 2);
        copy.kind = cudaMemcpyHostToDevice;
        expect_ok(cudaMemcpy3D(&copy));
        copy = {};
        copy.srcPtr = box;
        copy.dstPtr = make_cudaPitchedPtr(to.data(), 16, 16, 3);
        copy.extent = extent;
        copy.kind = cudaMemcpyDeviceToHost;
        expect_ok(cudaMemcpy3D(&copy));
        for (int z = 0; z < 2; ++z)
            for (int y = 0; y < 3; ++y)
                for (int x = 0; x < 4; ++x)
                    EXPECT_EQ(to[z * 12 + y * 4 + x], x < 1 || y < 1 ? 0.0f : from[z * 12 + (y - 1) * 4 + x - 1]);
        copy.extent.width = 1024;
        expect_refused(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue, "leave the pitch");
        expect_ok(cudaFree(box.ptr));
    });
}

TEST(EmulatorRuntimeApi, CopiesToAndFromArrays) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr, other = nullptr;
    expect_ok(cudaMallocArray(&array, &format, 4, 3));
    expect_ok(cudaMallocArray(&other, &format, 4, 3));
    const std::vector<float> from = counted(12);
    std::vector<float> to(12, -1.0f);
    expect_ok(cudaMemcpy2DToArray(array, 0, 0, from.data(), 16, 16, 3, cudaMemcpyHostToDevice));
    expect_ok(cudaMemcpyToArray(other, 0, 0, from.data(), 48, cudaMemcpyHostToDevice));
    expect_ok(cudaMemcpy2DToArray(other, 4, 1, from.data(), 16, 8, 2, cudaMemcpyHostToDevice));
    expect_ok(cudaMemcpyFromArray(to.data(), other, 0, 0, 48, cudaMemcpyDeviceToHost));
    EXPECT_EQ(to, (std::vector<float>{1, 2, 3, 4, 5, 1, 2, 8, 9, 5, 6, 12}));
    expect_refused(cudaMemcpy2DToArray(array, 4, 0, from.data(), 16, 16, 3, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
                   "leaves the array");
    cudaExtent extent = {};
    cudaChannelFormatDesc found = {};
    expect_ok(cudaArrayGetInfo(&found, &extent, nullptr, array));
    EXPECT_EQ(extent.width, 4u);
    EXPECT_EQ(extent.height, 3u);
    EXPECT_EQ(found.x, 32);
    EXPECT_EQ(found.f, cudaChannelFormatKindFloat);
    expect_ok(cudaFreeArray(array));
    expect_refused(cudaFreeArray(array), cudaErrorInvalidResourceHandle, "not an array");
    expect_ok(cudaFreeArray(other));
    const cudaChannelFormatDesc odd = cudaCreateChannelDesc(32, 16, 0, 0, cudaChannelFormatKindSigned);
    expect_refused(cudaMallocArray(&array, &odd, 4), cudaErrorInvalidChannelDescriptor, "components of one size");
    expect_refused(cudaMallocArray(&array, &format, 4, 4, cudaArrayLayered), cudaErrorNotSupported, "layers");
}

// ---- kernels by their address ----

TEST(EmulatorRuntimeApi, LaunchesByAddress) {
    in_orders([] {
        DeviceArray<float> x(64, 3.0f);
        float* pointer = x;
        float factor = 2;
        int n = 40;
        void* arguments[] = {&pointer, &factor, &n};
        expect_ok(cudaLaunchKernel(scale_kernel, dim3(2), dim3(32), arguments));
        expect_ok(cudaLaunchCooperativeKernel(scale_kernel, dim3(2), dim3(32), arguments));
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {2, 1, 1};
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(2);
        config.blockDim = dim3(32);
        config.attrs = &attribute;
        config.numAttrs = 1;
        expect_ok(cudaLaunchKernelEx(&config, scale_kernel, pointer, 2, n));
        std::vector<float> wanted(64, 3.0f);
        std::fill_n(wanted.begin(), 40, 24.0f);
        EXPECT_EQ(x.values(), wanted);
        attribute.val.clusterDim = {1, 2, 1};
        expect_refused(cudaLaunchKernelEx(&config, scale_kernel, pointer, 2, n), cudaErrorNotSupported, "along x only");
        expect_refused(cudaLaunchKernel(reinterpret_cast<const void*>(&counted), dim3(1), dim3(1), arguments),
                       cudaErrorInvalidDeviceFunction, "not the address of a kernel");
    });
}

TEST(EmulatorRuntimeApi, DynamicSharedMemoryHasALimitThatIsRaised) {
    DeviceArray<float> x(64, 3.0f);
    float* pointer = x;
    float factor = 2;
    int n = 64;
    void* arguments[] = {&pointer, &factor, &n};
    constexpr int kilo = 1024;
    expect_refused(cudaLaunchKernel(scale_kernel, dim3(1), dim3(64), arguments, 49 * kilo), cudaErrorInvalidValue,
                   "cudaFuncAttributeMaxDynamicSharedMemorySize");
    expect_ok(cudaFuncSetAttribute(scale_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * kilo));
    expect_ok(cudaLaunchKernel(scale_kernel, dim3(1), dim3(64), arguments, 49 * kilo));
    expect_ok(cudaDeviceSynchronize());
    cudaFuncAttributes attributes;
    expect_ok(cudaFuncGetAttributes(&attributes, scale_kernel));
    EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 64 * kilo);
    EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
    expect_refused(cudaFuncSetAttribute(scale_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000 * kilo),
                   cudaErrorInvalidValue, "are the most");
    expect_ok(cudaFuncSetAttribute(scale_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * kilo));
    expect_ok(cudaFuncSetCacheConfig(scale_kernel, cudaFuncCachePreferShared));
}

TEST(EmulatorRuntimeApi, CountsResidentBlocks) {
    int blocks = 0, grid = 0, block = 0, multiprocessors = 0;
    cudaDeviceProp p;
    expect_ok(cudaGetDeviceProperties(&p, 0));
    expect_ok(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    expect_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale_kernel, 256, 0));
    EXPECT_EQ(blocks, p.maxThreadsPerMultiProcessor / 256);
    expect_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale_kernel, 32, 40 * 1024));
    EXPECT_EQ(blocks, static_cast<int>(p.sharedMemPerMultiprocessor / (41 * 1024)));
    expect_ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded_kernel, 96, 0));
    EXPECT_EQ(blocks, 0);  // __launch_bounds__(64)
    expect_ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale_kernel));
    EXPECT_EQ(block * (grid / multiprocessors), p.maxThreadsPerMultiProcessor);
    expect_ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded_kernel, 0, 0));
    EXPECT_EQ(block, 64);
    // Each thread wants 1 KB, so that a block of 128 leaves most threads resident on no chip.
    expect_ok(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, scale_kernel, [](int size) { return size * 1024; }));
    EXPECT_GT(block, 0);
    EXPECT_LE((static_cast<std::size_t>(block) + 1) * 1024 * static_cast<std::size_t>(grid / multiprocessors),
              p.sharedMemPerMultiprocessor);
    expect_refused(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(&counted), 32, 0),
                   cudaErrorInvalidDeviceFunction, "not the address");
}

// ---- streams and events ----

TEST(EmulatorRuntimeApi, KeepsPropertiesOfStreams) {
    int least = 1, greatest = 1, priority = 1;
    expect_ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t stream = nullptr;
    expect_ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 3));
    expect_ok(cudaStreamGetPriority(stream, &priority));
    EXPECT_EQ(priority, greatest);
    unsigned flags = 0;
    expect_ok(cudaStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, cudaStreamNonBlocking);
    expect_ok(cudaStreamDestroy(stream));
    cudaEvent_t event = nullptr;
    expect_refused(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue, "cannot be timed");
    expect_ok(cudaEventCreate(&event, cudaEventBlockingSync));
    expect_ok(cudaEventDestroy(event));
}

TEST(EmulatorRuntimeApi, EachThreadHasADefaultStream) {
    in_orders([] {
        DeviceArray<float> x(32, 0.0f);
        expect_ok(add(x, 1, 32, cudaStreamPerThread));
        expect_ok(add(x, 1, 32, cudaStreamLegacy));  // waits for it
        expect_ok(cudaStreamSynchronize(cudaStreamLegacy));
        EXPECT_EQ(x.values(), std::vector<float>(32, 2.0f));
    });
}

TEST(EmulatorRuntimeApi, CallsBackInTheStreamsOrder) {
    in_orders([] {
        const Stream stream;
        struct Seen {
            cudaStream_t stream;
            cudaError_t status;
            float value;
            float* pinned;
        };
        PinnedArray<float> pinned(1, 0.0f);
        DeviceArray<float> x(1, 6.0f);
        Seen seen = {nullptr, cudaErrorUnknown, 0, pinned};
        expect_ok(cudaMemcpyAsync(pinned, x, 4, cudaMemcpyDeviceToHost, stream));
        expect_ok(cudaStreamAddCallback(
            stream,
            [](cudaStream_t of, cudaError_t status, void* data) {
                auto& record = *static_cast<Seen*>(data);
                record = {of, status, *record.pinned, record.pinned};
            },
            &seen, 0));
        expect_ok(cudaStreamSynchronize(stream));
        EXPECT_EQ(seen.stream, stream);
        EXPECT_EQ(seen.status, cudaSuccess);
        EXPECT_EQ(seen.value, 6);
    });
}

// ---- the device, errors and refusals ----

TEST(EmulatorRuntimeApi, TellsTheDevicesProperties) {
    cudaDeviceProp p;
    expect_ok(cudaGetDeviceProperties(&p, 0));
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.totalConstMem, 65536u);
    EXPECT_EQ(p.maxTexture2D[0], 131072);
    EXPECT_EQ(p.unifiedAddressing, 1);
    EXPECT_GT(p.clockRate, 1000000);
    // Each attribute that is a property has its value.
    for (const auto& [attribute, value] :
         {std::pair{cudaDevAttrClockRate, p.clockRate}, std::pair{cudaDevAttrL2CacheSize, p.l2CacheSize},
          std::pair{cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
          std::pair{cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
          std::pair{cudaDevAttrManagedMemory, 1}}) {
        int found = -1;
        expect_ok(cudaDeviceGetAttribute(&found, attribute, 0));
        EXPECT_EQ(found, value) << attribute;
    }
    int can = 5;
    expect_ok(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT_EQ(can, 0);
    expect_refused(cudaDeviceCanAccessPeer(&can, 0, 1), cudaErrorInvalidDevice, "one device");
    std::size_t limit = 0;
    expect_ok(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 12345));
    expect_ok(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    EXPECT_EQ(limit, 12345u);
    expect_refused(cudaDeviceGetLimit(&limit, static_cast<cudaLimit>(7)), cudaErrorUnsupportedLimit, "no such limit");
}

TEST(EmulatorRuntimeApi, NamesEveryErrorCode) {
    EXPECT_STREQ(cudaGetErrorName(cudaErrorHostMemoryNotRegistered), "cudaErrorHostMemoryNotRegistered");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidSurface), "invalid surface reference");
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(11)), "unrecognized error code");
}

}  // namespace
}  // namespace heddle::emulator
