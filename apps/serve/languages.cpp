#include "apps/serve/languages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nn/search/scoring.h"

namespace heddle::app {
namespace {

constexpr std::pair<std::string_view, std::string_view> names[] = {
    {"af", "Afrikaans"},  {"ar", "Arabic"},     {"bg", "Bulgarian"},  {"bn", "Bengali"},   {"ca", "Catalan"},
    {"cs", "Czech"},      {"cy", "Welsh"},      {"da", "Danish"},     {"de", "German"},    {"el", "Greek"},
    {"en", "English"},    {"eo", "Esperanto"},  {"es", "Spanish"},    {"et", "Estonian"},  {"eu", "Basque"},
    {"fa", "Persian"},    {"fi", "Finnish"},    {"fr", "French"},     {"ga", "Irish"},     {"gl", "Galician"},
    {"he", "Hebrew"},     {"hi", "Hindi"},      {"hr", "Croatian"},   {"hu", "Hungarian"}, {"hy", "Armenian"},
    {"id", "Indonesian"}, {"is", "Icelandic"},  {"it", "Italian"},    {"ja", "Japanese"},  {"ka", "Georgian"},
    {"ko", "Korean"},     {"la", "Latin"},      {"lt", "Lithuanian"}, {"lv", "Latvian"},   {"mk", "Macedonian"},
    {"ms", "Malay"},      {"mt", "Maltese"},    {"nb", "Norwegian"},  {"nl", "Dutch"},     {"no", "Norwegian"},
    {"pl", "Polish"},     {"pt", "Portuguese"}, {"ro", "Romanian"},   {"ru", "Russian"},   {"sk", "Slovak"},
    {"sl", "Slovenian"},  {"sq", "Albanian"},   {"sr", "Serbian"},    {"sv", "Swedish"},   {"sw", "Swahili"},
    {"ta", "Tamil"},      {"th", "Thai"},       {"tl", "Tagalog"},    {"tr", "Turkish"},   {"uk", "Ukrainian"},
    {"ur", "Urdu"},       {"vi", "Vietnamese"}, {"yi", "Yiddish"},    {"zh", "Chinese"}};

constexpr double cost_of_unknown = 10;  // tokens: a word that a language does not have says more than a word in many pieces
constexpr double sharpness = 12;        // of shares by tokens: a tenth fewer make a language 3.3 times as likely
constexpr std::size_t tokens_looked_at = 48;

// The largest of `value` of the models.
template <class Value>
double best_of(const std::vector<const ServedModel*>& models, Value value) {
    double best = -std::numeric_limits<double>::infinity();
    for (const ServedModel* model : models) best = std::max(best, value(*model));
    return best;
}

// log p of the text's first tokens, written from an empty source.
double log_probability(std::string_view text, const ServedModel& model) {
    nn::Tokens tokens = model.vocabularies.target->encode(text);
    const double share = tokens.size() > tokens_looked_at ? static_cast<double>(tokens.size()) / tokens_looked_at : 1;
    if (tokens.size() > tokens_looked_at) tokens.resize(tokens_looked_at);
    // Another vocabulary may have looked at a shorter part of the text: what was seen stands for the whole.
    return share * nn::score(*model.model, nn::Tokens{eos_id}, tokens, {.begin = bos_id, .end = eos_id}).log_probability;
}

double tokens_needed(std::string_view text, const Vocabulary& vocabulary) {
    double tokens = 0;
    for (const std::int32_t id : vocabulary.encode(text)) tokens += id == unk_id ? cost_of_unknown : 1;
    return tokens;
}

}  // namespace

std::string language_name(std::string_view code) {
    const auto found = std::ranges::find(names, code, &std::pair<std::string_view, std::string_view>::first);
    return std::string(found == std::end(names) ? code : found->second);
}

std::vector<DetectedLanguage> detect_language(std::string_view text, std::span<const KnownLanguage> languages) {
    const bool written = std::ranges::none_of(languages, [](const KnownLanguage& one) { return one.writers.empty(); });
    std::vector<double> fits;  // logarithms, but for one summand
    for (const KnownLanguage& language : languages)
        fits.push_back(written ? best_of(language.writers, [&](const ServedModel& each) { return log_probability(text, each); })
                               : best_of(language.readers, [&](const ServedModel& each) {
                                     return -tokens_needed(text, *each.vocabularies.source);
                                 }));
    const double best = *std::ranges::max_element(fits), least_tokens = std::max(1.0, -best);
    double sum = 0;
    for (double& fit : fits) sum += fit = std::exp(written ? fit - best : sharpness * (fit - best) / least_tokens);
    std::vector<DetectedLanguage> found;
    for (std::size_t i = 0; i < languages.size(); ++i) found.push_back({languages[i].code, 100 * fits[i] / sum});
    std::ranges::stable_sort(found,
                             [](const DetectedLanguage& a, const DetectedLanguage& b) { return a.confidence > b.confidence; });
    return found;
}

}  // namespace heddle::app
