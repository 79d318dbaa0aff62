#include "nn/conv1d.h"

#include <array>
#include <cmath>
#include <vector>

#include "core/format.h"
#include "core/random.h"

namespace heddle::nn {

Conv1d::Conv1d(Module& parent, std::string_view name, std::int64_t in, std::int64_t out, std::int64_t kernel,
               const Conv1dOptions& options)
    : Module(parent, name), in_(in), options_(options) {
    make(out, kernel);
}

Conv1d::Conv1d(std::int64_t in, std::int64_t out, std::int64_t kernel, const Conv1dOptions& options, const RandomSource& seed)
    : Module(seed.key()), in_(in), options_(options) {
    make(out, kernel);
}

void Conv1d::make(std::int64_t out, std::int64_t kernel) {
    const auto& [stride, padding, dilation, groups, bias] = options_;
    check(in_ > 0 && out > 0 && kernel > 0 && stride > 0 && dilation > 0 && groups > 0 && padding >= 0,
          "conv1d {}: {} to {} channels, kernel {}, stride {}, padding {}, dilation {}, groups {}; wanted at least 1, padding 0",
          name(), in_, out, kernel, stride, padding, dilation, groups);
    check(in_ % groups == 0 && out % groups == 0, "conv1d {}: {} and {} channels cannot be divided among {} groups", name(), in_,
          out, groups);
    const double bound = 1 / std::sqrt(static_cast<double>(in_ / groups * kernel));
    Tensor weights = Tensor::zeros({out, in_ / groups, kernel}, dtype()), biases = Tensor::zeros({out}, dtype());
    if (const auto key = initial_key(dotted("weight"))) fill_uniform(weights, -bound, bound, *key);
    if (const auto key = initial_key(dotted("bias"))) fill_uniform(biases, -bound, bound, *key);
    weight_ = add_parameter("weight", weights);
    if (bias) bias_ = add_parameter("bias", biases);
}

Variable Conv1d::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    check(x.shape().rank() == 3 && x.dim(1) == in_, "conv1d {}: x has shape {}, wanted [batch, {}, time]", name(), x.shape(),
          in_);
    const std::int64_t out = weight_.dim(0), kernel = weight_.dim(2), groups = options_.groups;
    const std::int64_t reach = options_.dilation * (kernel - 1) + 1, padded = x.dim(2) + 2 * options_.padding;
    check(padded >= reach, "conv1d {}: x has {} places with its padding, but the kernel reaches over {}", name(), padded, reach);
    const std::int64_t time = (padded - reach) / options_.stride + 1;
    Variable rows = ops::transpose(x, 1, 2, where);  // [batch, time, in], so that a window's rows are copied whole
    if (options_.padding > 0) {
        const Variable zeros = Tensor::zeros({x.dim(0), options_.padding, in_}, x.dtype(), x.device());
        rows = ops::concat(std::array{zeros, rows, zeros}, 1, where);
    }
    // Places k of all windows, [batch, time, in].
    std::vector<Variable> places;
    for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t first = k * options_.dilation;
        if (options_.stride == 1) {
            places.push_back(ops::slice(rows, 1, first, first + time, where));
            continue;
        }
        std::vector<std::int32_t> at;
        for (std::int64_t t = 0; t < time; ++t) at.push_back(static_cast<std::int32_t>(first + t * options_.stride));
        places.push_back(ops::index_select(rows, 1, Tensor::from(at, {time}).to(x.device()), where));
    }
    // weight [out, kernel in / groups], in the order of the windows
    const Variable weights = ops::reshape(ops::transpose(weight_, 1, 2, where), {out, kernel * (in_ / groups)}, where);
    std::vector<Variable> results;
    for (std::int64_t g = 0; g < groups; ++g) {
        std::vector<Variable> window;
        for (const Variable& place : places)
            window.push_back(groups == 1 ? place : ops::slice(place, 2, g * (in_ / groups), (g + 1) * (in_ / groups), where));
        const std::int64_t begin = g * (out / groups), end = begin + out / groups;
        const Variable bias = groups == 1 || !bias_.defined() ? bias_ : ops::slice(bias_, 0, begin, end, where);
        const Variable weight = groups == 1 ? weights : ops::slice(weights, 0, begin, end, where);
        results.push_back(ops::linear(ops::concat(window, 2, where), weight, bias, where));
    }
    return ops::transpose(groups == 1 ? results.front() : ops::concat(results, 2, where), 1, 2, where);
}

}  // namespace heddle::nn
