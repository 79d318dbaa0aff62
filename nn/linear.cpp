#include "nn/linear.h"

#include "autograd/observe.h"
#include "core/format.h"
#include "nn/init.h"

namespace heddle::nn {

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out, bool bias) : Module(parent, name) {
    check(in > 0 && out > 0, "linear {}: it has {} inputs and {} outputs, wanted at least one of each", this->name(), in, out);
    Tensor weight = Tensor::empty({out, in}, dtype());
    fill_xavier_uniform(weight, initial_key(dotted("weight")));
    weight_ = add_parameter("weight", weight);
    if (bias) bias_ = add_parameter("bias", Tensor::zeros({out}, dtype()));
}

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, const std::vector<std::string>& parts, std::int64_t each,
               bool bias)
    : Module(parent, name) {
    check(in > 0 && each > 0 && !parts.empty(), "linear {}: {} projections from {} to {}, wanted at least one of each",
          this->name(), parts.size(), in, each);
    std::vector<ParameterSlice> weights;
    std::vector<ParameterSlice> biases;
    const auto count = static_cast<std::int64_t>(parts.size());
    Tensor weight = Tensor::empty({count * each, in}, dtype());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string part = parent.dotted(parts[static_cast<std::size_t>(i)]);
        weights.push_back({part + ".weight", i * each, (i + 1) * each});
        biases.push_back({part + ".bias", i * each, (i + 1) * each});
        fill_xavier_uniform(weight.slice(i * each, (i + 1) * each), initial_key(weights.back().name));
    }
    weight_ = add_parameter("weight", weight, std::move(weights));
    if (bias) bias_ = add_parameter("bias", Tensor::zeros({count * each}, dtype()), std::move(biases));
}

Variable Linear::forward(const Variable& x, Where where) const {
    const InModule in_module(name());
    if (will_record({x, weight_, bias_})) return ops::linear(x, weight_, bias_, where);
    const Tensor bias = bias_.defined() ? bias_.value() : Tensor();
    const Tensor y = kernels::linear_forward(x.value(), weight_.value(), bias, &packed_);
    if (!observed()) return record(y, {.op = "linear", .where = where, .inputs = {}});
    return record(
        y, {.op = "linear", .where = where, .inputs = {x, weight_, bias_}, .multiply_adds = x.rows() * weight_.value().numel()});
}

}  // namespace heddle::nn
