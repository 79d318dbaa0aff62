#include "nn/flat.h"

#include "core/check.h"

namespace heddle::nn {
namespace {

// Full cache lines: vector loads of a parameter never straddle two, and threads that write neighbours never share one.
constexpr std::int64_t kAlignment = 64;

}  // namespace

FlatParameters flatten(Module& module) {
    FlatParameters flat;
    const std::int64_t step = kAlignment / size_of(module.dtype());
    std::int64_t total = 0;
    for (const Parameter& parameter : module.parameters()) {
        const std::int64_t count = parameter.variable.value().numel();
        flat.entries.push_back({parameter, total, count});
        total += (count + step - 1) / step * step;
    }
    flat.values = Tensor::zeros({total}, module.dtype(), module.device());
    flat.gradients = Tensor::zeros({total}, module.dtype(), module.device());
    for (auto& [parameter, begin, count] : flat.entries) {
        const Shape& shape = parameter.variable.shape();
        parameter.variable.rebind(flat.values.slice(begin, begin + count).reshape(shape),
                                  flat.gradients.slice(begin, begin + count).reshape(shape));
    }
    return flat;
}

std::vector<Span> FlatParameters::active() const {
    std::vector<Span> ranges;
    bool joins = false;  // the entry before is active: what lies between belongs to the range
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
