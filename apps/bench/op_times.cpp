#include "apps/bench/op_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/translation/run/clock.h"
#include "core/device.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/mark.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

constexpr double kLittle = 64e6;  // bytes: ten results of this size fit in memory at once

// The emulated device is about a thousand times slower: small arrays, few samples.
std::int64_t idle_bytes() { return std::int64_t{1} << (device::emulated() ? 16 : 28); }
std::int64_t copied_bytes() { return std::int64_t{1} << (device::emulated() ? 18 : 30); }

Tensor cotangent_of(const Variable& result) {
    return Tensor::full(result.shape(), 0.01, result.dtype(), result.value().device());
}

// True if the work queued by `body` could be captured; ops that copy from the host cannot be.
bool captured(MemoryArena& arena, device::Graph& graph, const std::function<void()>& body) {
    const MemoryArena::Use use(arena);
    try {
        graph.capture(body);
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

OpTimes measure_on_cpu(const BenchCase& one, double seconds) {
    std::vector<double> forward, backward;
    const auto run = one.make_run();
    Tensor cotangent;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int repeat = 0; repeat < 5 || Clock::now() < end; ++repeat) {
        const auto start = Clock::now();
        const Variable result = run();
        const double took = seconds_since(start);
        if (one.goes_back() && !cotangent.defined()) cotangent = cotangent_of(result);
        const auto go_back = Clock::now();
        if (one.goes_back()) heddle::backward(result, cotangent);
        const double took_back = seconds_since(go_back);
        if (repeat == 0) continue;  // the first run fills caches and the allocator
        forward.push_back(took);
        backward.push_back(took_back);
    }
    return {.forward = median(forward),
            .backward = one.goes_back() ? median(backward) : 0,
            .samples = static_cast<std::int64_t>(forward.size())};
}

DeviceTimer::DeviceTimer() {
    idle_ = Tensor::empty({idle_bytes()}, DType::u8, Device::cuda);
    const Tensor from = Tensor::zeros({copied_bytes()}, DType::u8, Device::cuda);
    Tensor to = Tensor::empty({copied_bytes()}, DType::u8, Device::cuda);
    constexpr int repeats = 9;
    device::Stopwatch copies, fills;
    to.copy_(from);
    copies.mark();
    for (int i = 0; i < repeats; ++i) {
        to.copy_(from);
        copies.mark();
    }
    fills.mark();
    keep_busy(repeats);
    fills.mark();
    std::vector<double> seconds = copies.laps();
    copy_gb_second_ = 2 * static_cast<double>(copied_bytes()) / median(seconds) / 1e9;
    idle_seconds_ = fills.laps().front() / repeats;
}

void DeviceTimer::keep_busy(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) device::fill(idle_.mutable_bytes_data(), 0, idle_.bytes());
}

OpTimes DeviceTimer::measure(const BenchCase& one, double seconds) {
    const auto run = one.make_run();
    Tensor cotangent;
    std::vector<Variable> results;
    const auto forward = [&](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) results.push_back(run());
    };
    const auto backward = [&] {
        for (; !results.empty(); results.pop_back())
            if (one.goes_back()) heddle::backward(results.back(), cotangent);
    };

    // The first run loads modules and allocates memory; the second one is timed.
    double host = 0, whole = 0;
    std::int64_t waits = 0;
    for (int i = 0; i < 2; ++i) {
        device::synchronize();
        const auto start = Clock::now();
        waits = device::statistics().synchronisations;
        forward(1);
        if (one.goes_back() && !cotangent.defined()) cotangent = cotangent_of(results.front());
        backward();
        host = seconds_since(start);
        waits = device::statistics().synchronisations - waits;
        device::synchronize();
        whole = seconds_since(start);
    }
    const bool emulated = device::emulated();
    const bool short_one = emulated || (whole < 1e-3 && one.forward_bytes < kLittle);
    const std::int64_t runs = !short_one ? 1 : emulated ? 2 : 10;
    const auto lead = emulated ? 1 : static_cast<std::int64_t>(std::ceil(1.5 * host * static_cast<double>(runs) / idle_seconds_));
    const double sample = static_cast<double>(runs) * whole + 2 * static_cast<double>(lead) * idle_seconds_;
    const std::int64_t fewest = emulated ? 1 : sample > 0.2 ? 3 : 5;
    const auto samples = std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds / sample), fewest, 100);
    if (runs > 1) {  // allocates memory for as many results
        forward(runs);
        backward();
    }
    MemoryArena arena;
    device::Graph forward_graph, backward_graph;
    const bool graphs = short_one && captured(arena, forward_graph, [&] { forward(runs); }) &&
                        (!one.goes_back() || captured(arena, backward_graph, backward));
    results.clear();

    device::Stopwatch watch;
    for (std::int64_t i = 0; i < samples; ++i) {
        keep_busy(lead);
        watch.mark();
        graphs ? forward_graph.launch() : forward(runs);
        watch.mark();
        keep_busy(lead);
        watch.mark();
        if (one.goes_back()) graphs ? backward_graph.launch() : backward();
        watch.mark();
        results.clear();
    }
    const std::vector<double> laps = watch.laps();
    std::vector<double> forwards, backwards;
    for (std::size_t i = 0; i + 2 < laps.size(); i += 4) {
        forwards.push_back(laps[i] / static_cast<double>(runs));
        backwards.push_back(laps[i + 2] / static_cast<double>(runs));
    }
    return {.forward = median(forwards),
            .backward = one.goes_back() ? median(backwards) : 0,
            .host = host,
            .waits = waits,
            .samples = static_cast<std::int64_t>(forwards.size()),
            .graphs = graphs};
}

std::string DeviceTimer::method() const {
    return fmt::format(
        "by events, queued ahead of the device, {} MB overwritten before each sample (L2 emptied); a sample is one run, or ten "
        "in a row, as a graph where it can be captured, when one takes less than a millisecond and moves less than {:.0f} MB; "
        "median",
        static_cast<double>(idle_.bytes()) / (1 << 20), kLittle / 1e6);
}

}  // namespace heddle::app
