#include "apps/explain/session.h"

#include "core/device.h"
#include "kernels/emulator/run/run.h"

namespace heddle::explain {

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
