// The only file that calls SentencePiece.
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/character_map.h"
#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using sentencepiece::SentencePieceProcessor;
using sentencepiece::SentencePieceTrainer;

/// A model file is a protobuf message, and appending to one merges: these bytes are the message normalizer_spec (field 3) with
/// the name (field 1) "heddle-lowercase". SentencePiece loads such a model as usual and ignores the name.
constexpr std::string_view lowercase_mark = "\x1a\x12\x0a\x10heddle-lowercase";

/// The names of rules in model files; the first two are SentencePiece's.
constexpr std::pair<Normalization, std::string_view> rule_names[] = {
    {Normalization::none, "identity"}, {Normalization::nfkc, "nmt_nfkc"}, {Normalization::nfc, "nfc"}};

std::string rule_name(Normalization normalization) {
    return std::string(std::ranges::find(rule_names, normalization, &std::pair<Normalization, std::string_view>::first)->second);
}

/// Determined by the name of the first normalizer_spec, which lowercase_mark does not change.
std::optional<Normalization> normalization_of(std::string_view model) {
    ProtobufFields fields(model);
    while (fields.next() && fields.field != 3) continue;
    if (fields.field != 3 || fields.wire != Wire::bytes) return std::nullopt;
    for (ProtobufFields spec(fields.bytes); spec.next();)
        for (const auto& [normalization, name] : rule_names)
            if (spec.field == 1 && spec.bytes == name) return normalization;
    return std::nullopt;
}

/// Names of TrainerSpec.model_type by number; the first is the default.
constexpr std::array<std::string_view, 5> algorithms = {"unigram", "unigram", "bpe", "SentencePiece word", "SentencePiece char"};
constexpr std::uint64_t bpe_algorithm = 2;

std::uint64_t algorithm_of(std::string_view model) {
    std::uint64_t algorithm = 0;
    for (ProtobufFields fields(model); fields.next();) {
        if (fields.field != 2 || fields.wire != Wire::bytes) continue;
        for (ProtobufFields spec(fields.bytes); spec.next();)
            if (spec.field == 3 && spec.wire == Wire::varint) algorithm = spec.number;
    }
    return algorithm;
}

/// The ">>fra<<" at the start of a text names the language to translate to; empty when there is none.
std::string_view language_tag(std::string_view text) {
    if (!text.starts_with(">>")) return {};
    const std::size_t end = text.find("<<", 2);
    return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 2);
}

/// The text with spaces in place of SentencePiece's sign for them, and without spaces in front.
std::string with_spaces(std::string text) {
    constexpr std::string_view sign = "\u2581";
    for (std::size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1))
        text.replace(at, sign.size(), " ");
    return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

class SentencePieceVocabulary final : public Vocabulary {
  public:
    SentencePieceVocabulary(std::string bytes, std::string_view name, bool lowercase, std::optional<TokenMap> map = {})
        : bytes_(std::move(bytes)), lowercase_(lowercase || bytes_.ends_with(lowercase_mark)), map_(std::move(map)) {
        const auto status = processor_.LoadFromSerializedProto(checked_sentencepiece_model(bytes_, name));
        check(status.ok() && processor_.GetPieceSize() > 0,
              "{}: not a vocabulary; wanted a SentencePiece model, or the vocab.tsv of a word or char vocabulary", name);
        if (map_)
            number_by_map(name);
        else
            number_tokens();
        const std::uint64_t algorithm = algorithm_of(bytes_);
        type_ = algorithm == bpe_algorithm ? VocabularyType::bpe : VocabularyType::unigram;
        kind_ = algorithm < algorithms.size() ? algorithms[algorithm] : algorithms.front();
    }

    std::vector<std::int32_t> encode(std::string_view text) const override {
        if (by_text()) return ids_of(pieces_in(text));
        std::vector<int> ids = split<int>(text);
        if (!ours_.empty())
            for (int& id : ids) id = ours_[static_cast<std::size_t>(id)];
        return ids;
    }

    std::vector<std::string> unknown_parts(std::string_view text) const override {
        std::vector<std::string> pieces = pieces_in(text), unknown;
        // Decided by ids, since the text of unknown characters may look like a token, such as "<s>".
        const std::vector<std::int32_t> ids = encode(text);
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (ids[i] != unk_id) continue;
            // A piece that the map lacks holds the sign for a space; one that the model lacks does not.
            if (std::string word = by_text() ? with_spaces(pieces[i]) : std::string(); !word.empty()) pieces[i] = std::move(word);
            unknown.push_back(std::move(pieces[i]));
        }
        return unknown;
    }

    std::string decode(std::span<const std::int32_t> ids) const override {
        for (const std::int32_t id : ids) check_id(id);
        std::string text = by_text() ? joined_texts(ids) : joined_ids(ids);
        std::replace(text.begin(), text.end(), '\n', ' ');
        return text;
    }

    std::int64_t size() const override {
        return models_.empty() ? processor_.GetPieceSize() : static_cast<std::int64_t>(models_.size());
    }

    std::string token(std::int32_t id) const override {
        constexpr const char* added[] = {"<pad>", "<unk>", "<s>", "</s>"};
        check_id(id);
        const int in_model = id_in_model(id);
        if (in_model < 0) return added[id];
        return by_text() ? map_->pieces[static_cast<std::size_t>(in_model)] : processor_.IdToPiece(in_model);
    }

    VocabularyType type() const override { return type_; }
    std::string_view kind() const override { return kind_; }
    bool lowercase() const override { return lowercase_; }
    std::optional<Normalization> normalization() const override { return normalization_of(bytes_); }
    std::string serialized() const override { return bytes_; }
    const TokenMap* token_map() const override { return map_ ? &*map_ : nullptr; }
    std::vector<std::int32_t> toolkit_ids() const override { return map_ ? models_ : Vocabulary::toolkit_ids(); }

  private:
    /// True if the tokens are the map's texts, not the pieces of the model.
    bool by_text() const { return map_ && !map_->pieces.empty(); }

    template <class Piece>
    std::vector<Piece> split(std::string_view text) const {
        std::vector<Piece> pieces;
        const auto status = lowercase_ ? processor_.Encode(to_lower(text), &pieces) : processor_.Encode(text, &pieces);
        check(status.ok(), "vocabulary: SentencePiece could not encode a line: {}", status.ToString());
        return pieces;
    }

    std::vector<std::string> pieces_in(std::string_view text) const {
        const std::string_view tag = has_languages_ ? language_tag(text) : std::string_view();
        std::vector<std::string> pieces = split<std::string>(text.substr(tag.size()));
        if (!tag.empty()) pieces.emplace(pieces.begin(), tag);
        return pieces;
    }

    std::vector<std::int32_t> ids_of(std::span<const std::string> pieces) const {
        std::vector<std::int32_t> ids;
        for (const std::string& piece : pieces) {
            const auto found = texts_.find(piece);
            ids.push_back(found == texts_.end() ? unk_id : found->second);
        }
        return ids;
    }

    std::string joined_ids(std::span<const std::int32_t> ids) const {
        std::vector<int> models;
        for (const std::int32_t id : ids)
            if (const int in_model = id_in_model(id); in_model >= 0) models.push_back(in_model);
        return joined(models);
    }

    std::string joined_texts(std::span<const std::int32_t> ids) const {
        std::vector<std::string> pieces;
        for (const std::int32_t id : ids) {
            if (id == unk_id)
                pieces.push_back(processor_.IdToPiece(processor_.unk_id()));
            else if (id > eos_id)
                pieces.push_back(token(id));
        }
        // The model keeps the sign for a space in pieces that only the other language's model has.
        return with_spaces(joined(pieces));
    }

    template <class Piece>
    std::string joined(const std::vector<Piece>& pieces) const {
        std::string text;
        const auto status = processor_.Decode(pieces, &text);
        check(status.ok(), "vocabulary: SentencePiece could not decode a line: {}", status.ToString());
        return text;
    }

    void check_id(std::int32_t id) const {
        check(id >= 0 && id < size(), "vocabulary: there is no token {}; the ids are 0 to {}", id, size() - 1);
    }

    /// Models may number their tokens in any way; SentencePiece's default has no pad. Here the special tokens come first, and
    /// the others keep their order.
    void number_tokens() {
        const std::vector<int> special{processor_.pad_id(), processor_.unk_id(), processor_.bos_id(), processor_.eos_id()};
        if (special == std::vector<int>{pad_id, unk_id, bos_id, eos_id}) return;
        models_ = special;
        for (int id = 0; id < processor_.GetPieceSize(); ++id)
            if (std::ranges::count(special, id) == 0) models_.push_back(id);
        invert_numbering();
    }

    void invert_numbering() {
        ours_.resize(static_cast<std::size_t>(processor_.GetPieceSize()));
        for (std::size_t id = 0; id < models_.size(); ++id)
            if (models_[id] >= 0) ours_[static_cast<std::size_t>(models_[id])] = static_cast<std::int32_t>(id);
    }

    void number_by_map(std::string_view name) {
        const TokenMap& map = *map_;
        try {
            models_ = map.toolkit_ids(processor_.GetPieceSize());
            check(!map.pieces.empty() || (map.unk == processor_.unk_id() && map.end == processor_.eos_id()),
                  "unk and end are {} and {}, but in the vocabulary they are {} and {}", map.unk, map.end, processor_.unk_id(),
                  processor_.eos_id());
        } catch (const Error& error) {
            fail_with("{}: its map of tokens is not sound: {}", name, error.what());
        }
        if (!by_text()) return invert_numbering();
        for (std::size_t id = eos_id + 1; id < models_.size(); ++id)
            if (const std::string& text = map.pieces[static_cast<std::size_t>(models_[id])]; !text.empty()) {
                texts_.emplace(text, static_cast<std::int32_t>(id));
                has_languages_ = has_languages_ || language_tag(text) == text;
            }
    }

    /// The toolkit's id if there is a map. Negative for a special token that the model or the toolkit lacks.
    int id_in_model(std::int32_t id) const { return models_.empty() ? id : models_[static_cast<std::size_t>(id)]; }

    std::string bytes_;
    SentencePieceProcessor processor_;
    bool lowercase_;
    std::optional<TokenMap> map_;
    std::vector<int> models_;         ///< our ids to the model's, or to the toolkit's if there is a map; empty if they are equal
    std::vector<std::int32_t> ours_;  ///< the model's ids to ours; empty if they are equal, or with texts_
    std::unordered_map<std::string_view, std::int32_t> texts_;  ///< our ids of the map's texts, but for special tokens
    bool has_languages_ = false;                                ///< some of the map's texts name languages
    VocabularyType type_ = VocabularyType::bpe;
    std::string_view kind_;
};

/// The trainer silently skips longer lines, and those with the sign that it uses for unknown characters.
constexpr std::size_t trainers_longest_line = 4192;
constexpr std::string_view trainers_sign = "\u2585";

/// Removes the longest beginning of a line that the trainer does not skip, and returns it. Cuts at a space if possible.
std::string_view take_part(std::string_view& line) {
    const std::size_t sign = line.find(trainers_sign);
    std::size_t end = std::min(sign, line.size());
    if (end > trainers_longest_line) {
        end = line.rfind(' ', trainers_longest_line);
        if (end == std::string_view::npos || end == 0)
            for (end = trainers_longest_line; (line[end] & 0xC0) == 0x80;) --end;
    }
    const std::string_view part = line.substr(0, end);
    line.remove_prefix(end == sign ? end + trainers_sign.size() : end);
    return part;
}

/// Feeds the lines to the trainer from memory, in lower case if wanted.
class LinesInMemory final : public sentencepiece::SentenceIterator {
  public:
    LinesInMemory(std::span<const std::string_view> lines, bool lowercase) : lines_(lines), lowercase_(lowercase) { Next(); }
    bool done() const override { return done_; }
    void Next() override {
        if (rest_.empty()) {
            done_ = next_ == lines_.size();
            if (done_) return;
            line_ = lowercase_ ? to_lower(lines_[next_]) : std::string(lines_[next_]);
            rest_ = line_;
            ++next_;
        }
        part_ = take_part(rest_);
    }
    const std::string& value() const override { return part_; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    std::span<const std::string_view> lines_;
    bool lowercase_;
    std::size_t next_ = 0;
    std::string line_, part_;
    std::string_view rest_;  // rest of the current line
    bool done_ = false;
};

struct Trained {
    std::string model;    ///< empty if training failed
    std::string message;  ///< the error message
};

Trained train(const VocabularyOptions& options, std::int64_t size, std::span<const std::string_view> lines) {
    LinesInMemory iterator(lines, options.lowercase);
    Trained out;
    const bool nfc = options.normalization == Normalization::nfc;  // SentencePiece has the other rules
    // The unigram trainer adds up in as many parts as it has threads: their number is part of the result, so it is fixed. 3:
    // fatal only.
    const auto status = SentencePieceTrainer::Train({{"model_type", std::string(word_of(options.type))},
                                                     {"vocab_size", std::to_string(size)},
                                                     {"character_coverage", "1.0"},
                                                     {"pad_id", std::to_string(pad_id)},
                                                     {"unk_id", std::to_string(unk_id)},
                                                     {"bos_id", std::to_string(bos_id)},
                                                     {"eos_id", std::to_string(eos_id)},
                                                     {"normalization_rule_name", rule_name(options.normalization)},
                                                     {"precompiled_charsmap", nfc ? nfc_character_map() : std::string()},
                                                     {"num_threads", "16"},
                                                     {"minloglevel", "3"}},
                                                    &iterator, &out.model);
    if (!status.ok()) {
        out.model.clear();
        out.message = status.ToString();
    }
    return out;
}

std::optional<std::int64_t> number_after(const std::string& message, std::string_view words) {
    const std::size_t at = message.find(words);
    if (at == std::string::npos) return std::nullopt;
    return std::strtoll(message.c_str() + at + words.size(), nullptr, 10);
}

/// Rewords SentencePiece's message to name a size that works. The limit in its message does not always work for unigram (pruning
/// ends below it), so it is tried.
[[noreturn]] void fail_with_size(const VocabularyOptions& options, std::span<const std::string_view> lines, std::string message) {
    if (message.find("smaller than required_chars") != std::string::npos) {
        const std::int64_t smallest = number_after(message, " vs ").value_or(0);
        throw VocabularySizeError(
            fmt::format("vocabulary: size {} is too small for this text ({} lines): the smallest that works is {} (one token for "
                        "each character)",
                        options.size, lines.size(), smallest),
            smallest);
    }
    std::int64_t size = options.size;
    while (const auto limit = number_after(message, "a value <= ")) {
        if (*limit >= size) break;
        size = *limit;
        message = train(options, size, lines).message;
        if (message.empty()) {
            throw VocabularySizeError(
                fmt::format("vocabulary: size {} is too large for this text ({} lines): the largest that works is {}",
                            options.size, lines.size(), size),
                size);
        }
    }
    fail_with("vocabulary: SentencePiece could not train {} with size {} on {} lines: {}", word_of(options.type), options.size,
              lines.size(), message);
}

/// True if SentencePiece's nmt_nfkc drops this character or replaces it by a space.
bool is_dropped_by_nfkc(char32_t c) {
    return c < 0x20 || c == 0x7F || c == 0x8F || c == 0x9F || (c >= 0x200B && c <= 0x200F) || c == 0xFEFF ||
           c == replacement_character;
}

/// Checked first, because the trainer ends the program when no text is left.
bool is_usable(std::string_view line, Normalization normalization) {
    constexpr char32_t space_sign = U'\u2581', unknown_sign = U'\u2585';
    const std::u32string text = decode_utf8(line);
    return std::any_of(text.begin(), text.end(), [&](char32_t c) {
        if (c == U'\0' || c == space_sign || c == unknown_sign || is_space(c)) return false;
        return normalization != Normalization::nfkc || !is_dropped_by_nfkc(c);
    });
}

}  // namespace

std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase) {
    return std::make_unique<SentencePieceVocabulary>(std::move(bytes), name, lowercase);
}

std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase, TokenMap map) {
    return std::make_unique<SentencePieceVocabulary>(std::move(bytes), name, lowercase, std::move(map));
}

std::unique_ptr<Vocabulary> train_sentencepiece(const VocabularyOptions& options, std::span<const std::string_view> lines) {
    const bool usable = std::ranges::any_of(lines, [&](std::string_view line) { return is_usable(line, options.normalization); });
    if (!usable)
        throw VocabularyTextError(fmt::format(
            "vocabulary: SentencePiece takes none of the characters in the {} lines; --vocab-type char takes any", lines.size()));
    check(options.size > 0 && options.size <= 1'000'000, "vocabulary: size is {}; wanted 1 to 1000000", options.size);
    Trained trained = train(options, options.size, lines);
    if (trained.model.empty()) fail_with_size(options, lines, trained.message);
    if (options.lowercase) trained.model += lowercase_mark;
    return load_sentencepiece(std::move(trained.model), "the trained vocabulary", options.lowercase);
}

}  // namespace heddle::app
