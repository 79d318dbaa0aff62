// Runs an example of `heddle explain`: makes its inputs, traces it, and names its tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/explain/examples.h"
#include "apps/explain/explanation.h"
#include "autograd/cases/example.h"
#include "core/tensor.h"
#include "kernels/emulator/trace/trace.h"

namespace heddle::explain {

/// Runs the example on the emulated device. An empty `shape` means the default. UsageError for a shape of the wrong rank or
/// extents; Error when it is too large to be traced.
Explanation explained(const Example& example, std::vector<std::int64_t> shape);

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
