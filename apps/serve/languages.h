// Names of languages, and which of a server's languages a text is in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/vocabulary/vocabulary.h"

namespace heddle::app {

/// The English name of an ISO 639-1 code, or the code itself.
std::string language_name(std::string_view code);

/// A language that a text may be in, and the vocabularies of its models.
struct KnownLanguage {
    std::string code;
    std::vector<const Vocabulary*> vocabularies;
};

struct DetectedLanguage {
    std::string code;
    double confidence = 0;  ///< 0 to 100
};

/// How well the text fits each language, the best first: a vocabulary that was trained on a language needs fewer tokens for its
/// texts, and has no token for other scripts. Two languages with one vocabulary cannot be told apart by it, and get equal shares.
/// The confidences add up to 100.
std::vector<DetectedLanguage> detect_language(std::string_view text, std::span<const KnownLanguage> languages);

}  // namespace heddle::app
