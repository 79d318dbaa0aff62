#include "apps/explain/explained.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <functional>

#include "core/device.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/emulator/run/run.h"

namespace heddle::explain {
namespace {

// True if tensors of these extents certainly exceed what a trace can hold (each 16-byte access is an event). Checked first,
// because making such tensors takes minutes and all memory.
bool is_hopeless(std::span<const std::int64_t> shape) {
    constexpr double most = 32.0 * emulator::kMostTraceEvents;
    std::vector<std::int64_t> extents(shape.begin(), shape.end());
    std::ranges::sort(extents, std::greater());
    extents.push_back(1);
    return static_cast<double>(extents[0]) * static_cast<double>(extents[1]) > most;
}

}  // namespace

Explanation explained(const Example& example, std::vector<std::int64_t> shape) {
    if (shape.empty()) shape = example.shape;
    const std::string text = fmt::format("{}", fmt::join(shape, ","));
    check_usage(shape.size() == example.shape.size() && std::ranges::all_of(shape, [](std::int64_t n) { return n > 0; }),
                fmt::format("--shape {}: heddle explain {} wants numbers above 0 for {}", text, example.name, example.axes));
    if (is_hopeless(shape)) fail_with("--shape {}: too large to be explained; choose smaller {}", text, example.axes);
    TracingSession session;
    try {
        example.run(session, shape);
    } catch (const Error& error) {
        const bool is_full = std::string_view(error.what()).find("that a trace holds") != std::string_view::npos;
        if (is_full) fail_with("--shape {}: too large to be explained; choose smaller {} ({})", text, example.axes, error.what());
        throw;
    }
    Explanation result{.name = std::string(example.name),
                       .title = std::string(example.title),
                       .axes = std::string(example.axes),
                       .shape = shape,
                       .command = fmt::format("heddle explain {} --shape {}", example.name, text),
                       .bf16 = example.bf16,
                       .tensors = session.traced_tensors(),
                       .traced = session.take_launches()};
    if (example.operations != nullptr) result.operations = example.operations(shape);
    result.launches = reports_of(result.traced);
    heddle::check(!result.launches.empty(), "heddle explain {}: the op launched no kernel for the shape {}", example.name, text);
    return result;
}

Tensor TracingSession::input(const std::string& name, const Tensor& values) {
    tensors_.push_back({name, values.to(Device::cuda)});
    return tensors_.back().tensor;
}

void TracingSession::name(const std::string& name, const Tensor& tensor) {
    if (tensor.defined()) tensors_.push_back({name, tensor});
}

std::vector<TracedTensor> TracingSession::traced_tensors() const {
    std::vector<TracedTensor> all;
    for (const auto& [name, tensor] : tensors_) {
        TracedTensor one{.name = name, .shape = {}, .dtype = tensor.dtype()};
        for (int axis = 0; axis < tensor.rank(); ++axis) one.shape.push_back(tensor.dim(axis));
        one.start = reinterpret_cast<std::uint64_t>(tensor.bytes_data());
        all.push_back(std::move(one));
    }
    return all;
}

void TracingSession::trace(const std::function<void()>& op) {
    device::synchronize();  // the inputs' copies
    emulator::set_seed(1);  // the same pages each time
    emulator::begin_trace();
    try {
        op();
        device::synchronize();
    } catch (...) {
        emulator::end_trace();
        throw;
    }
    launches_ = emulator::end_trace();
}

}  // namespace heddle::explain
