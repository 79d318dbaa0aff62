// The ops of the tape by name.
#include <fmt/format.h>

#include "autograd/ops.h"
#include "core/format.h"
#include "tests/cross_check/graph.h"

namespace heddle::cross_check {
namespace {

using In = std::span<const Variable>;
using Out = std::vector<Variable>;
using Apply = Out (*)(const Step&, In);

Tensor constant(const Step& step, const char* name) {
    const auto found = step.constants.find(name);
    return found == step.constants.end() ? Tensor() : found->second;
}

template <class T>
T option(const Step& step, const char* name, T otherwise) {
    return step.options.value(name, otherwise);
}

Shape shape_option(const Step& step, const char* name) {
    return Shape(std::span<const std::int64_t>(step.options.at(name).get<std::vector<std::int64_t>>()));
}

Dropout dropout_of(const Step& step) {
    if (!step.options.contains("dropout")) return {};
    const Json& given = step.options.at("dropout");
    return Dropout(given.at("probability").get<double>(), given.at("key").get<std::uint64_t>());
}

// [[start, length], ...]
Spans spans_of(const Step& step, const char* name, std::int64_t rows) {
    std::vector<Span> spans;
    for (const Json& each : step.options.at(name)) spans.push_back({each.at(0), each.at(1)});
    return Spans(std::move(spans), rows);
}

ops::LossOptions loss_options(const Step& step) {
    return {.label_smoothing = option(step, "label_smoothing", 0.0),
            .ignore = option(step, "ignore", -1),
            .divisor = option(step, "divisor", 0.0)};
}

ops::Activation activation_of(const Step& step) {
    const std::string name = step.options.at("activation");
    if (name == "relu") return ops::Activation::relu;
    return name == "gelu" ? ops::Activation::gelu : ops::Activation::gelu_tanh;
}

// The leading inputs hold query, key and value; the bias, where there is one, is behind them.
Out attention(const Step& step, In in) {
    ops::AttentionArguments arguments;
    arguments.heads = step.options.at("heads");
    arguments.key_heads = step.options.at("key_heads");
    arguments.causal = step.options.at("causal");
    arguments.mask = constant(step, "mask");
    arguments.dropout = dropout_of(step);
    if (step.options.contains("scale")) arguments.scale = step.options.at("scale").get<double>();
    if (step.options.at("biased")) arguments.bias = in.back();
    std::vector<ops::ColumnsOf> columns;
    for (const Json& each : step.options.at("columns"))
        columns.emplace_back(in[each.at(0).get<std::size_t>()], each.at(1).get<std::int64_t>(), each.at(2).get<std::int64_t>());
    const Spans queries = spans_of(step, "query_spans", columns[0].base.rows());
    const Spans keys = spans_of(step, "key_spans", columns[1].base.rows());
    return {ops::attention(columns[0], columns[1], columns[2], queries, keys, arguments)};
}

Out softmax(const Step& step, In in) {
    return {ops::softmax(in[0], constant(step, "mask"),
                         {.lengths = constant(step, "lengths"), .causal = option(step, "causal", false)},
                         {.scale = option(step, "scale", 1.0), .bias = in.size() > 1 ? in[1] : Variable()})};
}

Out embedding(const Step& step, In in) {
    const Tensor tokens = constant(step, "tokens");
    return {ops::embedding(in[0], tokens, spans_of(step, "spans", tokens.numel()),
                           {.scale = step.options.at("scale"),
                            .positions = in[1],
                            .first_position = step.options.at("first_position"),
                            .dropout = dropout_of(step)})};
}

Out residual_layer_norm(const Step& step, In in) {
    const auto both = ops::residual_layer_norm(in[0], in[1], in[2], in[3], step.options.at("eps"), dropout_of(step));
    return {both.sum, both.normalised};
}

Out sum(const Step& step, In in) {
    if (!step.options.contains("axis")) return {ops::sum(in[0])};
    return {ops::sum(in[0], step.options.at("axis").get<int>(), step.options.at("keep").get<bool>())};
}

const std::map<std::string, Apply>& functions() {
    static const std::map<std::string, Apply> all = {
        {"add", [](const Step&, In in) -> Out { return {ops::add(in[0], in[1])}; }},
        {"sub", [](const Step&, In in) -> Out { return {ops::sub(in[0], in[1])}; }},
        {"mul", [](const Step&, In in) -> Out { return {ops::mul(in[0], in[1])}; }},
        {"div", [](const Step&, In in) -> Out { return {ops::div(in[0], in[1])}; }},
        {"neg", [](const Step&, In in) -> Out { return {ops::neg(in[0])}; }},
        {"exp", [](const Step&, In in) -> Out { return {ops::exp(in[0])}; }},
        {"log", [](const Step&, In in) -> Out { return {ops::log(in[0])}; }},
        {"sqrt", [](const Step&, In in) -> Out { return {ops::sqrt(in[0])}; }},
        {"tanh", [](const Step&, In in) -> Out { return {ops::tanh(in[0])}; }},
        {"relu", [](const Step&, In in) -> Out { return {ops::relu(in[0])}; }},
        {"gelu", [](const Step& s, In in) -> Out { return {ops::gelu(in[0], s.options.at("tanh_form").get<bool>())}; }},
        {"scale", [](const Step& s, In in) -> Out { return {ops::scale(in[0], s.options.at("factor").get<double>())}; }},
        {"where", [](const Step& s, In in) -> Out { return {ops::where(constant(s, "condition"), in[0], in[1])}; }},
        {"sum", sum},
        {"mean",
         [](const Step& s, In in) -> Out {
             return {ops::mean(in[0], s.options.at("axis").get<int>(), s.options.at("keep").get<bool>())};
         }},
        {"max",
         [](const Step& s, In in) -> Out {
             return {ops::max(in[0], s.options.at("axis").get<int>(), s.options.at("keep").get<bool>())};
         }},
        {"reshape", [](const Step& s, In in) -> Out { return {ops::reshape(in[0], shape_option(s, "shape"))}; }},
        {"permute",
         [](const Step& s, In in) -> Out { return {ops::permute(in[0], s.options.at("axes").get<std::vector<int>>())}; }},
        {"slice",
         [](const Step& s, In in) -> Out {
             return {ops::slice(in[0], s.options.at("axis").get<int>(), s.options.at("begin").get<std::int64_t>(),
                                s.options.at("end").get<std::int64_t>())};
         }},
        {"concat", [](const Step& s, In in) -> Out { return {ops::concat(in, s.options.at("axis").get<int>())}; }},
        {"gather", [](const Step& s, In in) -> Out { return {ops::gather(in[0], constant(s, "indices"))}; }},
        {"matmul",
         [](const Step& s, In in) -> Out {
             return {ops::matmul(in[0], in[1], s.options.at("transpose_a").get<bool>(), s.options.at("transpose_b").get<bool>())};
         }},
        {"linear", [](const Step&, In in) -> Out { return {ops::linear(in[0], in[1], in[2])}; }},
        {"dropout", [](const Step& s, In in) -> Out { return {ops::dropout(in[0], dropout_of(s))}; }},
        {"residual", [](const Step& s, In in) -> Out { return {ops::residual(in[0], in[1], dropout_of(s))}; }},
        {"embedding", embedding},
        {"softmax", softmax},
        {"log_softmax", [](const Step&, In in) -> Out { return {ops::log_softmax(in[0])}; }},
        {"layer_norm",
         [](const Step& s, In in) -> Out { return {ops::layer_norm(in[0], in[1], in[2], s.options.at("eps").get<double>())}; }},
        {"residual_layer_norm", residual_layer_norm},
        {"attention", attention},
        {"feed_forward",
         [](const Step& s, In in) -> Out {
             return {ops::feed_forward(in[0], in[1], in[2], in[3], in[4], activation_of(s), dropout_of(s))};
         }},
        {"cross_entropy",
         [](const Step& s, In in) -> Out { return {ops::cross_entropy(in[0], constant(s, "targets"), loss_options(s))}; }},
        {"linear_cross_entropy",
         [](const Step& s, In in) -> Out {
             return {ops::linear_cross_entropy(in[0], in[1], in[2], constant(s, "targets"), loss_options(s))};
         }},
    };
    return all;
}

}  // namespace

std::vector<Variable> run_op(const Step& step, std::span<const Variable> inputs) {
    const auto found = functions().find(step.op);
    check(found != functions().end(), "cross_check: there is no op {}; add it to tests/cross_check/apply.cpp", step.op);
    return found->second(step, inputs);
}

}  // namespace heddle::cross_check
