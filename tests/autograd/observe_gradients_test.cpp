// The hook that is called when a leaf's gradient is complete, during backward.
#include <gtest/gtest.h>

#include <map>

#include "autograd/checkpoint.h"
#include "autograd/observe.h"
#include "autograd/ops.h"
#include "autograd/tape.h"
#include "core/branch.h"
#include "core/device.h"
#include "core/graph.h"
#include "core/random.h"
#include "nn/transformer.h"
#include "tests/support.h"

namespace heddle {
namespace {

Variable named(const std::string& name, const Shape& shape) { return Variable(Tensor::randn(shape, 7), true, name); }

// The names of the leaves in the order of completion, and their gradients at that moment.
struct Completed {
    std::vector<std::string> names;
    std::map<std::string, std::vector<double>> gradients;
};

Completed completed_in(const std::function<void()>& run) {
    Completed found;
    const ObserveGradients observe([&](const Variable& leaf) {
        found.names.push_back(leaf.name());
        EXPECT_TRUE(found.gradients.emplace(leaf.name(), leaf.grad().to_vector()).second) << leaf.name() << " comes twice";
    });
    run();
    return found;
}

TEST(ObserveGradients, TellsOfALeafWhenItsFirstUseWasPassed) {
    const Variable x(Tensor::randn({4, 3}, 1)), first = named("first", {3, 3}), second = named("second", {3, 3}),
                                                tied = named("tied", {3, 3});
    const Completed found = completed_in([&] {
        const Variable h = ops::linear(ops::linear(x, tied), first);
        backward(ops::linear(ops::linear(h, second), tied), Tensor::full({4, 3}, 1));
    });
    EXPECT_EQ(found.names, (std::vector<std::string>{"second", "first", "tied"}));
    for (const Variable& leaf : {first, second, tied}) EXPECT_EQ(found.gradients.at(leaf.name()), leaf.grad().to_vector());
}

TEST(ObserveGradients, LeavesOutFrozenLeavesAndThoseWithoutAGradient) {
    const Variable x(Tensor::randn({4, 3}, 1)), weight = named("weight", {3, 3}), elsewhere = named("elsewhere", {3, 3});
    Variable frozen = named("frozen", {3, 3});
    frozen.set_requires_grad(false);
    const Variable other = ops::linear(x, elsewhere);  // on the same tape, but not part of the output
    const Completed found = completed_in([&] { backward(ops::linear(ops::linear(x, frozen), weight), Tensor::full({4, 3}, 1)); });
    EXPECT_EQ(found.names, std::vector<std::string>{"weight"});
    backward(other, Tensor::full({4, 3}, 1));
    EXPECT_EQ(found.names.size(), 1u) << "the hook is gone";
}

TEST(ObserveGradients, CallsTheInnermostHookAgainAfterAnError) {
    const Variable x(Tensor::randn({4, 3}, 1)), weight = named("weight", {3, 3});
    const auto run = [&] { backward(ops::linear(x, weight), Tensor::full({4, 3}, 1)); };
    int outer = 0;
    const ObserveGradients observe([&](const Variable&) { ++outer; });
    {
        const ObserveGradients failing([](const Variable&) { throw Error("of the hook"); });
        expect_error(run, "of the hook");
        expect_error(run, "of the hook");
    }
    EXPECT_EQ(outer, 0);
    run();
    EXPECT_EQ(outer, 1);
}

// Weights inside a checkpoint are complete after the backward of its second run, whose own leaves are not reported.
TEST(ObserveGradients, TellsOfTheLeavesOfACheckpointWhenItIsDone) {
    const Variable x(Tensor::randn({4, 3}, 1)), inner = named("inner", {3, 3}), outer = named("outer", {3, 3});
    const auto twice = [](std::span<const Variable> in) { return ops::linear(ops::linear(in[0], in[1]), in[1]); };
    const Completed found = completed_in([&] {
        backward(ops::linear(checkpoint(twice, {x, inner}), outer), Tensor::full({4, 3}, 1));
    });
    EXPECT_EQ(found.names, (std::vector<std::string>{"outer", "inner"}));
    for (const Variable& leaf : {inner, outer}) EXPECT_EQ(found.gradients.at(leaf.name()), leaf.grad().to_vector());
}

// As in modules: the function captures the weight, which a later op uses, too.
TEST(ObserveGradients, WaitsForACheckpointThatMayAddToTheLeaf) {
    const Variable x(Tensor::randn({4, 3}, 1)), shared = named("shared", {3, 3});
    const auto capturing = [&](std::span<const Variable> in) { return ops::linear(in[0], shared); };
    const Completed found = completed_in([&] {
        backward(ops::linear(checkpoint(capturing, {x}), shared), Tensor::full({4, 3}, 1));
    });
    EXPECT_EQ(found.names, (std::vector<std::string>{"shared"}));
    EXPECT_EQ(found.gradients.at("shared"), shared.grad().to_vector());
}

// Products for weights run in a branch of a captured step. No leaf makes the stream wait for the branch: these weights are
// reported after it has joined, which is after the last product's input.
TEST(ObserveGradients, HoldsUpNoBranchOfACapturedStep) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const auto leaf = [](const std::string& name, const Shape& shape) {
        Variable made(Tensor::randn(shape, 7, DType::f32, Device::cuda), true, name);
        made.set_grad(Tensor::zeros(shape, DType::f32, Device::cuda));
        return made;
    };
    const Variable x = leaf("x", {4, 4}), first = leaf("first", {4, 4}), second = leaf("second", {4, 4});
    const Tensor cotangent = Tensor::full({4, 4}, 1, DType::f32, Device::cuda);
    std::vector<std::string> names;
    const ObserveGradients observe([&](const Variable& each) {
        EXPECT_FALSE(device::Branches::writes(each.grad())) << each.name();
        names.push_back(each.name());
    });
    MemoryArena arena;
    const MemoryArena::Use use(arena);
    device::Graph graph;
    graph.capture([&] { backward(ops::linear(ops::linear(x, first), second), cotangent); });
    EXPECT_EQ(names, (std::vector<std::string>{"x", "second", "first"}));
}

// A whole model on each device: every gradient is reported once, with its final bits, and the output's long before the
// embedding's.
TEST(ObserveGradients, HoldsForEveryParameterOfAModel) {
    for (const Device device : {Device::cpu, Device::cuda}) {
        if (device == Device::cuda && !device::available()) continue;
        nn::TransformerOptions options;
        options.source_vocabulary = options.target_vocabulary = 11;
        options.encoder_layers = options.decoder_layers = 2;
        options.d_model = 32;
        options.heads = 2;
        options.d_ff = 64;
        nn::Transformer model(options);
        model.to(device);
        const auto sentences = [&](const std::vector<std::int32_t>& ids) {
            const auto count = static_cast<std::int64_t>(ids.size());
            return nn::Sentences{.tokens = Tensor::from(ids, {count}).to(device), .spans = Spans::packed(std::vector{count})};
        };
        const nn::Sentences source = sentences({4, 5, 6, 3}), target = sentences({2, 7, 8});
        const Tensor wanted = Tensor::from(std::vector<std::int32_t>{7, 8, 3}, {3}).to(device);
        const Completed found = completed_in([&] { backward(model.loss(source, target, wanted)); });
        const std::vector<nn::Parameter> parameters = model.parameters();
        EXPECT_EQ(found.names.size(), parameters.size());
        for (const nn::Parameter& parameter : parameters)
            EXPECT_EQ(found.gradients.at(parameter.variable.name()), parameter.variable.grad().to_vector()) << parameter.name;
        EXPECT_EQ(found.names.front().find("encoder"), std::string::npos) << found.names.front();
        // A device computes several biases at once, perhaps at the end.
        std::vector<std::string> names = found.names;
        if (device == Device::cuda) std::erase_if(names, [](const std::string& name) { return name.ends_with(".bias"); });
        EXPECT_NE(names.back().find("embedding"), std::string::npos) << names.back();
    }
}

}  // namespace
}  // namespace heddle
