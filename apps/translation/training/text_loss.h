// Counts the text that a model cannot learn because its vocabulary does not hold it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/text/line_reader.h"
#include "apps/translation/vocabulary/vocabularies.h"

namespace heddle::app {

/// The names of a text and its two sides in messages.
struct TextNames {
    std::string text = "the text";  ///< "--train corpus/train"
    std::string source = "the source text";
    std::string target = "the target text";
};

/// Looks through a text in pieces, and counts what is unknown in it, and the lines that their tokens do not give back.
class TextLoss {
  public:
    /// `vocabularies` must outlive this.
    TextLoss(TextNames names, const Vocabularies& vocabularies);

    /// The next pairs and their tokens.
    void look_at(const Corpus& text, std::span<const TokenPair> tokens);
    /// For each side what is unknown, and the other lines that do not come back: how much, and an example. White space and the
    /// case that the vocabulary lowers do not count.
    void report(const Say& say) const;

  private:
    struct Side {
        std::string name;
        const Vocabulary& vocabulary;
        bool keeps_latin;  // see loss_of()
        std::string SentencePair::*text;
        std::vector<std::int32_t> TokenPair::*tokens;
        std::int64_t unknown = 0;                          // words or characters
        std::int64_t with_unknown = 0;                     // lines
        std::string first_unknown = {};                    // a word or characters
        std::int64_t changed = 0;                          // lines
        std::pair<std::string, std::string> example = {};  // a word, and how it comes back
    };

    std::array<Side, 2> sides_;
    std::int64_t lines_ = 0;
};

}  // namespace heddle::app
