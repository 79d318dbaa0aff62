// The tokens of a model as other toolkits list them in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/exchange/exchanged_model.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"

namespace heddle::app {

/// The texts of a JSON list, ["</s>", "<unk>", ...]: CTranslate2's vocabularies. Untrusted; Error with `name`. No more than
/// most_pieces texts are kept while it is read.
std::vector<std::string> listed_tokens(std::string_view json, std::string_view name);
/// The texts of a JSON object by their ids, {"</s>": 0, "<unk>": 1, ...}: vocab.json of MarianMT. An id that has no text has an
/// empty one. Untrusted; Error with `name`, also when two texts have one id, and for more than `most`.
std::vector<std::string> numbered_tokens(std::string_view json, std::string_view name, std::size_t most = most_pieces);

/// The id of the token that has the role `role` ("unk_token"). Error when it is not in the list.
std::int32_t id_of_token(const std::vector<std::string>& tokens, const std::string& token, std::string_view role);

std::string list_of_tokens(const std::vector<std::string>& tokens);
std::string numbers_of_tokens(const std::vector<std::string>& tokens);

/// The text of each of the toolkit's ids: of the map, or where it has none of the .spm file. Error, with `name`, when two tokens
/// have one text.
std::vector<std::string> token_texts(const ExchangedVocabulary& vocabulary, std::string_view name);

}  // namespace heddle::app
