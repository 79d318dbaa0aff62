// Small models with random weights, as Marian can have them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/exchange/marian.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "core/random.h"
#include "tests/exchange/exchange_support.h"

namespace heddle::app {

// A model that Marian trained, with its results; absent where there are no oracles.
inline const std::filesystem::path oracle = HEDDLE_SOURCE_DIR "/../shared/oracles/marian_post";

inline const std::vector<std::string> german = {"der Hund sieht die Katze",
                                                "eine kleine Katze schläft",
                                                "der alte Hund und die Katze",
                                                "die Katze sieht den kleinen Hund",
                                                "ein Hund",
                                                "die alte Katze schläft und sieht nichts"};
inline const std::vector<std::string> english = {"the dog sees the cat",
                                                 "a small cat sleeps",
                                                 "the old dog and the cat",
                                                 "the cat sees the small dog",
                                                 "a dog",
                                                 "the old cat sleeps and sees nothing"};

// A kind of model, and whether both sides share a vocabulary.
struct MarianCase {
    nn::NormPlace norm;
    bool final_norm;
    ops::Activation activation;
    nn::Tie tie;
    bool shared;
};
inline const std::vector<MarianCase> marian_cases = {
    {nn::NormPlace::post, false, ops::Activation::silu, nn::Tie::all, true},
    {nn::NormPlace::pre, true, ops::Activation::relu, nn::Tie::all, true},
    {nn::NormPlace::post, true, ops::Activation::relu, nn::Tie::none, false},
    {nn::NormPlace::pre, false, ops::Activation::silu, nn::Tie::target, false},
    {nn::NormPlace::post, false, ops::Activation::relu, nn::Tie::embeddings, true},
};

inline HeddleModel made_model(const MarianCase& kind, Normalization normalization = Normalization::nfc) {
    HeddleModel model;
    const VocabularyOptions options{.size = 60, .normalization = normalization};
    std::vector<std::string> both = german;
    both.insert(both.end(), english.begin(), english.end());
    model.vocabularies.source = train_vocabulary(options, kind.shared ? both : german);
    model.vocabularies.target =
        kind.shared ? model.vocabularies.source : train_vocabulary({.type = VocabularyType::unigram, .size = 26}, english);
    model.model = std::make_unique<nn::Transformer>(nn::TransformerOptions{
        .source_vocabulary = model.vocabularies.source->size(),
        .target_vocabulary = model.vocabularies.target->size(),
        .encoder_layers = 2,
        .decoder_layers = 1,
        .d_model = 16,
        .heads = 2,
        .d_ff = 24,
        .norm = kind.norm,
        .final_norm = kind.final_norm,
        .norm_eps = 1e-6,
        .activation = kind.activation,
        .positions = nn::Positions::marian,
        .tie = kind.tie,
        .zero_start = true,
    });
    // No bias is zero and no scale is one; Marian's decoder cannot write pad and begin.
    Sequence random(3);
    for (auto [name, tensor] : model.model->named_tensors()) {
        const bool bias = name == "output.bias", rows = name.find("embedding") != std::string::npos;
        std::size_t at = 0;
        for (float& value : tensor.mutable_values<float>()) {
            value += 5e-4F * (static_cast<float>(random.below(1000)) - 500);
            const std::size_t row = at++ / static_cast<std::size_t>(tensor.rank() > 1 ? tensor.cols() : 1);
            if (bias && (row == pad_id || row == bos_id)) value = bias_of_added_token;
            if (rows && row == bos_id) value = 0;
        }
    }
    model.model->eval();
    return model;
}

}  // namespace heddle::app
