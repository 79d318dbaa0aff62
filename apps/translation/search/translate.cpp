#include "apps/translation/search/translate.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/terminal.h"
#include "apps/translation/batching/line_batches.h"
#include "apps/translation/search/beam_search.h"
#include "apps/translation/search/sampling.h"
#include "apps/translation/search/scoring.h"

namespace heddle::app {
namespace {

// Source tokens that are decoded together: enough rows for the matrix products, and caches that stay small. Less where a source
// has many hypotheses.
std::int64_t tokens_at_once(const DecodeOptions& options) {
    const std::int64_t hypotheses = options.sampling ? options.n_best : options.beam;
    return 1500 * 8 / std::max<std::int64_t>(8, hypotheses);
}

// How many tokens each line is wide with its end mark, and which lines have any.
struct Sources {
    std::vector<std::size_t> lines;
    std::vector<std::vector<std::int32_t>> tokens;  // end mark included
    std::vector<std::int64_t> widths;
};

Sources with_tokens(std::vector<std::vector<std::int32_t>> encoded) {
    Sources sources;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        if (encoded[i].empty()) continue;
        encoded[i].push_back(eos_id);
        sources.lines.push_back(i);
        sources.widths.push_back(static_cast<std::int64_t>(encoded[i].size()));
        sources.tokens.push_back(std::move(encoded[i]));
    }
    return sources;
}

}  // namespace

Translator::Translator(const Ensemble& models, Vocabularies vocabularies, DecodeOptions options)
    : models_(models), vocabularies_(std::move(vocabularies)), options_(std::move(options)) {}

Translation Translator::empty_line() {
    if (!empty_line_) {
        const double log_probability = score_pairs(models_, std::vector<TokenPair>(1)).front().log_probability;
        empty_line_ = {.text = {}, .log_probability = log_probability, .score = log_probability};
    }
    return *empty_line_;
}

std::vector<std::vector<Translation>> Translator::translate(const std::vector<std::string>& lines) {
    std::vector<std::vector<std::int32_t>> encoded = encode_lines(*vocabularies_.source, lines);
    if (unknown_ != nullptr) unknown_->look_at(lines, encoded);
    cut_ += cut_to(encoded, models_.position_table() - 1);
    const Sources sources = with_tokens(std::move(encoded));
    std::vector<std::vector<Translation>> translations(lines.size());
    for (const std::vector<std::int64_t>& batch : batches_by_width(sources.widths, tokens_at_once(options_))) {
        std::vector<std::vector<std::int32_t>> tokens;
        std::vector<std::int64_t> numbers;
        for (const std::int64_t i : batch) {
            tokens.push_back(sources.tokens[static_cast<std::size_t>(i)]);
            numbers.push_back(lines_ + static_cast<std::int64_t>(sources.lines[static_cast<std::size_t>(i)]));
        }
        HypothesisLists found =
            options_.sampling ? sample(models_, tokens, numbers, options_) : beam_search(models_, tokens, options_);
        for (std::size_t i = 0; i < found.size(); ++i)
            for (Hypothesis& each : found[i]) {
                std::string text = vocabularies_.target->decode(each.tokens);
                translations[static_cast<std::size_t>(numbers[i] - lines_)].push_back(
                    {std::move(text), each.log_probability, each.score, std::move(each.tokens), each.ended});
            }
    }
    lines_ += static_cast<std::int64_t>(lines.size());
    for (auto& each : translations)
        if (each.empty()) each.push_back(empty_line());
    return translations;
}

void Translator::report_cuts() const {
    if (cut_ == 0) return;
    say(fmt::format("{} of {} lines were cut to {} tokens, the length of the model's position table", cut_, lines_,
                    models_.position_table()));
}

std::vector<std::string> translate_lines(const Ensemble& models, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options) {
    Translator translator(models, vocabularies, options);
    std::vector<std::string> texts;
    for (std::vector<Translation>& each : translator.translate(lines)) texts.push_back(std::move(each.front().text));
    translator.report_cuts();
    return texts;
}

}  // namespace heddle::app
