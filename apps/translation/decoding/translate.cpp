#include "apps/translation/decoding/translate.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/terminal.h"
#include "apps/translation/batching/line_batches.h"
#include "apps/translation/decoding/beam_search.h"
#include "apps/translation/decoding/replace_unknown.h"
#include "apps/translation/decoding/sampling.h"
#include "apps/translation/decoding/scoring.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

// Source tokens that are decoded together: enough rows for the matrix products, and caches that stay small. Less where a source
// has many hypotheses, and where several batches are decoded at a time.
std::int64_t tokens_at_once(const DecodeOptions& options, bool side_by_side) {
    const std::int64_t hypotheses = options.sampling ? options.n_best : options.beam;
    const std::int64_t tokens = side_by_side ? std::max(250, 1000 / threads()) : 1500;
    return tokens * 8 / std::max<std::int64_t>(8, hypotheses);
}

}  // namespace

HypothesisLists decode(const Ensemble& models, const SourceBatch& batch, const DecodeOptions& options) {
    return options.sampling ? sample(models, batch.sources, batch.numbers, options) : beam_search(models, batch.sources, options);
}

Translator::Translator(const Ensemble& models, Vocabularies vocabularies, DecodeOptions options, Decoders decoders)
    : models_(models), vocabularies_(std::move(vocabularies)), options_(std::move(options)), decoders_(std::move(decoders)) {}

Translation Translator::unchanged(const std::string& line) {
    if (!log_probability_of_nothing_)
        log_probability_of_nothing_ = score_pairs(models_, std::vector<TokenPair>(1)).front().log_probability;
    return {.text = line, .log_probability = *log_probability_of_nothing_, .score = *log_probability_of_nothing_};
}

// The batches of a window whose first line has this number. Takes the tokens; lines without any are left out.
void Translator::add_batches(std::span<std::vector<std::int32_t>> encoded, std::int64_t first,
                             std::vector<SourceBatch>& batches) const {
    std::vector<std::size_t> lines;
    std::vector<std::int64_t> widths;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        if (encoded[i].empty()) continue;
        encoded[i].push_back(eos_id);
        lines.push_back(i);
        widths.push_back(static_cast<std::int64_t>(encoded[i].size()));
    }
    for (const std::vector<std::int64_t>& indices : batches_by_width(widths, tokens_at_once(options_, side_by_side()))) {
        SourceBatch& batch = batches.emplace_back();
        for (const std::int64_t i : indices) {
            const std::size_t line = lines[static_cast<std::size_t>(i)];
            batch.sources.push_back(std::move(encoded[line]));
            batch.numbers.push_back(first + static_cast<std::int64_t>(line));
        }
    }
}

bool Translator::side_by_side() const {
    return !decoders_.decode && threads() > 1 && models_.models().front()->device() == Device::cpu;
}

std::vector<HypothesisLists> Translator::decoded(std::span<const SourceBatch> batches) const {
    if (decoders_.decode) return decoders_.decode(batches, options_);
    std::vector<HypothesisLists> found(batches.size());
    const auto count = static_cast<std::int64_t>(batches.size());
    // In descending order of length, so that the threads end at about the same time.
    const auto decode_some = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto b = static_cast<std::size_t>(count - 1 - i);
            found[b] = decode(models_, batches[b], options_);
        }
    };
    if (side_by_side() && count >= threads())
        parallel_for(count, 1, decode_some);
    else
        decode_some(0, count);
    return found;
}

std::vector<std::vector<Translation>> Translator::translate(const std::vector<std::string>& lines, std::int64_t window) {
    std::vector<std::vector<std::int32_t>> encoded = encode_lines(*vocabularies_.source, lines);
    if (unknown_ != nullptr) unknown_->look_at(lines, encoded);
    if (far_ != nullptr) far_->look_at(lines, encoded);
    cut_ += cut_to(encoded, models_.position_table() - 1);
    const std::size_t at_once = window > 0 ? static_cast<std::size_t>(window) : std::max<std::size_t>(lines.size(), 1);
    std::vector<SourceBatch> batches;
    for (std::size_t begin = 0; begin < encoded.size(); begin += at_once)
        add_batches(std::span(encoded).subspan(begin, std::min(at_once, encoded.size() - begin)),
                    lines_ + static_cast<std::int64_t>(begin), batches);
    std::vector<std::vector<Translation>> translations(lines.size());
    std::vector<HypothesisLists> found = decoded(batches);
    for (std::size_t b = 0; b < batches.size(); ++b)
        for (std::size_t i = 0; i < found[b].size(); ++i)
            for (Hypothesis& each : found[b][i]) {
                std::string text = vocabularies_.target->decode(each.tokens);
                translations[static_cast<std::size_t>(batches[b].numbers[i] - lines_)].push_back(
                    {std::move(text), each.log_probability, each.score, std::move(each.tokens), each.ended});
            }
    lines_ += static_cast<std::int64_t>(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (translations[i].empty()) translations[i].push_back(unchanged(lines[i]));
    count_cut(translations);
    if (replace_) app::replace_unknown(*replace_, *models_.models().front(), vocabularies_, lines, translations);
    return translations;
}

std::vector<std::string> Translator::best(const std::vector<std::string>& lines) {
    std::vector<std::string> texts;
    for (std::vector<Translation>& each : translate(lines)) texts.push_back(std::move(each.front().text));
    return texts;
}

void Translator::count_cut(std::span<const std::vector<Translation>> translations) {
    const std::optional<std::int64_t> table = models_.longest_sentence();
    for (const std::vector<Translation>& list : translations)
        for (const Translation& each : list) {
            ++translations_;
            if (each.ended) continue;
            const bool by_table = table && static_cast<std::int64_t>(each.tokens.size()) == *table;
            ++(by_table ? at_table_ : at_limit_);
        }
}

void Translator::report_cuts() const {
    if (cut_ == 0) return;
    say(fmt::format("{} of {} lines were cut to {} tokens, the length of the model's position table", cut_, lines_,
                    models_.position_table()));
}

void Translator::report_limit() const {
    const std::string of = fmt::format("of {} translations did not end and were cut", translations_);
    if (at_limit_ > 0 && options_.max_length)
        say(fmt::format("{} {} at --max-output-length {}", at_limit_, of, *options_.max_length));
    else if (at_limit_ > 0)
        say(fmt::format("{} {} at 3 times their source's tokens + 13; --max-output-length N sets another limit", at_limit_, of));
    if (at_table_ > 0)
        say(fmt::format("{} {} at {} tokens, the length of the model's position table", at_table_, of,
                        *models_.longest_sentence()));
}

std::vector<std::string> translate_lines(const Ensemble& models, const Vocabularies& vocabularies,
                                         const std::vector<std::string>& lines, const DecodeOptions& options,
                                         const Decoders& decoders) {
    Translator translator(models, vocabularies, options, decoders);
    std::vector<std::string> texts = translator.best(lines);
    translator.report_cuts();
    return texts;
}

}  // namespace heddle::app
