// Names of languages, and which of a server's languages a text is in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/serve/translation_queue.h"

namespace heddle::app {

/// The English name of an ISO 639-1 code, or the code itself.
std::string language_name(std::string_view code);

/// A language that a text may be in, and the models that read and that write it.
struct KnownLanguage {
    std::string code;
    std::vector<const ServedModel*> readers, writers;
};

struct DetectedLanguage {
    std::string code;
    double confidence = 0;  ///< 0 to 100
};

/// How well the beginning of a text fits each language, the best first; the confidences add up to 100.
///
/// Where each of the languages is written by some model: p(language | text) by Bayes' rule, all languages being equally likely
/// before, with p(text | language) of the decoder that reads an empty source. Otherwise by the vocabularies of the readers: one
/// that was made from a language needs fewer tokens for its texts; two languages with one vocabulary get equal shares then.
std::vector<DetectedLanguage> detect_language(std::string_view text, std::span<const KnownLanguage> languages);

}  // namespace heddle::app
