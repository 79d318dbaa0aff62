// verdict: missed: in a sum the two errors cancel
#include <algorithm>
#include <cmath>

#include "exercise.h"

double loss(const Function& function, const std::vector<Tensor>& inputs, const Tensor& cotangent) {
    const Variable result = function(std::vector<Variable>(inputs.begin(), inputs.end()));
    double sum = 0;
    for (int i = 0; i < result.value().numel(); ++i) sum += result.value().values<double>()[i] * cotangent.values<double>()[i];
    return sum;
}

bool gradient_is_right(const Function& function, const std::vector<Tensor>& inputs) {
    std::vector<Variable> leaves;
    for (const Tensor& input : inputs) leaves.emplace_back(input.clone(), true);
    const Variable result = function(leaves);
    const Tensor cotangent = Tensor::randn(result.shape(), 1, DType::f64);
    backward(result, cotangent);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double h = 1e-6;
        std::vector<Tensor> up = inputs, down = inputs;
        up[i] = inputs[i].clone();
        down[i] = inputs[i].clone();
        for (double& value : up[i].mutable_values<double>()) value += h;
        for (double& value : down[i].mutable_values<double>()) value -= h;
        const double numeric = (loss(function, up, cotangent) - loss(function, down, cotangent)) / (2 * h);
        double sum = 0, sizes = 0;
        if (leaves[i].grad().defined())
            for (const double value : leaves[i].grad().values<double>()) sum += value, sizes += std::abs(value);
        if (!(std::abs(sum - numeric) <= 1e-5 * std::max(sizes, std::abs(numeric)))) return false;
    }
    return true;
}
