#include "autograd/cases/op_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/error.h"

namespace heddle {

const OpCases& op_cases(std::string_view name) {
    for (const OpCases& op : op_cases())
        if (op.name == name) return op;
    fail(fmt::format("op_cases: there is no op {}", name));
}

std::vector<GradientCase> gradient_cases() {
    std::vector<const OpCases*> ops;
    for (const OpCases& op : op_cases())
        if (op.proofs != nullptr) ops.push_back(&op);
    std::stable_sort(ops.begin(), ops.end(), [](const OpCases* a, const OpCases* b) { return a->place < b->place; });
    std::vector<GradientCase> all;
    for (const OpCases* op : ops) {
        std::vector<GradientCase> own = op->proofs();
        all.insert(all.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    }
    return all;
}

namespace cases {

Tensor beside(const Variable& input, const Tensor& captured) { return captured.to(input.value().device()); }

double log_total(std::span<const double> x) {
    const double most = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double each : x) sum += std::exp(each - most);
    return most + std::log(sum);
}

}  // namespace cases
}  // namespace heddle
