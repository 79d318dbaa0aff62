// The encoder explained step by step: its statements on position codes, heads, residual connections and layer norm, measured with
// the widths of the preset `explained`. The statements about normalisation are in explained_norm.cpp.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "apps/chapters/chapter.h"
#include "apps/chapters/kit.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "apps/picture/text.h"
#include "autograd/tape.h"
#include "nn/layer_norm.h"
#include "nn/layers.h"
#include "nn/multi_head_attention.h"

namespace heddle::chapters {
namespace {

double norm(const Tensor& tensor) {
    double squares = 0;
    for (const double value : tensor.to_vector()) squares += value * value;
    return std::sqrt(squares);
}

Statement low_columns_turn_fast() {
    constexpr std::int64_t rows = 5000, d_model = 512;
    const PositionCodes codes = position_codes(rows, d_model);
    picture::Series turns{.name = "changes of sign", .x = {}, .y = {}};
    bool falls = true;
    for (std::int64_t column = 0; column < d_model; column += 2) {
        double changes = 0;
        for (std::int64_t row = 2; row < rows; ++row)
            changes += codes.values[static_cast<std::size_t>(row * d_model + column)] *
                                   codes.values[static_cast<std::size_t>((row - 1) * d_model + column)] <
                               0
                           ? 1
                           : 0;
        falls = falls && (turns.y.empty() || changes <= turns.y.back());
        turns.x.push_back(static_cast<double>(column));
        turns.y.push_back(changes);
    }
    return {"Low columns turn fast, high ones slowly.",
            {{"changes of sign in 5000 positions, column 0", turns.y.front()},
             {"column 128", turns.y[64]},
             {"column 256", turns.y[128]},
             {"column 510", turns.y.back()}},
            falls && turns.y.front() > 1000 && turns.y.back() <= 1,
            {},
            {{svg(picture::LineChart{.title = "how often a column changes its sign in 5000 positions",
                                     .x = {.label = "column"},
                                     .y = {.label = "changes of sign", .logarithmic = true},
                                     .series = {turns}}),
              "From twice in 2 pi positions to less than once in 5000."}}};
}

// The rows in reverse order.
Tensor backwards(const Tensor& rows) {
    Tensor turned = Tensor::empty(rows.shape(), rows.dtype());
    for (std::int64_t row = 0; row < rows.shape()[0]; ++row)
        turned.slice(row, row + 1).copy_(rows.slice(rows.shape()[0] - row - 1, rows.shape()[0] - row));
    return turned;
}

// Two encoder layers in f64 read a sentence forwards and backwards.
Statement order_is_in_the_codes(const Options& options) {
    constexpr std::int64_t tokens = 10;
    nn::TransformerOptions model = model_of("explained", 20, 2);
    nn::Module root(options.seed, DType::f64);
    const nn::Encoder encoder(root, "encoder", model);
    root.eval();
    const NoGrad none;
    const Tensor rows = lab::normal({tokens, model.d_model}, 1, lab::key(options, "words in order"), DType::f64);
    nn::Module place(options.seed, DType::f64);
    const nn::PositionalEncoding positions(place, "positions", model.positions, model.position_table, model.d_model);
    const Tensor codes = positions.table(tokens).value().slice(0, tokens);
    const Tensor no_codes = Tensor::zeros(codes.shape(), DType::f64);
    // The distance of a word's row from its row in the reversed sentence.
    const auto moved = [&](const Tensor& code) {
        const auto read = [&](const Tensor& sentence) {
            return encoder.forward(ops::add(Variable(sentence), Variable(code)), Spans::equal(1, tokens)).value();
        };
        return lab::largest_difference(read(rows), backwards(read(backwards(rows))));
    };
    const double without = moved(no_codes), with = moved(codes);
    return {"Without position codes the encoder cannot tell one order from another: words in another order give the same rows.",
            {{"what a word's row moves when the order is turned round, without codes", without}, {"with codes", with}},
            without < 1e-12 && with > 0.1};
}

// The head as in its formula: softmax(q k^T / sqrt(width)) v with three projections of all columns, and the output projection.
Variable single_head(const Variable& x, const nn::NamedTensors& weights, std::int64_t width) {
    const auto project = [&](const Variable& from, const std::string& name) {
        Variable weight, bias;
        for (const auto& [full, tensor] : weights) {
            if (full.ends_with(name + ".weight")) weight = Variable(tensor);
            if (full.ends_with(name + ".bias")) bias = Variable(tensor);
        }
        return ops::linear(from, weight, bias);
    };
    const Variable query = project(x, "query"), keys = project(x, "key"), values = project(x, "value");
    const Variable scores = ops::scale(ops::matmul(query, keys, false, true), 1 / std::sqrt(static_cast<double>(width)));
    return project(ops::matmul(ops::softmax(scores), values), "output");
}

Statement one_head_is_the_single_head(const Options& options) {
    constexpr std::int64_t tokens = 20, d_model = 512;
    Statement statement{
        "Attention with one head is the single head: it sees all 512 columns, is scaled by the root of its own width and "
        "projected back to 512.",
        {},
        true};
    for (const std::int64_t width : {42, 64}) {
        nn::Module root(options.seed, DType::f64);
        const nn::SelfAttention attention(root, "head", {.d_model = d_model, .heads = 1, .head_dim = width});
        root.eval();
        const Variable x(lab::normal({tokens, d_model}, 1, lab::key(options, "tokens of a head"), DType::f64));
        const NoGrad none;
        const Tensor library = attention.forward(x, Spans::equal(1, tokens)).value();
        const Tensor formula = single_head(x, root.named_tensors(), width).value();
        const double error = lab::largest_difference(library, formula);
        statement.numbers.push_back({fmt::format("largest difference, {} wide", width), error});
        statement.holds = statement.holds && error < 1e-12;
    }
    return statement;
}

// The number of weights and biases of query, key and value.
Statement a_head_has_fewer_parameters(const Options& options) {
    constexpr std::int64_t d_model = 512;
    Statement statement{
        "The write-up counts three layers from a head's own columns to all 512; a head that sees all columns has fewer "
        "parameters.",
        {},
        true};
    for (const auto& [width, counted] : {std::pair<std::int64_t, std::int64_t>{64, 99'840}, {42, 66'048}}) {
        nn::Module root(options.seed);
        const nn::SelfAttention attention(root, "head", {.d_model = d_model, .heads = 1, .head_dim = width});
        const nn::Linear layer(root, "narrow", width, d_model);
        const std::int64_t own = attention.children().front()->parameter_count(), narrow = 3 * layer.parameter_count();
        statement.numbers.push_back({fmt::format("from all 512 columns to {}", width), static_cast<double>(own)});
        statement.numbers.push_back({fmt::format("from {} columns to all 512", width), static_cast<double>(narrow)});
        statement.holds = statement.holds && narrow == counted && own < narrow;
    }
    return statement;
}

// The output projection is a sum over heads: each head has its own columns in it.
Statement heads_add_up(const Options& options) {
    constexpr std::int64_t tokens = 20, d_model = 512, heads = 8, width = 64;
    nn::Module root(options.seed, DType::f64);
    const nn::SelfAttention attention(root, "heads", {.d_model = d_model, .heads = heads, .head_dim = width, .bias = false});
    root.eval();
    const Variable x(lab::normal({tokens, d_model}, 1, lab::key(options, "tokens of heads"), DType::f64));
    const NoGrad none;
    const Tensor together = attention.forward(x, Spans::equal(1, tokens)).value();
    Variable sum(Tensor::zeros({tokens, d_model}, DType::f64));
    for (std::int64_t head = 0; head < heads; ++head) {
        nn::NamedTensors own;  // this head's rows of the projections, its columns of the output
        for (const auto& [name, tensor] : root.named_tensors()) {
            const bool output = name.ends_with("output.weight");
            own.push_back({name, ops::slice(Variable(tensor), output ? 1 : 0, head * width, (head + 1) * width).value()});
        }
        sum = ops::add(sum, single_head(x, own, width));
    }
    const double error = lab::largest_difference(together, sum.value());
    return {"Eight heads side by side are the sum of eight single heads.", {{"largest difference", error}}, error < 1e-12};
}

// One causal head of width 42 over as many tokens as the table has positions, and over the first 43 of them.
Statement causal_heads_read_any_length(const Options& options) {
    constexpr std::int64_t d_model = 512, beginning = 43;
    const std::int64_t all = model_of("explained", 20).position_table;
    nn::Module root(options.seed);
    const nn::SelfAttention attention(root, "head", {.d_model = d_model, .heads = 1, .head_dim = 42});
    root.eval();
    const NoGrad none;
    const Tensor rows = lab::normal({all, d_model}, 1, lab::key(options, "a long text"));
    const auto read = [&](std::int64_t count) {
        return attention.forward(Variable(rows.slice(0, count)), Spans::equal(1, count), {.causal = true}).value();
    };
    const Tensor text = read(all);
    const double moved = lab::largest_difference(text.slice(0, beginning), read(beginning));
    return {"A causal head reads any length up to the table's, and what follows does not change the rows before.",
            {{"tokens read", static_cast<double>(text.shape()[0])},
             {fmt::format("what the first {} rows move when {} more follow", beginning, all - beginning), moved}},
            text.shape()[0] == all && moved == 0};
}

// One draw is far from the head's output without dropout. The mean of n unbiased draws is closer by a factor of about sqrt(n); a
// bias would keep it away.
Statement dropout_keeps_the_mean(const Options& options) {
    constexpr std::int64_t tokens = 12, width = 42;
    constexpr int draws = 2000;
    constexpr double probability = 0.1;
    const Variable x(lab::normal({tokens, width}, 1, lab::key(options, "tokens of dropout"), DType::f64));
    const Spans spans = Spans::equal(1, tokens);
    const NoGrad none;
    const auto head = [&](const Dropout& dropout) {
        return ops::attention(x, x, x, spans, spans, {.heads = 1, .causal = true, .scale = 0.05, .dropout = dropout}).value();
    };
    const std::vector<double> plain = head({}).to_vector();
    std::vector<double> mean(plain.size());
    double squares = 0;
    for (int draw = 0; draw < draws; ++draw) {
        const std::vector<double> drawn = head({probability, lab::key(options, fmt::format("draw {}", draw))}).to_vector();
        const double change = lab::relative_change(plain, drawn);
        squares += change * change;
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += drawn[i] / draws;
    }
    const double of_one_draw = std::sqrt(squares / draws), of_the_mean = lab::relative_change(plain, mean);
    return {
        "Dropout of attention weights leaves a head's output on average where it is: weights that stay are divided by the share "
        "that stays.",
        {{"one draw, of the output", of_one_draw}, {fmt::format("mean of {} draws, of the output", draws), of_the_mean}},
        of_the_mean < 2 * of_one_draw / std::sqrt(draws)};
}

// A layer of a deep network: x W^T after a ReLU, alone or added to x. In f64, because without the residual the gradients become
// very small.
struct Stack : nn::Module {
    explicit Stack(std::int64_t depth, std::uint64_t seed) : nn::Module(seed, DType::f64) {
        for (std::int64_t i = 0; i < depth; ++i)
            layers.push_back(std::make_unique<nn::Linear>(*this, fmt::format("layers.{}", i), width, width));
    }
    static constexpr std::int64_t width = 64;
    std::vector<std::unique_ptr<nn::Linear>> layers;

    // The norm of the gradient at the input, relative to the cotangent's.
    double gradient(const Variable& x, const Tensor& cotangent, bool residual, double gain) const {
        Variable y = x;
        for (const auto& layer : layers) {
            const Variable change = ops::scale(layer->forward(ops::relu(y)), gain);
            y = residual ? ops::add(y, change) : change;
        }
        Variable input = x;
        input.zero_grad();
        backward(y, cotangent);
        return norm(input.grad()) / norm(cotangent);
    }
};

Statement residuals_carry_gradients(const Options& options) {
    const Tensor cotangent = lab::normal({16, Stack::width}, 1, lab::key(options, "cotangent"), DType::f64);
    picture::Series with{.name = "with residual", .x = {}, .y = {}}, without{.name = "without", .x = {}, .y = {}};
    for (const std::int64_t depth : {1, 2, 4, 8, 16, 32}) {
        const Stack stack(depth, options.seed);
        const Variable x(lab::normal({16, Stack::width}, 1, lab::key(options, "input"), DType::f64), true);
        with.x.push_back(static_cast<double>(depth)), without.x.push_back(static_cast<double>(depth));
        with.y.push_back(stack.gradient(x, cotangent, true, 0.3));
        without.y.push_back(stack.gradient(x, cotangent, false, 0.3));
    }
    std::string printed = fmt::format("{:>6}{:>16}{:>12}\n", "layers", "with residual", "without");
    for (std::size_t i = 0; i < with.x.size(); ++i)
        printed += fmt::format("{:>6}{:>16}{:>12}\n", with.x[i], picture::number(with.y[i]), picture::number(without.y[i]));
    const Stack stack(8, options.seed);
    const Variable x(lab::normal({16, Stack::width}, 1, lab::key(options, "input"), DType::f64), true);
    const double untouched = stack.gradient(x, cotangent, true, 0);
    return {
        "A residual connection adds the constant 1 to a layer's derivative, so that the gradient reaches the first layer at any "
        "depth.",
        {{"with residual, layers that change nothing", untouched},
         {"with residual, 1 layer", with.y.front()},
         {"with residual, 32 layers", with.y.back()},
         {"without, 1 layer", without.y.front()},
         {"without, 32 layers", without.y.back()}},
        untouched == 1 && with.y.back() >= 1 && without.y.back() < 1e-6,
        {printed},
        {{svg(picture::LineChart{.title = "gradient at the first layer relative to the last",
                                 .x = {.label = "layers", .logarithmic = true},
                                 .y = {.label = "norm of the gradient", .logarithmic = true},
                                 .series = {with, without}}),
          "Each layer changes its input little: without the residual, small factors multiply; with it, each factor is close to "
          "1."}}};
}

// Mean, variance and scale in separate steps, over rows (layer norm) or over columns (batch norm in training).
Variable normalised(const Variable& x, int axis, double eps) {
    const Variable centered = ops::sub(x, ops::mean(x, axis, true));
    const Variable variance = ops::mean(ops::mul(centered, centered), axis, true);
    return ops::div(centered, ops::sqrt(ops::add(variance, Variable(Tensor::full({1, 1}, eps, x.dtype())))));
}

Statement layer_norm_minds_its_own_row(const Options& options) {
    constexpr std::int64_t rows = 8, cols = 512;
    constexpr double eps = 1e-5;
    nn::Module root(options.seed, DType::f64);
    const nn::LayerNorm library(root, "norm", cols, eps);
    const Tensor tokens = lab::normal({rows, cols}, 1, lab::key(options, "rows"), DType::f64);
    Tensor others = tokens.clone();
    Tensor last = others.slice(rows - 1, rows);
    last.copy_(lab::normal({1, cols}, 3, lab::key(options, "another last row"), DType::f64));
    const NoGrad none;
    const auto first_row_moves = [&](int axis) {
        const auto first_row = [&](const Tensor& x) { return normalised(Variable(x), axis, eps).value().slice(0, 1); };
        return lab::largest_difference(first_row(tokens), first_row(others));
    };
    const double steps =
        lab::largest_difference(library.forward(Variable(tokens)).value(), normalised(Variable(tokens), 1, eps).value());
    const double layer = first_row_moves(1), batch = first_row_moves(0);
    return {
        "Layer norm takes three steps (mean, variance, scale) over a token's own columns; batch norm's go over all tokens, "
        "so that a token's values depend on its neighbours.",
        {{"largest difference of the three steps and the library", steps},
         {"what a token moves when another changes, layer norm", layer},
         {"what a token moves when another changes, batch norm", batch}},
        steps < 1e-12 && layer == 0 && batch > 0.01};
}

}  // namespace

Report explained(const Options& options) {
    Report report;
    report.statements.push_back(low_columns_turn_fast());
    report.statements.push_back(order_is_in_the_codes(options));
    report.statements.push_back(one_head_is_the_single_head(options));
    report.statements.push_back(a_head_has_fewer_parameters(options));
    report.statements.push_back(causal_heads_read_any_length(options));
    report.statements.push_back(dropout_keeps_the_mean(options));
    report.statements.push_back(heads_add_up(options));
    report.statements.push_back(residuals_carry_gradients(options));
    report.statements.push_back(layer_norm_minds_its_own_row(options));
    add_norm_statements(options, report);
    return report;
}

}  // namespace heddle::chapters
