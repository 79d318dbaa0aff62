#include "autograd/proofs.h"

#include <fmt/format.h>

#include <iterator>

#include "core/random.h"

namespace heddle {

Tensor proofs::beside(const Variable& input, const Tensor& captured) { return captured.to(input.value().device()); }

std::vector<GradientCase> gradient_cases() {
    std::vector<GradientCase> all;
    for (std::vector<GradientCase> (*list)() : proofs::kAll) {
        std::vector<GradientCase> cases = list();
        all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
    }
    return all;
}

GradcheckReport gradcheck(const GradientCase& one) {
    GradcheckReport report = gradcheck(one.function, one.inputs, one.options);
    if (!report.passed) report.message = fmt::format("{} ({}): {}", one.op, one.what, report.message);
    return report;
}

Tensor random_input(const Shape& shape, std::uint64_t seed, double deviation) {
    Tensor result = Tensor::empty(shape, DType::f64);
    fill_normal(result, 0, deviation, seed);
    return result;
}

Tensor away_from_zero(const Tensor& x, double margin) {
    Tensor result = x.clone();
    for (double& value : result.mutable_values<double>()) value += value < 0 ? -margin : margin;
    return result;
}

}  // namespace heddle
