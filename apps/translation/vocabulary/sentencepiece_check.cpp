#include "apps/translation/vocabulary/sentencepiece_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
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

namespace {

// A double array: a node is a unit at some position; its position xor its offset is the base of its children. The child for a
// byte is the unit at (base xor byte) if its label is that byte; a lookup may read that unit for any byte. The value of a node
// with a leaf is at its base.
class DoubleArray {
  public:
    DoubleArray(std::string_view units, std::string_view texts)
        : units_(units.size() / sizeof(std::uint32_t)),
          texts_(texts),
          first_(units_.size(), none),
          next_(units_.size(), none),
          height_(units_.size(), unknown),
          rules_(units_.size(), 0) {
        std::memcpy(units_.data(), units.data(), units.size());
        for (std::size_t unit = units_.size(); unit-- > 0;) {
            const std::size_t base = unit ^ label(units_[unit]);
            if (label(units_[unit]) > 0xff || base >= units_.size()) continue;
            next_[unit] = first_[base];
            first_[base] = static_cast<std::uint32_t>(unit);
        }
    }

    void check_all() { check_children(base_of(0), 0); }

  private:
    static constexpr std::uint16_t unknown = std::numeric_limits<std::uint16_t>::max();
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

    // The fields of a unit, as in darts.h.
    static std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
    static std::uint32_t label(std::uint32_t unit) { return unit & (1u << 31 | 0xff); }
    static bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
    static std::uint32_t value(std::uint32_t unit) { return unit & ~(1u << 31); }

    std::size_t base_of(std::size_t node) const {
        const std::size_t base = node ^ offset(units_[node]);
        check((base | 0xff) < units_.size(), "a rule leads to unit {} of {}", base | 0xff, units_.size());
        return base;
    }

    void check_text(std::uint32_t begin) const {
        check(begin < texts_.size(), "a rule's text begins at byte {} of {}", begin, texts_.size());
        const std::string_view text = texts_.substr(begin, texts_.find('\0', begin) - begin);
        check(text.size() <= longest_piece, "a rule's text has {} bytes; wanted at most {}", text.size(), longest_piece);
        check(is_utf8(text), "a rule's text is not UTF-8");
    }

    // Computes how deep and through how many rules a lookup can get from this base. Recursion ends at the longest rule, even in
    // a cycle; a base shared by several nodes is visited once.
    void check_children(std::size_t base, std::size_t depth) {
        check(depth <= longest_piece, "a rule is for more than {} bytes", longest_piece);
        std::size_t height = 0, rules = 0;
        for (std::uint32_t child = first_[base]; child != none; child = next_[child]) {
            const std::uint32_t unit = units_[child];
            const std::size_t next = base_of(child);
            if (has_leaf(unit)) check_text(value(units_[next]));
            if (height_[next] == unknown) check_children(next, depth + 1);
            height = std::max<std::size_t>(height, height_[next] + 1u);
            rules = std::max<std::size_t>(rules, rules_[next] + (has_leaf(unit) ? 1u : 0u));
        }
        check(depth + height <= longest_piece, "a rule is for more than {} bytes", longest_piece);
        check(rules <= most_nested_rules, "more than {} rules begin alike", most_nested_rules);
        height_[base] = static_cast<std::uint16_t>(height);
        rules_[base] = static_cast<std::uint8_t>(rules);
    }

    std::vector<std::uint32_t> units_;
    std::string_view texts_;
    std::vector<std::uint32_t> first_;   // a base's first child
    std::vector<std::uint32_t> next_;    // a unit's next sibling: siblings are at (base xor label) for one base
    std::vector<std::uint16_t> height_;  // of the subtree at a base, in bytes of a text
    std::vector<std::uint8_t> rules_;    // maximum number of rules on a path down from a base
};

}  // namespace

void check_character_map(std::string_view map) {
    if (map.empty()) return;  // no rules
    std::uint32_t size = 0;
    check(map.size() > sizeof size, "it has {} bytes", map.size());
    std::memcpy(&size, map.data(), sizeof size);
    map.remove_prefix(sizeof size);
    check(size < map.size() && size >= sizeof(std::uint32_t) && size % sizeof(std::uint32_t) == 0,
          "its trie claims {} of {} bytes", size, map.size());
    check(map.back() == '\0', "its last text has no end");
    DoubleArray(map.substr(0, size), map.substr(size)).check_all();
}

}  // namespace heddle::app
