// The line-by-line model: its statements on layers, norms, positions, heads, the generator, decoding, the schedule and smoothed
// labels, measured with the widths, the table and the rates of the preset `annotated` (heads at half its width).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include "apps/chapters/chapter.h"
#include "apps/chapters/kit.h"
#include "apps/lab/kit.h"
#include "apps/picture/chart.h"
#include "apps/translation/run/clock.h"
#include "autograd/tape.h"
#include "nn/layers.h"
#include "nn/multi_head_attention.h"
#include "optim/schedule.h"

namespace heddle::chapters {
namespace {

// Counts whole models; one more layer on each side should add the parameters of one encoder and one decoder layer.
Statement layers_have_their_own_weights(const Options& options) {
    constexpr std::int64_t words = 10;
    const auto parameters = [&](std::int64_t layers) {
        return nn::Transformer(model_of("annotated", words, layers), options.seed).parameter_count();
    };
    nn::Module root(options.seed);
    const nn::TransformerOptions model = model_of("annotated", words);
    const nn::EncoderLayer encoder(root, "encoder", model);
    const nn::DecoderLayer decoder(root, "decoder", model);
    const std::int64_t two = parameters(2), six = parameters(6);
    return {"Each layer is a copy with weights of its own: four layers more are four times a layer's parameters more.",
            {{"N = 2, vocabularies of 10", static_cast<double>(two)},
             {"N = 6, vocabularies of 10", static_cast<double>(six)},
             {"a layer of the encoder", static_cast<double>(encoder.parameter_count())},
             {"a layer of the decoder", static_cast<double>(decoder.parameter_count())}},
            six - two == 4 * (encoder.parameter_count() + decoder.parameter_count())};
}

// The root mean square of a row's values after each layer, before and after the final norm.
Statement sums_grow_without_norms(const Options& options) {
    constexpr std::int64_t tokens = 10;
    const nn::TransformerOptions preset = model_of("annotated", 10);
    const NoGrad none;
    const Variable x(lab::normal({tokens, preset.d_model}, 1, lab::key(options, "rows of a stack")));
    const auto size_behind = [&](std::int64_t layers, nn::NormPlace place, bool final_norm) {
        nn::TransformerOptions model = preset;
        model.encoder_layers = layers;
        model.norm = place;
        model.final_norm = final_norm;
        nn::Module root(options.seed);
        const nn::Encoder encoder(root, "encoder", model);
        root.eval();
        double squares = 0;
        for (const double value : encoder.forward(x, Spans::equal(1, tokens)).value().to_vector()) squares += value * value;
        return std::sqrt(squares / static_cast<double>(tokens * preset.d_model));
    };
    const double first = size_behind(1, nn::NormPlace::pre, false), last = size_behind(6, nn::NormPlace::pre, false);
    const double normed = size_behind(6, nn::NormPlace::pre, true), post = size_behind(6, nn::NormPlace::post, false);
    return {"With the norm first the sums grow from layer to layer; the norm behind the last one brings them back.",
            {{"size of a row's numbers behind 1 layer, norm first", first},
             {"behind 6 layers, norm first", last},
             {"behind the final norm", normed},
             {"behind 6 layers, norm behind each sum", post}},
            last > 1.2 * first && std::abs(normed - 1) < 0.01 && std::abs(post - 1) < 0.01};
}

struct Sentence {
    nn::Sentences source, target;
};

// Calls the public functions one after another on a model with random weights.
Statement generator_gives_probabilities(const nn::Transformer& model, const Sentence& sentence) {
    const Variable memory = model.encode(sentence.source.tokens, sentence.source.spans);
    const Variable hidden = model.decode(sentence.target.tokens, sentence.target.spans, memory, sentence.source.spans);
    const std::vector<double> logs = model.generator(hidden).value().to_vector();
    const auto words = static_cast<std::size_t>(model.options().target_vocabulary);
    double error = 0, greatest = 0;
    for (std::size_t row = 0; row < logs.size(); row += words) {
        double sum = 0;
        for (std::size_t i = row; i < row + words; ++i) {
            sum += std::exp(logs[i]);
            greatest = std::max(greatest, std::exp(logs[i]));
        }
        error = std::max(error, std::abs(sum - 1));
    }
    return {"The generator gives log-probabilities: their exponentials sum to 1 in each row.",
            {{"largest error of a sum", error}, {"greatest probability of a word, before any training", greatest}},
            error < 1e-5};
}

// Decodes ten words greedily: one by one with a cache, and by decoding the whole prefix again each time.
Statement steps_are_the_whole_prefix(const nn::Transformer& model, const nn::Sentences& source) {
    constexpr std::int64_t length = 10;
    const auto best = [](const Tensor& logits) {
        const std::vector<double> row = logits.to_vector();
        return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
    };
    const Tensor memory = model.encode(source.tokens, source.spans).value();
    nn::DecoderCache cache = model.start_decoding(memory, source.spans, 1, length);
    Tensor prefix = Tensor::zeros({length, 1}, DType::i32);  // token 0 is the start mark
    std::vector<double> with_cache, without;                 // the scores of all words
    std::int64_t rows_with_cache = 0, rows_without = 0;
    for (std::int64_t i = 0; i < length; ++i) {
        const Tensor step = model.step(prefix.slice(i, i + 1).reshape({1}), cache);
        const Tensor tokens = prefix.slice(0, i + 1).reshape({i + 1});
        const Tensor hidden = model.decode(tokens, Spans::equal(1, i + 1), Variable(memory), source.spans).value();
        std::ranges::copy(step.to_vector(), std::back_inserter(with_cache));
        std::ranges::copy(model.logits(hidden.slice(i, i + 1)).to_vector(), std::back_inserter(without));
        rows_with_cache += 1, rows_without += i + 1;
        if (i + 1 < length) prefix.mutable_data<std::int32_t>()[i + 1] = best(step);
    }
    const double difference = lab::largest_difference(with_cache, without);
    return {"Reading one word at a time gives what the whole prefix gives, if keys and values of the words before are kept.",
            {{"largest difference of the scores, 10 words", difference},
             {"rows through the decoder, with what is kept", static_cast<double>(rows_with_cache)},
             {"rows through the decoder, without", static_cast<double>(rows_without)}},
            difference == 0};
}

Statement shifts_are_rotations() {
    const PositionCodes codes = position_codes(5000, 512);
    Statement statement{"The code of position pos + k is a rotation of the code of pos.", {}, true};
    for (const std::int64_t k : {1, 10, 100, 1000}) {
        const double error = codes.shift_error(k);
        statement.numbers.push_back({fmt::format("largest error in 5000 positions, k = {}", k), error});
        statement.holds = statement.holds && error < 1e-12;
    }
    const PositionCodes narrow = position_codes(100, 20);
    std::vector<picture::Series> waves;
    for (const std::int64_t column : {4, 5, 6, 7}) {
        std::vector<double> values;
        for (std::int64_t row = 0; row < narrow.rows; ++row)
            values.push_back(narrow.values[static_cast<std::size_t>(row * narrow.cols + column)]);
        waves.push_back(lab::curve(fmt::format("column {}", column), values));
    }
    statement.figures.push_back(
        {svg(picture::LineChart{
             .title = "four columns of 20", .x = {.label = "position"}, .y = {.label = "value"}, .series = waves}),
         "A sine and a cosine of one frequency form a point on a circle; the next pair turns more slowly."});
    return statement;
}

// Mult-adds of self-attention over `tokens` in one sentence: four projections, scores and the sum of values.
double multiply_adds(std::int64_t tokens, std::int64_t d_model, std::int64_t heads, std::int64_t width) {
    const double projections = 4.0 * static_cast<double>(tokens * d_model * heads * width);
    return projections + 2.0 * static_cast<double>(heads * tokens * tokens * width);
}

// The fastest of several runs: other programs on the machine can only slow a run down.
double least_seconds(const nn::SelfAttention& attention, const Variable& x, const Spans& spans) {
    double least = std::numeric_limits<double>::infinity();
    const NoGrad none;
    for (int i = 0; i < 15; ++i) {
        const auto start = std::chrono::steady_clock::now();
        attention.forward(x, spans);
        least = std::min(least, app::seconds_since(start));
    }
    return least;
}

// Section 3.2.2 of the paper. The times differ from run to run; the counts do not.
Statement heads_cost_nothing(const Options& options) {
    constexpr std::int64_t tokens = 256, d_model = 256;
    const Variable x(lab::normal({tokens, d_model}, 1, lab::key(options, "tokens of heads")));
    const Spans spans = Spans::equal(1, tokens);
    nn::Module root(options.seed);
    const nn::SelfAttention eight(root, "eight", {.d_model = d_model, .heads = 8});
    const nn::SelfAttention one(root, "one", {.d_model = d_model, .heads = 1});
    root.eval();
    const double count = multiply_adds(tokens, d_model, 8, 32), count_of_one = multiply_adds(tokens, d_model, 1, 256);
    const double time = least_seconds(eight, x, spans) / least_seconds(one, x, spans);
    return {"Several narrow heads cost about what one head of the full width costs.",
            {{"mult-adds, 8 heads of 32", count},
             {"mult-adds, 1 head of 256", count_of_one},
             {"parameters, 8 heads", static_cast<double>(eight.parameter_count())},
             {"parameters, 1 head", static_cast<double>(one.parameter_count())},
             {"time of 8 heads, of 1 head's (this run)", time}},
            count == count_of_one && eight.parameter_count() == one.parameter_count() && time < 2};
}

Statement schedules_differ() {
    struct Curve {
        std::int64_t d_model, warmup;
    };
    Statement statement{"A wider model and a longer warm-up have a lower peak.", {}, true};
    picture::LineChart chart{.title = "learning rate", .x = {.label = "step"}, .y = {.label = "rate"}, .series = {}};
    double before = std::numeric_limits<double>::infinity();
    for (const Curve& one : {Curve{256, 4000}, Curve{512, 4000}, Curve{512, 8000}}) {
        const optim::Schedule schedule{.kind = optim::ScheduleKind::noam, .lr = 1, .warmup = one.warmup, .d_model = one.d_model};
        picture::Series curve{.name = fmt::format("d {}, warm-up {}", one.d_model, one.warmup), .x = {}, .y = {}};
        for (std::int64_t step = 0; step < 20000; step += 50) {
            curve.x.push_back(static_cast<double>(step));
            curve.y.push_back(schedule.rate(step));
        }
        const double peak = schedule.rate(one.warmup - 1);
        statement.numbers.push_back({"peak, " + curve.name, peak});
        statement.holds =
            statement.holds && peak < before && peak > schedule.rate(one.warmup) && peak > schedule.rate(one.warmup - 2);
        before = peak;
        chart.series.push_back(std::move(curve));
    }
    statement.figures.push_back({svg(chart), "The schedule of the paper for three models."});
    return statement;
}

// The loss of one target among `words` if the model gives it probability p and each other word an equal share of the rest.
double smoothed_loss(double p, std::int64_t words, double smoothing) {
    Tensor logits = Tensor::full({1, words}, std::log((1 - p) / static_cast<double>(words - 1)), DType::f64);
    logits.mutable_data<double>()[0] = std::log(p);
    return ops::cross_entropy(Variable(logits), Tensor::zeros({1}, DType::i32), {.label_smoothing = smoothing}).value().item();
}

Statement certainty_is_punished() {
    constexpr std::int64_t words = 5;
    constexpr double smoothing = 0.1;
    picture::Series smoothed{.name = "smoothing 0.1", .x = {}, .y = {}}, plain{.name = "no smoothing", .x = {}, .y = {}};
    double best = 0, least = std::numeric_limits<double>::infinity();
    for (int i = 200; i < 1000; ++i) {
        const double p = i / 1000.0;
        smoothed.x.push_back(p), plain.x.push_back(p);
        smoothed.y.push_back(smoothed_loss(p, words, smoothing));
        plain.y.push_back(smoothed_loss(p, words, 0));
        if (smoothed.y.back() < least) best = p, least = smoothed.y.back();
    }
    const double wanted = 1 - smoothing + smoothing / words;  // the target's share of the smoothed label
    return {"With smoothed labels a model that is too sure of its choice is punished.",
            {{"probability with the least loss", best},
             {"the target's share of its smoothed label", wanted},
             {"loss there", least},
             {"loss at .999", smoothed.y.back()}},
            std::abs(best - wanted) < 1e-9 && smoothed.y.back() > least,
            {},
            {{svg(picture::LineChart{.title = "loss of a target among 5 words",
                                     .x = {.label = "probability of the target"},
                                     .y = {.label = "loss", .from = 0},
                                     .series = {smoothed, plain}}),
              "With smoothed labels the loss rises again when the model becomes too sure."}}};
}

}  // namespace

Report annotated(const Options& options) {
    Report report;
    report.statements.push_back(layers_have_their_own_weights(options));
    report.statements.push_back(sums_grow_without_norms(options));
    report.statements.push_back(shifts_are_rotations());
    report.statements.push_back(heads_cost_nothing(options));
    nn::Transformer model(model_of("annotated", 1000, 2), options.seed);
    model.eval();
    const NoGrad none;
    const Sentence sentence{sentences(1, 9, 1000, lab::key(options, "source")),
                            sentences(1, 7, 1000, lab::key(options, "target"))};
    report.statements.push_back(generator_gives_probabilities(model, sentence));
    report.statements.push_back(steps_are_the_whole_prefix(model, sentence.source));
    report.statements.push_back(schedules_differ());
    report.statements.push_back(certainty_is_punished());
    return report;
}

}  // namespace heddle::chapters
