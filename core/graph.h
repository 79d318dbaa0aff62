// CUDA graphs, and staging memory for their inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace heddle::device {

/// A CUDA graph: captured launches, fills and copies that can be run again with the same addresses and arguments. One call
/// starts them all, while each single launch costs the host a few microseconds.
///
/// Captured work must not wait for the device, nor copy from pageable host memory. Its tensors must keep their addresses for the
/// replays: allocate them in a MemoryArena (core/storage.h) that lives as long as the graph.
class Graph {
  public:
    Graph() = default;
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Captures the work that body() puts into the current stream, without running it. No other thread may use this stream
    /// meanwhile (threads share the process's stream unless they use WithStream): its work would be captured, too. Error with
    /// CUDA's message when something cannot be captured; exceptions of body() propagate. In both cases there is no graph
    /// afterwards. After an OutOfMemory the kept memory has been given back, which is possible only when the capture has ended:
    /// capturing again may succeed. If only arguments have changed, capturing again is cheaper: the existing graph is updated.
    void capture(const std::function<void()>& body);
    bool captured() const { return executable_ != nullptr; }
    /// Puts the captured work into the current stream. Error if nothing was captured.
    void launch();

  private:
    void forget();
    bool update(void* captured);

    void* executable_ = nullptr;  // a cudaGraphExec_t
};

/// Pinned host memory for small inputs of the device: the copy from it is queued like a launch, without waiting. It consists of
/// a few pieces, used in turn.
class Staging {
  public:
    Staging();
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    /// `bytes` of host memory to fill. Waits if the copy from kPieces turns ago is still pending: the host is that far ahead of
    /// the device.
    std::byte* begin(std::int64_t bytes);
    /// Copies the first `bytes` of it to the device, in the current stream's order. Error while this thread captures.
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

/// Small results of the device for the host, in pinned memory: the copy to it is queued like a launch, and read when later work
/// is queued already, so that the device need not wait for the host.
class Readback {
  public:
    Readback() = default;
    ~Readback();
    Readback(const Readback&) = delete;
    Readback& operator=(const Readback&) = delete;

    /// Queues the copy of `bytes` from the device. At most kPieces may be on their way.
    void request(const void* from, std::int64_t bytes);
    /// How many are on their way.
    std::size_t pending() const { return requested_ - taken_; }
    /// The oldest of them; waits until it is there. The bytes are overwritten by the kPieces-th request from then on.
    const std::byte* take();

    static constexpr std::size_t kPieces = 2;

  private:
    struct Piece {
        std::byte* memory = nullptr;
        std::int64_t bytes = 0;
        void* there = nullptr;  // a cudaEvent_t
    };
    std::array<Piece, kPieces> pieces_;
    std::size_t requested_ = 0, taken_ = 0;
};

}  // namespace heddle::device
