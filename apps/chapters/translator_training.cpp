// The part of `translator` about learning and decoding: the smoothed loss, accuracy, Adam's memory, learned positions, greedy
// search.
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/chapters/chapter.h"
#include "apps/chapters/clauses.h"
#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/picture/chart.h"
#include "apps/translation/batching/batches.h"
#include "core/format.h"
#include "nn/search/search.h"
#include "optim/optimizer.h"

namespace heddle::chapters {
namespace {

constexpr double smoothing = 0.1;

// -sum_j q_j log p_j with q = (1 - e) y + e / V, one row for each target.
double hand_made_loss(const nn::Transformer& model, const app::PairBatch& batch) {
    const app::BatchTensors read = app::tensors_of(batch);
    const Variable memory = model.encode(read.source.tokens, read.source.spans);
    const Variable hidden = model.decode(read.target_in.tokens, read.target_in.spans, memory, read.source.spans);
    const std::vector<double> log_p = model.generator(hidden).value().to_vector();
    const auto words = static_cast<std::size_t>(model.options().target_vocabulary);
    double sum = 0;
    for (std::size_t row = 0; row < batch.target_out.size(); ++row)
        for (std::size_t word = 0; word < words; ++word) {
            const double y = batch.target_out[row] == static_cast<std::int32_t>(word) ? 1 : 0;
            sum -= ((1 - smoothing) * y + smoothing / static_cast<double>(words)) * log_p[row * words + word];
        }
    return sum / static_cast<double>(batch.target_out.size());
}

Statement smoothing_is_the_formula(const Options& options) {
    Sequence numbers(lab::key(options, "smoothed pairs"));
    const std::vector<app::TokenPair> pairs = short_pairs(64, numbers);
    const app::PairBatch batch = lab::one_batch(pairs);
    const NoGrad none;
    Statement statement{
        "With smoothing e the loss is that of a target that gives (1 - e) + e/V to the right word and e/V to each other.",
        {},
        true};
    for (const DType dtype : {DType::f64, DType::f32}) {
        nn::Transformer model(clause_transformer(), lab::key(options, "smoothed model"), dtype);
        model.eval();
        const double library = lab::translation_loss(model, batch, {.label_smoothing = smoothing}).value().item();
        const double difference = std::abs(library - hand_made_loss(model, batch)) / library;
        const bool wide = dtype == DType::f64;
        if (wide) statement.numbers.push_back({"loss", library});
        statement.numbers.push_back(
            {fmt::format("relative difference to the sum by hand, {}", wide ? "f64" : "f32"), difference});
        statement.holds = statement.holds && difference < (wide ? 1e-13 : 1e-6);
    }
    return statement;
}

// A padded batch, in which padding counts as a word unless the loss ignores it.
app::BatchTensors padded(std::span<const app::TokenPair> pairs) {
    const app::PairBatch batch = lab::one_batch(pairs);
    const Spans target = Spans::equal(batch.sentences, batch.target_spans.longest());
    return {app::tensors_of(batch).source,
            {filled_up(batch.target_in, batch.target_spans, target, app::pad_id), target},
            filled_up(batch.target_out, batch.target_spans, target, app::pad_id)};
}

Statement padding_flatters(const Options& options) {
    Sequence numbers(lab::key(options, "padded pairs"));
    nn::Transformer model(clause_transformer(), lab::key(options, "padded model"));
    std::vector<double> all, words;  // with the padding and without it
    double padding = 0, positions = 0;
    constexpr std::int64_t steps = 150;
    lab::train(model, {.steps = steps, .lr = 5e-3, .warmup = 30, .clip = 1}, [&](std::int64_t) {
        const app::BatchTensors batch = padded(short_pairs(64, numbers));
        Tensor statistics;
        const auto accuracy = [&] {
            const ops::LossStatistics counts = ops::loss_statistics(statistics);
            return static_cast<double>(counts.correct) / static_cast<double>(counts.counted);
        };
        {
            const NoGrad none;
            model.loss(batch.source, batch.target_in, batch.target_out, {.ignore = app::pad_id}, &statistics);
        }
        words.push_back(100 * accuracy());
        const double counted = static_cast<double>(ops::loss_statistics(statistics).counted);
        const Variable loss = model.loss(batch.source, batch.target_in, batch.target_out, {}, &statistics);
        all.push_back(100 * accuracy());
        positions += static_cast<double>(batch.target_out.numel());
        padding += static_cast<double>(batch.target_out.numel()) - counted;
        return loss;
    });
    Statement statement{
        "Accuracy that counts padding is too high, most of all at the beginning.",
        {{"positions that are padding, %", 100 * padding / positions}},
        true,
        {},
        {{svg(picture::LineChart{.title = "accuracy while learning",
                                 .x = {.label = "step"},
                                 .y = {.label = "%", .from = 0, .to = 100},
                                 .series = {lab::curve("padding counted", all), lab::curve("without padding", words)},
                                 .levels = {{"share of padding", 100 * padding / positions}}}),
          "The same model on the same batches. Padding is the first thing that it learns to predict."}}};
    for (const std::size_t step : {20, 50, 149}) {
        statement.numbers.push_back({fmt::format("accuracy with padding, step {}, %", step), all[step]});
        statement.numbers.push_back({fmt::format("without, step {}, %", step), words[step]});
        statement.holds = statement.holds && all[step] > words[step];
    }
    statement.holds = statement.holds && all[20] - words[20] > all[149] - words[149];
    return statement;
}

// Adam's second moment of one weight after many gradients of 1, one of 100, and then 1 again.
struct Memory {
    double forgotten = 0;              // updates without a gradient until a moment has fallen to 1/e
    double recovered = 0;              // updates after the large gradient until a step is half as long as before it
    std::vector<double> step_lengths;  // relative to those before the large gradient
};

Memory remember(double beta2) {
    const auto after = [&](const std::function<double(std::int64_t)>& gradient, const std::function<bool(double)>& look) {
        Tensor weight = Tensor::zeros({1}, DType::f64), slope = Tensor::zeros({1}, DType::f64);
        optim::Optimizer adam(weight, slope, {.beta2 = beta2, .eps = 1e-8});
        const Tensor second = adam.state()[1].second;
        constexpr std::int64_t before = 20000;
        for (std::int64_t update = 0; update < before; ++update) {
            slope.mutable_data<double>()[0] = 1;
            adam.step({.lr = 1e-4});
        }
        const double start = second.data<double>()[0];
        std::int64_t updates = 0;
        do {
            slope.mutable_data<double>()[0] = gradient(updates++);
            adam.step({.lr = 1e-4});
        } while (look(second.data<double>()[0] / start));
        return static_cast<double>(updates);
    };
    Memory memory;
    memory.forgotten = after([](std::int64_t) { return 0; }, [](double moment) { return moment > std::exp(-1.0); });
    memory.recovered = after([](std::int64_t update) { return update == 0 ? 100 : 1; },
                             [&](double moment) {
                                 memory.step_lengths.push_back(1 / std::sqrt(moment));
                                 return moment > 4;
                             }) -
                       1;
    return memory;
}

Statement adam_forgets() {
    const Memory shorter = remember(0.99), longer = remember(0.999);
    return {"With beta2 = 0.99 Adam's second moment remembers 100 updates, with 0.999 it remembers 1000.",
            {{"updates until a moment has fallen to 1/e, beta2 0.99", shorter.forgotten},
             {"beta2 0.999", longer.forgotten},
             {"updates until a step is half as long again behind one gradient of 100, beta2 0.99", shorter.recovered},
             {"behind one gradient of 100, beta2 0.999", longer.recovered}},
            std::abs(shorter.forgotten / 100 - 1) < 0.01 && std::abs(longer.forgotten / 1000 - 1) < 0.01,
            {},
            {{svg(picture::LineChart{
                  .title = "step length after one gradient of 100 among ones",
                  .x = {.label = "updates"},
                  .y = {.label = "relative to before", .from = 0},
                  .series = {lab::curve("beta2 0.99", shorter.step_lengths), lab::curve("beta2 0.999", longer.step_lengths)}}),
              "One over the root of the second moment. A line ends where a step is again half as long as before."}}};
}

// ---- a model that has learned from short pairs

struct Taught {
    explicit Taught(const Options& options) : model(clause_transformer(), lab::key(options, "taught")) {
        Sequence numbers(lab::key(options, "taught pairs"));
        teach_clauses(model, short_pairs(6000, numbers), 600, lab::key(options, "taught batches"));
        test = draw_clauses(600, numbers);
        model.eval();
    }
    nn::Transformer model;
    std::vector<ClausePair> test;
};

Tensor table(const nn::Transformer& model, const std::string& name) {
    for (const auto& [full, tensor] : model.named_tensors())
        if (full == name) return tensor;
    fail_with("chapter: the model has no {}", name);
}

// The distance that each row of both tables has moved.
std::vector<picture::Series> moved_rows(const Options& options, const Taught& taught) {
    const nn::Transformer untaught(clause_transformer(), lab::key(options, "taught"));
    std::vector<picture::Series> sides;
    for (const std::string side : {"source", "target"}) {
        const std::string name = side + "_positions.weight";
        const Tensor before = table(untaught, name), after = table(taught.model, name);
        std::vector<double> moved;
        for (std::int64_t row = 0; row < before.dim(0); ++row) {
            const std::vector<double> a = before.slice(row, row + 1).to_vector(), b = after.slice(row, row + 1).to_vector();
            double squares = 0;
            for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
            moved.push_back(std::sqrt(squares));
        }
        sides.push_back(lab::curve(side, moved));
        sides.back().dots = true;
    }
    return sides;
}

// Greedy translations of sentences of each length.
struct ByLength {
    picture::Series exact{.name = "exact", .x = {}, .y = {}, .dots = true};  // %
    double short_right = 0, long_right = 0;                                  // %
    double relative_length = 0;                                              // of the long ones, relative to their references
};

ByLength translate_by_length(const Taught& taught) {
    const std::vector<app::TokenPair> test = token_pairs(taught.test);
    const auto translations = translated(taught.model, test);
    std::vector<double> right(longest_sentence + 1), all(longest_sentence + 1), words(longest_sentence + 1);
    for (std::size_t i = 0; i < test.size(); ++i) {
        const auto length = static_cast<std::size_t>(test[i].words);
        all[length] += 1;
        right[length] += translations[i] == test[i].target;
        words[length] += static_cast<double>(translations[i].size());
    }
    ByLength result;
    double short_ones = 0, long_ones = 0, written = 0, wanted = 0;
    for (std::size_t length = 0; length <= longest_sentence; ++length) {
        if (all[length] == 0) continue;
        result.exact.x.push_back(static_cast<double>(length));
        result.exact.y.push_back(100 * right[length] / all[length]);
        const bool is_short = length <= short_words;
        (is_short ? short_ones : long_ones) += all[length];
        (is_short ? result.short_right : result.long_right) += 100 * right[length];
        written += is_short ? 0 : words[length];
        wanted += is_short ? 0 : all[length] * static_cast<double>(length);
    }
    result.short_right /= short_ones;
    result.long_right /= long_ones;
    result.relative_length = written / wanted;
    return result;
}

Statement unseen_positions_stay(const Options& options, const Taught& taught) {
    const std::vector<picture::Series> tables = moved_rows(options, taught);
    double moved = 0, kept = 0;
    bool as_trained = true;
    for (const picture::Series& side : tables)
        for (std::size_t row = 0; row < side.y.size(); ++row) {
            (side.y[row] == 0 ? kept : moved) += 1;
            as_trained = as_trained && (side.y[row] == 0) == (row > short_words);
        }
    const ByLength found = translate_by_length(taught);
    return {
        "A row of a learned table beyond the longest training sentence keeps its initial values, bit for bit, and sentences that "
        "reach it are translated badly.",
        {{"rows that moved, both tables", moved},
         {"rows that kept every bit", kept},
         {"unseen sentences of at most 10 words translated exactly, %", found.short_right},
         {"of more than 10 words, %", found.long_right},
         {"words of their translations, of their references' words", found.relative_length}},
        as_trained && found.long_right < found.short_right / 2,
        {},
        {{svg(picture::LineChart{.title = "how far a row of the table has moved",
                                 .x = {.label = "position"},
                                 .y = {.label = "distance", .from = 0},
                                 .series = tables}),
          "Ten words and the end mark use eleven rows. No other row ever gets a gradient."},
         {svg(picture::LineChart{.title = "unseen sentences translated exactly",
                                 .x = {.label = "words"},
                                 .y = {.label = "%", .from = 0, .to = 100},
                                 .series = {found.exact}}),
          "Training had at most ten words; longer sentences fail."}}};
}

// Decodes the whole prefix again for each word.
nn::Hypothesis without_cache(const nn::Transformer& model, const std::vector<std::int32_t>& source) {
    const Spans source_spans = Spans::equal(1, static_cast<std::int64_t>(source.size()));
    const Variable memory = model.encode(Tensor::from(source, {source_spans.rows()}), source_spans);
    std::vector<std::int32_t> read = {app::bos_id};
    const std::int64_t most = nn::longest_translation(model, source_spans.rows());
    nn::Hypothesis found;
    while (!found.ended && static_cast<std::int64_t>(found.tokens.size()) < most) {
        const auto length = static_cast<std::int64_t>(read.size());
        const Variable hidden = model.decode(Tensor::from(read, {length}), Spans::equal(1, length), memory, source_spans);
        const Tensor logits = model.logits(hidden.value().slice(length - 1, length));
        const auto values = logits.values<float>();
        read.push_back(static_cast<std::int32_t>(std::ranges::max_element(values) - values.begin()));
        found.ended = read.back() == app::eos_id;
        if (!found.ended) found.tokens.push_back(read.back());
    }
    return found;
}

Statement greedy_is_greedy(const Taught& taught) {
    const std::vector<app::TokenPair> pairs = token_pairs(std::span(taught.test).first(200));
    const std::vector<std::vector<std::int32_t>> sources = sources_of(pairs);
    const nn::HypothesisLists together = nn::beam_search(taught.model, sources, {.beam = 1});
    double alone = 0, bits = 0, uncached = 0, ended = 0, longest = 0, marks = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const nn::Hypothesis& one = together[i][0];
        const nn::Hypothesis by_itself = nn::beam_search(taught.model, std::span(sources).subspan(i, 1), {.beam = 1})[0][0];
        const nn::Hypothesis again = without_cache(taught.model, sources[i]);
        alone += by_itself.tokens != one.tokens || by_itself.ended != one.ended;
        bits += by_itself.log_probability != one.log_probability;
        uncached += again.tokens != one.tokens || again.ended != one.ended;
        ended += one.ended;
        marks += static_cast<double>(std::ranges::count(one.tokens, app::eos_id));
        longest = std::max(longest, static_cast<double>(one.tokens.size()));
    }
    return {
        "Greedy decoding gives the same words for all sentences at once with kept keys, for one at a time, and without keeping "
        "anything, and stops at the end mark.",
        {{"sentences", static_cast<double>(sources.size())},
         {"translations that differ one at a time", alone},
         {"log-probabilities that differ in a bit", bits},
         {"translations that differ without kept keys", uncached},
         {"translations that stopped at the end mark", ended},
         {"end marks inside a translation", marks},
         {"words of the longest", longest}},
        alone == 0 && bits == 0 && uncached == 0 && marks == 0 && ended > 0};
}

}  // namespace

void add_training_statements(const Options& options, Report& report) {
    report.statements.push_back(smoothing_is_the_formula(options));
    report.statements.push_back(padding_flatters(options));
    report.statements.push_back(adam_forgets());
    const Taught taught(options);
    const NoGrad none;
    report.statements.push_back(unseen_positions_stay(options, taught));
    report.statements.push_back(greedy_is_greedy(taught));
}

}  // namespace heddle::chapters
