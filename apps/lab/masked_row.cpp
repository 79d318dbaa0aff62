// A query that may attend to nothing: a sentence with an empty source in a batch.
//
//     wrong    softmax(where(mask, s, -1e9))          all scores are equal: uniform weights on masked positions
//     wrong    softmax(where(mask, s, -2^32 + 1))     the same
//     wrong    softmax(where(mask, s, -inf))          -inf - (-inf) in the exponent: NaN
//     right    e^s over the allowed positions, and zeros if there are none
//
// The wrong variants use a composed softmax, as frameworks do: the library's softmax gives zeros even for a row of -inf.
#include <cmath>
#include <limits>

#include "apps/lab/kit.h"
#include "nn/linear.h"

namespace heddle::lab::masked_row {
namespace {

constexpr std::int64_t sentences = 4;  // the last one's source is empty
constexpr std::int64_t length = 6, width = 32, vocabulary = 10;
constexpr std::int32_t ignored = -1;

struct Fill {
    const char* name;
    double value;  // NaN: true masking
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Fill fills[] = {
    {"masked", std::numeric_limits<double>::quiet_NaN()}, {"-1e9", -1e9}, {"-2^32 + 1", -4294967295.0}, {"-inf", -infinity}};

Variable composed_softmax(const Variable& x) {
    const Variable exponentials = ops::exp(ops::sub(x, ops::max(x, -1, true)));
    return ops::div(exponentials, ops::sum(exponentials, -1, true));
}

// Cross attention to the source's embedding, predicting a word at each target position.
struct Net : nn::Module {
    explicit Net(std::uint64_t seed) : Module(seed) {}
    Variable weights(const Variable& target, const Variable& source, const Tensor& mask, const Fill& fill) const {
        const Shape shape = {sentences, length, width};
        const Variable q = ops::reshape(query.forward(target), shape), k = ops::reshape(keys.forward(source), shape);
        const Variable scores = ops::scale(ops::matmul(q, k, false, true), 1 / std::sqrt(static_cast<double>(width)));
        if (std::isnan(fill.value)) return ops::softmax(scores, mask);
        return composed_softmax(ops::where(mask, scores, Variable(Tensor::full({1}, fill.value, DType::f32))));
    }
    Variable logits(const Variable& weights, const Variable& source) const {
        const Variable v = ops::reshape(values.forward(source), {sentences, length, width});
        return output.forward(ops::reshape(ops::matmul(weights, v), {sentences * length, width}));
    }
    nn::Linear query{*this, "query", width, width}, keys{*this, "key", width, width}, values{*this, "value", width, width};
    nn::Linear output{*this, "output", width, vocabulary};
};

Tensor mask_of_the_batch() {
    Tensor mask = Tensor::zeros({sentences, length, length}, DType::u8);
    for (std::int64_t i = 0; i < (sentences - 1) * length * length; ++i) mask.mutable_data<std::uint8_t>()[i] = 1;
    return mask;
}

// The share of the parameters' gradient elements that are NaN.
double share_of_nan(const Net& net) {
    double nans = 0, count = 0;
    for (const nn::Parameter& one : net.parameters())
        for (const double value : one.variable.grad().to_vector()) {
            nans += std::isnan(value) ? 1 : 0;
            count += 1;
        }
    return nans / count;
}

// Norm of the gradient in the last sentence's source rows, which are all padding.
double gradient_in_padding(const Variable& source) {
    double squares = 0;
    const std::vector<double> gradient = source.grad().to_vector();
    for (auto i = static_cast<std::size_t>((sentences - 1) * length * width); i < gradient.size(); ++i)
        squares += gradient[i] * gradient[i];
    return std::sqrt(squares);
}

Result measure(const Options& options) {
    const Shape shape = {sentences * length, width};
    const Variable target(normal(shape, 1, key(options, "target")));
    const Tensor mask = mask_of_the_batch();
    const Tensor answers = words(sentences * length, vocabulary, key(options, "answers"));
    Tensor without_the_last = answers.clone();
    for (std::int64_t i = (sentences - 1) * length; i < sentences * length; ++i)
        without_the_last.mutable_data<std::int32_t>()[i] = ignored;

    Result result{.findings = {{"weight of a masked row on masked places"},
                               {"NaN among the gradients, the loss ignores the row"},
                               {"NaN among the gradients, the loss counts the row"},
                               {"gradient in padding, the loss counts the row"}}};
    std::vector<double> rows;
    std::vector<std::string> names;
    for (const Fill& fill : fills) {
        result.variants.emplace_back(fill.name);
        names.emplace_back(fill.name);
        Net net(key(options, "model"));
        const Variable source(normal(shape, 1, key(options, "source")), true);
        const std::vector<double> weights = net.weights(target, source, mask, fill).value().to_vector();
        double sum = 0;
        for (std::size_t i = weights.size() - length; i < weights.size(); ++i) {
            rows.push_back(weights[i]);
            sum += weights[i];
        }
        result.findings[0].values.push_back(sum);
        for (const Tensor& targets : {without_the_last, answers}) {
            for (const nn::Parameter& one : net.parameters()) Variable(one.variable).zero_grad();
            backward(
                ops::cross_entropy(net.logits(net.weights(target, source, mask, fill), source), targets, {.ignore = ignored}));
            const bool counts = targets.shares_storage(answers);
            result.findings[counts ? 2 : 1].values.push_back(share_of_nan(net));
            if (counts) result.findings[3].values.push_back(gradient_in_padding(source));
        }
    }
    result.figures = {{svg(picture::HeatMap{.title = "weights of a query that may attend to nothing",
                                            .rows = static_cast<std::int64_t>(names.size()),
                                            .cols = length,
                                            .values = mistakes_first(rows, length),
                                            .row_labels = mistakes_first(names),
                                            .col_title = "key, all masked",
                                            .from = 0,
                                            .to = 1}),
                       "Zeros, an average of the padding, and NaN."},
                      {svg(picture::BarChart{.title = "NaN among the gradients of the model",
                                             .y = {.label = "share of the elements", .from = 0, .to = 1},
                                             .groups = mistakes_first(names),
                                             .bars = {{"the loss ignores the row", mistakes_first(result.findings[1].values)},
                                                      {"the loss counts the row", mistakes_first(result.findings[2].values)}}}),
                       "One row of one sentence spoils the whole batch's gradients of the value and output weights."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "masked-row",
        .group = "Attention",
        .title = "a fully masked row under four ways of masking",
        .caught_by = "Softmax.GivesZerosAndZeroGradientsWhereNothingAttends",
        .why =
            "A large negative number is a score like any other: if all scores are equal, all weights are 1/6, and the query "
            "reads padding, which then receives gradients. Minus infinity minus itself is NaN, and zero times NaN is NaN, so one "
            "such row spoils the gradients of the value and output weights, and of all layers below, even if the loss ignores "
            "it. A mask that excludes positions leaves an empty sum: the weights and gradients are zero, and the rest of the "
            "batch trains as usual.",
        .wrong = R"(
// or -inf, which a softmax of exp and sum turns into NaN
const Variable low(Tensor::full({1}, -1e9, DType::f32));
const Variable filled = ops::where(mask, scores, low);
const Variable weights = ops::softmax(filled);
)",
        .right = R"(
// masked positions are left out of the sum; a row with no
// other positions gives zeros, forward and backward
const Variable weights = ops::softmax(scores, mask);
)",
        .run = measure};
}

}  // namespace heddle::lab::masked_row
