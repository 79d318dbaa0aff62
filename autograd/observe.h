// Looking on while ops run: what a summary of a model, or a profile, is made of.
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
    std::span<const Tensor> saved;   ///< what the tape keeps for backward; empty when it does not record
    bool recorded = false;           ///< backward will come by: the outputs get gradients, though nothing may be saved
    std::int64_t multiply_adds = 0;  ///< as its Record says
};

/// While it lives, `look` is called for each op of this thread, recorded or not. Of nested ones the innermost counts.
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

/// Whether somebody looks on in this thread.
bool observed();

}  // namespace heddle
