// Hooks called after each op, for model summaries and profiles, and for each completed gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "autograd/variable.h"

namespace heddle {

/// An op that has just run.
struct ObservedOp {
    std::string_view op;
    std::string_view module;           ///< the innermost InModule's name; empty outside of modules
    std::span<const Variable> inputs;  ///< including parameters; some may be undefined
    std::span<const Tensor> outputs;
    std::span<const Tensor> saved;   ///< tensors saved for backward; empty if the op is not recorded
    bool recorded = false;           ///< outputs get gradients, even if nothing is saved
    std::int64_t multiply_adds = 0;  ///< see Record::multiply_adds
};

/// While one exists, `look` is called for each op of this thread, recorded or not. Only the innermost one is called.
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

/// True if this thread has such a hook.
bool observed();

/// While one exists, backward on this thread calls `complete` for each leaf that has a gradient, during the pass, as soon as
/// nothing that follows can add to `leaf.grad()`: after the backward call of the op that used the leaf first, or on a device a
/// little later, when postponed parts of that gradient are queued, too. The hook may change the gradient; it must not record
/// ops. Only the innermost one is called. It is not called for leaves captured only by the function of a checkpoint
/// (autograd/checkpoint.h), which the tape does not know before that function runs again. That function may add to other leaves,
/// too, so no call happens before the first checkpoint has been passed.
class ObserveGradients {
  public:
    explicit ObserveGradients(std::function<void(const Variable& leaf)> complete);
    ~ObserveGradients();
    ObserveGradients(const ObserveGradients&) = delete;
    ObserveGradients& operator=(const ObserveGradients&) = delete;

  private:
    std::function<void(const Variable&)> complete_;
    const std::function<void(const Variable&)>* before_;
};

}  // namespace heddle
