// Names, counting, freezing, initial values and flat memory of modules.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/device.h"
#include "nn/flat.h"
#include "nn/summary.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {
namespace {

TransformerOptions standard_options() {
    TransformerOptions options;
    options.source_vocabulary = options.target_vocabulary = 6000;
    return options;
}

TEST(Module, StandardTransformerHasExactly2157056Parameters) {
    const Transformer model(standard_options());
    EXPECT_EQ(model.parameter_count(), 2157056);
    std::int64_t sum = 0;
    for (const SummaryRow& row : summary(model))
        if (!row.weights.empty()) sum += row.parameters;
    EXPECT_EQ(sum, 2157056);
}

TEST(Module, NamesAreDottedAndUnique) {
    const Transformer model(tiny_options());
    const std::vector<std::string> names = names_of(model);
    const std::set<std::string> unique(names.begin(), names.end());
    EXPECT_EQ(unique.size(), names.size());
    for (const char* name :
         {"source_embedding.weight", "target_embedding.weight", "output.weight", "output.bias", "encoder.final_norm.weight",
          "encoder.layers.0.self_attention.query.weight", "encoder.layers.1.self_attention.value.bias",
          "encoder.layers.0.self_attention.output.weight", "encoder.layers.0.self_attention_norm.bias",
          "encoder.layers.1.feed_forward.inner.weight", "encoder.layers.1.feed_forward.outer.bias",
          "decoder.layers.1.cross_attention.query.weight", "decoder.layers.1.cross_attention.key.weight",
          "decoder.layers.0.cross_attention.value.bias", "decoder.layers.0.cross_attention_norm.weight",
          "decoder.layers.0.feed_forward_norm.weight", "decoder.final_norm.bias"})
        EXPECT_TRUE(unique.contains(name)) << name;
}

TEST(Module, SlicesOfOneLeafAreItsRowsInOrder) {
    const Transformer model(tiny_options());
    for (const Parameter& parameter : model.parameters()) {
        std::int64_t next = 0;
        for (const ParameterSlice& slice : parameter.slices) {
            EXPECT_EQ(slice.begin, next) << slice.name;
            next = slice.end;
        }
        EXPECT_TRUE(parameter.slices.empty() || next == parameter.variable.dim(0)) << parameter.name;
    }
    EXPECT_EQ(named_tensor(model, "encoder.layers.0.self_attention.key.weight").shape(), Shape({8, 8}));
}

TEST(Module, TiedParametersAreListedOnce) {
    TransformerOptions options = tiny_options();
    const std::int64_t free = Transformer(options).parameter_count();
    options.tie = Tie::target;
    EXPECT_EQ(Transformer(options).parameter_count(), free - 13 * 8 - 13);
    options.tie = Tie::all;
    options.source_vocabulary = 13;
    const Transformer tied(options);
    EXPECT_EQ(tied.parameter_count(), free - 13 * 8 - 13 - 11 * 8);
    EXPECT_EQ(tied.output_weight().value().bytes_data(), named_tensor(tied, "embedding.weight").bytes_data());
}

TEST(Module, InitialValuesFollowFromSeedAndNameAlone) {
    const Transformer a(tiny_options(), 7);
    const Transformer b(tiny_options(), 7);
    const Transformer other(tiny_options(), 8);
    TransformerOptions deeper = tiny_options();
    deeper.encoder_layers = 3;
    const Transformer c(deeper, 7);
    for (const auto& [name, tensor] : a.named_tensors()) {
        EXPECT_EQ(tensor.to_vector(), named_tensor(b, name).to_vector()) << name;
        EXPECT_EQ(tensor.to_vector(), named_tensor(c, name).to_vector()) << name;
        EXPECT_TRUE(tensor.rank() != 2 || tensor.to_vector() != named_tensor(other, name).to_vector()) << name;
    }
}

TEST(Module, WithoutASeedHasWeightsOfZero) {
    const Transformer empty(tiny_options(), std::nullopt), drawn(tiny_options());
    const NamedTensors weights = empty.named_tensors(), of_seed = drawn.named_tensors();
    ASSERT_EQ(weights.size(), of_seed.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const auto& [name, weight] = weights[i];
        EXPECT_EQ(name, of_seed[i].first);
        if (weight.rank() == 2) {
            EXPECT_EQ(weight.to_vector(), std::vector<double>(static_cast<std::size_t>(weight.numel()), 0)) << name;
        } else {  // norms and biases, which do not depend on a seed
            EXPECT_EQ(weight.to_vector(), of_seed[i].second.to_vector()) << name;
        }
    }
}

TEST(Module, WeightsBeginXavierUniformEachOnItsOwnFan) {
    const Transformer model(standard_options());
    for (const auto& [name, tensor] : model.named_tensors()) {
        if (tensor.rank() != 2 || name.find("embedding") != std::string::npos) continue;
        const double bound = std::sqrt(6.0 / static_cast<double>(tensor.dim(0) + tensor.dim(1)));
        double largest = 0;
        double squares = 0;
        for (const double value : tensor.to_vector()) {
            largest = std::max(largest, std::abs(value));
            squares += value * value;
        }
        EXPECT_LE(largest, bound * (1 + 1e-6)) << name;
        EXPECT_GT(largest, bound * 0.99) << name;
        EXPECT_NEAR(squares / static_cast<double>(tensor.numel()), bound * bound / 3, bound * bound * 0.02) << name;
    }
}

TEST(Module, EmbeddingsBeginNormalAndBiasesZeroAndNormsOne) {
    const Transformer model(standard_options());
    for (const auto& [name, tensor] : model.named_tensors()) {
        const std::vector<double> values = tensor.to_vector();
        EXPECT_TRUE(!name.ends_with(".bias") || values == std::vector<double>(values.size(), 0)) << name;
        EXPECT_TRUE(!name.ends_with("norm.weight") || values == std::vector<double>(values.size(), 1)) << name;
        if (name != "embedding.weight") continue;
        double squares = 0;
        for (const double value : values) squares += value * value;
        EXPECT_NEAR(squares / static_cast<double>(values.size()), 1.0 / 128, 0.01 / 128);
    }
}

TEST(Module, FreezesByPrefixAtDots) {
    Transformer model(tiny_options());
    const std::int64_t all = model.trainable_count();
    EXPECT_EQ(all, model.parameter_count());
    model.freeze("encoder.layers.1");
    for (const Parameter& parameter : model.parameters())
        EXPECT_EQ(parameter.variable.requires_grad(), !parameter.name.starts_with("encoder.layers.1.")) << parameter.name;
    model.freeze("encoder.layers.1", false);
    EXPECT_EQ(model.trainable_count(), all);
    EXPECT_EQ(model.freeze("source_embedding.weight"), 1);
    EXPECT_EQ(model.trainable_count(), all - 11 * 8);
    EXPECT_GT(model.freeze(""), 30);
    EXPECT_EQ(model.trainable_count(), 0);
}

TEST(Module, FreezingNothingOrAPartOfALeafIsAnError) {
    Transformer model(tiny_options());
    expect_error([&] { model.freeze("encoder.layer"); }, "no parameter is named \"encoder.layer\"");
    expect_error([&] { model.freeze("encoder.layers.0.self_attention.query"); },
                 "is a part of encoder.layers.0.self_attention.query_key_value.weight");
    EXPECT_EQ(model.trainable_count(), model.parameter_count());
    EXPECT_EQ(model.freeze("decoder.layers.0.cross_attention.query"), 2);
}

TEST(Module, TrainAndEvalReachEveryModule) {
    Transformer model(tiny_options());
    EXPECT_TRUE(model.training());
    model.eval();
    std::vector<const Module*> open{&model};
    std::size_t seen = 0;
    while (!open.empty()) {
        const Module* module = open.back();
        open.pop_back();
        ++seen;
        EXPECT_FALSE(module->training()) << module->name();
        open.insert(open.end(), module->children().begin(), module->children().end());
    }
    EXPECT_GT(seen, 40u);
}

TEST(Module, TwoChildrenOfOneNameAreAnError) {
    struct Twins : Module {
        Linear a{*this, "same", 2, 3};
        Linear b{*this, "same", 2, 3};
    };
    expect_error([] { const Twins twins; }, "two children \"same\"");
}

// A root without parameters needs no device, so it is tested in every build; a child's weights need one.
TEST(Module, AChildThatComesLaterLiesWhereItsParentDoes) {
    Module root;
    root.to(Device::cuda);
    Module child(root, "child");
    EXPECT_EQ(child.device(), Device::cuda);
    if (!device::available()) {
        EXPECT_THROW(Linear(child, "linear", 4, 2), Error);
        return;
    }
    const Linear linear(child, "linear", 4, 2);
    const PositionalEncoding positions(child, "positions", Positions::sinusoidal, 8, 4);
    EXPECT_EQ(linear.weight().value().device(), Device::cuda);
    EXPECT_EQ(positions.table(8).value().device(), Device::cuda);
    Module on_cpu;
    const Module same(on_cpu, "child");
    const Linear before(on_cpu, "child.linear", 4, 2);
    EXPECT_EQ(linear.weight().value().to_vector(), before.weight().value().to_vector()) << "the same initial values";
}

TEST(Module, AChildThatComesLaterIsInItsParentsMode) {
    Module root;
    root.eval();
    EXPECT_FALSE(Module(root, "late").training());
    root.train();
    EXPECT_TRUE(Module(root, "later").training());
}

TEST(Module, AChildMayOutliveItsParent) {
    auto root = std::make_unique<Module>();
    auto child = std::make_unique<Module>(*root, "child");
    root.reset();
    child->eval();
    EXPECT_EQ(child->name(), "child");
    child.reset();  // does not look for itself in its parent, which is gone
}

TEST(Module, APartOfWhichAnOptimizerTrainsAPartStaysWhereItIs) {
    struct Net : Module {
        Linear in{*this, "in", 2, 3}, out{*this, "out", 3, 1};
    };
    Net net;
    const FlatParameters flat = flatten(net.out);
    expect_error([&] { net.to(DType::bf16); }, "an optimizer works on the parameters of \"out\"");
    EXPECT_EQ(net.in.dtype(), DType::f32) << "nothing was changed";
}

TEST(Module, AChildOfABf16ModelIsAnErrorThatSaysWhatToDo) {
    Module root;
    root.to(DType::bf16);
    expect_error([&] { const Module child(root, "late"); }, "module: \"late\" comes after its parent was converted to bf16");
}

TEST(Flat, ParametersAndGradientsAreViewsOfTwoArrays) {
    Transformer model(tiny_options());
    std::map<std::string, std::vector<double>> before;
    for (const auto& [name, tensor] : model.named_tensors()) before[name] = tensor.to_vector();
    FlatParameters flat = flatten(model);
    for (const Parameter& parameter : model.parameters()) {
        EXPECT_TRUE(parameter.variable.value().shares_storage(flat.values)) << parameter.name;
        EXPECT_TRUE(parameter.variable.grad().shares_storage(flat.gradients)) << parameter.name;
    }
    for (const auto& [name, tensor] : model.named_tensors()) EXPECT_EQ(tensor.to_vector(), before[name]) << name;
    flat.values.fill_(3);
    EXPECT_EQ(named_tensor(model, "decoder.layers.1.cross_attention.key.bias").to_vector(), std::vector<double>(8, 3));
}

// Each begins at a multiple of the alignment, in order and without an overlap, with less than one alignment between.
TEST(Flat, ParametersBeginAlignedAndFollowEachOther) {
    struct Net : Module {
        Linear odd{*this, "odd", 3, 5}, whole{*this, "whole", 16, 16}, last{*this, "last", 1, 1};
    };
    Net net;
    const FlatParameters flat = flatten(net);
    constexpr std::int64_t step = 16;  // of f32, in 64 bytes
    std::int64_t end = 0;
    for (const FlatParameters::Entry& entry : flat.entries) {
        EXPECT_EQ(entry.begin % step, 0) << entry.parameter.name;
        EXPECT_GE(entry.begin, end) << entry.parameter.name;
        EXPECT_LT(entry.begin, end + step) << entry.parameter.name;
        end = entry.begin + entry.count;
    }
    EXPECT_GE(flat.values.numel(), end);
    EXPECT_LT(flat.values.numel(), end + step);
}

TEST(Flat, NamesAnyArrayOfItsLayout) {
    Transformer model(tiny_options());
    const FlatParameters flat = flatten(model);
    const NamedTensors same = flat.named(flat.values);
    const NamedTensors wanted = model.named_tensors();
    ASSERT_EQ(same.size(), wanted.size());
    for (std::size_t i = 0; i < same.size(); ++i) {
        EXPECT_EQ(same[i].first, wanted[i].first);
        EXPECT_EQ(same[i].second.shape(), wanted[i].second.shape());
        EXPECT_EQ(same[i].second.bytes_data(), wanted[i].second.bytes_data());
    }
    expect_error([&] { flat.named(Tensor::zeros({3}, DType::f32)); }, "has shape [3]");
}

TEST(Flat, ActiveRangesLeaveFrozenParametersOut) {
    Transformer model(tiny_options());
    const FlatParameters flat = flatten(model);
    EXPECT_EQ(flat.active().size(), 1u);
    model.freeze("encoder");
    std::vector<bool> trained(static_cast<std::size_t>(flat.values.numel()), false);
    for (const Span& range : flat.active())
        for (std::int64_t i = range.start; i < range.start + range.length; ++i) trained[static_cast<std::size_t>(i)] = true;
    for (const FlatParameters::Entry& entry : flat.entries)
        for (std::int64_t i = entry.begin; i < entry.begin + entry.count; ++i)
            EXPECT_EQ(trained[static_cast<std::size_t>(i)], !entry.parameter.name.starts_with("encoder."))
                << entry.parameter.name;
    model.freeze("");
    EXPECT_TRUE(flat.active().empty());
}

// ---- anomaly mode

// A NaN in a weight first appears in its module's output; a NaN in a cotangent, in the gradient of the last module's input.
TEST(AnomalyMode, NamesTheModuleThatAValueComesFrom) {
    struct Net : Module {
        Linear hidden{*this, "hidden", 4, 4};
        Linear output{*this, "output", 4, 2};
    } net;
    const Variable x(Tensor::full({3, 4}, 1, net.dtype()));
    const AnomalyMode anomaly;
    const Variable y = net.output.forward(net.hidden.forward(x));
    expect_error(
        [&] {
            backward(y, Tensor::full({3, 2}, std::nan(""), net.dtype()));
        },
        "of linear in module output at tests/nn/nn_module_test.cpp:");
    Tensor weight = net.hidden.weight().value();
    weight.fill_(std::nan(""));
    expect_error([&] { net.output.forward(net.hidden.forward(x)); },
                 "of linear in module hidden at tests/nn/nn_module_test.cpp:");
}

}  // namespace
}  // namespace heddle::nn
