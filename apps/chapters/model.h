// Models of the presets and sentences for them, shared by several chapters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/chapters/chapter.h"
#include "nn/summary.h"

namespace heddle::chapters {

/// The preset's model with `words` tokens on each side; `layers`, if given, replaces its number of layers on each side.
nn::TransformerOptions model_of(const std::string& preset, std::int64_t words, std::optional<std::int64_t> layers = {});

/// `count` sentences of `length` tokens each; tokens are below `words`.
nn::Sentences sentences(std::int64_t count, std::int64_t length, std::int64_t words, std::uint64_t key);

/// The row of this module. Error if the summary has none.
const nn::SummaryRow& row_of(const nn::ModelSummary& summary, std::string_view module);

}  // namespace heddle::chapters
