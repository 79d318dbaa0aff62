// From text to token ids and back.
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

/// The same four ids in every vocabulary.
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
/// The type with this word; error that lists the words when there is none.
VocabularyType vocabulary_type(std::string_view name);
/// Whether SentencePiece trains and reads it.
bool is_sentencepiece(VocabularyType type);

/// How a SentencePiece vocabulary changes text before it cuts it into pieces. nfc: one spelling for the same characters
/// (Unicode's form C), a tab becomes a space. none: nothing. nfkc: SentencePiece's own nmt_nfkc, which also replaces
/// characters by similar ones ("m²" by "m2") and drops invisible ones. In all, a row of spaces becomes one.
enum class Normalization : std::uint8_t { nfc, none, nfkc };

constexpr auto enum_words(Normalization) {
    return words_for<Normalization>({{Normalization::nfc, "nfc"}, {Normalization::none, "none"}, {Normalization::nfkc, "nfkc"}});
}

struct VocabularyOptions {
    VocabularyType type = VocabularyType::bpe;
    /// Tokens, the four special ones included. bpe, unigram: exactly so many. word, character: at most so many, the most frequent
    /// ones; 0 means all.
    std::int64_t size = 6000;
    std::int64_t min_count = 1;  ///< word, character: rarer tokens are unknown
    bool lowercase = false;      ///< convert text to lower case before encoding; decoding leaves it so
    /// Train on at most so many lines, taken at even distances; 0 means all. What SentencePiece needs grows with the different
    /// words.
    std::int64_t max_lines = 0;
    Normalization normalization = Normalization::nfc;  ///< bpe, unigram; word and character take text as it is
};

/// A fixed map between texts and token ids. Safe to use from several threads.
class Vocabulary {
  public:
    virtual ~Vocabulary() = default;

    /// The ids of a text, without BOS and EOS. Any bytes are taken: what is not UTF-8 is unknown.
    virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
    /// The parts of a text that there is no token for, in order: words, or runs of one character or more.
    virtual std::vector<std::string> unknown_parts(std::string_view text) const = 0;
    /// The text of ids. PAD, BOS and EOS are skipped, UNK becomes U+2047 (a double question mark). Never contains a line end.
    /// Error when an id is not below size().
    virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
    /// Number of tokens, the four special ones included.
    virtual std::int64_t size() const = 0;
    /// How a token is written, for reports and pictures. Error when the id is not below size().
    virtual std::string token(std::int32_t id) const = 0;
    virtual VocabularyType type() const = 0;
    /// Its kind, for messages: the name of its type, or "SentencePiece word" or "SentencePiece char", which are used as unigram.
    virtual std::string_view kind() const { return word_of(type()); }
    virtual bool lowercase() const = 0;
    /// Nothing for word and character, and for a SentencePiece model with rules of another kind.
    virtual std::optional<Normalization> normalization() const { return std::nullopt; }
    /// The bytes of the vocabulary's file.
    virtual std::string serialized() const = 0;

    /// "model" for SentencePiece, "tsv" for word and char: a run folder holds vocab.model or vocab.tsv.
    std::string_view file_extension() const;
    /// Writes serialized() to `path`, which is replaced as a whole. A SentencePiece model is kept byte for byte.
    void save(const std::string& path) const;
    /// Reads a file that save(), spm_train or sentencepiece wrote; the content tells which kind it is. `lowercase` also lowers
    /// the text for a SentencePiece model that does not ask for it itself. The tokens of a SentencePiece model are numbered anew
    /// where its special ids are not 0, 1, 2, 3.
    static std::unique_ptr<Vocabulary> load(const std::string& path, bool lowercase = false);
};

/// The text has nothing that a vocabulary of this type could hold.
class VocabularyTextError : public Error {
  public:
    using Error::Error;
};

/// The text allows no SentencePiece vocabulary of the wanted size.
class VocabularySizeError : public Error {
  public:
    VocabularySizeError(const std::string& message, std::int64_t size_that_works)
        : Error(message), size_that_works(size_that_works) {}

    std::int64_t size_that_works;  ///< the largest when the wanted one was too large, the smallest when it was too small
};

/// The i-th of the `count` lines that a vocabulary is trained on when there are more: `count` <= `lines`, i < count.
std::size_t line_at_even_distance(std::size_t i, std::size_t count, std::size_t lines);

/// Trains a vocabulary on lines of text; the same lines and options give the same bytes. VocabularyTextError when there is no
/// text, VocabularySizeError for a SentencePiece vocabulary larger or smaller than the text allows.
std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string_view> lines);
std::unique_ptr<Vocabulary> train_vocabulary(const VocabularyOptions& options, std::span<const std::string> lines);

}  // namespace heddle::app
