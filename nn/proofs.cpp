#include "nn/proofs.h"

#include <array>
#include <iterator>
#include <utility>

#include "autograd/tape.h"
#include "nn/conv1d.h"
#include "nn/layers.h"
#include "nn/recurrent.h"
#include "nn/transformer.h"

namespace heddle::nn {
namespace {

// Writes `values` into the parameters.
void set_parameters(Module& module, std::span<const Tensor> values) {
    if (values.empty()) return;
    if (module.dtype() != values.front().dtype()) {
        module.to(Device::cpu);  // where every dtype is supported
        module.to(values.front().dtype());
    }
    module.to(values.front().device());
    const std::vector<Parameter> parameters = module.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        Tensor target = parameters[i].variable.value();
        target.copy_(values[i]);
    }
}

// Writes the first values into the parameters. Returns leaves for all values: the parameters, then new ones.
std::vector<Variable> set_inputs(Module& module, std::span<const Tensor> values, const std::vector<bool>& needs) {
    std::vector<Parameter> parameters = module.parameters();
    set_parameters(module, values.first(parameters.size()));
    parameters = module.parameters();
    std::vector<Variable> leaves;
    for (Parameter& parameter : parameters) {
        parameter.variable.set_grad({});
        parameter.variable.set_requires_grad(needs[leaves.size()]);
        leaves.push_back(parameter.variable);
    }
    for (std::size_t i = leaves.size(); i < values.size(); ++i) leaves.emplace_back(values[i], needs[i]);
    return leaves;
}

}  // namespace

std::vector<Tensor> parameter_values(const Module& module) {
    std::vector<Tensor> values;
    for (const Parameter& parameter : module.parameters()) values.push_back(parameter.variable.value().clone());
    return values;
}

GradientFunction function_of_parameters(std::shared_ptr<Module> module, ModuleFunction forward) {
    return [module = std::move(module), forward = std::move(forward)](std::span<const Variable> in) {
        const std::size_t own = module->parameters().size();
        std::vector<Tensor> values;
        std::vector<bool> needs;
        for (const Variable& input : in) {
            values.push_back(input.value());
            needs.push_back(input.requires_grad());
        }
        const Generator random = generator();
        const std::vector<Variable> leaves = set_inputs(*module, values, needs);
        Tensor value;
        if (will_record(in)) {  // an op may use another path when gradients are needed
            const FreshTape fresh;
            value = forward(std::span(leaves).subspan(own)).value();
        } else {
            value = forward(std::span(leaves).subspan(own)).value();
        }
        auto back = [module, forward, random, own, count = in.size()](Gradients& g) {
            std::vector<Tensor> saved;
            std::vector<bool> wanted;
            for (int i = 0; i < static_cast<int>(count); ++i) {
                saved.push_back(g.saved(i));
                wanted.push_back(g.needs(i));
            }
            const std::vector<Variable> leaves = set_inputs(*module, saved, wanted);
            {
                const FreshTape fresh;
                const RandomState state(random);
                const Variable output = forward(std::span(leaves).subspan(own));
                if (output.requires_grad()) backward(output, g.output());
            }
            for (std::size_t i = 0; i < count; ++i)
                if (leaves[i].grad().defined()) g.give(static_cast<int>(i), leaves[i].grad().clone());
        };
        return record(value, {.op = "module",
                              .where = Where::current(),
                              .inputs = {in.begin(), in.end()},
                              .saved = std::move(values),
                              .backward = std::move(back)});
    };
}

namespace {

// A root with a block below it, in f64.
template <class Block>
struct Held : Module {
    Block block;

    template <class... Args>
    explicit Held(Args&&... args) : Module(7, DType::f64), block(*this, "block", std::forward<Args>(args)...) {}
};

TransformerOptions small_options(NormPlace norm, double dropout) {
    TransformerOptions options;
    options.source_vocabulary = 7;
    options.target_vocabulary = 8;
    options.tie = Tie::none;
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 4;
    options.heads = 2;
    options.d_ff = 5;
    options.activation = ops::Activation::gelu;
    options.norm = norm;
    options.dropout = dropout;
    options.position_table = 8;
    return options;
}

// Parameter values moved away from their initial 0 and 1, then the function's other inputs.
std::vector<Tensor> inputs_of(const Module& module, std::vector<Tensor> others = {}) {
    std::vector<Tensor> values = parameter_values(module);
    std::uint64_t seed = 100;
    for (Tensor& value : values) {
        const Tensor noise = random_input(value.shape(), seed++, 0.2);
        for (std::int64_t e = 0; e < value.numel(); ++e) value.mutable_data<double>()[e] += noise.data<double>()[e];
    }
    values.insert(values.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
    return values;
}

template <class Kind>
GradientCase module_case(const char* op, const char* what, const std::shared_ptr<Kind>& module, const ModuleFunction& forward,
                         std::vector<Tensor> others = {}) {
    GradientCase one{op, what, function_of_parameters(module, forward), inputs_of(*module, std::move(others))};
    one.options.elements_up_to = 4;  // per parameter by differences; the adjoint identity covers all
    return one;
}

Tensor ids(const std::vector<std::int32_t>& tokens) { return Tensor::from(tokens, {std::ssize(tokens)}); }

GradientCase whole_model(const char* what, const TransformerOptions& options,
                         const std::vector<std::int32_t>& read = {1, 4, 1, 7, 2},
                         const std::vector<std::int32_t>& written = {4, 2, 7, 2, 3}) {
    const auto model = std::make_shared<Transformer>(options, 1, DType::f64);
    const Sentences source{ids({2, 5, 3, 6, 1}), Spans::packed(std::vector<std::int64_t>{3, 2})};
    const Sentences target_in{ids(read), Spans::packed(std::vector<std::int64_t>{2, 3})};
    const Tensor target_out = ids(written);
    GradientCase one = module_case("transformer", what, model, [=](std::span<const Variable>) {
        return model->loss(source, target_in, target_out, {.label_smoothing = 0.1});
    });
    // Differences of a loss of about 2 resolve derivatives of 2e-4 to about 1e-11.
    one.options.tolerance = 1e-7;
    return one;
}

// What imported models have. No token is the begin mark: its row of the embedding is a parameter whose gradient is not the
// loss's slope (embedding_cases.cpp proves the others' gradients beside it), and as a target its loss would be 1e9.
GradientCase zero_start_model() {
    TransformerOptions options = small_options(NormPlace::post, 0.2);
    options.activation = ops::Activation::silu;
    options.positions = Positions::marian;
    options.tie = Tie::target;
    options.zero_start = true;
    return whole_model("SiLU, zero start, tied with an output bias, Marian's positions", options, {1, 4, 1, 7, 5},
                       {4, 5, 7, 6, 3});
}

// RMS norm, rotary positions, shared key heads and a gate, in a translator or in a language model.
GradientCase newer_model(const char* what, bool decoder_only) {
    TransformerOptions options = small_options(NormPlace::pre, 0.2);
    options.decoder_only = decoder_only;
    options.norm_kind = NormKind::rms;
    options.positions = Positions::rotary;
    options.activation = ops::Activation::silu;
    options.gated = true;
    options.key_heads = 1;
    options.tie = Tie::target;
    return whole_model(what, options);
}

GradientCase alibi_model() {
    TransformerOptions options = small_options(NormPlace::pre, 0.2);
    options.decoder_only = true;
    options.positions = Positions::alibi;
    return whole_model("a language model with ALiBi", options);
}

}  // namespace

std::vector<GradientCase> module_cases() {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3, 1}),
                memory_spans = Spans::packed(std::vector<std::int64_t>{2, 3});
    const Tensor x = random_input({4, 4}, 1), memory = random_input({5, 4}, 2);
    const TransformerOptions attention{.d_model = 4, .heads = 2, .attention_dropout = 0.2};
    const auto self = std::make_shared<Held<SelfAttention>>(attention);
    const auto cross = std::make_shared<Held<CrossAttention>>(attention);
    const auto encoder = std::make_shared<Held<EncoderLayer>>(small_options(NormPlace::post, 0.2));
    const auto decoder = std::make_shared<Held<DecoderLayer>>(small_options(NormPlace::pre, 0.2));
    const auto gru = std::make_shared<Held<GRU>>(2, 3, RecurrentOptions{.layers = 2, .dropout = 0.2, .bidirectional = true});
    const auto lstm = std::make_shared<Held<LSTM>>(2, 3);
    const auto conv = std::make_shared<Held<Conv1d>>(4, 2, 3, Conv1dOptions{.stride = 2, .padding = 1, .groups = 2});
    return {
        module_case("gru", "two layers, both directions, dropout 0.2", gru,
                    [=](std::span<const Variable> in) { return gru->block(in[0], in[1]).output; },
                    {random_input({2, 3, 2}, 3), random_input({4, 2, 3}, 4)}),
        module_case("lstm", "with first states", lstm,
                    [=](std::span<const Variable> in) {
                        const RecurrentOutput result = lstm->block(in[0], in[1], in[2]);
                        return ops::concat(std::array{ops::flatten(result.output), ops::flatten(result.cell)}, 0);
                    },
                    {random_input({2, 3, 2}, 3), random_input({1, 2, 3}, 4), random_input({1, 2, 3}, 5)}),
        module_case("conv1d", "stride 2, padding 1, two groups", conv,
                    [=](std::span<const Variable> in) { return conv->block(in[0]); }, {random_input({2, 4, 5}, 6)}),
        module_case("self_attention", "causal, dropout 0.2", self,
                    [=](std::span<const Variable> in) { return self->block.forward(in[0], spans, {.causal = true}); }, {x}),
        module_case("cross_attention", "dropout 0.2", cross,
                    [=](std::span<const Variable> in) { return cross->block.forward(in[0], spans, in[1], memory_spans); },
                    {x, memory}),
        module_case("encoder_layer", "post-norm, dropout 0.2", encoder,
                    [=](std::span<const Variable> in) {
                        return encoder->block.forward({in[0], in[0]}, spans, nullptr).sum;
                    },
                    {x}),
        module_case("decoder_layer", "pre-norm, dropout 0.2", decoder,
                    [=](std::span<const Variable> in) {
                        const Stream stream = Layer::open(in[0], NormPlace::pre, &decoder->block.first_norm());
                        return decoder->block.forward(stream, spans, in[1], memory_spans, nullptr).sum;
                    },
                    {x, memory}),
        whole_model("pre-norm, label smoothing 0.1, dropout 0.2", small_options(NormPlace::pre, 0.2)),
        whole_model("post-norm, label smoothing 0.1", small_options(NormPlace::post, 0)),
        zero_start_model(),
        newer_model("RMS norm, rotary positions, one key head, gated", false),
        newer_model("a language model: RMS norm, rotary positions, one key head, gated", true),
        alibi_model(),
    };
}

}  // namespace heddle::nn
