#include "apps/command/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

const char* key(Metric metric) {
    switch (metric) {
        case Metric::bleu: return "bleu";
        case Metric::chrf: return "chrf";
        case Metric::chrf_plus_plus: return "chrf++";
    }
    return "";
}

Json bleu_json(const BleuScore& bleu) {
    return {{"score", bleu.score},
            {"precisions", bleu.precisions},
            {"matches", bleu.matches},
            {"totals", bleu.totals},
            {"brevity_penalty", bleu.brevity_penalty},
            {"hypothesis_length", bleu.hypothesis_length},
            {"reference_length", bleu.reference_length}};
}

Json sentences_json(std::span<const LineStatistics> lines) {
    Json rows = Json::array();
    for (const LineStatistics& line : lines) {
        Json row = {{"line", rows.size() + 1}};
        for (const Metric metric : all_metrics) row[key(metric)] = sentence_score(metric, line);
        row["exact"] = line.exact == 1;
        row["hypothesis_length"] = line.bleu.hypothesis_length;
        row["reference_length"] = line.bleu.reference_length;
        rows.push_back(std::move(row));
    }
    return rows;
}

std::array<Metric, all_metrics.size()> metrics_in_order(bool chrf_first) {
    if (chrf_first) return {Metric::chrf, Metric::chrf_plus_plus, Metric::bleu};
    return all_metrics;
}

std::string comparison_signature(Metric metric, const ComparedSystems& systems) {
    return signature(
        metric, {.metric = systems.as.options, .resampling = fmt::format("bs:{}|seed:{}|", systems.resamples, systems.seed)});
}

Json json(const ResampledScore& system) {
    return {{"score", system.score}, {"mean", system.mean}, {"low", system.low}, {"high", system.high}};
}

std::string row(Metric metric, const ResampledScore& system, const std::string& verdict, const std::string& name_of_system) {
    return fmt::format("{:<8}{:>8.2f}{:>9.2f}{:>9.2f} ..{:>7.2f}{:>20}  {}\n", name(metric), system.score, system.mean,
                       system.low, system.high, verdict, name_of_system);
}

}  // namespace

std::string score_text(const LineStatistics& corpus, const ScoredAs& as) {
    std::string text;
    for (const Metric metric : metrics_in_order(as.chrf_first)) {
        text += metric == Metric::bleu ? corpus_bleu(corpus.bleu).text()
                                       : fmt::format("{} = {:.2f}", name(metric), corpus_score(metric, corpus));
        text += "\n" + signature(metric, {.metric = as.options}) + "\n";
    }
    const double share = 100.0 * static_cast<double>(corpus.exact) / static_cast<double>(std::max<std::int64_t>(1, corpus.lines));
    return text + fmt::format("exact: {} of {} lines ({:.2f} %)\n", corpus.exact, corpus.lines, share);
}

std::string sentence_table(std::span<const LineStatistics> lines) {
    std::string table = "line";
    for (const Metric metric : all_metrics) table += fmt::format("\t{}", name(metric));
    table += "\texact\thyp_len\tref_len\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        table += fmt::format("{}", i + 1);
        for (const Metric metric : all_metrics) table += fmt::format("\t{:.2f}", sentence_score(metric, lines[i]));
        table += fmt::format("\t{}\t{}\t{}\n", lines[i].exact, lines[i].bleu.hypothesis_length, lines[i].bleu.reference_length);
    }
    return table;
}

std::string score_json(std::span<const LineStatistics> lines, const ScoredAs& as, bool sentences) {
    const LineStatistics corpus = sum(lines);
    Json object;
    for (const Metric metric : all_metrics) {
        object[key(metric)] =
            metric == Metric::bleu ? bleu_json(corpus_bleu(corpus.bleu)) : Json{{"score", corpus_score(metric, corpus)}};
        object[key(metric)]["signature"] = signature(metric, {.metric = as.options});
    }
    object["exact"] = corpus.exact;
    object["lines"] = corpus.lines;
    if (sentences) {
        object["bleu"]["sentence_signature"] = signature(Metric::bleu, {.metric = as.options, .effective_order = true});
        object["sentences"] = sentences_json(lines);
    }
    return json_text(object) + "\n";
}

std::string comparison_text(const ComparedSystems& systems, std::span<const Comparison> comparisons) {
    std::string text = fmt::format("{:<8}{:>8}{:>9}{:>19}{:>11}{:>9}  {}\n", "metric", "score", "mean", "95 % interval",
                                   "difference", "p", "system");
    std::string signatures;
    for (const Metric metric : metrics_in_order(systems.as.chrf_first)) {
        const Comparison& one = *std::ranges::find(comparisons, metric, &Comparison::metric);
        text += row(metric, one.first, "", systems.names.first);
        text += row(metric, one.second, fmt::format("{:>+11.2f}{:>9.4f}", one.difference, one.p), systems.names.second);
        signatures += fmt::format("{} {}\n", name(metric), comparison_signature(metric, systems));
    }
    return text + signatures;
}

std::string comparison_json(const ComparedSystems& systems, std::span<const Comparison> comparisons) {
    Json object = {{"systems", {systems.names.first, systems.names.second}},
                   {"lines", systems.lines},
                   {"resamples", systems.resamples},
                   {"seed", systems.seed}};
    for (const Comparison& one : comparisons) {
        object[key(one.metric)] = {{"first", json(one.first)},
                                   {"second", json(one.second)},
                                   {"difference", one.difference},
                                   {"p", one.p},
                                   {"signature", comparison_signature(one.metric, systems)}};
    }
    return json_text(object) + "\n";
}

}  // namespace heddle::app
