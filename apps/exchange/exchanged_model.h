// A model on its way from another toolkit to a run, or back: Heddle's tensors in the toolkit's numbering of tokens.
//
//     reader of a format  ->  ExchangedModel  ->  to_heddle    ->  a run
//     writer of a format  <-  ExchangedModel  <-  from_heddle  <-  a run
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/translation/vocabulary/token_map.h"
#include "apps/translation/vocabulary/vocabularies.h"
#include "nn/transformer.h"

namespace heddle::app {

struct ExchangedVocabulary {
    std::string sentencepiece;  ///< the bytes of the .spm file
    TokenMap map;
};

/// Tensors have Heddle's names (nn/README.md) and layouts, [out, in]. The rows of embeddings, of the output projection and of its
/// bias are in the toolkit's order.
struct ExchangedModel {
    nn::TransformerOptions options;             ///< vocabularies: the toolkit's numbers of tokens
    std::map<std::string, Tensor> tensors;      ///< f32 on the CPU; output.bias [V] also with a tied output
    ExchangedVocabulary source, target;         ///< equal numberings when options.one_embedding()
    bool one_file = false;                      ///< source and target are one vocabulary file
    bool forbid_unknown = false;                ///< the toolkit never writes its unknown token
    std::vector<std::string> notes = {};        ///< what a reader tells the user
    std::optional<double> length_penalty = {};  ///< alpha of its search, where the toolkit's files have one
    /// "de" and "en", where the toolkit says so.
    std::string source_language = {}, target_language = {};
};

/// The ids that the .spm file itself gives the four special tokens; -1: it lacks the token.
struct SpecialIds {
    std::int32_t pad = -1, unk = -1, begin = -1, end = -1;
    std::int64_t pieces = 0;  ///< how many tokens the file has
};
/// Error, with `name`, as checked_sentencepiece_model().
SpecialIds special_ids(std::string_view sentencepiece, std::string_view name);

/// The length penalty of a toolkit's search, for heddle translate. Error, with `where`, unless it is 0 to 10.
double checked_length_penalty(double penalty, std::string_view where);

/// The added begin mark, or pad, must never be written: its output bias.
inline constexpr auto bias_of_added_token = static_cast<float>(nn::forbidden_bias);

/// A model as a run holds it.
struct HeddleModel {
    std::unique_ptr<nn::Transformer> model;  ///< f32 on the CPU, in evaluation mode
    Vocabularies vocabularies;
    bool forbid_unknown = false;
};

/// Renumbers the rows as the vocabularies do: pad, unk, begin and end are 0 to 3, and those that the toolkit lacks are added. An
/// added pad is a row of zeros; the begin mark is the row that the toolkit's decoder reads first (TokenMap::start). Added rows
/// have the output bias bias_of_added_token. Error, with `name`, when a tensor is missing, left over, of another shape than the
/// options say, or not finite, and as load_sentencepiece and nn::TransformerOptions::complete.
HeddleModel to_heddle(ExchangedModel model, std::string_view name);

/// The way back: drops the rows that to_heddle() added. The tensors are copies on the CPU in f32. Heddle's own vocabularies keep
/// their numbering; their start is `zeros` with options.zero_start, else `begin`. Error, with `name`, for vocabularies that
/// SentencePiece did not train, for a begin mark of zero_start that is not zero, and when the begin mark was trained away from
/// the row that the toolkit reads first and the toolkit has no other row for it.
ExchangedModel from_heddle(const nn::Transformer& model, const Vocabularies& vocabularies, bool forbid_unknown,
                           std::string_view name);

/// Error, with `name`, unless the model's attention is that of all other toolkits: as many key heads as heads, d_model / heads
/// wide, and a decoder that attends to the encoder's result. `options`: all set.
void check_attention(const nn::TransformerOptions& options, std::string_view name);

}  // namespace heddle::app
