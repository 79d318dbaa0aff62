#include "kernels/emulator/runtime/graphs.h"

#include <algorithm>

#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

/// Captures that have begun and not ended.
std::vector<std::shared_ptr<Capture>>& captures() {
    static auto* const captures = new std::vector<std::shared_ptr<Capture>>;
    return *captures;
}

/// All graphs and executable graphs that live.
template <class T>
std::vector<std::unique_ptr<T>>& living() {
    static auto* const living = new std::vector<std::unique_ptr<T>>;
    return *living;
}
template <class T>
bool lives(const T* thing) {
    return std::any_of(living<T>().begin(), living<T>().end(), [&](const auto& t) { return t.get() == thing; });
}

cudaError_t spoilt(const std::string& call) {
    return refuse(cudaErrorStreamCaptureInvalidated,
                  call + ": an earlier call has spoilt the capture; end it with cudaStreamEndCapture");
}

void add_to(std::vector<std::size_t>& nodes, const std::vector<std::size_t>& others) {
    for (const std::size_t node : others)
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

/// Whether all nodes come before one of the tips.
bool all_before(const std::vector<GraphNode>& nodes, const std::vector<std::size_t>& tips) {
    std::vector<bool> reached(nodes.size());
    for (const std::size_t tip : tips) reached[tip] = true;
    for (std::size_t i = nodes.size(); i-- > 0;)  // a node comes after earlier ones only
        if (reached[i])
            for (const std::size_t earlier : nodes[i].after) reached[earlier] = true;
    return std::all_of(reached.begin(), reached.end(), [](bool r) { return r; });
}

/// Why the operation, captured some time ago, cannot run again: its memory was freed. Else "".
std::string why_gone(const Operation& operation) {
    try {
        if (operation.check != nullptr) operation.check();
        if (!operation.pinned.empty()) check_pinned(operation);
    } catch (const Violation& violation) {
        return violation.what();
    }
    for (const auto* const all : {&operation.reads, &operation.writes})
        for (const Rows& rows : *all)
            if (const std::string why = device_error(rows, all == &operation.reads ? "reads" : "writes"); !why.empty())
                return title(operation) + " " + why;
    return "";
}

}  // namespace

namespace heddle::emulator {

bool is_capturing(cudaStream_t handle) {
    const std::lock_guard lock(streams().mutex());
    const CUstream_st* const stream = streams().find(handle);
    return stream != nullptr && stream->capture != nullptr;
}

cudaError_t check_capture(const char* call) {
    const std::lock_guard lock(streams().mutex());
    for (const auto& capture : captures()) {
        if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
        if (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread != std::this_thread::get_id()) continue;
        capture->spoilt = true;
        return refuse(cudaErrorStreamCaptureUnsupported,
                      std::string(call) + ": not allowed while a stream is captured (in another mode than relaxed)");
    }
    return cudaSuccess;
}

cudaError_t check_default_stream(CUstream_st* stream, const std::string& call) {
    if (stream->number != 0) return cudaSuccess;
    for (const auto& capture : captures())
        for (const CUstream_st* captured : capture->streams)
            if (captured->blocking) {
                capture->spoilt = true;
                return refuse(cudaErrorStreamCaptureImplicit, call +
                                                                  ": the default stream would wait for a stream that is "
                                                                  "captured; capture one made with cudaStreamNonBlocking");
            }
    return cudaSuccess;
}

cudaError_t spoil(cudaStream_t handle, cudaError_t error, const std::string& why) {
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream != nullptr && stream->capture != nullptr) stream->capture->spoilt = true;
    return refuse(error, why);
}

cudaError_t spoil_by_waiting(cudaStream_t stream, const char* call) {
    return spoil(stream, cudaErrorStreamCaptureUnsupported,
                 std::string(call) + ": the stream is being captured: nothing runs that could be waited for");
}

cudaError_t capture(CUstream_st* stream, Operation operation) {
    Capture& capture = *stream->capture;
    if (capture.spoilt) return spoilt(operation.what);
    capture.nodes.push_back({std::move(operation), stream->tips, stream->lane});
    stream->tips = {capture.nodes.size() - 1};
    return cudaSuccess;
}

cudaError_t capture_record(CUstream_st* stream, CUevent_st* event) {
    if (stream->capture->spoilt) return spoilt("cudaEventRecord");
    event->capture =
        *std::find_if(captures().begin(), captures().end(), [&](const auto& c) { return c.get() == stream->capture; });
    event->tips = stream->tips;
    return cudaSuccess;
}

cudaError_t capture_external_record(CUstream_st* stream, CUevent_st* event) {
    Operation mark;
    mark.what = "cudaEventRecordWithFlags";
    const cudaError_t error = capture(stream, std::move(mark));
    if (error == cudaSuccess) stream->capture->nodes.back().event = event;
    return error;
}

cudaError_t capture_wait(CUstream_st* stream, CUevent_st* event) {
    if (event->capture == nullptr) {
        stream->capture->spoilt = true;
        return refuse(cudaErrorStreamCaptureIsolation,
                      "cudaStreamWaitEvent: a captured stream cannot wait for work outside the capture");
    }
    Capture& capture = *event->capture;
    if (std::find(captures().begin(), captures().end(), event->capture) == captures().end())
        return refuse(cudaErrorCapturedEvent, "cudaStreamWaitEvent: the event was recorded in a capture that has ended");
    if (capture.spoilt) return spoilt("cudaStreamWaitEvent");
    if (stream->capture == nullptr) {
        if (stream->number == 0)
            return refuse(cudaErrorStreamCaptureImplicit, "cudaStreamWaitEvent: the default stream cannot be captured");
        stream->capture = &capture;
        stream->lane = capture.streams.size();
        capture.streams.push_back(stream);
    } else if (stream->capture != &capture) {
        capture.spoilt = stream->capture->spoilt = true;
        return refuse(cudaErrorStreamCaptureMerge, "cudaStreamWaitEvent: the event belongs to another capture");
    }
    add_to(stream->tips, event->tips);
    return cudaSuccess;
}

}  // namespace heddle::emulator

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    if (const cudaError_t error = check_caller("cudaStreamBeginCapture"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaStreamBeginCapture: not a stream");
    if (stream->number == 0)
        return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamBeginCapture: the default stream cannot be captured");
    if (stream->capture != nullptr)
        return refuse(cudaErrorIllegalState, "cudaStreamBeginCapture: the stream is being captured already");
    captures().push_back(std::make_shared<Capture>(Capture{mode, std::this_thread::get_id(), stream, {stream}, {}, false}));
    stream->capture = captures().back().get();
    stream->tips.clear();
    stream->lane = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    if (const cudaError_t error = check_caller("cudaStreamEndCapture"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr || graph == nullptr)
        return refuse(cudaErrorInvalidValue, "cudaStreamEndCapture: not a stream, or a null pointer");
    *graph = nullptr;
    Capture* const capture = stream->capture;
    if (capture == nullptr) return refuse(cudaErrorIllegalState, "cudaStreamEndCapture: the stream is not being captured");
    if (capture->origin != stream) {
        capture->spoilt = true;
        return refuse(cudaErrorStreamCaptureUnmatched, "cudaStreamEndCapture: the capture began in another stream");
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
        return refuse(cudaErrorStreamCaptureWrongThread, "cudaStreamEndCapture: the capture began in another thread");
    const bool joined = all_before(capture->nodes, stream->tips);
    const bool whole = !capture->spoilt;
    auto made = std::make_unique<CUgraph_st>();
    made->nodes = std::move(capture->nodes);
    made->lanes = capture->streams.size();
    for (CUstream_st* captured : capture->streams) {
        captured->capture = nullptr;
        captured->tips.clear();
    }
    std::erase_if(captures(), [&](const auto& c) { return c.get() == capture; });
    if (!whole) return refuse(cudaErrorStreamCaptureInvalidated, "cudaStreamEndCapture: an earlier call has spoilt the capture");
    if (!joined)
        return refuse(cudaErrorStreamCaptureUnjoined,
                      "cudaStreamEndCapture: a stream that joined the capture has work that the first stream does not wait for");
    living<CUgraph_st>().push_back(std::move(made));
    *graph = living<CUgraph_st>().back().get();
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    const std::lock_guard lock(streams().mutex());
    const CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaStreamIsCapturing: not a stream");
    *status = stream->capture == nullptr ? cudaStreamCaptureStatusNone
              : stream->capture->spoilt  ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    if (const cudaError_t error = check_caller("cudaGraphInstantiate"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    if (executable == nullptr || !lives(graph) || flags != 0)
        return refuse(cudaErrorInvalidValue,
                      "cudaGraphInstantiate: not a graph, a null pointer, or flags that the emulator does not know");
    auto made = std::make_unique<CUgraphExec_st>();
    made->nodes = graph->nodes;
    made->lanes.push_back(nullptr);  // the stream that it is launched into
    while (made->lanes.size() < graph->lanes) made->lanes.push_back(streams().create(false));
    living<CUgraphExec_st>().push_back(std::move(made));
    *executable = living<CUgraphExec_st>().back().get();
    return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
    if (const cudaError_t error = check_caller("cudaGraphExecUpdate"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    if (result == nullptr || !lives(executable) || !lives(graph))
        return refuse(cudaErrorInvalidValue, "cudaGraphExecUpdate: not a graph, not an executable graph, or a null pointer");
    const auto failed = [&](cudaGraphExecUpdateResult why, const std::string& words) {
        *result = {why, nullptr, nullptr};
        return refuse(cudaErrorGraphExecUpdateFailure, "cudaGraphExecUpdate: " + words);
    };
    const std::vector<GraphNode>&before = executable->nodes, &now = graph->nodes;
    if (before.size() != now.size() || executable->lanes.size() != std::max<std::size_t>(1, graph->lanes))
        return failed(cudaGraphExecUpdateErrorTopologyChanged, "the graph has other nodes");
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (before[i].after != now[i].after || before[i].lane != now[i].lane)
            return failed(cudaGraphExecUpdateErrorTopologyChanged, "node " + std::to_string(i) + " comes after others");
        if (before[i].operation.what != now[i].operation.what)
            return failed(cudaGraphExecUpdateErrorNodeTypeChanged, "node " + std::to_string(i) + " is another call");
        if (before[i].operation.kernel != now[i].operation.kernel)
            return failed(cudaGraphExecUpdateErrorFunctionChanged, "node " + std::to_string(i) + " is another kernel");
    }
    executable->nodes = now;
    *result = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
    if (const cudaError_t error = check_caller("cudaGraphLaunch"); error != cudaSuccess) return error;
    const std::lock_guard lock(streams().mutex());
    CUstream_st* const stream = streams().find(handle);
    if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaGraphLaunch: not a stream");
    if (!lives(executable)) return refuse(cudaErrorInvalidValue, "cudaGraphLaunch: not an executable graph");
    if (stream->capture != nullptr)
        return spoil(stream, cudaErrorNotSupported, "cudaGraphLaunch: the emulator captures no graph into a graph");
    for (const GraphNode& node : executable->nodes) {
        const std::string why =
            node.event != nullptr && !is_event(node.event) ? "an event that it records was destroyed" : why_gone(node.operation);
        if (!why.empty()) return refuse(cudaErrorInvalidValue, "cudaGraphLaunch: " + why);
    }
    if (const cudaError_t error = check_default_stream(stream, "cudaGraphLaunch"); error != cudaSuccess) return error;
    Operation begin;
    begin.what = "cudaGraphLaunch";
    std::vector<std::shared_ptr<Operation>> before;
    if (executable->last != nullptr) before.push_back(executable->last);
    const auto first = streams().enqueue(stream, std::move(begin), std::move(before));
    std::vector<std::shared_ptr<Operation>> queued;
    for (const GraphNode& node : executable->nodes) {
        std::vector<std::shared_ptr<Operation>> after = {first};
        for (const std::size_t earlier : node.after) after.push_back(queued[earlier]);
        CUstream_st* const lane = node.lane == 0 ? stream : executable->lanes[node.lane];
        queued.push_back(node.event != nullptr ? enqueue_mark(lane, node.event, std::move(after))
                                               : streams().enqueue(lane, node.operation, std::move(after)));
    }
    Operation end;
    end.what = "cudaGraphLaunch";
    executable->last = streams().enqueue(stream, std::move(end), std::move(queued));
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const std::lock_guard lock(streams().mutex());
    const auto erased = std::erase_if(living<CUgraph_st>(), [&](const auto& g) { return g.get() == graph; });
    return erased == 1 ? cudaSuccess : refuse(cudaErrorInvalidValue, "cudaGraphDestroy: not a graph, or one that was destroyed");
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    const std::lock_guard lock(streams().mutex());
    const auto erased = std::erase_if(living<CUgraphExec_st>(), [&](const auto& g) { return g.get() == executable; });
    return erased == 1
               ? cudaSuccess
               : refuse(cudaErrorInvalidValue, "cudaGraphExecDestroy: not an executable graph, or one that was destroyed");
}
