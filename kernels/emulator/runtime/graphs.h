// Capturing a stream's work into a graph, and running it again.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/emulator/runtime/streams.h"

/// One operation of a graph, and the nodes that it depends on. Lane 0 is the stream in which the capture began; each stream that
/// joined the capture has its own lane.
struct GraphNode {
    heddle::emulator::Operation operation;
    std::vector<std::size_t> after;
    std::size_t lane = 0;
    cudaEvent_t event = nullptr;  ///< recorded here by each launch of the graph, for code outside of it
};

struct Capture {
    cudaStreamCaptureMode mode;
    std::thread::id thread;  ///< that began it
    CUstream_st* origin;
    std::vector<CUstream_st*> streams;  ///< by lane
    std::vector<GraphNode> nodes;
    bool spoilt = false;
};

struct CUgraph_st {
    std::vector<GraphNode> nodes;
    std::size_t lanes = 1;
};

struct CUgraphExec_st {
    std::vector<GraphNode> nodes;
    std::vector<CUstream_st*> lanes;  ///< streams of its own, from lane 1 on
    std::shared_ptr<heddle::emulator::Operation>
        last;  ///< the latest launch's last operation: launches of one graph are serialised
};

/// An event: a mark in a stream, or in a capture.
struct CUevent_st {
    using Time = std::chrono::steady_clock::time_point;
    bool timed = true;
    std::shared_ptr<heddle::emulator::Operation> mark;
    std::shared_ptr<Time> time;  ///< when the mark ran
    std::shared_ptr<Capture> capture;
    std::vector<std::size_t> tips;  ///< nodes of the capture
};

namespace heddle::emulator {

// The caller holds the lock of Streams.

/// Adds the operation to the graph that the stream is captured into.
cudaError_t capture(CUstream_st* stream, Operation operation);
cudaError_t capture_record(CUstream_st* stream, CUevent_st* event);
/// Adds a node that records the event at each launch of the graph.
cudaError_t capture_external_record(CUstream_st* stream, CUevent_st* event);
/// The stream waits for an event of a capture, and so joins the capture.
cudaError_t capture_wait(CUstream_st* stream, CUevent_st* event);
bool is_event(cudaEvent_t event);
/// Puts the event's mark at the stream's end, after those that `after` names.
std::shared_ptr<Operation> enqueue_mark(CUstream_st* stream, CUevent_st* event,
                                        std::vector<std::shared_ptr<Operation>> after = {});
/// Refuses a call for which the default stream would wait for a stream that is being captured, and invalidates the capture.
cudaError_t check_default_stream(CUstream_st* stream, const std::string& call);

}  // namespace heddle::emulator
