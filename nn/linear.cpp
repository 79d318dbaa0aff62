#include "nn/linear.h"

#include "autograd/observe.h"
#include "core/format.h"

namespace heddle::nn {
namespace {

std::vector<LinearPart> parts_of(const std::vector<std::string>& names, std::int64_t each) {
    std::vector<LinearPart> parts;
    for (const std::string& name : names) parts.push_back({name, each});
    return parts;
}

}  // namespace

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, std::int64_t out, bool bias) : Module(parent, name) {
    make(in, out, bias);
}

Linear::Linear(std::int64_t in, std::int64_t out, bool bias, const RandomSource& seed) : Module(seed.key()) {
    make(in, out, bias);
}

void Linear::make(std::int64_t in, std::int64_t out, bool bias) {
    check(in > 0 && out > 0, "linear {}: it has {} inputs and {} outputs, wanted at least one of each", this->name(), in, out);
    Tensor weight = Tensor::empty({out, in}, dtype());
    fill_xavier_uniform(weight, initial_key(dotted("weight")));
    weight_ = add_parameter("weight", weight);
    if (bias) bias_ = add_parameter("bias", Tensor::zeros({out}, dtype()));
}

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, const std::vector<std::string>& parts, std::int64_t each,
               bool bias)
    : Linear(parent, name, in, parts_of(parts, each), bias) {}

Linear::Linear(Module& parent, std::string_view name, std::int64_t in, const std::vector<LinearPart>& parts, bool bias)
    : Module(parent, name) {
    std::int64_t out = 0;
    for (const LinearPart& part : parts) {
        check(in > 0 && part.out > 0, "linear {}: projection {} from {} to {}, wanted at least one of each", this->name(),
              part.name, in, part.out);
        out += part.out;
    }
    check(out > 0, "linear {}: it has no projections", this->name());
    std::vector<ParameterSlice> weights;
    std::vector<ParameterSlice> biases;
    Tensor weight = Tensor::empty({out, in}, dtype());
    std::int64_t begin = 0;
    for (const LinearPart& part : parts) {
        const std::string dotted = parent.dotted(part.name);
        const std::int64_t end = begin + part.out;
        weights.push_back({dotted + ".weight", begin, end});
        biases.push_back({dotted + ".bias", begin, end});
        fill_xavier_uniform(weight.slice(begin, end), initial_key(weights.back().name));
        begin = end;
    }
    weight_ = add_parameter("weight", weight, std::move(weights));
    if (bias) bias_ = add_parameter("bias", Tensor::zeros({out}, dtype()), std::move(biases));
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
