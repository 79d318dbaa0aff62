// Graphs and staging on the CUDA runtime, NVIDIA's or the emulator's.
#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "core/device.h"
#include "core/device_cuda.h"
#include "core/format.h"
#include "core/graph.h"
#include "core/storage.h"

namespace heddle::device {
Graph::~Graph() { forget(); }

void Graph::forget() {
    if (executable_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_));
    executable_ = nullptr;
}

// Updates the graph in place if the new one differs only in arguments; returns false otherwise.
bool Graph::update(void* captured) {
    if (executable_ == nullptr) return false;
    cudaGraphExecUpdateResultInfo result = {};
    const cudaError_t error =
        cudaGraphExecUpdate(static_cast<cudaGraphExec_t>(executable_), static_cast<cudaGraph_t>(captured), &result);
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    forget();
    return false;
}

void Graph::capture(const std::function<void()>& body) {
    // Relaxed, because kernels may be loaded for the first time, and arenas may grow, during the capture.
    void* const before = std::exchange(executable_, nullptr);  // no graph if capturing fails
    Graph last;
    last.executable_ = before;
    must(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    detail::set_capturing(true);
    const auto give_up = [&] {
        detail::set_capturing(false);
        if (cudaStreamEndCapture(stream(), &graph) == cudaSuccess) cudaGraphDestroy(graph);
        cudaGetLastError();
    };
    try {
        body();
        detail::set_capturing(false);
    } catch (const OutOfMemory&) {
        give_up();
        release_kept_memory(Device::cuda);
        throw;
    } catch (...) {
        give_up();
        throw;
    }
    must(cudaStreamEndCapture(stream(), &graph), "cudaStreamEndCapture");
    if (last.update(graph)) {
        cudaGraphDestroy(graph);
        executable_ = std::exchange(last.executable_, nullptr);
        return;
    }
    cudaGraphExec_t executable = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    must(error, "cudaGraphInstantiate");
    executable_ = executable;
}

void Graph::launch() {
    check(captured(), "graph: nothing was captured yet");
    must(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), stream()), "cudaGraphLaunch");
    detail::count_graph();
}

Staging::Staging() = default;

Staging::~Staging() {
    for (Piece& piece : pieces_) {
        if (piece.on_its_way) cudaEventSynchronize(static_cast<cudaEvent_t>(piece.sent));
        if (piece.sent != nullptr) cudaEventDestroy(static_cast<cudaEvent_t>(piece.sent));
        if (piece.memory != nullptr) cudaFreeHost(piece.memory);
    }
}

std::byte* Staging::begin(std::int64_t bytes) {
    now_ = (now_ + 1) % kPieces;
    Piece& piece = pieces_[now_];
    if (piece.on_its_way) must(cudaEventSynchronize(static_cast<cudaEvent_t>(piece.sent)), "cudaEventSynchronize");
    piece.on_its_way = false;
    if (piece.bytes >= bytes) return piece.memory;
    if (piece.memory != nullptr) cudaFreeHost(piece.memory);
    piece.memory = nullptr;
    piece.bytes = 0;
    const std::int64_t larger = std::max<std::int64_t>(bytes + bytes / 4, 4096);
    void* memory = nullptr;
    must(cudaHostAlloc(&memory, static_cast<std::size_t>(larger), cudaHostAllocDefault), "cudaHostAlloc");
    piece.memory = static_cast<std::byte*>(memory);
    piece.bytes = larger;
    return piece.memory;
}

void Staging::send(void* to, std::int64_t bytes) {
    Piece& piece = pieces_[now_];
    check(!detail::capturing(), "staging: {} bytes are sent while a graph is captured; send them before it is launched", bytes);
    check(bytes <= piece.bytes, "staging: {} bytes to send, but there are {}", bytes, piece.bytes);
    if (piece.sent == nullptr) {
        cudaEvent_t event = nullptr;
        must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        piece.sent = event;
    }
    must(cudaMemcpyAsync(to, piece.memory, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
    must(cudaEventRecord(static_cast<cudaEvent_t>(piece.sent), stream()), "cudaEventRecord");
    piece.on_its_way = true;
    detail::count_copy_to_device();
}

Readback::~Readback() {
    for (Piece& piece : pieces_) {
        if (piece.there != nullptr) {
            cudaEventSynchronize(static_cast<cudaEvent_t>(piece.there));  // a copy may still write there
            cudaEventDestroy(static_cast<cudaEvent_t>(piece.there));
        }
        if (piece.memory != nullptr) cudaFreeHost(piece.memory);
    }
}

void Readback::request(const void* from, std::int64_t bytes) {
    check(pending() < kPieces, "readback: {} copies are on their way; take one first", pending());
    Piece& piece = pieces_[requested_ % kPieces];
    if (piece.bytes < bytes) {
        if (piece.memory != nullptr) cudaFreeHost(piece.memory);
        piece.memory = nullptr;
        piece.bytes = 0;
        void* memory = nullptr;
        must(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault), "cudaHostAlloc");
        piece.memory = static_cast<std::byte*>(memory);
        piece.bytes = bytes;
    }
    if (piece.there == nullptr) {
        cudaEvent_t event = nullptr;
        must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        piece.there = event;
    }
    must(cudaMemcpyAsync(piece.memory, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream()),
         "cudaMemcpyAsync");
    must(cudaEventRecord(static_cast<cudaEvent_t>(piece.there), stream()), "cudaEventRecord");
    detail::count_copy_to_host();
    ++requested_;
}

const std::byte* Readback::take() {
    check(pending() > 0, "readback: nothing was requested");
    const Piece& piece = pieces_[taken_++ % kPieces];
    must(cudaEventSynchronize(static_cast<cudaEvent_t>(piece.there)), "cudaEventSynchronize");
    return piece.memory;
}

}  // namespace heddle::device
