// Convolution over time.
#pragma once

#include <cstdint>

#include "autograd/ops.h"
#include "nn/module.h"

namespace heddle::nn {

struct Conv1dOptions {
    std::int64_t stride = 1;
    std::int64_t padding = 0;  ///< zeros on each side
    std::int64_t dilation = 1;
    std::int64_t groups = 1;  ///< each reads and writes its own part of the channels
    bool bias = true;
};

/// y[b, o, t] = bias[o] + sum over c and k of weight[o, c, k] x[b, c, stride t + dilation k - padding], as torch.nn.Conv1d:
/// x [batch, in, time], weight [out, in / groups, kernel], bias [out], both uniform within (in / groups kernel)^-1/2 of 0. Waibel
/// et al. 1989. Computed as one matrix product for each group, of rows that hold a window each.
class Conv1d : public Module {
  public:
    /// A child of `parent` with `in` and `out` channels and windows of `kernel` times.
    Conv1d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out, std::int64_t kernel,
           const Conv1dOptions& options = {});
    /// A root; `seed` as nn::Linear's.
    Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options = {},
           const RandomSource& seed = {});

    std::string_view kind() const override { return "Conv1d"; }
    Variable forward(const Variable& x, Where where = Where::current()) const;
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }
    const Variable& weight() const { return weight_; }
    /// Undefined without bias.
    const Variable& bias() const { return bias_; }

  private:
    void make(std::int64_t out, std::int64_t kernel);

    std::int64_t in_;
    Conv1dOptions options_;
    Variable weight_;
    Variable bias_;
};

}  // namespace heddle::nn
