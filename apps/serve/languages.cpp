#include "apps/serve/languages.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
constexpr double sharpness = 12;        // of the confidences: a tenth fewer tokens make a language 3.3 times as likely

// Tokens for each byte of the text.
double cost(std::string_view text, const Vocabulary& vocabulary) {
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
    std::vector<DetectedLanguage> found;
    double least = 0;
    for (const KnownLanguage& language : languages) {
        double best = 0;
        for (const Vocabulary* vocabulary : language.vocabularies) {
            const double tokens = cost(text, *vocabulary);
            if (vocabulary == language.vocabularies.front() || tokens < best) best = tokens;
        }
        found.push_back({language.code, best});
        if (found.size() == 1 || best < least) least = best;
    }
    double sum = 0;
    for (DetectedLanguage& one : found)
        sum += one.confidence = least == 0 ? 1 : std::exp(-sharpness * (one.confidence / least - 1));
    for (DetectedLanguage& one : found) one.confidence *= 100 / sum;
    std::ranges::stable_sort(found,
                             [](const DetectedLanguage& a, const DetectedLanguage& b) { return a.confidence > b.confidence; });
    return found;
}

}  // namespace heddle::app
