#include "apps/translation/decoding/translate.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/terminal.h"
#include "apps/translation/batching/line_batches.h"
#include "nn/search/scoring.h"

namespace heddle::app {
namespace {

constexpr nn::Marks text_marks{.begin = bos_id, .end = eos_id};

// Models of other toolkits may give pad and bos a probability; their own searches never write them. Models with Heddle's own
// vocabularies learned never to write them, and a search that forbids nothing ranks fewer tokens.
void forbid_marks(DecodeOptions& options, const Vocabulary& target) {
    if (target.token_map() == nullptr) return;
    for (const std::int32_t mark : {pad_id, bos_id})
        if (std::ranges::find(options.forbidden, mark) == options.forbidden.end()) options.forbidden.push_back(mark);
}

}  // namespace

Translator::Translator(const Ensemble& models, Vocabularies vocabularies, DecodeOptions options, Decoders decoders)
    : models_(models), vocabularies_(std::move(vocabularies)), options_(std::move(options)), decoders_(std::move(decoders)) {
    options_.marks = text_marks;
    forbid_marks(options_, *vocabularies_.target);
}

Translation Translator::unchanged(const std::string& line) {
    if (!log_probability_of_nothing_)
        log_probability_of_nothing_ = nn::score(models_, nn::Tokens{eos_id}, {}, text_marks).log_probability;
    return {.text = line, .log_probability = *log_probability_of_nothing_, .score = *log_probability_of_nothing_};
}

// Adds the batches of a window whose first line has the number `first`. Takes the tokens; lines without any are left out.
void Translator::add_batches(std::span<nn::Tokens> encoded, std::int64_t first, std::vector<SourceBatch>& batches) const {
    std::vector<nn::Tokens> sources;
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        if (encoded[i].empty()) continue;
        sources.push_back(std::move(encoded[i]));
        sources.back().push_back(eos_id);
        numbers.push_back(first + static_cast<std::int64_t>(i));
    }
    for (SourceBatch& batch : nn::source_batches(std::move(sources), numbers, options_, side_by_side()))
        batches.push_back(std::move(batch));
}

std::vector<HypothesisLists> Translator::decoded(std::span<const SourceBatch> batches) const {
    return decoders_.decode ? decoders_.decode(batches, options_) : nn::decode(models_, batches, options_, side_by_side());
}

std::vector<std::vector<Translation>> Translator::translate(const std::vector<std::string>& lines, std::int64_t window) {
    std::vector<nn::Tokens> encoded = encode_lines(*vocabularies_.source, lines);
    if (unknown_ != nullptr) unknown_->look_at(lines, encoded);
    cut_ += cut_to(encoded, models_.position_table() - 1);
    std::vector<std::vector<Translation>> translations(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (encoded[i].empty()) translations[i].push_back(unchanged(lines[i]));
    const std::size_t at_once = window > 0 ? static_cast<std::size_t>(window) : std::max<std::size_t>(lines.size(), 1);
    std::vector<SourceBatch> batches;
    for (std::size_t begin = 0; begin < encoded.size(); begin += at_once)
        add_batches(std::span(encoded).subspan(begin, std::min(at_once, encoded.size() - begin)),
                    lines_ + static_cast<std::int64_t>(begin), batches);
    std::vector<HypothesisLists> found = decoded(batches);
    for (std::size_t b = 0; b < batches.size(); ++b)
        for (std::size_t i = 0; i < found[b].size(); ++i)
            for (nn::Hypothesis& each : found[b][i]) {
                std::string text = vocabularies_.target->decode(each.tokens);
                translations[static_cast<std::size_t>(batches[b].numbers[i] - lines_)].push_back(
                    {std::move(text), each.log_probability, each.score, std::move(each.tokens), each.ended});
            }
    lines_ += static_cast<std::int64_t>(lines.size());
    count_cut(translations);
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
