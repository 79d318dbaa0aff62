#include "apps/translation/decoding/generate.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::app {

nn::Tokens prompt_tokens(const std::string& name, const std::string& prompt, const Vocabulary& vocabulary) {
    nn::Tokens tokens = vocabulary.encode(prompt);
    check_usage(std::ranges::find(tokens, unk_id) == tokens.end(),
                fmt::format("{} '{}': the vocabulary reads it as '{}'; use words and signs of that vocabulary", name, prompt,
                            vocabulary.decode(tokens)));
    return tokens;
}

std::vector<Translation> generate_texts(const Ensemble& models, const Vocabulary& vocabulary, const GenerateTexts& options) {
    const DecodeOptions decode{.length_penalty = 0,
                               .n_best = options.count,
                               .prefix = options.prompt,
                               .sampling = nn::drawable(options.sampling),
                               .forbidden = {pad_id, unk_id, bos_id},
                               .max_length = options.max_tokens,
                               .marks = {.begin = bos_id, .end = eos_id}};
    std::vector<Translation> texts;
    for (nn::Hypothesis& drawn : nn::translate(models, nn::Tokens(), decode))
        texts.push_back({.text = vocabulary.decode(drawn.tokens),
                         .log_probability = drawn.log_probability,
                         .score = drawn.score,
                         .tokens = std::move(drawn.tokens),
                         .ended = drawn.ended});
    return texts;
}

}  // namespace heddle::app
