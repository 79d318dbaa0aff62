// Work that is put together once and given to the device many times, and the way its inputs take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace heddle::device {

/// A CUDA graph: launches, fills and copies that were captured, to be run again with the same addresses and arguments. One call
/// starts them all, where each launch by itself costs the host a few microseconds.
///
/// What is captured must not wait for the device, nor copy from ordinary host memory. Its tensors must lie where they are when it
/// runs again: make them inside of a MemoryArena (core/storage.h) that lives as long as the graph.
class Graph {
  public:
    Graph() = default;
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Captures what body() puts into the current stream, and runs none of it. No other thread may use this stream meanwhile
    /// (threads share the process's own stream unless they have one by WithStream): what it launched would be captured, too.
    /// Error with CUDA's words when something in it cannot be captured; what body() throws goes on to the caller. Either way
    /// there is no graph then.
    void capture(const std::function<void()>& body);
    bool captured() const { return executable_ != nullptr; }
    /// Puts the captured work into the current stream. Error when nothing was captured.
    void launch();

  private:
    void forget();

    void* executable_ = nullptr;  // a cudaGraphExec_t
};

/// Pinned host memory that small inputs of the device are written to: the copy from there is queued like a launch, and nobody
/// waits. There are a few pieces, used in turns.
class Staging {
  public:
    Staging();
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// `bytes` of host memory to be filled. Waits when the copy of kPieces turns ago has not been made yet: the host is that far
    /// ahead of the device.
    std::byte* begin(std::int64_t bytes);
    /// Copies the first `bytes` of it to the device, in the current stream's order. Error while this thread captures a graph.
    void send(void* to, std::int64_t bytes);

    static constexpr std::size_t kPieces = 32;

  private:
    struct Piece {
        std::byte* memory = nullptr;
        std::int64_t bytes = 0;
        void* sent = nullptr;  // a cudaEvent_t
        bool on_its_way = false;
    };
    std::array<Piece, kPieces> pieces_;
    std::size_t now_ = 0;
};

}  // namespace heddle::device
