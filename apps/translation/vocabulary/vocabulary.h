// Converts text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_words.h"
#include "core/error.h"

namespace heddle::app {

/// These four ids are the same in every vocabulary.
inline constexpr std::int32_t pad_id = 0;
inline constexpr std::int32_t unk_id = 1;
inline constexpr std::int32_t bos_id = 2;
inline constexpr std::int32_t eos_id = 3;

/// bpe, unigram: SentencePiece, trained in the program. word: splits at spaces and around punctuation. character: code points.
enum class VocabularyType { bpe, unigram, word, character };

constexpr auto enum_words(VocabularyType) {
    return words_for<VocabularyType>({{VocabularyType::bpe, "bpe"},
                                      {VocabularyType::unigram, "unigram"},
                                      {VocabularyType::word, "word"},
                                      {VocabularyType::character, "char"}});
}
/// True for types that SentencePiece trains and reads.
bool is_sentencepiece(VocabularyType type);

/// How a SentencePiece vocabulary normalises text before splitting it. nfc: Unicode's form C, one spelling for equivalent
/// characters; a tab becomes a space. none: unchanged. nfkc: SentencePiece's nmt_nfkc, which also replaces characters by similar
/// ones ("m²" by "m2") and drops invisible ones. All reduce several spaces to one.
enum class Normalization : std::uint8_t { nfc, none, nfkc };

constexpr auto enum_words(Normalization) {
    return words_for<Normalization>({{Normalization::nfc, "nfc"}, {Normalization::none, "none"}, {Normalization::nfkc, "nfkc"}});
}

struct VocabularyOptions {
    VocabularyType type = VocabularyType::bpe;
    /// Number of tokens, including the four special ones. bpe, unigram: exactly this many. word, character: at most this many,
    /// the most frequent ones; 0 means all.
    std::int64_t size = 6000;
    std::int64_t min_count = 1;  ///< word, character: rarer tokens are unknown
    bool lowercase = false;      ///< convert text to lower case before encoding; decoding keeps it
    /// Train on at most this many lines, evenly spaced; 0 means all. SentencePiece's memory grows with the number of different
    /// words.
    std::int64_t max_lines = 0;
    Normalization normalization = Normalization::nfc;  ///< bpe, unigram only: word and character do not change the text
};

struct TokenMap;

/// A fixed map between texts and token ids. Thread-safe.
class Vocabulary {
  public:
    virtual ~Vocabulary() = default;

    /// The ids of a text, without BOS and EOS. Accepts any bytes: those that are not UTF-8 are unknown.
    virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
    /// The parts of a text that have no token, in order: words, or runs of characters.
    virtual std::vector<std::string> unknown_parts(std::string_view text) const = 0;
    /// The text of ids. PAD, BOS and EOS are skipped, UNK becomes U+2047 (a double question mark). Never contains a line end.
    /// Error when an id is not below size().
    virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
    /// Number of tokens, the four special ones included.
    virtual std::int64_t size() const = 0;
    /// The text of a token, for reports and pictures. Error when the id is not below size().
    virtual std::string token(std::int32_t id) const = 0;
    virtual VocabularyType type() const = 0;
    /// Its kind, for messages: the name of its type, or "SentencePiece word" or "SentencePiece char", which are used as unigram.
    virtual std::string_view kind() const { return word_of(type()); }
    virtual bool lowercase() const = 0;
    /// Empty for word and character, and for a SentencePiece model with other rules.
    virtual std::optional<Normalization> normalization() const { return std::nullopt; }
    /// The bytes of the vocabulary's file.
    virtual std::string serialized() const = 0;
    /// How the toolkit of an imported model numbers the tokens; null for vocabularies of Heddle's own models.
    virtual const TokenMap* token_map() const { return nullptr; }
    /// TokenMap::toolkit_ids(); without a map each id itself.
    virtual std::vector<std::int32_t> toolkit_ids() const;

    /// "model" for SentencePiece, "tsv" for word and char: a run folder holds vocab.model or vocab.tsv.
    std::string_view file_extension() const;
    /// Writes serialized() to `path`, replacing it atomically, and the token map, if any, to token_map_path(path), where an
    /// earlier map is removed. A SentencePiece model is kept byte for byte.
    void save(const std::string& path) const;
    /// Reads a file written by save(), spm_train or sentencepiece, whose kind is detected, and the token map beside it, if any.
    /// `lowercase` also converts the text for a SentencePiece model that does not request it itself. Without a map, tokens of a
    /// SentencePiece model are renumbered if its special ids are not 0, 1, 2, 3.
    static std::unique_ptr<Vocabulary> load(const std::string& path, bool lowercase = false);
};

/// Where the token map of the vocabulary at `path` is: vocab.map.json for vocab.model.
std::string token_map_path(const std::string& path);

/// The text contains nothing that a vocabulary of this type can use.
class VocabularyTextError : public Error {
  public:
    using Error::Error;
};

/// The text does not allow a SentencePiece vocabulary of the wanted size.
class VocabularySizeError : public Error {
  public:
    VocabularySizeError(const std::string& message, std::int64_t size_that_works)
        : Error(message), size_that_works(size_that_works) {}

    std::int64_t size_that_works;  ///< the largest if the wanted size was too large, the smallest if it was too small
};

/// The index of the i-th of `count` evenly spaced lines; count <= lines, i < count.
std::size_t line_at_even_distance(std::size_t i, std::size_t count, std::size_t lines);

/// Trains a vocabulary on lines of text; equal lines and options give equal bytes. VocabularyTextError when there is no text,
/// VocabularySizeError for a SentencePiece vocabulary larger or smaller than the text allows.
std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string_view> lines);
std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string> lines);

}  // namespace heddle::app
