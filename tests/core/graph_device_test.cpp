// Captured work, its memory and the staging of its inputs (core/graph.h, core/storage.h), on the device, emulated or real.
#include "core/graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/branch.h"
#include "core/mark.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/linear/linear.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

class DeviceGraph : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

Tensor on_device(const std::vector<float>& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}).to(Device::cuda);
}

TEST_F(DeviceGraph, RunsOnWhatStandsInMemoryNow) {
    Tensor x = on_device({1, 2, 3}), sum = on_device({0, 0, 0});
    MemoryArena arena;
    device::Graph graph;
    EXPECT_FALSE(graph.captured());
    expect_error([&] { graph.launch(); }, "nothing was captured");
    const device::Statistics before = device::statistics();
    {
        const MemoryArena::Use use(arena);
        graph.capture([&] { kernels::accumulate(sum, kernels::mul(x, x)); });
    }
    EXPECT_EQ(sum.to_vector(), (std::vector<double>{0, 0, 0})) << "nothing runs when it is captured";
    graph.launch();
    x.copy_(on_device({2, 3, 4}));
    graph.launch();
    EXPECT_EQ(sum.to_vector(), (std::vector<double>{1 + 4, 4 + 9, 9 + 16}));
    EXPECT_EQ(device::statistics().graphs - before.graphs, 2);
}

TEST_F(DeviceGraph, RefusesCopiesThatAReplayWouldNotFind) {
    Tensor x = on_device({1, 2, 3});
    device::Graph graph;
    expect_error([&] { graph.capture([&] { x.copy_(Tensor::zeros({3}, DType::f32)); }); }, "while a graph is captured");
    expect_error([&] { graph.capture([&] { x.to_vector(); }); }, "while a graph is captured");
    EXPECT_FALSE(graph.captured());
    // The stream still works.
    x.fill_(0);
    EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 0, 0}));
}

TEST_F(DeviceGraph, GivesOnWhatTheBodyThrows) {
    device::Graph graph;
    Tensor x = on_device({1});
    expect_error([&] { graph.capture([&] { x.fill_(0), fail("in the middle"); }); }, "in the middle");
    EXPECT_FALSE(graph.captured());
    EXPECT_EQ(x.to_vector(), std::vector<double>{1});
    graph.capture([&] { x.fill_(0); });
    graph.launch();
    EXPECT_EQ(x.to_vector(), std::vector<double>{0});
}

// Two graphs of one arena use the same blocks for intermediate results.
TEST_F(DeviceGraph, ShareAnArenaOneAfterTheOther) {
    for (const bool exact : {true, false}) {
        Tensor x = on_device({1, 2, 3}), first = on_device({0, 0, 0}), second = on_device({0, 0, 0});
        MemoryArena arena(exact);
        device::Graph one, two;
        const std::byte* places[2] = {};
        const auto capture = [&](device::Graph& graph, Tensor& to, int i) {
            const MemoryArena::Use use(arena);
            graph.capture([&] {
                const Tensor square = kernels::mul(x, x);
                places[i] = square.bytes_data();
                kernels::accumulate(to, square);
            });
        };
        capture(one, first, 0);
        capture(two, second, 1);
        EXPECT_EQ(places[0], places[1]);
        for (int i = 0; i < 3; ++i) {
            one.launch();
            two.launch();
        }
        EXPECT_EQ(first.to_vector(), (std::vector<double>{3, 12, 27}));
        EXPECT_EQ(second.to_vector(), (std::vector<double>{3, 12, 27}));
    }
}

TEST_F(DeviceGraph, AnArenasMemoryIsNobodyElses) {
    for (const bool exact : {true, false}) {
        auto arena = std::make_unique<MemoryArena>(exact);
        Tensor kept;
        const std::byte* freed = nullptr;
        {
            const MemoryArena::Use use(*arena);
            kept = Tensor::zeros({1000}, DType::f32, Device::cuda);
            freed = Tensor::zeros({1000}, DType::f32, Device::cuda).bytes_data();
            EXPECT_EQ(Tensor::zeros({1000}, DType::f32, Device::cuda).bytes_data(), freed) << "its own next request gets it";
        }
        for (int i = 0; i < 3; ++i) EXPECT_NE(Tensor::zeros({1000}, DType::f32, Device::cuda).bytes_data(), freed);
        release_kept_memory(Device::cuda);
        arena.reset();
        kept.copy_(Tensor::full({1000}, 3, DType::f32));  // a tensor may outlive its arena
        EXPECT_EQ(kept.to_vector()[999], 3);
    }
}

// Another stream waits for the middle of the graph, and then overwrites data that only the part before reads.
TEST_F(DeviceGraph, SetsItsMarksAtEachLaunch) {
    const device::SideStream side;
    device::Mark began(true), middle, ended(true), copied;
    expect_error([&] { middle.wait(); }, "never set");
    expect_error([&] { static_cast<void>(ended.seconds_since(began)); }, "never set");
    Tensor x = on_device({1, 2, 3}), sum = on_device({0, 0, 0}), rest = on_device({0, 0, 0}), seen = on_device({0, 0, 0});
    device::Graph graph;
    graph.capture([&] {
        kernels::accumulate(sum, x);
        middle.set();
        kernels::accumulate(rest, sum);
    });
    expect_error([&] { static_cast<void>(ended.seconds_since(began)); }, "never set");
    began.set();
    for (int i = 1; i <= 3; ++i) {
        graph.launch();
        {
            const device::WithStream beside(side.get());
            middle.wait();
            seen.copy_(sum);
            x.fill_(0);
            copied.set();
        }
        copied.wait();
        x.copy_(on_device({1, 1, 1}));
    }
    ended.set();
    EXPECT_GE(ended.seconds_since(began), 0);
    EXPECT_EQ(seen.to_vector(), (std::vector<double>{3, 4, 5}));
    EXPECT_EQ(rest.to_vector(), (std::vector<double>{1 + 2 + 3, 2 + 3 + 4, 3 + 4 + 5}));
}

TEST_F(DeviceGraph, StagingSendsInTheStreamsOrder) {
    device::Staging staging;
    Tensor x = on_device({0, 0}), sum = on_device({0, 0});
    for (int i = 1; i <= 100; ++i) {
        const float values[2] = {static_cast<float>(i), 1};
        std::memcpy(staging.begin(sizeof values), values, sizeof values);
        staging.send(x.mutable_bytes_data(), sizeof values);
        kernels::accumulate(sum, x);
    }
    EXPECT_EQ(sum.to_vector(), (std::vector<double>{5050, 100}));
    std::byte* const large = staging.begin(1 << 20);
    std::memset(large, 0, 1 << 20);
    expect_error([&] { staging.send(x.mutable_bytes_data(), 1 << 22); }, "to send");
    device::Graph graph;
    expect_error([&] { graph.capture([&] { staging.send(x.mutable_bytes_data(), 8); }); }, "while a graph is captured");
}

TEST_F(DeviceGraph, IsCapturedAgainWithOtherArgumentsAndOtherWork) {
    const Tensor x = on_device({1, 2, 3});
    Tensor sum = Tensor::zeros({3}, DType::f32, Device::cuda), other = sum.clone();
    MemoryArena arena;
    device::Graph graph;
    const auto capture = [&](Tensor& to, int times) {
        const MemoryArena::Use use(arena);
        graph.capture([&] {
            for (int i = 0; i < times; ++i) kernels::accumulate(to, x);
        });
        graph.launch();
    };
    capture(sum, 2);
    capture(other, 2);  // the same kernels with another argument
    capture(sum, 3);    // more kernels
    capture(sum, 1);
    EXPECT_EQ(sum.to_vector(), (std::vector<double>{6, 12, 18}));
    EXPECT_EQ(other.to_vector(), (std::vector<double>{2, 4, 6}));
    expect_error([&] { graph.capture([&] { fail("stop"); }); }, "stop");
    EXPECT_FALSE(graph.captured());
    capture(other, 1);
    EXPECT_EQ(other.to_vector(), (std::vector<double>{3, 6, 9}));
}

TEST_F(DeviceGraph, ForksAndJoins) {
    using device::Branches;
    const Tensor x = on_device({1, 2, 3, 4}).reshape({2, 2});
    Tensor weight = Tensor::zeros({2, 2}, DType::f32, Device::cuda), sum = weight.clone();
    // dW = x^T x, with x + dW both at the same time and after it.
    const auto work = [&] {
        const Branches branches;
        kernels::linear_backward_weight(x, x, weight);
        kernels::accumulate(sum, x);
        Branches::before_use_of(x);       // no join: x is only read there
        Branches::before_use_of(weight);  // joins
        kernels::accumulate(sum, weight);
        kernels::linear_backward_weight(x, x, weight);
        Branches::join();
    };
    work();  // directly, not captured
    EXPECT_EQ(weight.to_vector(), (std::vector<double>{20, 28, 28, 40}));
    EXPECT_EQ(sum.to_vector(), (std::vector<double>{11, 16, 17, 24}));
    MemoryArena arena;
    const MemoryArena::Use use(arena);
    for (int times = 0; times < 3; ++times) {
        weight.fill_(0);
        sum.fill_(0);
        device::Graph graph;
        graph.capture(work);
        graph.launch();
        EXPECT_EQ(weight.to_vector(), (std::vector<double>{20, 28, 28, 40}));
        EXPECT_EQ(sum.to_vector(), (std::vector<double>{11, 16, 17, 24}));
    }
    device::Graph graph;
    const auto unjoined = [&] {
        const Branches branches;
        kernels::linear_backward_weight(x, x, weight);
    };
    expect_error([&] { graph.capture(unjoined); }, "cudaStreamEndCapture");
    graph.capture([&] {
        const Branches branches;
        {
            const Branches inner;
            kernels::linear_backward_weight(x, x, weight);
        }
        Branches::join();
    });
    graph.launch();
    EXPECT_EQ(weight.to_vector()[0], 30);
}

// Each copy is what the device had when it was asked for, however much later the host reads it.
TEST_F(DeviceGraph, ReadsBackWhatWasThereThen) {
    Tensor x = on_device({1, 2});
    device::Readback readback;
    expect_error([&] { readback.take(); }, "nothing was requested");
    const device::Statistics before = device::statistics();
    for (const float value : {3.0F, 4.0F, 5.0F, 6.0F}) {
        x.fill_(value);
        readback.request(x.bytes_data(), 2 * size_of(DType::f32));
        if (readback.pending() < device::Readback::kPieces) continue;
        float got[2];
        std::memcpy(got, readback.take(), sizeof got);
        EXPECT_EQ(got[0], value - 1);
        EXPECT_EQ(got[1], value - 1);
    }
    EXPECT_EQ(device::statistics().synchronisations, before.synchronisations);
    readback.request(x.bytes_data(), 4);
    expect_error([&] { readback.request(x.bytes_data(), 4); }, "take one first");
}

}  // namespace
}  // namespace heddle
