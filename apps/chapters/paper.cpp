// Vaswani et al., "Attention is all you need" (2017): statements of sections 3 to 5, measured with the widths and lengths of the
// preset `paper`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/chapters/chapter.h"
#include "apps/chapters/kit.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "nn/multi_head_attention.h"
#include "nn/trace.h"
#include "optim/schedule.h"

namespace heddle::chapters {
namespace {

constexpr std::int64_t d_model = 512;

double variance(const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    return squares / static_cast<double>(values.size() - 1);
}

// Dot products of 4096 pairs of vectors with `width` independent entries of mean 0 and variance 1.
std::vector<double> dot_products(std::int64_t width, const Options& options) {
    constexpr std::int64_t pairs = 4096;
    const Variable a(lab::normal({pairs, width}, 1, lab::key(options, fmt::format("a {}", width))));
    const Variable b(lab::normal({pairs, width}, 1, lab::key(options, fmt::format("b {}", width))));
    return ops::sum(ops::mul(a, b), 1).value().to_vector();
}

// Section 3.2.1, footnote 4. A variance estimated from 4096 normal products has a standard error of about 2.2 %; an error of 10 %
// is allowed.
Statement dot_products_grow(const Options& options) {
    Statement statement{
        "The dot product of two vectors of width d, whose entries are independent with variance 1, has variance d; "
        "divided by the root of d it has variance 1.",
        {},
        true};
    picture::Series measured{.name = "measured", .x = {}, .y = {}}, scaled{.name = "divided by the root of d", .x = {}, .y = {}};
    for (const std::int64_t width : {8, 32, 64, 128, 512, 1024}) {
        const double found = variance(dot_products(width, options)), d = static_cast<double>(width);
        measured.x.push_back(d), measured.y.push_back(found);
        scaled.x.push_back(d), scaled.y.push_back(found / d);
        statement.holds = statement.holds && std::abs(found / d - 1) < 0.1;
        if (width == 64 || width == 512) {
            statement.numbers.push_back({fmt::format("variance, d = {}", width), found});
            statement.numbers.push_back({fmt::format("variance, d = {}, divided", width), found / d});
        }
    }
    const picture::Series line{.name = "d", .x = measured.x, .y = measured.x, .dots = true};
    statement.figures.push_back({svg(picture::LineChart{.title = "variance of a dot product",
                                                        .x = {.label = "width d", .logarithmic = true},
                                                        .y = {.label = "variance", .logarithmic = true},
                                                        .series = {measured, line, scaled}}),
                                 "Why scores are divided: otherwise their spread grows with the width of a head."});
    return statement;
}

// Section 3.2.3: "masking out all values in the input of the softmax which correspond to illegal connections".
Statement nobody_sees_the_future(const Options& options) {
    constexpr std::int64_t length = 4, width = 64;
    std::vector<double> mask(length * length);
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = i % length <= i / length ? 1 : 0;
    std::string printed;
    for (std::size_t i = 0; i < mask.size(); ++i) printed += fmt::format("{}{}", mask[i], (i + 1) % length == 0 ? "\n" : " ");
    const Variable x(lab::normal({length, width}, 1, lab::key(options, "tokens")));
    const Spans spans = Spans::equal(1, length);
    Tensor weights;
    ops::attention(x, x, x, spans, spans, {.heads = 1, .causal = true, .weights = &weights});
    double hidden = 0, seen = 1;
    const std::vector<double> all = weights.to_vector();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (mask[i] == 0) hidden = std::max(hidden, all[i]);
        if (mask[i] == 1) seen = std::min(seen, all[i]);
    }
    return {"With the causal mask no token attends to a later one, and each attends to itself and all before.",
            {{"largest weight of a later token", hidden}, {"least weight of another", seen}},
            hidden == 0 && seen > 0,
            {printed},
            {{svg(picture::HeatMap{.title = "the causal mask of 4 tokens",
                                   .rows = length,
                                   .cols = length,
                                   .values = mask,
                                   .row_title = "query",
                                   .col_title = "key",
                                   .from = 0,
                                   .to = 1}),
              "1: this query may attend to this key."}}};
}

// Section 3.5.
Statement shifts_are_linear() {
    const PositionCodes codes = position_codes(64, d_model);
    Statement statement{"For any fixed offset k the code of position pos + k is a linear function of the code of pos.", {}, true};
    statement.printed.push_back(codes.corners());
    statement.figures.push_back(
        codes.picture("position codes (64, 512)",
                      "Sines in even columns, cosines in odd ones. Columns on the right turn so slowly that they hardly change "
                      "within 64 positions."));
    for (const std::int64_t k : {1, 5, 32}) {
        const double error = codes.shift_error(k);
        statement.numbers.push_back({fmt::format("largest error, k = {}", k), error});
        statement.holds = statement.holds && error < 1e-12;
    }
    return statement;
}

// Sections 3.1 and 3.2.3, with a source sentence of 32 tokens and the first 16 tokens of its translation.
Statement blocks_keep_shapes(const Options& options) {
    constexpr std::int64_t words = 1024, source_length = 32, target_length = 16;
    nn::Transformer model(model_of("paper", words), options.seed);
    model.eval();
    const NoGrad none;
    const auto source = sentences(1, source_length, words, lab::key(options, "source")),
               target = sentences(1, target_length, words, lab::key(options, "target")),
               whole = sentences(1, source_length, words, lab::key(options, "whole target"));
    nn::AttentionMaps maps;
    const Variable memory = model.encode(source.tokens, source.spans, &maps);
    const Variable hidden = model.decode(target.tokens, target.spans, memory, source.spans, &maps);
    const Variable words_of_all = model.generator(model.decode(whole.tokens, whole.spans, memory, source.spans));
    const auto of_one = [](const Shape& shape) { return fmt::format("[1, {}, {}]", shape[0], shape[1]); };
    const bool holds = memory.shape() == Shape({source_length, d_model}) && hidden.shape() == Shape({target_length, d_model}) &&
                       maps.cross[0].shape() == Shape({1, 8, target_length, source_length}) &&
                       words_of_all.shape() == Shape({source_length, words});
    return {
        "Every layer gives rows as wide as those it was given; the output alone is as wide as the vocabulary.",
        {{"parameters", static_cast<double>(model.parameter_count())}},
        holds,
        {fmt::format("32 source tokens, encoder            {}\n"
                     "16 target tokens, decoder            {}\n"
                     "cross attention's weights, a layer   {}\n"
                     "32 target tokens, output             {}\n",
                     of_one(memory.shape()), of_one(hidden.shape()), maps.cross[0].shape().str(), of_one(words_of_all.shape()))}};
}

// Section 4, table 1: n^2 d against n d^2. Counts the multiplications; a recurrent layer h' = tanh(W x + U h) has two d x d
// products for each token.
Statement short_sentences_are_cheap(const Options& options) {
    nn::Module root(options.seed);
    const nn::SelfAttention attention(root, "attention", {.d_model = d_model, .heads = 8});
    root.eval();
    const NoGrad none;
    Statement statement{
        "Products of queries with keys and of weights with values cost less than a recurrent layer as long as a sentence is "
        "shorter than a row is wide.",
        {},
        true};
    for (const std::int64_t length : {64, 512, 1024}) {
        const Variable x(lab::normal({length, d_model}, 1, lab::key(options, "rows")));
        const nn::Trace trace(root);
        attention.forward(x, Spans::equal(1, length));
        const nn::ModuleTrace counted = trace.of(nn::Part());
        const std::int64_t recurrent = 2 * length * d_model * d_model;
        statement.numbers.push_back({fmt::format("{} tokens, inside attention", length), static_cast<double>(counted.attention)});
        statement.numbers.push_back({fmt::format("{} tokens, a recurrent layer", length), static_cast<double>(recurrent)});
        statement.numbers.push_back(
            {fmt::format("{} tokens, attention with its four projections", length), static_cast<double>(counted.multiply_adds)});
        statement.holds = statement.holds && (counted.attention < recurrent) == (length < d_model) &&
                          (counted.attention == recurrent) == (length == d_model);
    }
    return statement;
}

// Section 5.3, equation 3.
Statement the_rate_rises_and_falls() {
    const optim::Schedule schedule{.kind = optim::ScheduleKind::noam, .lr = 1, .warmup = 4000, .d_model = d_model};
    picture::Series curve{.name = "d 512, 4000 warm-up steps", .x = {}, .y = {}};
    std::int64_t peak = 0;
    for (std::int64_t step = 1; step <= 40000; ++step) {
        if (schedule.rate(step - 1) > schedule.rate(peak)) peak = step - 1;
        if (step % 100 != 0) continue;
        curve.x.push_back(static_cast<double>(step));
        curve.y.push_back(schedule.rate(step - 1));
    }
    const double rise = schedule.rate(1999) / schedule.rate(999), fall = schedule.rate(15999) / schedule.rate(3999);
    return {
        "The rate rises in a straight line for 4000 steps, and falls with the inverse root of the step then.",
        {{"step of the largest rate", static_cast<double>(peak + 1)},
         {"largest rate", schedule.rate(peak)},
         {"rate at step 2000, of that at 1000", rise},
         {"rate at step 16000, of that at 4000", fall}},
        peak + 1 == 4000 && std::abs(rise - 2) < 1e-9 && std::abs(fall - 0.5) < 1e-9,
        {},
        {{svg(picture::LineChart{.title = "learning rate", .x = {.label = "step"}, .y = {.label = "rate"}, .series = {curve}}),
          "Equation 3 of the paper."}}};
}

}  // namespace

Report paper(const Options& options) {
    Report report;
    report.statements.push_back(dot_products_grow(options));
    report.statements.push_back(nobody_sees_the_future(options));
    report.statements.push_back(shifts_are_linear());
    report.statements.push_back(blocks_keep_shapes(options));
    report.statements.push_back(short_sentences_are_cheap(options));
    report.statements.push_back(the_rate_rises_and_falls());
    return report;
}

}  // namespace heddle::chapters
