// Models of CTranslate2 (https://github.com/OpenNMT/CTranslate2): a folder with model.bin, config.json and the vocabulary as a
// list, shared_vocabulary.json, or source_vocabulary.json and target_vocabulary.json. The SentencePiece models are no part of the
// format; they usually lie beside it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/model_files.h"

namespace heddle::app {

/// Whether the folder holds such a model.
bool is_ctranslate2(const std::filesystem::path& folder);

/// Reads a model. `vocabularies`: the .spm files, one, or source and target; else source.spm and target.spm, or
/// sentencepiece.model, in the folder. All files are untrusted. Error, with the folder and the variable or option, for quantized
/// weights, for a model that Heddle's Transformer is not, and for damaged files.
ExchangedModel read_ctranslate2(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& vocabularies = {});
/// The same; `sentencepiece`: the bytes of one .spm file, or of source and target.
ExchangedModel read_ctranslate2(const ModelFiles& files, std::vector<std::string> sentencepiece);

/// Error, with `name` and the option, for a model that CTranslate2 cannot have. A pad token that other toolkits forbid in their
/// search gets an output bias of bias_of_added_token, since CTranslate2 has no list of forbidden tokens.
Export to_ctranslate2(const ExchangedModel& model, ExportDType dtype, std::string_view name);

}  // namespace heddle::app
