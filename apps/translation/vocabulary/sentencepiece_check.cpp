#include "apps/translation/vocabulary/sentencepiece_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/character_map.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// Calls `take` for each field; of repeated fields the last one counts. Error when the message ends within a field.
template <class Take>
void each_field(std::string_view message, const Take& take) {
    ProtobufFields fields(message);
    while (fields.next()) take(fields);
    check(fields.complete(), "not a message of sentencepiece_model.proto");
}

class ModelCheck {
  public:
    // Returns the message without its self-test.
    std::string run(std::string_view message) {
        std::string kept;
        kept.reserve(message.size());
        each_field(message, [&](const ProtobufFields& field) {
            if (field.wire == Wire::bytes) take(field);
            if (field.field != 4) kept += field.all;
        });
        check_nested_symbols();
        return kept;
    }

  private:
    void take(const ProtobufFields& part) {
        switch (part.field) {
            case 1: return check_piece(part.bytes);
            case 2: return check_trainer(part.bytes);
            case 3:
            case 5: return check_normalizer(part.bytes);
            default: return;
        }
    }

    void check_piece(std::string_view message) {
        constexpr std::int32_t user_defined = 4;
        const std::size_t id = pieces_++;
        check(id < most_pieces, "it has more than {} tokens", most_pieces);
        std::string_view piece;
        float score = 0;
        std::int32_t type = 0;
        each_field(message, [&](const ProtobufFields& field) {
            if (field.field == 1 && field.wire == Wire::bytes) piece = field.bytes;
            if (field.field == 2 && field.wire == Wire::fixed32)
                score = std::bit_cast<float>(static_cast<std::uint32_t>(field.number));
            // Truncated as in protobuf.
            if (field.field == 3 && field.wire == Wire::varint) type = static_cast<std::int32_t>(field.number);
        });
        check(!piece.empty() && piece.size() <= longest_piece, "token {} has {} bytes; wanted 1 to {}", id, piece.size(),
              longest_piece);
        check(piece.find('\0') == std::string_view::npos, "token {} holds a NUL", id);
        check(is_utf8(piece), "token {} is not UTF-8", id);
        check(std::isfinite(score), "the score of token {} is {}", id, score);
        if (type == user_defined) symbols_.push_back(piece);
    }

    // Checks the texts that can occur in translations: for unknown tokens, and the names of unk, bos, eos and pad.
    static void check_trainer(std::string_view message) {
        each_field(message, [](const ProtobufFields& field) {
            if (field.field < 44 || field.field > 48 || field.wire != Wire::bytes) return;
            check(field.bytes.size() <= longest_piece && is_utf8(field.bytes),
                  "the name of a special token is not UTF-8 or too long");
        });
    }

    static void check_normalizer(std::string_view message) {
        each_field(message, [](const ProtobufFields& field) {
            if (field.field != 2 || field.wire != Wire::bytes) return;
            try {
                check_character_map(field.bytes);
            } catch (const Error& error) {
                fail_with("its normalisation rules are not sound: {}", error.what());
            }
        });
    }

    void check_nested_symbols() {
        std::sort(symbols_.begin(), symbols_.end());
        std::vector<std::string_view> nested;  // each is a prefix of the next
        for (const std::string_view symbol : symbols_) {
            while (!nested.empty() && !symbol.starts_with(nested.back())) nested.pop_back();
            nested.push_back(symbol);
            check(nested.size() <= most_nested_symbols, "more than {} of its user-defined symbols begin alike",
                  most_nested_symbols);
        }
    }

    std::size_t pieces_ = 0;
    std::vector<std::string_view> symbols_;
};

}  // namespace

std::string checked_sentencepiece_model(std::string_view bytes, std::string_view name) {
    check(bytes.size() <= largest_model, "{}: it has {} bytes; a vocabulary has at most {}", name, bytes.size(), largest_model);
    try {
        return ModelCheck().run(bytes);
    } catch (const Error& error) {
        fail_with("{}: not a vocabulary ({}); wanted a SentencePiece model, or the vocab.tsv of a word or char vocabulary", name,
                  error.what());
    }
}

}  // namespace heddle::app
