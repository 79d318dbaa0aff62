// Hooks called after each op, for model summaries and profiles.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "autograd/variable.h"

namespace heddle {

/// One op, just after it ran.
struct ObservedOp {
    std::string_view op;
    std::string_view module;           ///< the innermost InModule's name; empty outside of modules
    std::span<const Variable> inputs;  ///< parameters among them; some may be undefined
    std::span<const Tensor> outputs;
    std::span<const Tensor> saved;   ///< the tensors that the tape saves for backward; empty when it does not record
    bool recorded = false;           ///< recorded: the outputs get gradients, even if nothing is saved
    std::int64_t multiply_adds = 0;  ///< as its Record says
};

/// While one exists, `look` is called for each op of this thread, recorded or not. With nested ones the innermost is called.
class ObserveOps {
  public:
    explicit ObserveOps(std::function<void(const ObservedOp&)> look);
    ~ObserveOps();
    ObserveOps(const ObserveOps&) = delete;
    ObserveOps& operator=(const ObserveOps&) = delete;

  private:
    std::function<void(const ObservedOp&)> look_;
    const std::function<void(const ObservedOp&)>* before_;
};

/// Whether this thread has such a hook.
bool observed();

}  // namespace heddle
