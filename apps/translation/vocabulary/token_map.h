// How another toolkit numbers the pieces of a SentencePiece model; the vocabulary of an imported model has such a map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_words.h"

namespace heddle::app {

/// The token that the toolkit's decoder reads first: its own begin mark, its pad, its end mark, or no token (a row of zeros).
enum class StartToken : std::uint8_t { begin, pad, end, zeros };

constexpr auto enum_words(StartToken) {
    return words_for<StartToken>(
        {{StartToken::begin, "begin"}, {StartToken::pad, "pad"}, {StartToken::end, "end"}, {StartToken::zeros, "zeros"}});
}

struct TokenMap {
    /// The text of each id in the toolkit; an empty text belongs to an id that no text has. Without any texts the ids are those
    /// of the .spm file.
    std::vector<std::string> pieces = {};
    std::int32_t unk = 0, end = 0;           ///< ids in the toolkit
    std::optional<std::int32_t> pad = {};    ///< if the toolkit has it
    std::optional<std::int32_t> begin = {};  ///< if the toolkit has it; an ordinary token unless `start` is begin
    StartToken start = StartToken::begin;

    bool operator==(const TokenMap&) const = default;

    /// The toolkit's id of each of Heddle's ids, and -1 for those that Heddle added. Heddle's are pad, unk, bos, eos, then the
    /// other tokens in the toolkit's order; bos is the toolkit's begin mark if that is `start`, else added. `pieces_of_spm`: how
    /// many the .spm has, used when `pieces` is empty. Error when an id is out of range or plays two parts, when `start` is a
    /// token that the toolkit lacks, when two ids have one text, and for texts that no vocabulary may hold.
    std::vector<std::int32_t> toolkit_ids(std::int64_t pieces_of_spm) const;

    /// A line with all but the texts, then one for each text.
    std::string json() const;
    /// Reads what json() wrote, from an untrusted file; `name` is used in errors.
    static TokenMap from_json(std::string_view text, std::string_view name);
};

}  // namespace heddle::app
