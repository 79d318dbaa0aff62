// Models of Marian (https://marian-nmt.github.io): model.npz with the weights and the model's options, and a .spm vocabulary for
// each side, or one for both. Source: Junczys-Dowmunt et al., "Marian: Fast Neural Machine Translation in C++" (ACL 2018).
//
// Marian keeps matrices [in, out] and vectors [1, n]. Its decoder first reads a row of zeros. It never writes
// unk, unless decoder.yml has allow-unk.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/model_files.h"

namespace heddle::app {

/// True for a file .npz, or .bin in Marian's form, and for a folder with such a file.
bool is_marian(const std::filesystem::path& path);

/// Reads model.npz, or the only .npz of a folder. `vocabularies`: none, one .spm for both sides, or one for each; none: those
/// that decoder.yml beside the model names, else the model's own options, else the only .spm there. Files are untrusted. Error,
/// by the option's name, for a model that Heddle's Transformer is not; Error for arrays that are missing, left over or of other
/// shapes than the options say.
ExchangedModel read_marian(const std::filesystem::path& path, const std::vector<std::filesystem::path>& vocabularies = {});

/// model.npz, vocab.spm (or source.spm and target.spm) and decoder.yml, which names them. pad and a begin mark get the output
/// bias bias_of_added_token, since Marian has no list of forbidden tokens. Error, with `name` and the option, for a model that
/// Marian cannot have, and for f16.
Export to_marian(const ExchangedModel& model, ExportDType dtype, std::string_view name);

}  // namespace heddle::app
