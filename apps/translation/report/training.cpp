#include "apps/translation/report/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/picture/chart.h"
#include "apps/picture/text.h"
#include "apps/translation/report/attention.h"
#include "apps/translation/training/weight_average.h"
#include "core/text.h"

namespace heddle::app {
namespace {

using picture::Figure;
using picture::LineChart;
using picture::Page;
using picture::Series;

constexpr std::size_t most_ops = 15;
constexpr std::size_t most_times = 12;  // translations shown of a sample

// ---- curves

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

// BLEU is not shown where it is meaningless.
std::optional<double> shown_bleu(const ValidationReport& report) {
    return report.bleu_applies ? report.bleu : std::optional<double>();
}

using Value = double (*)(const ValidationReport&);

// Averaged weights get a separate point after the last update.
void add_validations(LineChart& chart, const TrainingHistory& history, const std::string& name, Value value) {
    Series each{.name = name, .x = {}, .y = {}}, average{.name = "averaged weights", .x = {}, .y = {}, .dots = true};
    for (const ValidationReport& report : history.validations) {
        Series& series = report.averaged > 0 ? average : each;
        series.x.push_back(static_cast<double>(report.update));
        series.y.push_back(value(report));
    }
    chart.series.push_back(std::move(each));
    if (!average.x.empty()) chart.series.push_back(std::move(average));
}

Series of_intervals(const TrainingHistory& history, const std::string& name, double IntervalReport::*value, double factor = 1) {
    Series series{.name = name, .x = {}, .y = {}};
    for (const IntervalReport& report : history.intervals) {
        series.x.push_back(static_cast<double>(report.update));
        series.y.push_back(factor * report.*value);
    }
    return series;
}

// A separate point: it covers few updates, so their mean is not part of the curve.
void add_since_last_line(LineChart& chart, std::int64_t update, double value) {
    chart.series.push_back({.name = "since the last log line", .x = {static_cast<double>(update)}, .y = {value}, .dots = true});
}

LineChart chart_of(const std::string& title, const std::string& label) {
    return {.title = title, .x = {.label = "update", .from = 0}, .y = {.label = label}, .series = {}};
}

std::vector<Figure> curves(const TrainingHistory& history, const std::optional<IntervalReport>& rest) {
    LineChart loss = chart_of("Loss", "nats per target token"), accuracy = chart_of("Accuracy", "% of target tokens");
    LineChart bleu = chart_of("BLEU", "BLEU, greedy"), chrf = chart_of("chrF2", "chrF2, greedy");
    LineChart exact = chart_of("Exact translations", "% of sentences, greedy");
    LineChart rate = chart_of("Learning rate", "rate");
    accuracy.y.from = bleu.y.from = chrf.y.from = exact.y.from = 0;
    loss.series.push_back(of_intervals(history, "training", &IntervalReport::loss));
    accuracy.series.push_back(of_intervals(history, "training", &IntervalReport::accuracy, 100));
    rate.series.push_back(of_intervals(history, "rate", &IntervalReport::learning_rate));
    const bool validated = !history.validations.empty();
    if (validated) {
        add_validations(loss, history, "validation", [](const ValidationReport& report) { return report.loss; });
        add_validations(accuracy, history, "validation", [](const ValidationReport& report) { return 100 * report.accuracy; });
    }
    if (rest) {
        add_since_last_line(loss, rest->update, rest->loss);
        add_since_last_line(accuracy, rest->update, 100 * rest->accuracy);
        rate.series.front().x.push_back(static_cast<double>(rest->update));
        rate.series.front().y.push_back(rest->learning_rate);
    }
    std::vector<Figure> figures = {
        {svg(loss), validated ? "Training counts label smoothing and dropout, validation neither."
                              : "Training counts label smoothing and dropout. Nothing was validated."},
        {svg(accuracy), "How often the most likely token is the true one, given the true ones before it."}};
    const auto any = [&](auto&& has) { return std::any_of(history.validations.begin(), history.validations.end(), has); };
    if (any([](const ValidationReport& report) { return report.bits_per_byte.has_value(); })) {
        LineChart bits = chart_of("Bits per byte", "log2(1 / p) of the held-out text by its bytes");
        add_validations(bits, history, "validation",
                        [](const ValidationReport& report) { return report.bits_per_byte.value_or(no_value); });
        figures.push_back({svg(bits), "A byte of a text that is equally likely to be any byte has 8."});
    }
    if (any([](const ValidationReport& report) { return report.chrf.has_value(); })) {
        add_validations(chrf, history, "validation",
                        [](const ValidationReport& report) { return report.chrf.value_or(no_value); });
        figures.push_back({svg(chrf), "Of the first --valid-sentences sentences, of which it says more than BLEU."});
    }
    if (any([](const ValidationReport& report) { return shown_bleu(report).has_value(); })) {
        add_validations(bleu, history, "validation",
                        [](const ValidationReport& report) { return shown_bleu(report).value_or(no_value); });
        figures.push_back({svg(bleu), "Of the first --valid-sentences sentences."});
    }
    if (any([](const ValidationReport& report) { return report.exact_share().has_value(); })) {
        add_validations(exact, history, "validation",
                        [](const ValidationReport& report) { return 100 * report.exact_share().value_or(no_value); });
        figures.push_back({svg(exact), "How many of these sentences are their reference to the byte."});
    }
    figures.push_back({svg(rate), ""});
    return figures;
}

// ---- samples

struct TimedTranslation {
    std::int64_t update = 0;
    bool averaged = false;
    std::string text;
};

struct SampleHistory {
    TranslatedSample sample;
    std::vector<TimedTranslation> translations;
};

std::vector<SampleHistory> samples_of(const TrainingHistory& history) {
    std::vector<SampleHistory> samples;
    for (const ValidationReport& report : history.validations)
        for (const TranslatedSample& sample : report.samples) {
            const auto same = [&](const SampleHistory& one) {
                return one.sample.source == sample.source && one.sample.reference == sample.reference;
            };
            auto found = std::find_if(samples.begin(), samples.end(), same);
            if (found == samples.end()) found = samples.insert(samples.end(), {.sample = sample, .translations = {}});
            found->translations.push_back({report.update, report.averaged > 0, sample.hypothesis});
        }
    return samples;
}

// Evenly spaced, including the first and the last.
std::vector<TimedTranslation> thinned(const std::vector<TimedTranslation>& all) {
    if (all.size() <= most_times) return all;
    std::vector<TimedTranslation> kept;
    for (std::size_t i = 0; i < most_times; ++i) kept.push_back(all[i * (all.size() - 1) / (most_times - 1)]);
    return kept;
}

void add_samples(Page& page, const TrainingHistory& history) {
    const std::vector<SampleHistory> samples = samples_of(history);
    if (samples.empty()) return;
    page.heading("Samples over time");
    for (const SampleHistory& one : samples) {
        std::vector<std::vector<std::string>> rows = {{"source", one.sample.source}, {"reference", one.sample.reference}};
        if (one.sample.source.empty()) rows.clear();  // a language model's
        for (const TimedTranslation& each : thinned(one.translations))
            // A no-break space between word and number.
            rows.push_back(
                {fmt::format("update\u00a0{}{}", grouped_text(each.update), each.averaged ? ", averaged" : ""), each.text});
        page.table({"", ""}, rows);
    }
}

// ---- attention and times

void add_attention(Page& page, const std::vector<LookedAt>& looked_at) {
    if (looked_at.empty()) return;
    page.heading("Attention");
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    for (const LookedAt& one : looked_at) lines.push_back(attention_line(one.source, one.translation, one.attention, one.steps));
    add_attention_view(page, std::move(lines));
    for (const LookedAt& one : looked_at) {
        const std::string words = words_picture(word_attention(one.attention), one.source, one.translation);
        if (!words.empty()) page.figure({words, "The last layer's cross attention from word to word, mean of its heads."});
    }
}

std::string milliseconds(double seconds) { return seconds == 0 ? "" : fmt::format("{:.2f}", 1e3 * seconds); }

// The median of the log lines' times of an update: the first lines include the warm-up.
std::string while_it_trained(const TrainingHistory& history) {
    std::vector<std::pair<double, double>> times;  // of an update, and the part spent waiting for batches
    for (const IntervalReport& report : history.intervals)
        if (report.step > 0) times.emplace_back(report.loading + report.step, report.loading);
    if (times.empty()) return "";
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return fmt::format(
        " While the run trained, an update took {} ms, {:.2f} of them waiting for its batches (median of the log "
        "lines), and {} tokens a second went through at the end.",
        milliseconds(middle->first), 1e3 * middle->second,
        grouped_text(std::llround(history.intervals.back().tokens_per_second)));
}

// Adds the costs of an average update.
void add_exchange(Page& page, const ExchangeCosts& costs) {
    if (costs.updates == 0) return;
    const double per_update = 1 / static_cast<double>(costs.updates);
    const auto megabytes = [&](std::int64_t bytes) {
        return fmt::format("{:.3f}", 1e-6 * per_update * static_cast<double>(bytes));
    };
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](const char* what, const ExchangeCosts::Part& part, const std::string& sent_early,
                         const std::string& received_early) {
        rows.push_back({what, megabytes(part.sent), sent_early, megabytes(part.received), received_early,
                        milliseconds(per_update * part.waited)});
    };
    row("sums of gradients", costs.gradients, megabytes(costs.sent_early), megabytes(costs.received_early));
    row("losses and norm", costs.norm, "", "");
    row("weights", costs.weights, "", "");
    page.table({"exchange", "sent MB", "during backward", "received MB", "during backward", "waited ms"}, rows);
    page.paragraph(fmt::format(
        "Between process 0 and the others: the mean of the {} updates that this process made. During backward: {} before its "
        "last backward pass of an update was over. It waited for the rest, and for processes that compute longer.{}",
        grouped_text(costs.updates),
        costs.between_devices.empty() ? "what began to be sent, and what had arrived," : "what the device had sent and received",
        costs.between_devices.empty() ? "" : fmt::format(" Bytes travelled between devices by {}.", costs.between_devices)));
}

void add_times(Page& page, const UpdateTimes& times, const TrainingHistory& history) {
    if (times.batches == 0) return;
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](std::string name, double seconds, const std::string& forward, const std::string& backward,
                         const std::string& calls) {
        rows.push_back({std::move(name), fmt::format("{:.1f}", 100 * seconds / times.seconds),
                        fmt::format("{:.2f}", 1e3 * seconds), forward, backward, calls});
    };
    std::size_t ops = 0;
    double others = 0;
    for (const TimedWork& work : times.works)
        if (work.is_op && ++ops > most_ops)
            others += work.seconds;
        else
            row(work.name, work.seconds, milliseconds(work.forward), milliseconds(work.backward), picture::number(work.calls));
    if (ops > most_ops) row(fmt::format("{} other ops", ops - most_ops), others, "", "", "");
    row("unexplained", times.unexplained(), "", "", "");
    row("an update", times.seconds, "", "", "");
    page.heading("Time of an update").table({"op or other work", "%", "ms", "forward ms", "backward ms", "calls"}, rows);
    page.paragraph(fmt::format(
        "Measured when the training had ended, on {} of the run's batches, {} to an update; the optimizer worked on a "
        "copy of the weights.{}{}{}",
        times.batches, times.batches_per_update, times.on_device ? " Each work was waited for; in training they overlap." : "",
        times.shards > 1 ? fmt::format(" One process computed each batch as a whole; in training it is cut into {} shards, whose "
                                       "sum, and the exchange between processes, are not in this table.",
                                       times.shards)
                         : "",
        while_it_trained(history)));
    add_exchange(page, times.exchange);
}

// Puts the most wanted rows first: the weights that were kept, then the others; each validation once.
void add_summary(Page& page, const TrainingHistory& history, const std::optional<IntervalReport>& rest) {
    std::vector<std::vector<std::string>> rows;
    const bool by_chrf =
        std::ranges::any_of(history.validations, [](const ValidationReport& each) { return each.chrf.has_value(); });
    const bool by_bits =
        std::ranges::any_of(history.validations, [](const ValidationReport& each) { return each.bits_per_byte.has_value(); });
    std::string measure = by_bits ? "bits per byte" : by_chrf ? "chrF2" : "BLEU";
    const auto row = [&](std::string what, std::int64_t update, double loss, double accuracy, const std::string& score,
                         const std::string& exact) {
        rows.push_back({std::move(what), grouped_text(update), fmt::format("{:.4f}", loss),
                        fmt::format("{:.2f} %", 100 * accuracy), score, exact});
    };
    const auto validation = [&](const std::string& what, const ValidationReport& report) {
        const std::optional<double> score = by_bits   ? report.bits_per_byte
                                            : by_chrf ? report.chrf
                                                      : shown_bleu(report),
                                    exact = report.exact_share();
        if (!by_bits && !by_chrf && report.tokenizer != Tokenizer::mteval_13a)
            measure = fmt::format("BLEU ({})", word_of(report.tokenizer));
        row(what, report.update, report.loss, report.accuracy, score ? fmt::format("{:.{}f}", *score, by_bits ? 4 : 2) : "",
            exact ? fmt::format("{:.1f} %", 100 * *exact) : "");
    };
    const ValidationReport *best = nullptr, *last = nullptr, *average = nullptr;
    for (const ValidationReport& report : history.validations) {
        if (report.averaged > 0) {
            average = &report;
            continue;
        }
        last = &report;
        average = nullptr;  // from an earlier end of this run
        if (best == nullptr || report.loss < best->loss) best = &report;
    }
    const bool keeps_average = average != nullptr && (last == nullptr || keeps_mean(average->loss, last->loss));
    const char* const kept = average == nullptr ? "" : ", kept";  // before its end a run has kept nothing
    if (keeps_average) validation("averaged weights, kept", *average);
    if (last != nullptr)
        validation(fmt::format("{}last validation{}", best == last ? "best and " : "", keeps_average ? "" : kept), *last);
    if (best != last) validation("best validation", *best);
    if (average != nullptr && !keeps_average) validation("averaged weights, not kept", *average);
    const auto training = [&](const char* what, const IntervalReport& report) {
        row(what, report.update, report.loss, report.accuracy, "", "");
    };
    if (!history.intervals.empty()) training("training, last log line", history.intervals.back());
    if (rest) training("training, since then", *rest);
    if (!rows.empty()) page.table({"", "update", "loss", "accuracy", measure, "exact"}, rows);
}

std::string sentence(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text.empty() || text.ends_with('.') ? text : text + '.';
}

}  // namespace

Page training_report(std::string_view run, const TrainingHistory& history, const ReportParts& parts) {
    Page page(fmt::format("Training of {}", run));
    if (!parts.ended.empty()) page.paragraph(sentence(parts.ended));
    page.code(parts.command).paragraph(fmt::format("{}; {}.", parts.version, parts.machine));
    if (!parts.data.empty()) page.paragraph(sentence(parts.data));
    add_summary(page, history, parts.since_last_line);
    page.heading("Curves").figures(curves(history, parts.since_last_line));
    add_samples(page, history);
    add_attention(page, parts.looked_at);
    add_times(page, parts.times, history);
    for (const std::string& remark : parts.remarks) page.paragraph(remark);
    page.heading("Configuration").open_section("config.toml", false).code(parts.config).close_section();
    std::string notes;
    for (const std::string& note : history.notes) notes += note + '\n';
    if (!notes.empty()) page.open_section("Notes of the log", false).code(notes).close_section();
    return page;
}

}  // namespace heddle::app
