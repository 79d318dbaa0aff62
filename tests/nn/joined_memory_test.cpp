// Keys and values of the memory for all decoder layers in one product (nn/joined_linear.h), on the emulated device.
#include "nn/joined_linear.h"

#include <gtest/gtest.h>

#include <functional>

#include "autograd/tape.h"
#include "core/device.h"
#include "kernels/emulator/run/run.h"
#include "nn/flat.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

class JoinedMemoryOnDevice : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available() || !device::emulated()) GTEST_SKIP() << "a GPU does not count products";
    }
};

std::unique_ptr<Transformer> model_of(const TransformerOptions& options = tiny_options()) {
    auto model = std::make_unique<Transformer>(options, 3, DType::f64);
    disturb(*model);
    model->to(Device::cuda);
    return model;
}

std::int64_t products() {
    device::synchronize();
    return emulator::work_done()["cublasLtMatmul"];
}

struct Pass {
    double loss = 0;
    std::map<std::string, Tensor> gradients;
    std::int64_t products = 0;
};

// `between`: after the forward pass.
Pass pass(const Transformer& model, const std::function<void()>& between = {}) {
    const Sentences source = packed({random_tokens(4, 11, 1), random_tokens(9, 11, 2)});
    const Sentences target = packed({random_tokens(6, 13, 3), random_tokens(3, 13, 4)});
    const std::int64_t before = products();
    Pass result;
    {
        const Variable loss = model.loss({source.tokens.to(Device::cuda), source.spans},
                                         {target.tokens.to(Device::cuda), target.spans}, target.tokens, {});
        if (between) between();
        backward(loss);
        result.loss = loss.item();
    }
    for (const auto& [name, gradient] : gradients_of(model)) result.gradients[name] = gradient.to(Device::cpu);
    result.products = products() - before;
    return result;
}

void expect_same(const Pass& got, const Pass& want) {
    EXPECT_NEAR(got.loss, want.loss, 1e-12);
    for (const auto& [name, gradient] : want.gradients) {
        const std::vector<double> a = got.gradients.at(name).to_vector(), b = gradient.to_vector();
        ASSERT_EQ(a.size(), b.size()) << name;
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12) << name << " " << i;
    }
}

// Of two layers: forward, dx and dW are one product each instead of two.
TEST_F(JoinedMemoryOnDevice, GivesTheGradientsOfSingleProducts) {
    for (const bool bias : {true, false}) {
        TransformerOptions options = tiny_options();
        options.bias = bias;
        const auto apart = model_of(options), together = model_of(options);
        const Pass want = pass(*apart);
        const FlatParameters flat = flatten(*together);
        const Pass got = pass(*together);
        expect_same(got, want);
        EXPECT_EQ(want.products - got.products, 3);
        // A second pass adds to what is there.
        const Pass twice = pass(*together);
        const std::string name = "decoder.layers.1.cross_attention.key.weight";
        EXPECT_NEAR(twice.gradients.at(name).to_vector()[5], 2 * want.gradients.at(name).to_vector()[5], 1e-12);
    }
}

TEST_F(JoinedMemoryOnDevice, LeavesOtherModelsAsTheyAre) {
    const auto apart = model_of(), frozen = model_of(), layers = model_of([] {
                                                            TransformerOptions options = tiny_options();
                                                            options.memory = MemoryFrom::layer;
                                                            return options;
                                                        }());
    const Pass want = pass(*apart);
    {
        frozen->freeze("decoder.layers.0");
        const FlatParameters flat = flatten(*frozen);
        Pass got = pass(*frozen);
        const std::string trained = "decoder.layers.1.cross_attention.value.weight";
        EXPECT_NEAR(got.gradients.at(trained).to_vector()[3], want.gradients.at(trained).to_vector()[3], 1e-12);
        EXPECT_EQ(got.gradients.at("decoder.layers.0.cross_attention.value.weight").to_vector()[3], 0);
    }
    const Pass each = pass(*layers);
    zero_gradients(*layers);
    const FlatParameters flat = flatten(*layers);
    const Pass again = pass(*layers);
    expect_same(again, each);
    EXPECT_EQ(again.products, each.products) << "each layer reads another memory";
}

TEST_F(JoinedMemoryOnDevice, FindsGradientsThatHaveMovedSince) {
    const auto apart = model_of(), moved = model_of();
    const Pass want = pass(*apart);
    const FlatParameters flat = flatten(*moved);
    expect_same(pass(*moved,
                     [&] {
                         for (Parameter& parameter : moved->parameters())
                             if (parameter.name == "decoder.layers.1.cross_attention.key_value.weight")
                                 parameter.variable.set_grad(Tensor::zeros(parameter.variable.shape(), DType::f64, Device::cuda));
                     }),
                want);
}

// On the CPU the order of the parameters, and with it the bits of the gradient's norm, stay those of construction.
TEST(JoinedMemory, OrdersLeavesOnADeviceOnly) {
    const auto order = [](Device device) {
        Transformer model(tiny_options(), 3);
        model.to(device);
        std::string names;
        const FlatParameters flat = flatten(model);
        for (const FlatParameters::Entry& entry : flat.entries) {
            const std::string& name = entry.parameter.name;
            if (name.find("cross_attention.key_value.w") != std::string::npos) names += 'w';
            if (name.find("cross_attention.key_value.b") != std::string::npos) names += 'b';
            if (name.find("cross_attention.query.weight") != std::string::npos) names += 'q';
        }
        return names;
    };
    EXPECT_EQ(order(Device::cpu), "qwbqwb");
    if (!device::available()) return;
    EXPECT_EQ(order(Device::cuda), "qwwbbq");
}

}  // namespace
}  // namespace heddle::nn
