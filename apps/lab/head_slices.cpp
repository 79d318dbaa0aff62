// Heads that each read a slice of the embedding.
//
//     wrong    head h reads x[:, h d : (h + 1) d]       12 heads of 42 read 504 of 512 columns, each only its own
//     right    q, k, v = x W, with W [512, 12 * 42]     every head reads every column (Vaswani et al. 2017, section 3.2.2)
//
// The task: at each position, predict the word encoded in the row's last eight columns, which no slice contains.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "apps/lab/kit.h"
#include "nn/linear.h"

namespace heddle::lab::head_slices {
namespace {

constexpr std::int64_t d_model = 512, heads = 12, head_dim = 42;
constexpr std::int64_t width = heads * head_dim;  // 504
constexpr std::int64_t unread = d_model - width, vocabulary = 8;
constexpr Training training = {.steps = 40, .lr = 1e-3};

enum class Build : std::uint8_t { projections, slices };

struct Net : nn::Module {
    Net(std::uint64_t seed, Build how) : Module(seed), build(how) {
        if (build == Build::projections) {
            whole = std::make_unique<nn::Linear>(*this, "projection", d_model, std::vector<std::string>{"query", "key", "value"},
                                                 width);
            return;
        }
        for (std::int64_t head = 0; head < heads; ++head)
            of_slice.push_back(std::make_unique<nn::Linear>(*this, fmt::format("heads.{}", head), head_dim,
                                                            std::vector<std::string>{"query", "key", "value"}, head_dim));
    }
    // The heads' concatenated outputs, [rows, width]. x [sentences * time, d_model]
    Variable attend(const Variable& x, std::int64_t sentences) const {
        const std::int64_t time = x.rows() / sentences;
        const Spans spans = Spans::equal(sentences, time);
        if (build == Build::projections) {
            const Variable projected = whole->forward(x);
            return ops::attention({projected, 0, width}, {projected, width, width}, {projected, 2 * width, width}, spans, spans,
                                  {.heads = heads, .causal = true});
        }
        std::vector<Variable> parts;
        for (std::int64_t head = 0; head < heads; ++head) {
            const Variable slice = ops::slice(x, 1, head * head_dim, (head + 1) * head_dim);
            const Variable projected = of_slice[static_cast<std::size_t>(head)]->forward(slice);
            std::array<Variable, 3> qkv;
            for (std::size_t i = 0; i < 3; ++i) {
                const auto begin = static_cast<std::int64_t>(i) * head_dim;
                qkv[i] = ops::reshape(ops::slice(projected, 1, begin, begin + head_dim), {sentences, time, head_dim});
            }
            const Variable scores = ops::scale(ops::matmul(qkv[0], qkv[1], false, true), 1 / std::sqrt(double{head_dim}));
            const Variable weights = ops::softmax(scores, {}, {.causal = true});
            parts.push_back(ops::reshape(ops::matmul(weights, qkv[2]), {sentences * time, head_dim}));
        }
        return ops::concat(parts, 1);
    }
    Variable logits(const Variable& x, std::int64_t sentences) const { return output.forward(attend(x, sentences)); }

    Build build;
    std::unique_ptr<nn::Linear> whole;
    std::vector<std::unique_ptr<nn::Linear>> of_slice;
    nn::Linear output{*this, "output", width, vocabulary};
};

// How much each head's output depends on each column of x: [heads, d_model], the gradient's mean magnitude over the positions.
std::vector<double> reading(const Net& net, const Tensor& rows, std::uint64_t key) {
    std::vector<double> result;
    const Tensor cotangent = normal({rows.dim(0), head_dim}, 1, key);
    for (std::int64_t head = 0; head < heads; ++head) {
        const Variable x(rows, true);
        backward(ops::slice(net.attend(x, 1), 1, head * head_dim, (head + 1) * head_dim), cotangent);
        const std::vector<double> gradient = x.grad().to_vector();
        for (std::int64_t column = 0; column < d_model; ++column) {
            double sum = 0;
            for (std::int64_t row = 0; row < rows.dim(0); ++row)
                sum += std::abs(gradient[static_cast<std::size_t>(row * d_model + column)]);
            result.push_back(sum / static_cast<double>(rows.dim(0)));
        }
    }
    return result;
}

// The number of columns that heads `begin` to `end` read.
double columns_read(const std::vector<double>& reading, std::size_t begin, std::size_t end) {
    double count = 0;
    for (std::size_t column = 0; column < d_model; ++column) {
        bool read = false;
        for (std::size_t head = begin; head < end; ++head) read |= reading[head * d_model + column] > 0;
        count += read;
    }
    return count;
}

// The columns that the slices read hold noise; the others encode a word.
std::vector<double> learn_from_the_last_columns(Net& net, const Options& options) {
    return train(net, training, [&](std::int64_t step) {
        constexpr std::int64_t sentences = 32, time = 2;
        const std::uint64_t batch = key(options, fmt::format("batch {}", step));
        const Tensor word = words(sentences * time, vocabulary, batch);
        Tensor x = normal({sentences * time, d_model}, 0.1, batch + 1);
        for (std::int64_t row = 0; row < x.rows(); ++row)
            for (std::int64_t column = 0; column < unread; ++column)
                x.mutable_data<float>()[row * d_model + width + column] = word.data<std::int32_t>()[row] == column ? 4.0f : 0.0f;
        return ops::cross_entropy(net.logits(Variable(x), sentences), word);
    });
}

Result measure(const Options& options) {
    Result result{.variants = {"projections", "slices"},
                  .findings = {{"columns of the embedding that one head reads"},
                               {"columns that no head reads"},
                               {"loss on a word in the last 8 columns, 40 steps"}}};
    picture::LineChart losses{.title = "predicting a word encoded in the last 8 columns",
                              .x = {.label = "step"},
                              .y = {.label = "cross entropy", .from = 0},
                              .levels = {{"ln 8: guessing", std::log(vocabulary)}}};
    const Tensor rows = normal({16, d_model}, 1, key(options, "rows"));
    for (const Build build : {Build::projections, Build::slices}) {
        const std::string& name = result.variants[build == Build::projections ? 0 : 1];
        Net net(key(options, "model"), build);
        const std::vector<double> read = reading(net, rows, key(options, "cotangent"));
        result.findings[0].values.push_back(columns_read(read, 0, 1));
        result.findings[1].values.push_back(d_model - columns_read(read, 0, heads));
        std::vector<double> binned;  // eight columns each
        for (std::size_t i = 0; i < read.size(); i += 8) {
            double sum = 0;
            for (std::size_t column = i; column < i + 8; ++column) sum += read[column] / 8;
            binned.push_back(sum);
        }
        result.figures.insert(
            result.figures.begin(),
            {svg(picture::HeatMap{.title = "what each head reads: " + name,
                                  .rows = heads,
                                  .cols = d_model / 8,
                                  .values = binned,
                                  .row_title = "head",
                                  .col_title = "columns of the embedding, in groups of eight",
                                  .from = 0}),
             build == Build::projections ? "Every head reads everything."
                                         : "A staircase: each head reads its own columns, and no head the last eight."});
        const std::vector<double> learned = learn_from_the_last_columns(net, options);
        result.findings[2].values.push_back(mean_of_last(learned, 5));
        losses.series.push_back(curve(name, learned));
    }
    result.figures.push_back({svg(mistakes_first(losses)), "What no head reads cannot be learned."});
    return result;
}

}  // namespace

Experiment experiment() {
    return {.name = "head-slices",
            .group = "Attention",
            .title = "heads that read slices of the embedding",
            .caught_by = "Attention.WorksWithoutBiasAndWithAnyHeadSize",
            .why =
                "Each head sees 42 of the 512 columns, and 12 times 42 is 504, so no head reads the last eight, and the loss on "
                "the words they encode stays at ln 8. The shapes are right, and the picture of the model is the same. With "
                "projections every head reads all columns.",
            .wrong = R"(
// head h of width d reads only its own columns: weight [d, d]
const Variable own = ops::slice(x, 1, h * d, (h + 1) * d);
const Variable q = ops::linear(own, weight);
)",
            .right = R"(
// every head reads every column: weight [H * d, d_model]
const Variable q = ops::linear(x, weight);
)",
            .run = measure};
}

}  // namespace heddle::lab::head_slices
