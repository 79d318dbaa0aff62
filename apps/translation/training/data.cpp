#include "apps/translation/training/data.h"

#include <algorithm>

#include "apps/terminal/option_error.h"
#include "core/error.h"
#include "core/text.h"

#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// A vocabulary to train.
struct WantedVocabulary {
    std::vector<std::string_view> lines;
    std::string text;                   // the name of these lines in messages
    std::optional<std::int64_t>& size;  // receives the size that it gets
    std::string_view option;            // of the size
};

// One vocabulary of the wanted size. SentencePiece without a size: of the default size, or else the largest of a falling row that
// the text allows, or else the smallest.
std::shared_ptr<const Vocabulary> train_one(const VocabularyRequest& request, const WantedVocabulary& wanted, const Say& say) {
    VocabularyOptions options{.type = request.type,
                              .size = wanted.size.value_or(is_sentencepiece(request.type) ? default_subwords : 0),
                              .min_count = request.min_count,
                              .lowercase = request.lowercase,
                              .max_lines = request.max_lines,
                              .normalization = request.normalization.value_or(Normalization::nfc)};
    const bool may_shrink = !wanted.size && is_sentencepiece(request.type);
    for (bool smallest = false;;) try {
            std::shared_ptr<const Vocabulary> vocabulary = train_vocabulary(options, wanted.lines);
            if (may_shrink && options.size != default_subwords)
                say(fmt::format("the text is too small for {} tokens: the vocabulary has {}", default_subwords, options.size));
            wanted.size = options.size;
            return vocabulary;
        } catch (const VocabularyTextError& error) {
            fail_with("{}: {}", wanted.text, error.what());
        } catch (const VocabularySizeError& error) {
            if (!may_shrink || smallest) fail_with("{}; use {} {}", error.what(), wanted.option, error.size_that_works);
            smallest = error.size_that_works > options.size;
            if (smallest) options.size = error.size_that_works;
            while (options.size > error.size_that_works) options.size = options.size * 3 / 4;
        }
}

std::string digest_of(const std::vector<TokenPair>& pairs) {
    PairsDigest digest;
    for (const TokenPair& pair : pairs) digest.add(pair.source, pair.target);
    return digest.text();
}

// What the file is goes into the request, and so into the run's configuration.
Vocabularies load_given(VocabularyRequest& request, const Say& say) {
    Vocabularies both;
    both.source = both.target = Vocabulary::load(request.model_file, request.lowercase);
    check_option(!request.type_given || request.type == both.source->type(), {"vocab-type", "vocab-model"},
                 fmt::format("--vocab-model {}: it is a {} vocabulary; leave out --vocab-type {}", request.model_file,
                             both.source->kind(), word_of(request.type)));
    const std::optional<Normalization> normalization = both.source->normalization();
    check_option(!request.normalization_given || request.normalization == normalization, {"vocab-normalization", "vocab-model"},
                 fmt::format("--vocab-model {}: it normalises text by its own rules ({}); leave out --vocab-normalization {}",
                             request.model_file, normalization ? word_of(*normalization) : "of another kind",
                             word_of(request.normalization.value_or(Normalization::nfc))));
    check_option(request.size.value_or(0) == 0 || request.size == both.source->size(), {"vocab-size", "vocab-model"},
                 fmt::format("--vocab-model {}: it has {} tokens; leave out --vocab-size {}", request.model_file,
                             both.source->size(), request.size.value_or(0)));
    request.type = both.source->type();
    request.size = both.source->size();
    request.lowercase = both.source->lowercase();
    request.normalization = normalization;
    say(fmt::format("vocabulary: {} {} tokens from {}{}", grouped_text(both.source->size()), both.source->kind(),
                    request.model_file, request.lowercase ? ", in lower case" : ""));
    return both;
}

}  // namespace

void check_training_text(const DataOptions& options) {
    check_option(options.reads_columns() || (!options.source.empty() && !options.target.empty()), {"train", "source", "target"},
                 fmt::format("--train {} needs the file endings of both languages: --source de --target en", options.train));
    check_option(!options.reads_columns() || options.format == TextFormat::automatic, {"tsv", "format"},
                 fmt::format("--tsv is a format of its own; leave out --format {}", word_of(options.format)));
}

void check_is_plain(const std::string& option, const std::string& path) {
    check_option(
        !is_prepared(path), {option},
        fmt::format("--{} {}: it is a prepared text, which only heddle train --train reads; give the PREFIX of plain text",
                    option, path));
}

Reading reading_of(const DataOptions& options, const Say& say) {
    return {.tsv = options.reads_columns(),
            .columns = options.tsv_columns,
            .replace_invalid = options.replace_invalid,
            .say = say,
            .format = options.format,
            .part = options.text.empty() ? std::optional<TextPart>() : TextPart{.seed = options.text_seed}};
}

std::vector<std::filesystem::path> input_files(const DataOptions& options, const VocabularyRequest& vocabulary) {
    std::vector<std::filesystem::path> files;
    if (!vocabulary.model_file.empty()) files.emplace_back(vocabulary.model_file);
    for (const std::string& prefix : {options.training_text(), options.valid}) {
        if (prefix.empty() || is_prepared(prefix)) continue;
        for (const std::string& file : corpus_files(prefix, options.source, options.target, reading_of(options, {})))
            files.emplace_back(file);
    }
    return files;
}

namespace {

// Both parts of a language model's file.
TrainingText read_parts(const DataOptions& options, const Say& say, std::shared_ptr<const PreparedText> prepared, bool training) {
    TrainingText text{.training = {}, .validation = {}, .prepared = std::move(prepared)};
    Reading reading = reading_of(options, say);
    if (training && text.prepared == nullptr) text.training = read_corpus(options.text, {}, {}, reading);
    reading.part->held_out = true;
    text.validation = read_corpus(options.text, {}, {}, reading);
    text.training_names = text.validation_names = training_text_names(options);
    text.validation_names.text += ", held out";
    if (text.validation.size() == 0)
        say(fmt::format("{}: too few lines to hold one out: nothing will be validated, and no best model kept", options.text));
    return text;
}

}  // namespace

TrainingText read_training_text(const DataOptions& options, const Say& say, std::shared_ptr<const PreparedText> prepared,
                                bool training) {
    if (!options.text.empty()) return read_parts(options, say, std::move(prepared), training);
    check_option(!options.train.empty(), {"train", "source", "target", "task"},
                 "nothing to learn from; give --train PREFIX --source de --target en, or --task numbers");
    if (prepared == nullptr) check_is_plain("train", options.train);
    check_is_plain("valid", options.valid);
    if (prepared == nullptr || !options.valid.empty()) check_training_text(options);
    check_option(options.train != standard_input || options.valid != standard_input, {"train", "valid"},
                 "--train and --valid cannot both be standard input; one of them has to be a file");
    const Reading reading = reading_of(options, say);
    TrainingText text{.training = {}, .validation = {}, .prepared = std::move(prepared)};
    text.training_names.text = "--train " + options.train;
    text.validation_names.text = "--valid " + options.valid;
    std::int64_t left_out = text.prepared != nullptr ? text.prepared->header().left_out : 0;
    const bool in_memory = training && text.prepared == nullptr;
    if (in_memory) {
        TrainingPairs pairs = without_empty_sides(read_corpus(options.train, options.source, options.target, reading));
        left_out = pairs.left_out;
        text.training = std::move(pairs.corpus);
        text.training_names = training_text_names(options);
    }
    if (left_out > 0) say(fmt::format("{} training pairs with an empty side are left out", grouped_text(left_out)));
    if (in_memory)
        check(text.training.size() > 0, "{}: there is no training pair; wanted lines with text on both sides", options.train);
    if (!options.valid.empty()) {
        text.validation = read_corpus(options.valid, options.source, options.target, reading);
        text.validation_names = text_names("valid", options.valid, options);
    } else
        say("no --valid PREFIX: nothing will be validated, and no best model kept");
    if (options.train == standard_input || options.valid == standard_input)
        say("text from standard input is not kept: to repeat the run, or to go on with it, give the same text again");
    return text;
}

Vocabularies make_vocabularies(VocabularyRequest& request, const Corpus& text, const Say& say, const TextNames& names) {
    VocabularyLines lines{.source = text.source_views(), .target = text.target_views(), .names = names};
    if (std::ranges::all_of(lines.source, [](std::string_view line) { return line.empty(); })) lines.source.clear();
    return make_vocabularies(request, lines, say);
}

Vocabularies make_vocabularies(VocabularyRequest& request, const VocabularyLines& lines, const Say& say) {
    if (!request.model_file.empty()) return load_given(request, say);
    Vocabularies both;
    if (request.shared) {
        std::vector<std::string_view> all = lines.source;
        all.insert(all.end(), lines.target.begin(), lines.target.end());
        const bool text = lines.source.empty();  // of a language model
        const std::string name = text ? lines.names.target : lines.names.source + " and " + lines.names.target;
        both.source = both.target = train_one(request, {std::move(all), name, request.size, "--vocab-size"}, say);
        say(fmt::format("vocabulary: {} {} tokens{}", grouped_text(both.source->size()), word_of(request.type),
                        text ? "" : " for both languages"));
        return both;
    }
    if (!request.source_size) request.source_size = request.size;
    if (!request.target_size) request.target_size = request.size;
    both.source = train_one(request, {lines.source, lines.names.source, request.source_size, "--source-vocab-size"}, say);
    both.target = train_one(request, {lines.target, lines.names.target, request.target_size, "--target-vocab-size"}, say);
    say(fmt::format("vocabularies: {} and {} {} tokens", grouped_text(both.source->size()), grouped_text(both.target->size()),
                    word_of(request.type)));
    return both;
}

TextDigests digests(const TrainingData& data) {
    Digest validation_text;
    for (const SentencePair& pair : data.validation_text.pairs) validation_text.add(pair.source + "\n" + pair.target + "\n");
    return {.training_pairs = data.pairs().size(),
            .training = data.prepared != nullptr ? data.prepared->header().text_digest : digest_of(data.training),
            .validation_pairs = static_cast<std::int64_t>(data.validation.size()),
            .validation = digest(digest_of(data.validation) + validation_text.text())};
}

TextNames text_names(const std::string& option, const std::string& prefix, const DataOptions& options) {
    const std::string text = fmt::format("--{} {}", option, prefix);
    if (!options.text.empty()) return {text, spoken_name(prefix), spoken_name(prefix)};
    const std::vector<std::string> files = corpus_files(prefix, options.source, options.target, reading_of(options, {}));
    if (files.size() > 1) return {text, spoken_name(files.front()), spoken_name(files.back())};
    return {text, spoken_name(prefix) + ", sources", spoken_name(prefix) + ", targets"};
}

TextNames training_text_names(const DataOptions& options) {
    return text_names(options.text.empty() ? "train" : "text", options.training_text(), options);
}

TrainingData encode_training_data(TrainingText text, Vocabularies vocabularies, const Say& say) {
    TrainingData data;
    data.prepared = std::move(text.prepared);
    data.training_names = std::move(text.training_names);
    data.validation_names = std::move(text.validation_names);
    data.training = encode_corpus(text.training, *vocabularies.source, *vocabularies.target);
    data.validation = encode_corpus(text.validation, *vocabularies.source, *vocabularies.target);
    const auto note_loss = [&](const TextNames& names, const Corpus& corpus, std::span<const TokenPair> pairs) {
        TextLoss loss(names, vocabularies);
        loss.look_at(corpus, pairs);
        loss.report(say);
    };
    if (say) {
        note_loss(data.training_names, text.training, data.training);
        note_loss(data.validation_names, text.validation, data.validation);
    }
    data.validation_text = std::move(text.validation);
    data.vocabularies = std::move(vocabularies);
    return data;
}

}  // namespace heddle::app
