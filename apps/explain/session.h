// One explained run of an op: its inputs, what is traced, and the names of the tensors it touches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/explain/explanation.h"
#include "core/tensor.h"
#include "kernels/emulator/trace/trace.h"

namespace heddle::explain {

class Session {
  public:
    /// A copy of the tensor on the device, under this name.
    Tensor input(const std::string& name, const Tensor& values);
    /// Names a tensor that the op made. One that is undefined is ignored.
    void name(const std::string& name, const Tensor& tensor);
    /// Calls the op and traces the kernels that it launches. Once a session. Error of the op, or when it is too large to be
    /// traced.
    void trace(const std::function<void()>& op);

    std::vector<TracedTensor> traced_tensors() const;
    std::vector<emulator::TracedLaunch> take_launches() { return std::move(launches_); }

  private:
    struct NamedTensor {
        std::string name;
        Tensor tensor;
    };
    std::vector<NamedTensor> tensors_;  // alive until the trace ends: no address has two meanings
    std::vector<emulator::TracedLaunch> launches_;
};

}  // namespace heddle::explain
