// Helpers for the tests of training: a small corpus, and a model small enough to learn it.
#pragma once

#include <string>
#include <vector>

#include "apps/command/run.h"
#include "apps/translation/training/trainer.h"
#include "core/random.h"

namespace heddle::app {

// A small corpus of the copy task: `count` sentences of two to four letters, out of five.
inline TrainingData copy_data(std::int64_t count, std::int64_t validation = 0) {
    Sequence numbers(5);
    TrainingText text;
    for (std::int64_t i = 0; i < count + validation; ++i) {
        std::string line;
        for (std::uint64_t n = 2 + numbers.below(3); n > 0; --n)
            line += std::string(1, static_cast<char>('a' + numbers.below(5))) + " ";
        line.pop_back();
        (i < count ? text.training : text.validation).pairs.push_back({line, line});
    }
    VocabularyRequest request;
    request.type = VocabularyType::word;
    Vocabularies vocabularies = make_vocabularies(request, text.training, [](std::string_view) {});
    return encode_training_data(std::move(text), std::move(vocabularies));
}

inline nn::TransformerOptions tiny_model(const TrainingData& data, double dropout = 0) {
    nn::TransformerOptions options;
    options.source_vocabulary = options.target_vocabulary = data.vocabularies.source->size();
    options.encoder_layers = options.decoder_layers = 1;
    options.d_model = 32;
    options.heads = 2;
    options.d_ff = 64;
    options.dropout = dropout;
    return options;
}

// Training teaches a single word, validation asks for copies: the longer it learns, the worse it copies.
inline TrainingData worsening_data(std::int64_t count, std::int64_t validation) {
    TrainingData data = copy_data(count, validation);
    for (TokenPair& pair : data.training) std::fill(pair.target.begin(), pair.target.end(), data.training[0].target[0]);
    return data;
}

inline TrainingOptions tiny_training() {
    TrainingOptions options;
    options.lr = 1e-2;
    options.warmup = 30;
    options.batch_tokens = 200;
    options.average = 1;
    options.label_smoothing = 0;
    options.valid_sentences = 0;
    return options;
}

inline std::vector<float> weights_of(const Learner& learner) {
    const auto values = learner.parameters().values.values<float>();
    return {values.begin(), values.end()};
}

}  // namespace heddle::app
