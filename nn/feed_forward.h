// The position-wise feed-forward sublayer.
#pragma once

#include "autograd/ops.h"
#include "nn/few_rows.h"
#include "nn/linear.h"

namespace heddle::nn {

/// activation(x W1^T + b1) W2^T + b2 with dropout after the activation (paper, section 3.3). Children `inner` and `outer`.
class FeedForward : public Module {
  public:
    FeedForward(Module& parent, std::string_view name, std::int64_t d_model, std::int64_t d_ff, ops::Activation activation,
                bool bias = true, double dropout = 0);

    std::string_view kind() const override { return "FeedForward"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    /// Adds the sublayer's output to the stream of a decoding step; `next` is the norm that follows.
    void step(FewRows& stream, const LayerNorm* next) const;

  private:
    ops::Activation activation_;
    double dropout_;
    Linear inner_;
    Linear outer_;
};

}  // namespace heddle::nn
