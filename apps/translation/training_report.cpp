#include "apps/translation/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "apps/picture/chart.h"
#include "apps/picture/text.h"
#include "apps/translation/attention_report.h"
#include "core/random.h"

namespace heddle::app {
namespace {

using picture::Figure;
using picture::LineChart;
using picture::Page;
using picture::Series;

constexpr std::size_t most_ops = 15;
constexpr std::size_t most_times = 12;  // of a sample's translations
constexpr double most_seconds = 2;      // of measuring

// ---- curves

using Value = double (*)(const ValidationReport&);

// Averaged weights are a point of their own behind the last update.
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

Series of_intervals(const TrainingHistory& history, const std::string& name, double IntervalReport::*value) {
    Series series{.name = name, .x = {}, .y = {}};
    for (const IntervalReport& report : history.intervals) {
        series.x.push_back(static_cast<double>(report.update));
        series.y.push_back(report.*value);
    }
    return series;
}

LineChart chart_of(const std::string& title, const std::string& label) {
    return {.title = title, .x = {.label = "update", .from = 0}, .y = {.label = label}, .series = {}};
}

std::vector<Figure> curves(const TrainingHistory& history) {
    LineChart loss = chart_of("Loss", "nats per target token");
    loss.series.push_back(of_intervals(history, "training", &IntervalReport::loss));
    LineChart accuracy = chart_of("Accuracy", "% of target tokens"), bleu = chart_of("BLEU", "BLEU, greedy");
    LineChart rate = chart_of("Learning rate", "rate");
    rate.series.push_back(of_intervals(history, "rate", &IntervalReport::learning_rate));
    accuracy.y.from = bleu.y.from = 0;
    if (history.validations.empty())
        return {{svg(loss), "Training counts label smoothing and dropout. Nothing was validated."}, {svg(rate), ""}};
    add_validations(loss, history, "validation", [](const ValidationReport& report) { return report.loss; });
    add_validations(accuracy, history, "validation", [](const ValidationReport& report) { return 100 * report.accuracy; });
    std::vector<Figure> figures = {
        {svg(loss), "Training counts label smoothing and dropout, validation neither."},
        {svg(accuracy), "How often the most likely token is the true one, given the true ones before it."}};
    if (std::any_of(history.validations.begin(), history.validations.end(),
                    [](const auto& report) { return report.bleu.has_value(); })) {
        add_validations(bleu, history, "validation", [](const ValidationReport& report) {
            return report.bleu.value_or(std::numeric_limits<double>::quiet_NaN());
        });
        figures.push_back({svg(bleu), "Of the first --valid-sentences sentences."});
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

// At even distances, the first and the last among them.
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
        for (const TimedTranslation& each : thinned(one.translations))
            rows.push_back({fmt::format("update {}{}", grouped_text(each.update), each.averaged ? ", averaged" : ""), each.text});
        page.table({"", ""}, rows);
    }
}

// ---- attention and ops

void add_attention(Page& page, const std::vector<LookedAt>& looked_at) {
    if (looked_at.empty()) return;
    page.heading("Attention").paragraph(attention_legend());
    for (const LookedAt& one : looked_at) {
        page.paragraph(fmt::format("{} → {}", one.source, one.translation));
        const std::vector<AttentionRow> rows = attention_rows(one.attention);
        // The last row is the cross attention of the last layer.
        for (std::size_t i = rows.size(); i-- > 0;)
            page.open_section(rows[i].title, i + 1 == rows.size()).figures(rows[i].figures).close_section();
    }
}

std::string milliseconds(double seconds, std::int64_t batches) {
    return fmt::format("{:.2f}", 1e3 * seconds / static_cast<double>(batches));
}

void add_ops(Page& page, const OpMeasurement& measured) {
    if (measured.batches == 0) return;
    std::vector<std::vector<std::string>> rows;
    double rest = measured.seconds;
    for (const OpTime& each : measured.ops) {
        if (rows.size() == most_ops) break;
        rest -= each.total();
        rows.push_back({each.op, fmt::format("{:.1f}", 100 * each.total() / measured.seconds),
                        milliseconds(each.total(), measured.batches), milliseconds(each.forward, measured.batches),
                        milliseconds(each.backward, measured.batches),
                        picture::number(static_cast<double>(each.calls) / static_cast<double>(measured.batches))});
    }
    if (measured.ops.size() > most_ops)
        rows.push_back({fmt::format("{} others", measured.ops.size() - most_ops),
                        fmt::format("{:.1f}", 100 * rest / measured.seconds), milliseconds(rest, measured.batches), "", "", ""});
    page.heading("Time per op").table({"op", "%", "ms", "forward ms", "backward ms", "calls"}, rows);
    page.paragraph(
        fmt::format("Per batch: forward and backward of {} of the run's batches, measured after training, {} ms each. Ops that "
                    "run at once on a device are "
                    "waited for one by one here. The optimizer's step is no op.",
                    measured.batches, milliseconds(measured.seconds, measured.batches)));
}

void add_summary(Page& page, const TrainingHistory& history) {
    std::vector<std::vector<std::string>> rows;
    if (!history.intervals.empty()) {
        const IntervalReport& last = history.intervals.back();
        rows = {{"update", grouped_text(last.update)},
                {"epoch", grouped_text(last.epoch)},
                {"training loss", fmt::format("{:.4f}", last.loss)},
                {"tokens per second", grouped_text(std::llround(last.tokens_per_second))}};
        page.table({"last log line", ""}, rows);
    }
    if (history.validations.empty()) return;
    const ValidationReport& last = history.validations.back();
    rows = {{"update", grouped_text(last.update)},
            {"loss", fmt::format("{:.4f}", last.loss)},
            {"accuracy", fmt::format("{:.2f} %", 100 * last.accuracy)}};
    if (last.bleu) rows.push_back({"BLEU, greedy", fmt::format("{:.2f}", *last.bleu)});
    page.table({last.averaged > 0 ? "last validation, of averaged weights" : "last validation", ""}, rows);
}

}  // namespace

OpMeasurement measure_ops(nn::Transformer& model, std::span<const Batch> batches, double label_smoothing) {
    using Clock = std::chrono::steady_clock;
    const bool training = model.training();
    const RandomState as_it_was{Generator(generator())};
    model.train();
    const auto run = [&](const Batch& batch) {
        const auto to_model = [&](const std::vector<std::int32_t>& ids) {
            return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())}).to(model.device());
        };
        const Variable loss =
            model.loss({to_model(batch.source), batch.source_spans}, {to_model(batch.target_in), batch.target_spans},
                       to_model(batch.target_out),
                       {.label_smoothing = label_smoothing, .divisor = static_cast<double>(batch.target_tokens)});
        backward(loss);
    };
    OpMeasurement measured;
    if (!batches.empty()) run(batches.front());
    const Clock::time_point begin = Clock::now();
    OpTimer timer;
    for (const Batch& batch : batches) {
        if (Clock::now() - begin > std::chrono::duration<double>(most_seconds)) break;
        timer.start();
        run(batch);
        ++measured.batches;
    }
    measured.ops = timer.times();
    for (const OpTime& each : measured.ops) measured.seconds += each.total();
    if (!training) model.eval();
    return measured;
}

Page training_report(std::string_view run, const TrainingHistory& history, const ReportParts& parts) {
    Page page(fmt::format("Training of {}", run));
    page.code(parts.command).paragraph(fmt::format("{}; {}", parts.version, parts.machine));
    add_summary(page, history);
    page.heading("Curves").figures(curves(history));
    add_samples(page, history);
    add_attention(page, parts.looked_at);
    add_ops(page, parts.ops);
    for (const std::string& remark : parts.remarks) page.paragraph(remark);
    page.heading("Configuration").open_section("config.toml", false).code(parts.config).close_section();
    std::string notes;
    for (const std::string& note : history.notes) notes += note + '\n';
    if (!notes.empty()) page.open_section("Notes of the log", false).code(notes).close_section();
    return page;
}

}  // namespace heddle::app
