// Learns which of three spirals a point lies on, and tells how often it is right on points that it has not seen.
#include <heddle/heddle.h>

#include <cmath>

using namespace heddle;

// Points [n, 2] and the spiral of each, i32 [n].
std::pair<Tensor, Tensor> spirals(int points, std::uint64_t seed) {
    Tensor x = Tensor::empty({points, 2}), y = Tensor::empty({points}, DType::i32), radius = Tensor::rand({points}, seed);
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

double accuracy(const Net& net, const std::pair<Tensor, Tensor>& points) {
    const NoGrad no_grad;
    Tensor statistics;
    cross_entropy(net(points.first), points.second, {}, &statistics);
    const LossStatistics counts = loss_statistics(statistics);
    return static_cast<double>(counts.correct) / static_cast<double>(counts.counted);
}

int main() {
    const auto training = spirals(600, 1), test = spirals(300, 2);
    Net net;
    optim::Adam adam(net, {.lr = 1e-2});
    for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
        Variable loss;
        for (const auto& [x, y] : batches(training, 32, {.shuffle = epoch})) {
            adam.zero_grad();
            loss = cross_entropy(net(x), y);
            loss.backward();
            adam.step();
        }
        if (epoch % 10 == 9) fmt::print("epoch {}: loss {:.3f}, accuracy {:.3f}\n", epoch + 1, loss.item(), accuracy(net, test));
    }
}
