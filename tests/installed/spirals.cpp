// Learns which of three spirals a point lies on.
#include <heddle/heddle.h>

#include <cmath>

using namespace heddle;

std::pair<Tensor, Tensor> spirals(int points) {
    Tensor x = Tensor::empty({points, 2}), y = Tensor::empty({points}, DType::i32), radius = Tensor::rand({points}, 1);
    for (int i = 0; i < points; ++i) {
        const float r = radius.values<float>()[i], angle = 4 * r + 2.1f * static_cast<float>(i % 3);
        x.mutable_values<float>()[2 * i] = r * std::sin(angle);
        x.mutable_values<float>()[2 * i + 1] = r * std::cos(angle);
        y.mutable_values<std::int32_t>()[i] = i % 3;
    }
    return {x, y};
}

struct Net : nn::Module {
    nn::Linear in{*this, "in", 2, 64}, out{*this, "out", 64, 3};
    Variable operator()(const Variable& x) const { return out(relu(in(x))); }
};

int main() {
    Net net;
    optim::Adam adam(net, {.lr = 1e-2});
    Variable loss;
    for (const auto& [x, y] : batches(spirals(300), 32)) {
        adam.zero_grad();
        loss = cross_entropy(net(x), y);
        loss.backward();
        adam.step();
    }
    fmt::print("{}\n", loss);
    nn::save(net, "net.safetensors");
}
