// A translator from raw files: its chapter's statements on pairing lines, leaving pairs out, packing batches, resuming and
// scoring. Those on learning and decoding are in translator_training.cpp.
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/chapters/chapter.h"
#include "apps/chapters/clauses.h"
#include "apps/lab/experiments.h"
#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "apps/picture/chart.h"
#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/text/text_file.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::chapters {
namespace {

// ---- pairing lines

constexpr std::size_t talks = 12, sentences_of_talk = 30, sentences = talks * sentences_of_talk;

// Talks in the form of train.tags.*: sentence n is the text "n" in both languages.
app::TextFile tagged_talks(std::string name) {
    app::TextFile file{.name = std::move(name), .format = app::TextFormat::tags, .lines = {}, .places = {}};
    for (std::size_t talk = 0; talk < talks; ++talk) {
        file.lines.insert(file.lines.end(),
                          {"<url>talks</url>", fmt::format("<talkid>{}</talkid>", talk), "<title>a talk</title>"});
        for (std::size_t i = 0; i < sentences_of_talk; ++i) file.lines.push_back(fmt::format("{}", talk * sentences_of_talk + i));
    }
    return file;
}

// The oddities that may be in only one of the two files.
enum class Odd { text_line, metadata_line, heart };

void make_odd(app::TextFile& file, Odd odd, std::size_t sentence) {
    const auto at = std::ranges::find(file.lines, fmt::format("{}", sentence));
    switch (odd) {
        case Odd::text_line: file.lines.insert(at, "(applause)"); break;
        case Odd::metadata_line: file.lines.insert(at, "<reviewer>somebody</reviewer>"); break;
        case Odd::heart: *at = "<3 " + *at; break;  // a sentence that begins like a tag
    }
}

std::int64_t wrong_pairs(const app::TextFile& sources, const app::TextFile& targets) {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < std::min(sources.lines.size(), targets.lines.size()); ++i)
        wrong += sources.lines[i] != targets.lines[i] && sources.lines[i] != "<3 " + targets.lines[i];
    return wrong;
}

// Cleans each file separately: lines that begin with "<" are dropped.
std::int64_t wrong_when_apart(app::TextFile sources, app::TextFile targets) {
    for (app::TextFile* file : {&sources, &targets})
        std::erase_if(file->lines, [](const std::string& line) { return line.starts_with('<'); });
    return wrong_pairs(sources, targets);
}

// The number of wrong pairs when read by the program; -1: an error.
std::int64_t wrong_side_by_side(app::TextFile sources, app::TextFile targets) {
    try {
        app::align(sources, targets, {});
    } catch (const Error&) {
        return -1;
    }
    return wrong_pairs(sources, targets);
}

Statement lines_stay_in_step(const Options& options) {
    constexpr int trials = 100;
    const app::TextFile targets = tagged_talks("talks.en");
    Statement statement{
        "Files that are cleaned one by one fall out of step at the first sentence that only one of them keeps, and every pair "
        "behind it is wrong; read side by side they cannot.",
        {},
        true};
    picture::LineChart chart{.title = "pairs that are wrong",
                             .x = {.label = "sentence where one file has a line more"},
                             .y = {.label = "% of the pairs", .from = 0},
                             .series = {{.name = "cleaned one by one", .x = {}, .y = {}, .dots = true}}};
    double wrong_side_by_side_in_all = 0;
    const auto try_all = [&](Odd odd, const std::string& what, bool breaks, bool is_an_error) {
        Sequence numbers(lab::key(options, what));
        double wrong = 0, errors = 0;
        for (int trial = 0; trial < trials; ++trial) {
            const std::size_t place = numbers.below(sentences);
            app::TextFile sources = tagged_talks("talks.de");
            make_odd(sources, odd, place);
            const std::int64_t apart = wrong_when_apart(sources, targets), beside = wrong_side_by_side(sources, targets);
            const auto behind = static_cast<std::int64_t>(sentences - place - (odd == Odd::heart ? 1 : 0));
            statement.holds = statement.holds && apart == (breaks ? behind : 0) && beside == (is_an_error ? -1 : 0);
            wrong += 100.0 * static_cast<double>(apart) / sentences;
            errors += beside == -1;
            wrong_side_by_side_in_all += static_cast<double>(std::max<std::int64_t>(beside, 0));
            if (odd != Odd::text_line) continue;
            chart.series[0].x.push_back(static_cast<double>(place));
            chart.series[0].y.push_back(100.0 * static_cast<double>(apart) / sentences);
        }
        statement.numbers.push_back({what + ": wrong pairs when cleaned one by one, mean of 100 places, %", wrong / trials});
        statement.numbers.push_back({what + ": errors when read side by side, of 100", errors});
    };
    try_all(Odd::text_line, "a line of text more", true, true);
    try_all(Odd::heart, "a sentence that begins with <3", true, false);
    try_all(Odd::metadata_line, "a metadata line more", false, true);
    statement.numbers.push_back({"wrong pairs of all these files when read side by side", wrong_side_by_side_in_all});
    statement.figures.push_back({svg(chart), "Read side by side, each of these files gives an error that names the line."});
    return statement;
}

// ---- leaving out or cutting

struct Course {
    std::vector<double> losses;
    double exact = 0;  // % of the unseen pairs
};

// The mean loss of every `steps` steps, one point for each.
picture::Series means(std::string name, const std::vector<double>& losses, std::size_t steps) {
    picture::Series series{.name = std::move(name), .x = {}, .y = {}};
    for (std::size_t end = steps; end <= losses.size(); end += steps) {
        series.x.push_back(static_cast<double>(end));
        series.y.push_back(lab::mean_of_last(std::span(losses).first(end), steps));
    }
    return series;
}

// Three models with equally much training: on the short pairs alone, on these and the long ones cut to their length, and on as
// many pairs that are all short.
std::vector<Statement> long_pairs_are_left_out(const Options& options) {
    constexpr std::size_t pairs = 1000;
    Sequence numbers(lab::key(options, "pairs"));
    const std::vector<ClausePair> all = draw_clauses(pairs, numbers);
    const std::vector<ClausePair> within = by_length(all, short_words, true), longer = by_length(all, short_words, false);
    std::vector<ClausePair> whole = by_length(draw_clauses(4 * pairs, numbers), short_words, true), with_cut = within;
    whole.resize(pairs);
    const std::vector<app::TokenPair> unseen = short_pairs(pairs, numbers);
    double orphans = 0, with_orphans = 0;
    for (const ClausePair& pair : longer) {
        const ClausePair& cut = with_cut.emplace_back(pair.cut(short_words));
        const auto lost = std::ranges::count_if(cut.origins, [](std::size_t origin) { return origin >= short_words; });
        orphans += static_cast<double>(lost);
        with_orphans += lost > 0;
    }
    const auto teach = [&](const std::vector<ClausePair>& from) {
        nn::Transformer model(clause_transformer(), lab::key(options, "model"));
        Course course{teach_clauses(model, token_pairs(from), 1000, lab::key(options, "batches"))};
        model.eval();
        course.exact = 100 * share_right(translated(model, unseen), unseen);
        return course;
    };
    const Course left_out = teach(within), cut = teach(with_cut), more = teach(whole);
    const auto long_ones = static_cast<double>(longer.size());
    const double end = lab::mean_of_last(left_out.losses, 100), end_of_cut = lab::mean_of_last(cut.losses, 100);
    Statement words{
        "Cut pairs teach words that their source has lost, and a model can only guess them.",
        {{"pairs of more than 10 words, %", 100 * long_ones / pairs},
         {"of these, cut to 10 words, with a target word that the source has lost, %", 100 * with_orphans / long_ones},
         {"target words that the source has lost, %", 100 * orphans / (long_ones * short_words)},
         {"loss after 1000 steps, long pairs left out", end},
         {"loss after 1000 steps, long pairs cut", end_of_cut}},
        with_orphans > 0 && end_of_cut > 1.5 * end};
    words.figures.push_back({svg(picture::LineChart{.title = "loss while learning",
                                                    .x = {.label = "step"},
                                                    .y = {.label = "nats per token", .logarithmic = true},
                                                    .series = {means("long pairs left out", left_out.losses, 20),
                                                               means("long pairs cut", cut.losses, 20)}}),
                             "Words whose source was cut off can only be guessed, so the loss of cut pairs has a floor."});
    return {words,
            {"A model learns more from the short pairs alone than from these and the cut ones.",
             {{"unseen short pairs translated exactly, long pairs left out, %", left_out.exact},
              {"long pairs cut, %", cut.exact},
              {"as many pairs, all of them short and whole, %", more.exact}},
             left_out.exact > cut.exact}};
}

// ---- packing

// Rows per token of batches that are padded to their longest sentence on each side.
double padded_rows_per_token(const std::vector<app::TokenPair>& pairs, const std::vector<std::vector<std::int64_t>>& batches) {
    double rows = 0, tokens = 0;
    for (const std::vector<std::int64_t>& indices : batches) {
        const app::PairBatch batch = app::make_batch(pairs, indices);
        rows += static_cast<double>(batch.sentences * (batch.source_spans.longest() + batch.target_spans.longest()));
        tokens += static_cast<double>(batch.source_tokens + batch.target_tokens);
    }
    return rows / tokens;
}

Spans padded_spans(const Spans& packed) {
    std::vector<std::int64_t> lengths;
    for (const Span& span : packed) lengths.push_back(span.length);
    return Spans::padded(lengths, packed.longest());
}

double padded_loss(const nn::Transformer& model, const app::PairBatch& batch) {
    const Spans source = padded_spans(batch.source_spans), target = padded_spans(batch.target_spans);
    return model
        .loss({filled_up(batch.source, batch.source_spans, source, app::pad_id), source},
              {filled_up(batch.target_in, batch.target_spans, target, app::pad_id), target},
              filled_up(batch.target_out, batch.target_spans, target, -1))
        .value()
        .item();
}

Statement packed_batches_have_no_padding(const Options& options) {
    Sequence numbers(lab::key(options, "packed pairs"));
    const std::vector<app::TokenPair> pairs = short_pairs(3000, numbers);
    picture::BarChart chart{.title = "rows for each token",
                            .y = {.label = "rows", .from = 0},
                            .groups = {"32 sentences", "512 sentences"},
                            .bars = {{"in file order", {}}, {"of similar length", {}}, {"packed", {1, 1}}}};
    Statement statement{
        "A padded batch computes on rows that hold no word, a packed one on none, and the loss is the same.", {}, true};
    for (const std::size_t size : {32, 512}) {
        std::vector<std::vector<std::int64_t>> in_order;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (i % size == 0) in_order.emplace_back();
            in_order.back().push_back(static_cast<std::int64_t>(i));
        }
        const app::BatchPlan sorted =
            app::plan_batches(pairs, {.batch_tokens = 0, .batch_sentences = static_cast<std::int64_t>(size)}, options.seed, 0);
        chart.bars[0].values.push_back(padded_rows_per_token(pairs, in_order));
        chart.bars[1].values.push_back(padded_rows_per_token(pairs, sorted.batches));
        statement.numbers.insert(
            statement.numbers.end(),
            {{fmt::format("padded rows per token, {} sentences in file order", size), chart.bars[0].values.back()},
             {fmt::format("padded rows per token, {} sentences of similar length", size), chart.bars[1].values.back()}});
    }
    nn::Transformer model(clause_transformer(), lab::key(options, "model"));
    model.eval();
    const NoGrad none;
    const app::PairBatch batch = lab::one_batch(std::span(pairs).first(32));
    const double packed = lab::translation_loss(model, batch).value().item();
    const double difference = std::abs(padded_loss(model, batch) - packed) / packed;
    const double rows = static_cast<double>(batch.source_spans.rows() + batch.target_spans.rows()) /
                        static_cast<double>(batch.source_tokens + batch.target_tokens);
    statement.numbers.insert(statement.numbers.end(),
                             {{"packed rows per token", rows}, {"relative difference of the losses", difference}});
    statement.holds = rows == 1 && chart.bars[0].values[0] > 1.2 && difference < 1e-6;
    statement.figures.push_back(
        {svg(chart), "Sorting by length removes most of the padding of small batches; packing needs none."});
    return statement;
}

// ---- what the lab measures

Statement a_whole_save_is_the_run(const Options& options) {
    const lab::Result found = lab::partial_resume::experiment(options);
    const std::string weight = "largest change of a weight", loss = "largest change of the loss";
    return {
        "A run that goes on with its optimizer and its count of updates is the run that never stopped, bit for bit; with its "
        "weights alone it is another.",
        {{"largest difference of a weight after 60 updates, with everything", found.value(weight, "everything")},
         {"with the weights alone", found.value(weight, "no optimizer")},
         {"largest difference of a batch's loss, with everything", found.value(loss, "everything")},
         {"loss, with the weights alone", found.value(loss, "no optimizer")}},
        found.value(weight, "everything") == 0 && found.value(loss, "everything") == 0 &&
            found.value(weight, "no optimizer") > 0 && found.value(loss, "no optimizer") > 0,
        {},
        {found.figures[0]}};
}

Statement bleu_is_counted_once(const Options& options) {
    const lab::Result found = lab::batch_bleu::experiment(options);
    const double all = found.value("BLEU", "all segments"), batches = found.value("BLEU", "mean of batches"),
                 running = found.value("BLEU", "mean of cumulative");
    return {"BLEU is counted once, over all sentences; a mean over the batches is another number.",
            {{"BLEU of 1,305 sentences", all},
             {"mean of the batches' BLEUs", batches},
             {"mean of the BLEUs of all sentences so far", running}},
            std::abs(batches - all) > 0.05 && std::abs(running - all) > 0.05,
            {},
            {found.figures[0]}};
}

}  // namespace

Report translator(const Options& options) {
    Report report;
    report.statements.push_back(lines_stay_in_step(options));
    for (const Statement& one : long_pairs_are_left_out(options)) report.statements.push_back(one);
    report.statements.push_back(packed_batches_have_no_padding(options));
    add_training_statements(options, report);
    report.statements.push_back(a_whole_save_is_the_run(options));
    report.statements.push_back(bleu_is_counted_once(options));
    return report;
}

}  // namespace heddle::chapters
