// A small model with random weights, and files of models written and read again.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/model_files.h"
#include "core/file.h"
#include "core/random.h"
#include "nn/search/scoring.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::app {

inline std::shared_ptr<const Vocabulary> toy_vocabulary(std::int64_t size) {
    const std::vector<std::string> lines = {"the dog sees a small cat", "ein kleiner Hund sieht die Katze",
                                            "one old bridge leads across the "
                                            "river",
                                            "eine alte Brücke führt über den Fluss", "nothing is as small as the cat"};
    return train_vocabulary({.size = size}, lines);
}

/// Two layers of width 24 with these options; no bias is zero, no norm is one. `shared`: one vocabulary for both sides.
inline HeddleModel toy_model(nn::TransformerOptions options = {}, bool shared = true) {
    HeddleModel toy;
    toy.vocabularies.source = toy_vocabulary(80);
    toy.vocabularies.target = shared ? toy.vocabularies.source : toy_vocabulary(90);
    options.d_model = 24, options.d_ff = 32, options.heads = 2, options.layers = 2, options.position_table = 40;
    toy.model = std::make_unique<nn::Transformer>(
        options.with_vocabularies(toy.vocabularies.source->size(), toy.vocabularies.target->size()), 1);
    Sequence random(3);
    for (auto [name, tensor] : toy.model->named_tensors())
        if (name != "output.bias" || !options.zero_start)
            for (float& value : tensor.mutable_values<float>()) value += 3e-4F * (static_cast<float>(random.below(1000)) - 500);
    if (options.zero_start) {  // as training keeps it
        for (auto [name, tensor] : toy.model->named_tensors())
            if (name == "embedding.weight" || name == "target_embedding.weight") tensor.slice(bos_id, bos_id + 1).fill_(0);
    }
    toy.model->eval();
    return toy;
}

inline ExchangedModel exchanged(const HeddleModel& toy) {
    return from_heddle(*toy.model, toy.vocabularies, toy.forbid_unknown, "toy");
}

/// log p of a few pairs of texts.
inline std::vector<double> scores_of(const HeddleModel& toy) {
    std::vector<nn::Tokens> sources, targets;
    for (const char* text : {"ein Hund", "die Katze sieht den kleinen Hund über die Brücke", "alte Katze"}) {
        sources.push_back(toy.vocabularies.source->encode(text));
        sources.back().push_back(eos_id);
        targets.push_back(toy.vocabularies.target->encode("the small dog sees one bridge"));
    }
    std::vector<double> found;
    for (const nn::PairScore& score : nn::score(*toy.model, sources, targets)) found.push_back(score.log_probability);
    return found;
}

inline void write_export(const Export& made, const std::filesystem::path& folder) {
    for (const ExportedFile& file : made.files) {
        std::filesystem::create_directories((folder / file.name).parent_path());
        write_file_atomically(folder / file.name, file.bytes);
    }
}

/// The names of tensors that differ in a bit, or that one of the two lacks.
inline std::string differing_tensors(const ExchangedModel& a, const ExchangedModel& b) {
    std::string names;
    for (const auto& [name, tensor] : a.tensors) {
        const auto other = b.tensors.find(name);
        if (other == b.tensors.end() || !same_bits(tensor, other->second)) names += name + " ";
    }
    for (const auto& [name, tensor] : b.tensors)
        if (!a.tensors.contains(name)) names += name + " ";
    return names;
}

}  // namespace heddle::app
