// Optimizers over modules, containers of modules, and what they refuse.
#include <gtest/gtest.h>

#include <heddle/heddle.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "tests/support.h"

namespace {

using namespace heddle;

struct Net : nn::Module {
    nn::Linear in{*this, "in", 2, 8}, out{*this, "out", 8, 1};
    Variable operator()(const Variable& x) const { return out(tanh(in(x))); }
};

// x0 x1, which no linear function is.
Variable loss_of(const Net& net) {
    const Tensor x = Tensor::randn({64, 2}, 1);
    const Variable wanted = slice(x, 1, 0, 1) * slice(x, 1, 1, 2);
    const Variable error = net(x) - wanted;
    return mean(error * error);
}

template <class Optimizer>
double after_training(Net& net, Optimizer& optimizer, int updates) {
    for (int update = 0; update < updates; ++update) {
        optimizer.zero_grad();
        loss_of(net).backward();
        optimizer.step();
    }
    return loss_of(net).item();
}

TEST(Optimizers, TrainAModule) {
    Net a, b, c;
    const double before = loss_of(a).item();
    optim::Adam adam(a, {.lr = 2e-2});
    optim::AdamW adamw(b, {.lr = 2e-2});
    optim::SGD sgd(c, {.lr = 1e-1, .momentum = 0.9});
    EXPECT_LT(after_training(a, adam, 200), before / 10);
    EXPECT_LT(after_training(b, adamw, 200), before / 10);
    EXPECT_LT(after_training(c, sgd, 200), before / 5);
}

// The same numbers as the flat optimizer gives, which the tests of optim/ hold to their formulas.
TEST(Optimizers, AreTheFlatOptimizer) {
    Net net, other;
    optim::AdamW adamw(net, {.lr = 1e-2, .weight_decay = 0.1, .clip = 0.5});
    nn::FlatParameters flat = nn::flatten(other);
    optim::Optimizer plain(flat.values, flat.gradients,
                           {.method = optim::Method::adamw, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1});
    for (int update = 0; update < 3; ++update) {
        adamw.zero_grad();
        loss_of(net).backward();
        const double norm = update == 1 ? adamw.step(5e-3) : adamw.step();
        plain.zero_gradients();
        loss_of(other).backward();
        EXPECT_EQ(plain.step({.lr = update == 1 ? 5e-3 : 1e-2, .clip = 0.5}), norm);
    }
    EXPECT_EQ(adamw.parameters().values.to_vector(), flat.values.to_vector());
    EXPECT_EQ(adamw.optimizer().updates(), 3);
}

template <class Options>
concept NeedsNoRate = requires {
    Options{};
}
|| requires { Options{.clip = 1}; };
static_assert(!NeedsNoRate<optim::AdamOptions> && !NeedsNoRate<optim::AdamWOptions> && !NeedsNoRate<optim::SGDOptions>);

TEST(Optimizers, OfSgdTakeMomentumAndDecay) {
    Net net, other;
    optim::SGD sgd(net, {.lr = 1e-2, .momentum = 0.5, .weight_decay = 0.3});
    nn::FlatParameters flat = nn::flatten(other);
    optim::Optimizer plain(flat.values, flat.gradients, {.method = optim::Method::sgd, .momentum = 0.5, .weight_decay = 0.3});
    for (int update = 0; update < 3; ++update) {
        sgd.zero_grad();
        loss_of(net).backward();
        sgd.step();
        plain.zero_gradients();
        loss_of(other).backward();
        plain.step({.lr = 1e-2});
    }
    EXPECT_EQ(net.in.weight().value().to_vector(), other.in.weight().value().to_vector());
    EXPECT_EQ(net.out.weight().value().to_vector(), other.out.weight().value().to_vector());
}

TEST(Optimizers, LeaveFrozenParametersAlone) {
    Net net;
    optim::Adam adam(net, {.lr = 1e-2, .weight_decay = 0.1});
    net.freeze("in");
    const auto frozen = net.in.weight().value().to_vector(), trained = net.out.weight().value().to_vector();
    after_training(net, adam, 2);
    EXPECT_EQ(net.in.weight().value().to_vector(), frozen);
    EXPECT_NE(net.out.weight().value().to_vector(), trained);
    net.freeze("in", false);
    after_training(net, adam, 2);
    EXPECT_NE(net.in.weight().value().to_vector(), frozen);
}

TEST(Optimizers, TwoOfOneModuleShareItsMemory) {
    Net net;
    optim::Adam first(net, {.lr = 1e-2});
    optim::SGD second(net, {.lr = 1e-2});
    EXPECT_TRUE(first.parameters().values.shares_storage(second.parameters().values));
    EXPECT_TRUE(first.parameters().gradients.shares_storage(second.parameters().gradients));
    const auto before = net.in.weight().value().to_vector();
    after_training(net, first, 1);
    const auto between = net.in.weight().value().to_vector();
    EXPECT_NE(between, before);
    after_training(net, second, 1);
    EXPECT_NE(net.in.weight().value().to_vector(), between);
}

TEST(Optimizers, KeepTheModuleWhereItIs) {
    Net net;
    {
        const optim::Adam adam(net, {.lr = 1e-2});
        net.to(Device::cpu);  // nothing to do
        expect_error([&] { net.to(Device::cuda); }, "call to() before you make it");
        expect_error([&] { net.out.to(DType::f64); }, "an optimizer works on the parameters of \"out\"");
        EXPECT_EQ(net.device(), Device::cpu);
        EXPECT_EQ(net.dtype(), DType::f32);
        expect_error([&] { nn::Linear(net, "late", 2, 2); }, "\"late\" comes after an optimizer was made");
        expect_error([&] { nn::flatten(net.in); }, "\"in\" is part of a model whose parameters an optimizer trains already");
    }
    net.to(DType::f64);  // the optimizer is gone
    EXPECT_EQ(net.in.weight().dtype(), DType::f64);
    EXPECT_EQ(optim::Adam(net, {.lr = 1e-2}).parameters().values.dtype(), DType::f64);
}

TEST(Optimizers, RefuseAModuleOfWhichAPartIsTrainedAlone) {
    Net net;
    const optim::Adam part(net.out, {.lr = 1e-2});
    expect_error([&] { const optim::Adam whole(net, {.lr = 1e-2}); }, "give the whole model to one optimizer");
}

TEST(Sequential, CallsItsLayersInOrder) {
    nn::Sequential net;
    net.add<nn::Linear>(2, 64).add(relu).add<nn::LayerNorm>(64).add(tanh).add([](const Variable& x) { return 2 * x; });
    net.add<nn::Linear>(64, 3);
    std::vector<std::string> names;
    for (const auto& [name, tensor] : net.named_tensors()) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias", "5.weight", "5.bias"}));
    EXPECT_EQ(net.size(), 6);
    const Tensor x = Tensor::randn({5, 2}, 1);
    const auto leaf = [&](std::size_t i) { return net.parameters()[i].variable; };
    const Variable hidden = relu(linear(x, leaf(0), leaf(1)));
    const Variable wanted = linear(2 * tanh(layer_norm(hidden, leaf(2), leaf(3))), leaf(4), leaf(5));
    EXPECT_EQ(net(x).value().to_vector(), wanted.value().to_vector());
    EXPECT_EQ(net(x).shape(), Shape({5, 3}));
    sum(net(x)).backward();
    EXPECT_TRUE(leaf(0).grad().defined());
    EXPECT_EQ(nn::Sequential()(x).value().to_vector(), x.to_vector());
}

TEST(Sequential, IsAMemberLikeAnyModule) {
    struct Both : nn::Module {
        nn::Sequential layers{*this, "layers"};
        Both() { layers.add<nn::Linear>(2, 2).add(relu); }
    } both;
    EXPECT_EQ(both.named_tensors().front().first, "layers.0.weight");
    both.eval();
    EXPECT_FALSE(both.layers.training());
}

TEST(Embedding, IsCalledWithTokens) {
    struct Table : nn::Module {
        nn::Embedding words{*this, "words", 5, 4, nn::EmbeddingInit::unit, false};
    } table;
    const Variable rows = table.words(Tensor::from<std::int32_t>({3, 3, 0}, {3}));
    EXPECT_EQ(slice(rows, 0, 1, 2).value().to_vector(), table.words.weight().value().slice(3, 4).to_vector());
}

TEST(Save, AndLoadGiveTheSameModel) {
    const TemporaryFolder here;
    Net net, other;
    optim::Adam adam(net, {.lr = 1e-2});
    after_training(net, adam, 3);
    nn::save(net, here / "net.safetensors");
    nn::load(other, here / "net.safetensors");
    EXPECT_EQ(loss_of(other).item(), loss_of(net).item());
}

// Its constructor throws after the parent has listed it.
struct Refused : nn::Module {
    Refused(nn::Module& parent, std::string_view name) : Module(parent, name) { throw Error("refused"); }
    Variable forward(const Variable& x, Where = Where::current()) const { return x; }
};

TEST(Sequential, ForgetsALayerThatCouldNotBeMade) {
    nn::Sequential net;
    EXPECT_THROW(net.add<Refused>(), Error);
    net.add<nn::Linear>(2, 3);
    EXPECT_EQ(net.children().size(), 1u);
    EXPECT_EQ(net.parameters().size(), 2u);
    {
        const nn::Linear local(net, "local", 2, 2);
        EXPECT_EQ(net.parameters().size(), 4u);
    }
    EXPECT_EQ(net.parameters().size(), 2u);
}

TEST(Optimizers, RefuseAModelOfWhichAPartIsElsewhere) {
    struct Net : nn::Module {
        nn::Linear in{*this, "in", 2, 3}, out{*this, "out", 3, 1};
    } net;
    net.out.to(DType::f64);
    expect_error([&] { optim::Adam(net, {.lr = 1e-2}); }, "flatten: out.weight is f64 on cpu, but the model is f32 on cpu");
}

// ---- lists of leaves, and groups

Variable leaf_of(std::initializer_list<float> values) {
    return Variable(Tensor::from<float>(values, {std::ssize(values)}), true);
}

TEST(Optimizers, TrainAListOfLeaves) {
    const Variable p = leaf_of({1, 2}), q = leaf_of({3});
    optim::SGD sgd({p, q}, {.lr = 0.5});
    (sum(p) + sum(2 * q)).backward();
    sgd.step();
    EXPECT_EQ(p.value().to_vector(), (std::vector<double>{0.5, 1.5}));
    EXPECT_EQ(q.value().to_vector(), (std::vector<double>{2}));
    sgd.zero_grad();
    EXPECT_EQ(q.grad().to_vector(), (std::vector<double>{0}));
}

// The norm that is clipped to is that of all groups, so two groups with one rate step as one list does, bit for bit.
TEST(Optimizers, ClipGroupsTogether) {
    const Variable p = leaf_of({1, 2}), q = leaf_of({3}), p2 = leaf_of({1, 2}), q2 = leaf_of({3});
    optim::AdamW one({p, q}, {.lr = 0.1, .clip = 0.5});
    optim::AdamW two({{.parameters = {p2}}, {.parameters = {q2}}}, {.lr = 0.1, .clip = 0.5});
    for (int update = 0; update < 3; ++update) {
        one.zero_grad();
        two.zero_grad();
        (sum(p * p) + sum(2 * q)).backward();
        (sum(p2 * p2) + sum(2 * q2)).backward();
        EXPECT_NEAR(one.step(), two.step(), 1e-6);
    }
    EXPECT_NE(p.value().to_vector(), (std::vector<double>{1, 2}));
    EXPECT_EQ(p.value().to_vector(), p2.value().to_vector());
    EXPECT_EQ(q.value().to_vector(), q2.value().to_vector());
}

TEST(Optimizers, GiveEachGroupItsRateAndDecay) {
    const Variable p = leaf_of({1}), q = leaf_of({1}), frozen = leaf_of({1});
    Variable still = frozen;
    still.set_requires_grad(false);
    optim::SGD sgd({{.parameters = {p}, .lr = 0.5}, {.parameters = {frozen, q}, .weight_decay = 1}}, {.lr = 0.25});
    (sum(p) + sum(q)).backward();
    sgd.step();
    EXPECT_EQ(p.item(), 0.5);
    EXPECT_EQ(q.item(), 0.5);  // 1 - 0.25 (1 + 1)
    EXPECT_EQ(frozen.item(), 1);
    sgd.step(0.5);  // twice the options' rate: 1 and 0.5
    EXPECT_EQ(p.item(), -0.5);
    EXPECT_EQ(q.item(), -0.25);
    sgd.set_lr(1, 0);
    EXPECT_EQ(sgd.lr(1), 0);
    sgd.step();
    EXPECT_EQ(p.item(), -1);
    EXPECT_EQ(q.item(), -0.25);
    sgd.set_lr(0.125);
    sgd.step();
    EXPECT_EQ(p.item(), -1.125);
    EXPECT_EQ(q.item(), -0.34375);
}

TEST(Optimizers, TrainPartsOfAModuleAsGroups) {
    Net net, other;
    optim::Adam parts({{.parameters = net.in, .lr = 0}, {.parameters = net.out}}, {.lr = 2e-2});
    const std::vector<double> before = net.in.weight().value().to_vector();
    const double first = loss_of(net).item();
    EXPECT_LT(after_training(net, parts, 50), first);
    EXPECT_EQ(net.in.weight().value().to_vector(), before);
    expect_error([&] { net.to(DType::f64); }, "an optimizer works on parameter \"in.weight\" where it lies");
    expect_error([&] { optim::Adam(net, {.lr = 1}); }, "in.weight is trained by another optimizer");
    optim::Adam whole(other, {.lr = 1e-2});
    expect_error([&] { optim::SGD({other.in.weight()}, {.lr = 1}); }, "in.weight is trained by another optimizer");
}

// On a device a model's memory has another order than its parameters: one product reads the keys and values of all layers.
TEST(Optimizers, GroupsOfAModelShareItsMemoryOnEachDevice) {
    const auto begins_with = [](const nn::Module& model, std::string_view part, bool wanted) {
        std::vector<nn::Parameter> found = model.parameters();
        std::erase_if(found, [&](const nn::Parameter& one) { return one.name.starts_with(part) != wanted; });
        return found;
    };
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        nn::Transformer model({.source_vocabulary = 5, .target_vocabulary = 5, .layers = 2, .d_model = 4, .heads = 1, .d_ff = 4});
        model.to(device);
        const optim::SGD whole(model, {.lr = 1});
        optim::SGD groups({{.parameters = begins_with(model, "decoder.", false)},
                           {.parameters = begins_with(model, "decoder.", true), .lr = 0.5}},
                          {.lr = 0.25});
        EXPECT_TRUE(groups.parameters().values.shares_storage(whole.parameters().values));
        std::map<std::string, double> before;
        for (const nn::Parameter& one : model.parameters()) before[one.name] = one.variable.value().to_vector()[0];
        Tensor gradients = groups.parameters().gradients;
        gradients.fill_(1);
        groups.step();
        for (const nn::Parameter& one : model.parameters())
            EXPECT_NEAR(before[one.name] - one.variable.value().to_vector()[0], one.name.starts_with("decoder.") ? 0.5 : 0.25,
                        1e-6)
                << one.name << " on " << name(device);
        expect_error(
            [&] {
                optim::SGD(
                    {{.parameters = begins_with(model, "decoder.", true)}, {.parameters = begins_with(model, "decoder.", false)}},
                    {.lr = 1});
            },
            "optimizer: the parameters of a group do not lie side by side");
    }
}

TEST(Optimizers, RefuseWhatWouldNotTrain) {
    const Variable p = leaf_of({1}), q = leaf_of({1});
    for (const double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        expect_error([&] { optim::Adam({p}, {.lr = wrong}); }, "optimizer: a learning rate of");
        expect_error([&] { optim::Adam({{.parameters = {p}, .lr = wrong}}, {.lr = 1}); }, "optimizer: a learning rate of");
        expect_error([&] { optim::Adam({p}, {.lr = 1, .eps = wrong}); }, "optimizer: eps is");
        expect_error([&] { optim::AdamW({p}, {.lr = 1, .weight_decay = wrong}); }, "optimizer: the weight decay is");
        expect_error([&] { optim::Adam({p}, {.lr = 1, .beta2 = wrong}); }, "optimizer: beta2 is");
        expect_error([&] { optim::SGD({p}, {.lr = 1, .momentum = wrong}); }, "optimizer: momentum is");
        optim::SGD sgd({p}, {.lr = 1});
        expect_error([&] { sgd.set_lr(wrong); }, "optimizer: a learning rate of");
        expect_error([&] { sgd.step(wrong); }, "optimizer: a learning rate of");
        expect_error([&] { optim::Schedule{.lr = wrong}.rate(0); }, "schedule: a learning rate of");
        expect_error([&] { optim::Schedule{.kind = optim::ScheduleKind::cosine, .total = 1000, .floor = wrong}.rate(0); },
                     "schedule: a floor of");
    }
    expect_error([&] { optim::SGD({p}, {.lr = 1, .clip = -1}); }, "optimizer: the largest norm of the gradient is -1");
    expect_error([&] { optim::SGD(std::vector<Variable>{}, {.lr = 1}); }, "optimizer: a group has no parameters");
    expect_error([&] { optim::SGD({p, p}, {.lr = 1}); }, "flatten: parameter 1 is named twice");
    expect_error([&] { optim::SGD({p * 2}, {.lr = 1}); }, "flatten: parameter 0 is the result of an op");
    expect_error(
        [&] {
            optim::SGD({p, Variable(q.value().to(DType::f64), true)}, {.lr = 1});
        },
        "flatten: parameter 1 is f64 on cpu");
    optim::SGD sgd({p}, {.lr = 1});
    expect_error([&] { optim::SGD({p, q}, {.lr = 1}); }, "flatten: parameter 0 is trained by another optimizer");
}

}  // namespace
