#include "autograd/proofs.h"

#include <iterator>

#include "core/random.h"

namespace heddle {
namespace {

// In the order of proofs.h.
constexpr std::vector<GradientCase> (*kLists[])() = {
    proofs::elementwise, proofs::reduce,    proofs::reshape,      proofs::permute,       proofs::slice,
    proofs::concat,      proofs::gather,    proofs::matmul,       proofs::linear,        proofs::activation,
    proofs::dropout,     proofs::residual,  proofs::embedding,    proofs::softmax,       proofs::log_softmax,
    proofs::layer_norm,  proofs::attention, proofs::feed_forward, proofs::cross_entropy, proofs::linear_cross_entropy,
};

}  // namespace

Tensor proofs::beside(const Variable& input, const Tensor& captured) { return captured.to(input.value().device()); }

std::vector<GradientCase> gradient_cases() {
    std::vector<GradientCase> all;
    for (std::vector<GradientCase> (*list)() : kLists) {
        std::vector<GradientCase> cases = list();
        all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
    }
    return all;
}

Tensor random_input(const Shape& shape, std::uint64_t seed, double deviation) {
    Tensor result = Tensor::empty(shape, DType::f64);
    fill_normal(result, 0, deviation, seed);
    return result;
}

Tensor away_from_zero(const Tensor& x, double margin) {
    Tensor result = x.clone();
    for (double& value : result.span<double>()) value += value < 0 ? -margin : margin;
    return result;
}

}  // namespace heddle
