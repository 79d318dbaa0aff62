#include "nn/flat.h"

#include "core/check.h"
#include "core/format.h"
#include "kernels/cast/cast.h"

namespace heddle::nn {
namespace {

// A cache line: vector loads of a parameter never cross two, and threads that write neighbouring parameters never share one.
constexpr std::int64_t kAlignment = 64;

}  // namespace

FlatParameters flatten(Module& module) { return flatten(module, module.dtype()); }

FlatParameters flatten(Module& module, DType dtype) {
    module.check_flattened_from(module);
    if (const std::shared_ptr<const FlatParameters> before = module.flat_.lock()) {
        check(dtype == module.dtype(), "flatten: the model computes in {} as it was flattened before, not in {}", module.dtype(),
              dtype);
        FlatParameters again = *before;
        again.in_use = before;
        return again;
    }
    const bool rounded = dtype == DType::bf16;
    const DType kept = module.dtype();
    check(kept != DType::bf16 && dtype == (rounded && kept == DType::f32 ? DType::bf16 : kept),
          "flatten: the parameters are {} and the model is to compute in {}; wanted one dtype, or f32 parameters for bf16", kept,
          dtype);
    FlatParameters flat;
    const std::int64_t step = kAlignment / size_of(dtype);
    std::int64_t total = 0;
    for (const Parameter& parameter : module.parameters()) {
        const Tensor& value = parameter.variable.value();
        check(value.dtype() == kept && value.device() == module.device(),
              "flatten: {} is {} on {}, but the model is {} on {}; call to() of the whole model", parameter.name, value.dtype(),
              name(value.device()), kept, name(module.device()));
        const std::int64_t count = value.numel();
        flat.entries.push_back({parameter, total, count});
        total += (count + step - 1) / step * step;
    }
    flat.values = Tensor::zeros({total}, kept, module.device());
    flat.gradients = Tensor::zeros({total}, kept, module.device());
    const auto lay = [&](const Tensor& values) {
        for (auto& [parameter, begin, count] : flat.entries) {
            const Shape shape = parameter.variable.shape();
            parameter.variable.rebind(values.slice(begin, begin + count).reshape(shape),
                                      flat.gradients.slice(begin, begin + count).reshape(shape));
        }
    };
    lay(flat.values);
    if (rounded) {
        flat.bf16_copy = Tensor::zeros({total}, DType::bf16, module.device());
        module.to(DType::bf16);
        lay(flat.bf16_copy);
    }
    flat.in_use = std::make_shared<const FlatParameters>(flat);
    module.set_flat(module, flat.in_use);
    return flat;
}

void FlatParameters::round_again() const {
    Tensor copy = bf16_copy;
    if (copy.defined()) copy.copy_(kernels::cast(values, DType::bf16));
}

std::vector<Span> FlatParameters::active() const {
    std::vector<Span> ranges;
    bool joins = false;  // the previous entry is active, so the gap before this one belongs to the range
    for (const Entry& entry : entries) {
        const bool trained = entry.parameter.variable.requires_grad();
        if (trained && joins)
            ranges.back().length = entry.begin + entry.count - ranges.back().start;
        else if (trained)
            ranges.push_back({entry.begin, entry.count});
        joins = trained;
    }
    return ranges;
}

void FlatParameters::zero_gradients() { gradients.fill_(0); }

NamedTensors FlatParameters::named(const Tensor& flat) const {
    check_shape("flat parameters", "the array", flat, values.shape());
    NamedTensors all;
    for (const Entry& entry : entries) {
        const Tensor whole = flat.slice(entry.begin, entry.begin + entry.count).reshape(entry.parameter.variable.shape());
        for (auto& named : entry.parameter.named(whole)) all.push_back(std::move(named));
    }
    return all;
}

}  // namespace heddle::nn
