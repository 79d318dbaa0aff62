// Fits y = 3 x - 2 with what find_package(heddle) gives.
#include <cstdio>

#include "autograd/ops.h"
#include "nn/flat.h"
#include "nn/linear.h"
#include "optim/optimizer.h"

int main() {
    using namespace heddle;
    struct Net : nn::Module {
        nn::Linear line{*this, "line", 1, 1};
    } net;
    const nn::FlatParameters flat = nn::flatten(net);
    optim::Optimizer optimizer(flat.values, flat.gradients, {.method = optim::Method::sgd, .momentum = 0.5});
    const Variable x(Tensor::from<float>({-1, 0, 1, 2}, {4, 1})), y(Tensor::from<float>({-5, -2, 1, 4}, {4, 1}));
    for (int update = 0; update < 200; ++update) {
        optimizer.zero_gradients();
        const Variable error = ops::sub(net.line.forward(x), y);
        backward(ops::sum(ops::mul(error, error)));
        optimizer.step({.lr = 0.05});
    }
    std::printf("y = %.3f x + %.3f\n", net.line.weight().value().item(), net.line.bias().value().item());
}
