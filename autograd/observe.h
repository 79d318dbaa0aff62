// Hooks called after each op, for model summaries and profiles, and for each gradient that is complete.
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

/// While one exists, backward on this thread calls `complete` for each leaf that has a gradient, in the middle of the pass, as
/// soon as nothing that follows can add to `leaf.grad()`: after the backward call of the op that used the leaf first, or on a
/// device a little later, when what was put aside of that gradient is queued, too. The hook may change the gradient; it must not
/// record ops. With nested ones the innermost is called. Leaves that only the function of a checkpoint (autograd/checkpoint.h)
/// captures get no call: the tape does not know them before that function runs again. It may add to others, too, so none gets its
/// call before the first checkpoint has been passed.
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
