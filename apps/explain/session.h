// One explained run of an op: its inputs, what is traced, and the names of the tensors it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "kernels/emulator/trace.h"

namespace heddle::explain {

/// A tensor of the device. It stays alive, so that its addresses mean what the trace says.
struct NamedTensor {
    std::string name;
    Tensor tensor;
};

class Session {
  public:
    /// A copy of the tensor on the device, under this name.
    Tensor input(const std::string& name, const Tensor& values);
    /// Names a tensor that the op made. One that is undefined is ignored.
    void name(const std::string& name, const Tensor& tensor);
    /// Calls the op and traces the kernels that it launches. Once a session. Error of the op, or when it is too large to be
    /// traced.
    void trace(const std::function<void()>& op);

    const std::vector<NamedTensor>& tensors() const { return tensors_; }
    const std::vector<emulator::TracedLaunch>& launches() const { return launches_; }

  private:
    std::vector<NamedTensor> tensors_;
    std::vector<emulator::TracedLaunch> launches_;
};

}  // namespace heddle::explain
