// Packages of Argos Translate (https://github.com/argosopentech/argos-translate), which LibreTranslate serves: a zip with one
// folder that holds metadata.json, sentencepiece.model and model/, a model of CTranslate2.
#pragma once

#include <filesystem>
#include <string_view>

#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/model_files.h"

namespace heddle::app {

/// Whether the path is a file that ends in .argosmodel, or the folder of an unpacked package.
bool is_argos(const std::filesystem::path& path);

/// Reads a package, or the folder of an unpacked one. Untrusted; Error with the path and the defect, as read_ctranslate2(), also
/// for a model that reads sources without an end mark.
ExchangedModel read_argos(const std::filesystem::path& path);

/// The files of a package, in their folder. Error as to_ctranslate2(), when the languages are not known, and for two
/// SentencePiece models of which the target's spells out bytes: Argos Translate has one model for both.
Export to_argos(const ExchangedModel& model, ExportDType dtype, std::string_view name);

}  // namespace heddle::app
