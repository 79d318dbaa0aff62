// Linear projections, one or several of the same input in one product.
#pragma once

#include "autograd/ops.h"
#include "kernels/linear/linear.h"
#include "nn/module.h"

namespace heddle::nn {

/// One of several projections of the same input.
struct LinearPart {
    std::string name;
    std::int64_t out = 0;
};

/// x [..., in] W^T + b. Weight [out, in] (PyTorch's layout) Xavier uniform, bias [out] zero.
class Linear : public Module {
  public:
    Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out, bool bias = true);
    /// A root: nn::Linear(3, 2). Its first weights follow from the thread's generator (manual_seed), or from a seed.
    Linear(std::int64_t in, std::int64_t out, bool bias = true, const RandomSource& seed = {});
    /// Several projections of the same input, [each, in] each, as one leaf: part i gives columns [i each, (i + 1) each). In
    /// files they are named "PARENT.PART.weight" and "PARENT.PART.bias"; each is initialised as a separate matrix.
    Linear(Module& parent, std::string_view name, std::int64_t in, const std::vector<std::string>& parts, std::int64_t each,
           bool bias = true);
    /// Several projections with different widths.
    Linear(Module& parent, std::string_view name, std::int64_t in, const std::vector<LinearPart>& parts, bool bias = true);

    std::string_view kind() const override { return "Linear"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    const Variable& weight() const { return weight_; }
    /// Undefined without bias.
    const Variable& bias() const { return bias_; }

  private:
    void make(std::int64_t in, std::int64_t out, bool bias);

    Variable weight_;
    Variable bias_;
    mutable kernels::PackedWeight packed_;  // only used without recording, when the weight does not change between steps
};

}  // namespace heddle::nn
