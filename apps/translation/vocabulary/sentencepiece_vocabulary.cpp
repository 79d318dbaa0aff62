// The only file that calls SentencePiece.
#include "apps/translation/vocabulary/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
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

/// A model file is a protobuf message, and protobuf merges what is appended: this is the message normalizer_spec (field 3) with
/// the name (field 1) "heddle-lowercase". SentencePiece loads such a model like any other and does not use the name.
constexpr std::string_view lowercase_mark = "\x1a\x12\x0a\x10heddle-lowercase";

/// How a model file names the rules that it carries; the first two names are SentencePiece's.
constexpr std::pair<Normalization, std::string_view> rule_names[] = {
    {Normalization::none, "identity"}, {Normalization::nfkc, "nmt_nfkc"}, {Normalization::nfc, "nfc"}};

std::string rule_name(Normalization normalization) {
    return std::string(std::ranges::find(rule_names, normalization, &std::pair<Normalization, std::string_view>::first)->second);
}

/// By the name of the model's first normalizer_spec, which lowercase_mark does not change.
std::optional<Normalization> normalization_of(std::string_view model) {
    ProtobufFields fields(model);
    while (fields.next() && fields.field != 3) continue;
    if (fields.field != 3 || fields.wire != Wire::bytes) return std::nullopt;
    for (ProtobufFields spec(fields.bytes); spec.next();)
        for (const auto& [normalization, name] : rule_names)
            if (spec.field == 1 && spec.bytes == name) return normalization;
    return std::nullopt;
}

class SentencePieceVocabulary final : public Vocabulary {
  public:
    SentencePieceVocabulary(std::string bytes, std::string_view name, bool lowercase)
        : bytes_(std::move(bytes)), lowercase_(lowercase || bytes_.ends_with(lowercase_mark)) {
        const auto status = processor_.LoadFromSerializedProto(checked_sentencepiece_model(bytes_, name));
        check(status.ok() && processor_.GetPieceSize() > 0,
              "{}: not a vocabulary; wanted a SentencePiece model, or the vocab.tsv of a word or char vocabulary", name);
        check(processor_.pad_id() == pad_id && processor_.unk_id() == unk_id && processor_.bos_id() == bos_id &&
                  processor_.eos_id() == eos_id,
              "{}: the ids of pad, unk, bos and eos are {}, {}, {} and {}; wanted 0, 1, 2 and 3 (train the SentencePiece model "
              "with "
              "--pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3)",
              name, processor_.pad_id(), processor_.unk_id(), processor_.bos_id(), processor_.eos_id());
        type_ = is_bpe() ? VocabularyType::bpe : VocabularyType::unigram;
    }

    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<int> ids;
        const auto status = lowercase_ ? processor_.Encode(to_lower(text), &ids) : processor_.Encode(text, &ids);
        check(status.ok(), "vocabulary: SentencePiece could not encode a line: {}", status.ToString());
        return ids;
    }

    std::vector<std::string> unknown_parts(std::string_view text) const override {
        std::vector<std::string> pieces, unknown;
        const auto status = lowercase_ ? processor_.Encode(to_lower(text), &pieces) : processor_.Encode(text, &pieces);
        check(status.ok(), "vocabulary: SentencePiece could not encode a line: {}", status.ToString());
        // By the ids: unknown characters together may be spelled like a token, such as "<s>".
        const std::vector<std::int32_t> ids = encode(text);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (ids[i] == unk_id) unknown.push_back(std::move(pieces[i]));
        return unknown;
    }

    std::string decode(std::span<const std::int32_t> ids) const override {
        for (const std::int32_t id : ids) check_id(id);
        std::string text;
        const auto status = processor_.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
        check(status.ok(), "vocabulary: SentencePiece could not decode a line: {}", status.ToString());
        std::replace(text.begin(), text.end(), '\n', ' ');
        return text;
    }

    std::int64_t size() const override { return processor_.GetPieceSize(); }

    std::string token(std::int32_t id) const override {
        check_id(id);
        return processor_.IdToPiece(id);
    }

    VocabularyType type() const override { return type_; }
    bool lowercase() const override { return lowercase_; }
    std::optional<Normalization> normalization() const override { return normalization_of(bytes_); }
    std::string serialized() const override { return bytes_; }

  private:
    void check_id(std::int32_t id) const {
        check(id >= 0 && id < size(), "vocabulary: there is no token {}; the ids are 0 to {}", id, size() - 1);
    }

    /// BPE gives its pieces the scores 0, -1, -2, ... in the order of the merges; unigram scores are log-probabilities, never
    /// exactly such a row.
    bool is_bpe() const {
        const int first = eos_id + 1, last = std::min(first + 8, processor_.GetPieceSize());
        for (int id = first; id < last; ++id) {
            if (processor_.GetScore(id) != static_cast<float>(first - id)) return false;
        }
        return true;
    }

    std::string bytes_;
    SentencePieceProcessor processor_;
    bool lowercase_;
    VocabularyType type_ = VocabularyType::bpe;
};

/// Hands the lines to the trainer, in lower case where that is wanted, without a file.
class LinesInMemory final : public sentencepiece::SentenceIterator {
  public:
    LinesInMemory(std::span<const std::string_view> lines, bool lowercase) : lines_(lines), lowercase_(lowercase) { prepare(); }
    bool done() const override { return next_ == lines_.size(); }
    void Next() override {
        ++next_;
        prepare();
    }
    const std::string& value() const override { return line_; }
    sentencepiece::util::Status status() const override { return {}; }

  private:
    void prepare() {
        if (done()) return;
        if (lowercase_)
            line_ = to_lower(lines_[next_]);
        else
            line_ = lines_[next_];
    }

    std::span<const std::string_view> lines_;
    bool lowercase_;
    std::size_t next_ = 0;
    std::string line_;
};

struct Trained {
    std::string model;    ///< empty when it failed
    std::string message;  ///< of the failure
};

Trained train(const VocabularyOptions& options, std::int64_t size, std::span<const std::string_view> lines) {
    LinesInMemory iterator(lines, options.lowercase);
    Trained out;
    const bool nfc = options.normalization == Normalization::nfc;  // SentencePiece has the other rules
    // The unigram trainer adds up in as many parts as it has threads: their number is part of the result, so it is fixed. 3:
    // fatal only.
    const auto status = SentencePieceTrainer::Train({{"model_type", std::string(name(options.type))},
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

/// Turns SentencePiece's message into one that names a size that works. The bound that it names is not always one that works for
/// unigram (pruning ends below it), so the bound is tried.
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
    fail_with("vocabulary: SentencePiece could not train {} with size {} on {} lines: {}", name(options.type), options.size,
              lines.size(), message);
}

/// The unigram trainer ends the program when no text is left after its own cleaning, so this is asked before: a line that it
/// does not skip (too long, or with its unknown sign U+2585) and that has a letter or a digit.
bool is_usable(std::string_view line) {
    if (line.size() > 4192 || line.find("\u2585") != std::string_view::npos) return false;
    const std::u32string text = decode_utf8(line);
    return std::any_of(text.begin(), text.end(), is_word_character);
}

}  // namespace

std::unique_ptr<Vocabulary> load_sentencepiece(std::string bytes, std::string_view name, bool lowercase) {
    return std::make_unique<SentencePieceVocabulary>(std::move(bytes), name, lowercase);
}

std::unique_ptr<Vocabulary> train_sentencepiece(const VocabularyOptions& options, std::span<const std::string_view> lines) {
    check(std::any_of(lines.begin(), lines.end(), is_usable), "vocabulary: none of the {} lines has a word to train on",
          lines.size());
    check(options.size > 0 && options.size <= 1'000'000, "vocabulary: size is {}; wanted 1 to 1000000", options.size);
    Trained trained = train(options, options.size, lines);
    if (trained.model.empty()) fail_with_size(options, lines, trained.message);
    if (options.lowercase) trained.model += lowercase_mark;
    return load_sentencepiece(std::move(trained.model), "the trained vocabulary", options.lowercase);
}

}  // namespace heddle::app
