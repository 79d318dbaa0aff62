// From a trained language model to texts.
#pragma once

#include <string>
#include <vector>

#include "apps/translation/decoding/translate.h"

namespace heddle::app {

struct GenerateTexts {
    nn::Tokens prompt = {};
    std::int64_t count = 1;
    Sampling sampling = {};                       ///< as nn::drawable()
    std::optional<std::int64_t> max_tokens = {};  ///< as nn::GenerateOptions::max_length
};

/// The tokens of a prompt. UsageError, with the prompt's name in the interface ("--prompt"), where the vocabulary lacks a word or
/// sign.
nn::Tokens prompt_tokens(const std::string& name, const std::string& prompt, const Vocabulary& vocabulary);

/// `count` texts that begin with the prompt, drawn one independently of the other: text i is a function of the models, the
/// options and i alone. Marks and the unknown token are never written. Errors as nn::sample().
std::vector<Translation> generate_texts(const Ensemble& models, const Vocabulary& vocabulary, const GenerateTexts& options);

}  // namespace heddle::app
