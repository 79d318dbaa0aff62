// Graphs of the emulated runtime: capture, replay, and calls that are not allowed in a capture.
#include <thread>

#include "tests/emulator/emulator_runtime_support.h"

namespace heddle::emulator {
namespace {

/// The executable graph of body(stream).
class Graph {
  public:
    template <class Body>
    Graph(cudaStream_t stream, Body&& body) {
        expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        body(stream);
        cudaGraph_t graph = nullptr;
        expect_ok(cudaStreamEndCapture(stream, &graph));
        expect_ok(cudaGraphInstantiate(&executable_, graph));
        expect_ok(cudaGraphDestroy(graph));
    }
    ~Graph() { expect_ok(cudaGraphExecDestroy(executable_)); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    operator cudaGraphExec_t() const { return executable_; }

  private:
    cudaGraphExec_t executable_ = nullptr;
};

TEST(EmulatorGraph, RunsNothingWhenItIsCaptured) {
    const Stream stream;
    DeviceArray<float> x(32, 0.0f);
    const Graph graph(stream, [&](cudaStream_t s) { expect_ok(add(x, 1, 32, s)); });
    expect_ok(cudaStreamSynchronize(stream));
    EXPECT_EQ(x.values()[0], 0);
}

TEST(EmulatorGraph, ReplaysFrozenArgumentsOnNewData) {
    in_orders([] {
        const Stream stream;
        DeviceArray<float> x(32, 0.0f), y(32);
        PinnedArray<float> input(32, 1.0f);
        float step = 10;
        const Graph graph(stream, [&](cudaStream_t s) {
            expect_ok(cudaMemcpyAsync(x, input, input.bytes(), cudaMemcpyHostToDevice, s));
            expect_ok(add(x, step, 32, s));
            expect_ok(cudaMemcpyAsync(y, x, 128, cudaMemcpyDeviceToDevice, s));
        });
        step = 99;  // the launch has copied its arguments
        for (int i = 1; i <= 3; ++i) {
            input.fill(static_cast<float>(i));
            expect_ok(cudaGraphLaunch(graph, stream));
            expect_ok(cudaStreamSynchronize(stream));
            EXPECT_EQ(y.values()[31], static_cast<float>(10 + i));
        }
        // Two consecutive replays; the first one's input is changed too early.
        expect_ok(cudaGraphLaunch(graph, stream));
        input.fill(50);
        expect_report(cudaStreamSynchronize(stream), "pinned buffer reused too early");
    });
}

TEST(EmulatorGraph, ReplaysCountUp) {
    in_orders([] {
        const Stream stream, other;
        DeviceArray<float> x(32, 0.0f);
        const Graph graph(stream, [&](cudaStream_t s) {
            expect_ok(add(x, 1, 32, s));
            expect_ok(add(x, 2, 32, s));
        });
        for (int i = 0; i < 5; ++i) expect_ok(cudaGraphLaunch(graph, i % 2 == 0 ? stream : other));  // never concurrent
        expect_ok(cudaDeviceSynchronize());
        EXPECT_EQ(x.values()[0], 15);
    });
}

TEST(EmulatorGraph, CapturesStreamsThatJoin) {
    in_orders([] {
        const Stream first, second;
        const Event fork, join;
        DeviceArray<float> x(32, 1.0f), y(32, 2.0f);
        const auto body = [&](bool joined) {
            return [&, joined](cudaStream_t s) {
                expect_ok(cudaEventRecord(fork, s));
                expect_ok(cudaStreamWaitEvent(second, fork));
                expect_ok(add(x, 1, 32, s));
                expect_ok(cudaMemsetAsync(y, 0, 128, second));
                if (!joined) return;
                expect_ok(cudaEventRecord(join, second));
                expect_ok(cudaStreamWaitEvent(s, join));
                expect_ok(cudaMemcpyAsync(y, x, 128, cudaMemcpyDeviceToDevice, s));
            };
        };
        const Graph graph(first, body(true));
        for (int i = 0; i < 2; ++i) expect_ok(cudaGraphLaunch(graph, first));
        expect_ok(cudaStreamSynchronize(first));
        EXPECT_EQ(x.values()[0], 3);
        EXPECT_EQ(y.values()[0], 3);

        expect_ok(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
        body(false)(first);
        cudaGraph_t none = nullptr;
        expect_refused(cudaStreamEndCapture(first, &none), cudaErrorStreamCaptureUnjoined, "does not wait for");
        EXPECT_EQ(none, nullptr);
        // Neither stream is captured any more.
        expect_ok(add(x, 1, 32, second));
        expect_ok(cudaStreamSynchronize(second));
        EXPECT_EQ(x.values()[0], 4);
    });
}

TEST(EmulatorGraph, ReportsRacesBetweenItsBranches) {
    in_orders([] {
        const Stream first, second;
        const Event fork, join;
        DeviceArray<float> x(32, 1.0f);
        const Graph graph(first, [&](cudaStream_t s) {
            expect_ok(cudaEventRecord(fork, s));
            expect_ok(cudaStreamWaitEvent(second, fork));
            expect_ok(cudaMemsetAsync(x, 0, 128, s));
            expect_ok(cudaMemsetAsync(x, 1, 64, second));
            expect_ok(cudaEventRecord(join, second));
            expect_ok(cudaStreamWaitEvent(s, join));
        });
        expect_ok(cudaGraphLaunch(graph, first));
        expect_report(cudaStreamSynchronize(first), "race between streams");
    });
}

// A stream outside waits for the middle of the latest launch; the rest of the graph may still run.
TEST(EmulatorGraph, RecordsExternalEventsAtEachLaunch) {
    in_orders([] {
        const Stream stream, beside, other;
        const Event middle, fork, join;
        DeviceArray<float> x(32, 0.0f), y(32, 0.0f), seen(32, 0.0f);
        const Graph graph(stream, [&](cudaStream_t s) {
            expect_ok(cudaEventRecord(fork, s));
            expect_ok(cudaStreamWaitEvent(beside, fork));
            expect_ok(add(x, 1, 32, beside));
            expect_ok(cudaEventRecordWithFlags(middle, beside, cudaEventRecordExternal));
            expect_ok(cudaEventRecord(join, beside));  // an external record joins no capture
            expect_ok(cudaMemsetAsync(y, 1, 128, s));
            expect_ok(cudaStreamWaitEvent(s, join));
        });
        expect_ok(cudaEventQuery(middle));  // not recorded yet
        for (int i = 1; i <= 3; ++i) {
            expect_ok(cudaGraphLaunch(graph, stream));
            expect_ok(cudaStreamWaitEvent(other, middle));
            expect_ok(cudaMemcpyAsync(seen, x, 128, cudaMemcpyDeviceToDevice, other));
            expect_ok(cudaEventRecord(fork, other));
            expect_ok(cudaStreamWaitEvent(stream, fork));  // the next launch writes x
        }
        expect_ok(cudaStreamSynchronize(other));
        EXPECT_EQ(seen.values()[31], 3);
        expect_ok(cudaStreamSynchronize(stream));
        // Work after the event is not waited for.
        expect_ok(cudaGraphLaunch(graph, stream));
        expect_ok(cudaStreamWaitEvent(other, middle));
        expect_ok(cudaMemsetAsync(y, 0, 128, other));
        expect_report(cudaDeviceSynchronize(), "race between streams");
    });
}

TEST(EmulatorGraph, RefusesExternalEventsThatNobodyCouldWaitFor) {
    const Stream stream, other;
    const Event event;
    expect_refused(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), cudaErrorInvalidValue, "that are captured");
    expect_refused(cudaEventRecordWithFlags(event, stream, 2), cudaErrorInvalidValue, "default and external");
    cudaEvent_t gone = nullptr;
    expect_ok(cudaEventCreateWithFlags(&gone, cudaEventDisableTiming));
    const Graph graph(stream, [&](cudaStream_t s) { expect_ok(cudaEventRecordWithFlags(gone, s, cudaEventRecordExternal)); });
    expect_ok(cudaGraphLaunch(graph, stream));
    expect_ok(cudaEventSynchronize(gone));
    expect_ok(cudaEventDestroy(gone));
    expect_refused(cudaGraphLaunch(graph, stream), cudaErrorInvalidValue, "an event that it records was destroyed");
    // Without the flag the event only refers to the capture.
    const Graph internal(stream, [&](cudaStream_t s) { expect_ok(cudaEventRecord(event, s)); });
    expect_ok(cudaGraphLaunch(internal, stream));
    expect_refused(cudaStreamWaitEvent(other, event), cudaErrorCapturedEvent, "has ended");
    expect_ok(cudaStreamSynchronize(stream));
}

TEST(EmulatorGraph, ReportsMemoryThatWasFreedSince) {
    const Stream stream;
    float *x = nullptr, *y = nullptr;
    expect_ok(cudaMalloc(&x, 128));
    expect_ok(cudaMalloc(&y, 128));
    PinnedArray<float>* staging = new PinnedArray<float>(32, 1.0f);
    const Graph fills(stream, [&](cudaStream_t s) { expect_ok(cudaMemsetAsync(x, 0, 128, s)); });
    const Graph adds(stream, [&](cudaStream_t s) { expect_ok(add(x, 1, 32, s)); });
    const Graph copies(stream, [&](cudaStream_t s) { expect_ok(cudaMemcpyAsync(y, *staging, 128, cudaMemcpyHostToDevice, s)); });
    expect_ok(cudaGraphLaunch(fills, stream));
    expect_ok(cudaGraphLaunch(adds, stream));
    expect_ok(cudaGraphLaunch(copies, stream));
    expect_ok(cudaStreamSynchronize(stream));
    expect_ok(cudaFree(x));
    delete staging;
    expect_refused(cudaGraphLaunch(fills, stream), cudaErrorInvalidValue,
                   "cudaMemsetAsync at tests/emulator/emulator_graph_test.cpp:");
    expect_refused(cudaGraphLaunch(adds, stream), cudaErrorInvalidValue, "kernel add_kernel: an argument points to freed memory");
    expect_refused(cudaGraphLaunch(copies, stream), cudaErrorInvalidValue, "pinned memory that it uses was freed");
    expect_ok(cudaFree(y));
}

TEST(EmulatorGraph, RefusesToWaitInACapture) {
    const Stream stream;
    DeviceArray<float> x(32, 0.0f);
    float host = 0;
    const auto spoils = [&](auto&& call, cudaError_t error, const std::string& words) {
        expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        expect_refused(call(), error, words);
        cudaStreamCaptureStatus status;
        expect_ok(cudaStreamIsCapturing(stream, &status));
        EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
        expect_refused(add(x, 1, 32, stream), cudaErrorStreamCaptureInvalidated, "spoilt");
        cudaGraph_t graph = nullptr;
        expect_refused(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated, "spoilt");
    };
    void* pointer = nullptr;
    const auto unsupported = cudaErrorStreamCaptureUnsupported;
    spoils([&] { return cudaStreamSynchronize(stream); }, unsupported, "nothing runs that could be waited for");
    spoils([&] { return cudaStreamQuery(stream); }, unsupported, "being captured");
    spoils([&] { return cudaDeviceSynchronize(); }, unsupported, "not allowed while");
    spoils([&] { return cudaMalloc(&pointer, 8); }, unsupported, "not allowed while");
    spoils([&] { return cudaFree(x); }, unsupported, "not allowed while");
    spoils([&] { return cudaMallocHost(&pointer, 8); }, unsupported, "not allowed while");
    spoils([&] { return cudaMemcpyAsync(&host, x, 4, cudaMemcpyDeviceToHost, stream); }, unsupported, "use pinned memory");
    spoils([&] { return cudaMemcpyAsync(x, &host, 4, cudaMemcpyHostToDevice, stream); }, unsupported,
           "pageable memory would be read at each replay");
    expect_ok(cudaStreamSynchronize(stream));
    expect_ok(add(x, 1, 32, stream));
    expect_ok(cudaStreamSynchronize(stream));
}

TEST(EmulatorGraph, RefusesTheDefaultStreamBesideABlockingCapture) {
    const Stream blocking(cudaStreamDefault);
    DeviceArray<float> x(32, 0.0f);
    cudaGraph_t graph = nullptr;
    expect_ok(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    expect_refused(cudaMemset(x, 0, 4), cudaErrorStreamCaptureImplicit, "default stream");
    expect_refused(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated, "spoilt");
    expect_refused(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed), cudaErrorStreamCaptureUnsupported,
                   "default stream");
}

TEST(EmulatorGraph, ARelaxedCaptureLetsOthersAllocate) {
    const Stream stream;
    DeviceArray<float> x(32, 0.0f);
    expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    { DeviceArray<float> y(32); }
    cudaGraph_t graph = nullptr;
    expect_ok(add(x, 1, 32, stream));
    expect_ok(cudaStreamEndCapture(stream, &graph));
    expect_ok(cudaGraphDestroy(graph));

    // Thread-local: other threads may call it; global: no thread may.
    for (const bool global : {false, true}) {
        expect_ok(cudaStreamBeginCapture(stream, global ? cudaStreamCaptureModeGlobal : cudaStreamCaptureModeThreadLocal));
        cudaError_t error = cudaSuccess;
        std::thread([&] {
            void* pointer = nullptr;
            error = cudaMalloc(&pointer, 8);
        }).join();
        EXPECT_EQ(error, global ? cudaErrorStreamCaptureUnsupported : cudaSuccess);
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), global ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
        if (!global) expect_ok(cudaGraphDestroy(graph));
    }
}

TEST(EmulatorGraph, RefusesWhatCrossesACapture) {
    const Stream first, second;
    const Event outside, inside;
    cudaGraph_t graph = nullptr;
    expect_ok(cudaEventRecord(outside, second));
    expect_ok(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    expect_refused(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal), cudaErrorIllegalState, "already");
    expect_refused(cudaStreamWaitEvent(first, outside), cudaErrorStreamCaptureIsolation, "outside the capture");
    EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);

    expect_ok(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    expect_ok(cudaEventRecord(inside, first));
    expect_refused(cudaEventSynchronize(inside), cudaErrorCapturedEvent, "during a capture");
    expect_ok(cudaStreamBeginCapture(second, cudaStreamCaptureModeThreadLocal));
    expect_refused(cudaStreamWaitEvent(second, inside), cudaErrorStreamCaptureMerge, "another capture");
    EXPECT_EQ(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
    expect_refused(cudaStreamEndCapture(first, &graph), cudaErrorIllegalState, "not being captured");
    expect_refused(cudaStreamWaitEvent(second, inside), cudaErrorCapturedEvent, "has ended");
    expect_refused(cudaGraphInstantiate(nullptr, graph), cudaErrorInvalidValue, "not a graph");
    expect_refused(cudaGraphLaunch(nullptr, first), cudaErrorInvalidValue, "not an executable graph");
    expect_refused(cudaGraphDestroy(graph), cudaErrorInvalidValue, "not a graph");
    // A stream that waits for an event of a capture is captured, too: its capture ends with the first stream's.
    expect_ok(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    expect_ok(cudaEventRecord(inside, first));
    expect_ok(cudaStreamWaitEvent(second, inside));
    expect_refused(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureUnmatched, "another stream");
    EXPECT_EQ(cudaStreamEndCapture(first, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST(EmulatorGraph, RefusesAllocationsAndGraphsInside) {
    const Stream stream;
    DeviceArray<float> x(32, 0.0f);
    const Graph graph(stream, [&](cudaStream_t s) { expect_ok(add(x, 1, 32, s)); });
    float* y = nullptr;
    cudaGraph_t none = nullptr;
    expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    expect_refused(cudaMallocAsync(&y, 8, stream), cudaErrorNotSupported, "captures no allocations");
    EXPECT_EQ(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureInvalidated);
    expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    expect_refused(cudaGraphLaunch(graph, stream), cudaErrorNotSupported, "no graph into a graph");
    EXPECT_EQ(cudaStreamEndCapture(stream, &none), cudaErrorStreamCaptureInvalidated);
}

TEST(EmulatorGraph, TakesTheArgumentsOfAnotherGraphOfTheSameCalls) {
    const Stream stream;
    DeviceArray<float> x(32, 0.0f), y(32, 0.0f);
    const Graph executable(stream, [&](cudaStream_t s) { expect_ok(add(x, 1, 32, s)); });
    const auto update = [&](auto&& body) {
        expect_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        body();
        cudaGraph_t graph = nullptr;
        expect_ok(cudaStreamEndCapture(stream, &graph));
        cudaGraphExecUpdateResultInfo result = {};
        const cudaError_t error = cudaGraphExecUpdate(executable, graph, &result);
        expect_ok(cudaGraphDestroy(graph));
        EXPECT_EQ(error == cudaSuccess, result.result == cudaGraphExecUpdateSuccess);
        return error;
    };
    expect_ok(update([&] { expect_ok(add(y, 5, 32, stream)); }));
    EXPECT_EQ(update([&] {
                  expect_ok(add(y, 7, 32, stream));
                  expect_ok(add(y, 7, 32, stream));
              }),
              cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(update([&] { expect_ok(cudaMemsetAsync(y, 0, 128, stream)); }), cudaErrorGraphExecUpdateFailure);
    expect_ok(cudaGraphLaunch(executable, stream));
    expect_ok(cudaStreamSynchronize(stream));
    EXPECT_EQ(x.values()[0], 0) << "the first arguments are gone";
    EXPECT_EQ(y.values()[31], 5) << "those of refused updates never came";
    cudaGetLastError();
}

}  // namespace
}  // namespace heddle::emulator
