// One explained run of an op: makes its inputs, traces it, and names its tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/explain/explanation.h"
#include "autograd/cases/example.h"
#include "core/tensor.h"
#include "kernels/emulator/trace/trace.h"

namespace heddle::explain {

class TracingSession : public cases::Session {
  public:
    Tensor input(const std::string& name, const Tensor& values) override;
    void name(const std::string& name, const Tensor& tensor) override;
    /// Error of the op, or when it is too large to be traced.
    void trace(const std::function<void()>& op) override;

    std::vector<TracedTensor> traced_tensors() const;
    std::vector<emulator::TracedLaunch> take_launches() { return std::move(launches_); }

  private:
    struct NamedTensor {
        std::string name;
        Tensor tensor;
    };
    std::vector<NamedTensor> tensors_;  // kept alive until the trace ends, so that no address is reused
    std::vector<emulator::TracedLaunch> launches_;
};

}  // namespace heddle::explain
