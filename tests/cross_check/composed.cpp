#include "tests/cross_check/composed.h"

#include <cmath>
#include <map>

#include "heddle/functions.h"

namespace heddle::cross_check {
namespace {

using namespace cases;

// ---- the proofs

GradientCase of_one(const char* op, const char* what, std::vector<double> numbers, Variable (*function)(const Variable&, Where)) {
    return {op, what, [function](auto in) { return function(in[0], Where::current()); }, {Tensor::from(numbers)}};
}

std::vector<GradientCase> proofs() {
    // Not of seed 1, which gradcheck's cotangents have: normalize has no derivative along its input.
    const Tensor x = random_input({3, 4}, 13), y = random_input({3, 4}, 2), v = random_input({4}, 3);
    const Tensor a = random_input({2, 3, 4}, 4), b = random_input({2, 4, 5}, 5);
    const std::vector<double> of_both_signs = {-20, -3, -0.5, -1e-3, 1e-3, 0.7, 2, 20};
    std::vector<double> with_zero = of_both_signs;
    with_zero.push_back(0);
    return {
        of_one("log2", "small and large", {1e-2, 0.5, 1, 3, 1e3}, log2),
        of_one("log10", "small and large", {1e-2, 0.5, 1, 3, 1e3}, log10),
        of_one("tan", "several periods", {-20, -4, -0.5, 0, 1.2, 10}, tan),
        of_one("sinh", "of both signs, and 0", with_zero, sinh),
        of_one("cosh", "of both signs", of_both_signs, cosh),
        of_one("log_sigmoid", "of both signs, and 0", with_zero, log_sigmoid),
        {"elu", "of both signs", [](auto in) { return elu(in[0], 1.5); }, {Tensor::from(of_both_signs)}},
        {"leaky_relu", "of both signs", [](auto in) { return leaky_relu(in[0], 0.2); }, {away_from_zero(x)}},
        {"lerp", "near the first", [](auto in) { return lerp(in[0], in[1], 0.3); }, {x, y}},
        {"lerp", "beyond the second, a row", [](auto in) { return lerp(in[0], in[1], 1.7); }, {x, v}},
        {"logaddexp", "ordinary numbers", [](auto in) { return logaddexp(in[0], in[1]); }, {x, y}},
        {"logaddexp",
         "a column and a row, far apart",
         [](auto in) { return logaddexp(in[0], in[1]); },
         {Tensor::from({-9.0, 0.5, 9.0}, {3, 1}), Tensor::from({8.0, -2.0}, {2})}},
        {"normalize", "the rows", [](auto in) { return normalize(in[0], -1); }, {x}},
        {"normalize", "the first axis of three", [](auto in) { return normalize(in[0], 0); }, {a}},
        {"normalize", "below eps", [](auto in) { return normalize(in[0], 0, 100); }, {v}},
        {"cosine_similarity", "the rows", [](auto in) { return cosine_similarity(in[0], in[1], 1); }, {x, y}},
        {"cosine_similarity", "a vector with each row", [](auto in) { return cosine_similarity(in[0], in[1], -1); }, {x, v}},
        {"diag", "of a vector", [](auto in) { return diag(in[0]); }, {v}},
        {"diag", "of a matrix", [](auto in) { return diag(in[0]); }, {x}},
        {"pad",
         "two axes",
         [](auto in) {
             return pad(in[0], {1, 2, 0, 1}, -3);
         },
         {x}},
        {"movedim", "the first becomes the last", [](auto in) { return movedim(in[0], 0, -1); }, {a}},
        {"unflatten",
         "an open extent",
         [](auto in) {
             return unflatten(in[0], 1, {2, -1});
         },
         {x}},
        {"meshgrid",
         "both grids",
         [](auto in) {
             const std::vector<Variable> grids = meshgrid(in[0], in[1]);
             return ops::stack(grids);
         },
         {v, random_input({3}, 6)}},
        {"sort", "columns", [](auto in) { return sort(in[0], 0).values; }, {x}},
        {"sort", "rows, falling", [](auto in) { return sort(in[0], -1, true).values; }, {x}},
        {"topk", "two of each row", [](auto in) { return topk(in[0], 2).values; }, {x}},
        {"einsum",
         "a batch of products",
         [](auto in) {
             return einsum("bij,bjk->bik", {in[0], in[1]});
         },
         {a, b}},
        {"einsum",
         "three operands",
         [](auto in) {
             return einsum("ij,kj,j->ki", {in[0], in[1], in[2]});
         },
         {x, y, v}},
        {"einsum",
         "a sum over what is left",
         [](auto in) {
             return einsum("ij,j", {in[0], in[1]});
         },
         {x, v}},
        {"scaled_dot_product_attention",
         "two queries beside the last of four keys",
         [](auto in) { return scaled_dot_product_attention(in[0], in[1], in[2], true); },
         {random_input({2, 2, 3}, 7), random_input({2, 4, 3}, 8), random_input({2, 4, 5}, 9)}},
        {"scaled_dot_product_attention",
         "every key",
         [](auto in) { return scaled_dot_product_attention(in[0], in[1], in[2]); },
         {random_input({3, 3}, 10), random_input({4, 3}, 11), random_input({4, 2}, 12)}},
    };
}

// ---- random calls

// Numbers of both signs, times 1 or more.
std::optional<Step> draw_numbers(Draw& draw) {
    constexpr double kScales[] = {1, 8, 30};
    return Step{.inputs = {draw.any(0, 3)}, .options = {{"scale", kScales[draw.between(0, 2)]}}};
}

std::optional<Step> draw_positive(Draw& draw) {
    return Step{.inputs = {draw.positive(draw.shape(static_cast<int>(draw.between(0, 3))))}};
}

std::optional<Step> draw_pair(Draw& draw) {
    std::optional<Step> step = draw_numbers(draw);
    step->inputs.push_back(draw.of(draw.shape_of(step->inputs[0])));
    step->options["weight"] = draw.uniform(-1, 2);
    return step;
}

std::optional<Step> draw_axis(Draw& draw) {
    const Number x = draw.any(1, 3);
    const std::int64_t axis = draw.between(0, draw.shape_of(x).rank() - 1);
    return Step{.inputs = {x},
                .options = {{"axis", axis},
                            {"to", draw.between(0, draw.shape_of(x).rank() - 1)},
                            {"count", draw.between(0, draw.shape_of(x)[static_cast<int>(axis)])},
                            {"descending", draw.chance(0.5)}}};
}

std::optional<Step> draw_two_with_axis(Draw& draw) {
    std::optional<Step> step = draw_axis(draw);
    step->inputs.push_back(draw.of(draw.shape_of(step->inputs[0])));
    return step;
}

std::optional<Step> draw_matrix_or_vector(Draw& draw) { return Step{.inputs = {draw.any(1, 2)}}; }

std::optional<Step> draw_two_vectors(Draw& draw) { return Step{.inputs = {draw.any(1, 1), draw.any(1, 1)}}; }

std::optional<Step> draw_pad(Draw& draw) {
    Step step{.inputs = {draw.any(2, 3)}, .options = {{"value", draw.uniform(-2, 2)}}};
    for (const char* name : {"a", "b", "c", "d"}) step.options[name] = draw.between(0, 3);
    return step;
}

std::optional<Step> draw_unflatten(Draw& draw) {
    const Number x = draw.any(2, 2);
    return Step{.inputs = {x}, .options = {{"extent", draw.shape_of(x)[0]}}};
}

std::optional<Step> draw_einsum(Draw& draw) {
    const std::string sums[] = {"ij,jk->ik", "bij,bjk->bik", "ij->ji",       "ijk->j", "i,j->ij",
                                "ij,ij->",   "ij,jk,kl->li", "aij,bjk->aki", "ij,j",   "cb,ca"};
    const std::string sum = sums[draw.between(0, std::ssize(sums) - 1)];
    Step step{.options = {{"sum", sum}}};
    std::map<char, std::int64_t> extents;
    Shape shape;
    for (const char letter : sum.substr(0, sum.find("->")) + ",") {
        if (letter == ',') {
            step.inputs.push_back(draw.of(shape));
            shape = {};
        } else {
            shape.append(extents.try_emplace(letter, draw.between(1, 4)).first->second);
        }
    }
    return step;
}

// There are at least as many keys as queries.
std::optional<Step> draw_attention(Draw& draw) {
    const std::int64_t batch = draw.between(1, 3), queries = draw.between(1, 4), keys = queries + draw.between(0, 2);
    const std::int64_t width = draw.between(1, 4), out = draw.between(1, 4);
    return Step{.inputs = {draw.of({batch, queries, width}), draw.of({batch, keys, width}), draw.of({batch, keys, out})},
                .options = {{"causal", draw.chance(0.5)}}};
}

// PyTorch's own errors grow where the cosine is small.
bool tan_suits(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    for (const double x : in[0].to_vector())
        if (std::abs(std::cos(step.option<double>("scale") * x)) < 0.2) return false;
    return draw.small(outputs);
}

bool directions_suit(const Draw& draw, const Step& step, const std::vector<Tensor>& in, std::span<const Tensor> outputs) {
    for (const Tensor& x : in)
        if (least_magnitude(ops::norm(x, step.option<int>("axis")).value()) < 0.5) return false;
    return draw.small(outputs);
}

Variable scaled(const Step& step, const Variable& x) { return ops::scale(x, step.option<double>("scale")); }
int axis_in(const Step& step) { return step.option<int>("axis"); }

std::vector<TapeFunction> functions() {
    return {
        {"log2", draw_positive, [](const Step&, Inputs in) -> Outputs { return {log2(in[0])}; },
         "return [torch.log2(inputs[0])]"},
        {"log10", draw_positive, [](const Step&, Inputs in) -> Outputs { return {log10(in[0])}; },
         "return [torch.log10(inputs[0])]"},
        {"tan", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {tan(scaled(s, in[0]))}; },
         "return [torch.tan(options['scale'] * inputs[0])]", tan_suits},
        {"sinh", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {sinh(scaled(s, in[0]))}; },
         "return [torch.sinh(options['scale'] * inputs[0])]"},
        {"cosh", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {cosh(scaled(s, in[0]))}; },
         "return [torch.cosh(options['scale'] * inputs[0])]"},
        {"elu", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {elu(scaled(s, in[0]), 1.5)}; },
         "return [F.elu(options['scale'] * inputs[0], 1.5)]"},
        {"leaky_relu", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {leaky_relu(scaled(s, in[0]), 0.2)}; },
         "return [F.leaky_relu(options['scale'] * inputs[0], 0.2)]"},
        {"log_sigmoid", draw_numbers, [](const Step& s, Inputs in) -> Outputs { return {log_sigmoid(scaled(s, in[0]))}; },
         "return [F.logsigmoid(options['scale'] * inputs[0])]"},
        {"lerp", draw_pair,
         [](const Step& s, Inputs in) -> Outputs { return {lerp(scaled(s, in[0]), in[1], s.option<double>("weight"))}; },
         "return [torch.lerp(options['scale'] * inputs[0], inputs[1], options['weight'])]"},
        {"logaddexp", draw_pair, [](const Step& s, Inputs in) -> Outputs { return {logaddexp(scaled(s, in[0]), in[1])}; },
         "return [torch.logaddexp(options['scale'] * inputs[0], inputs[1])]"},
        {"normalize", draw_axis, [](const Step& s, Inputs in) -> Outputs { return {normalize(in[0], axis_in(s))}; },
         "return [F.normalize(inputs[0], dim=options['axis'])]", directions_suit},
        {"cosine_similarity", draw_two_with_axis,
         [](const Step& s, Inputs in) -> Outputs { return {cosine_similarity(in[0], in[1], axis_in(s))}; },
         "return [F.cosine_similarity(*inputs, dim=options['axis'])]", directions_suit},
        {"diag", draw_matrix_or_vector, [](const Step&, Inputs in) -> Outputs { return {diag(in[0])}; },
         "return [torch.diag(inputs[0])]"},
        {"pad", draw_pad,
         [](const Step& s, Inputs in) -> Outputs {
             const auto places = [&](const char* name) { return s.option<std::int64_t>(name); };
             return {pad(in[0], {places("a"), places("b"), places("c"), places("d")}, s.option<double>("value"))};
         },
         "return [F.pad(inputs[0], [options[name] for name in 'abcd'], value=options['value'])]"},
        {"movedim", draw_axis,
         [](const Step& s, Inputs in) -> Outputs { return {movedim(in[0], axis_in(s), s.option<int>("to"))}; },
         "return [inputs[0].movedim(options['axis'], options['to'])]"},
        {"unflatten", draw_unflatten,
         [](const Step& s, Inputs in) -> Outputs {
             return {unflatten(ops::flatten(in[0]), 0, {s.option<std::int64_t>("extent"), -1})};
         },
         "return [inputs[0].flatten().unflatten(0, (options['extent'], -1))]"},
        {"meshgrid", draw_two_vectors, [](const Step&, Inputs in) -> Outputs { return meshgrid(in[0], in[1]); },
         "return list(torch.meshgrid(*inputs, indexing='ij'))"},
        {"sort", draw_axis,
         [](const Step& s, Inputs in) -> Outputs { return {sort(in[0], axis_in(s), s.option<bool>("descending")).values}; },
         "return [torch.sort(inputs[0], options['axis'], options['descending']).values]"},
        {"topk", draw_axis,
         [](const Step& s, Inputs in) -> Outputs { return {topk(in[0], s.option<std::int64_t>("count"), axis_in(s)).values}; },
         "return [torch.topk(inputs[0], options['count'], options['axis']).values]"},
        {"einsum", draw_einsum,
         [](const Step& s, Inputs in) -> Outputs {
             return {einsum(s.option<std::string>("sum"), {in.begin(), in.end()})};
         },
         "return [torch.einsum(options['sum'], *inputs)]"},
        {"scaled_dot_product_attention", draw_attention,
         [](const Step& s, Inputs in) -> Outputs {
             return {scaled_dot_product_attention(in[0], in[1], in[2], s.option<bool>("causal"))};
         },
         "mask = causal(inputs[0].shape[-2], inputs[1].shape[-2]) if options['causal'] else None\n"
         "return [F.scaled_dot_product_attention(*inputs, attn_mask=mask)]"}};
}

}  // namespace

const OpCases& composed_functions() {
    static const OpCases table = {.name = "composed", .proofs = proofs, .functions = functions()};
    return table;
}

}  // namespace heddle::cross_check
