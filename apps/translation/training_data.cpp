#include "apps/translation/training_data.h"

#include "apps/translation/training_log.h"
#include "apps/usage_error.h"
#include "core/digest.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::int64_t smallest_automatic_size = 16;

bool is_sentencepiece(const VocabularyRequest& request) { return request.type == "bpe" || request.type == "unigram"; }

// One vocabulary of the wished size; without a wish, of the default size or the largest of a falling row that the text allows.
std::shared_ptr<const Vocabulary> train_one(const VocabularyRequest& request, std::optional<std::int64_t>& wish,
                                            const std::vector<std::string>& lines, const Say& say) {
    VocabularyOptions options{.type = vocabulary_type(request.type),
                              .size = wish.value_or(is_sentencepiece(request) ? default_subwords : 0),
                              .min_count = request.min_count,
                              .lowercase = request.lowercase,
                              .max_lines = request.max_lines};
    const bool may_shrink = !wish && is_sentencepiece(request);
    for (std::unique_ptr<Vocabulary> vocabulary;; options.size = options.size * 3 / 4) try {
            vocabulary = train_vocabulary(options, lines);
            if (options.size != 0 && options.size != default_subwords && may_shrink)
                say(fmt::format("the text is too small for {} tokens: the vocabulary has {}", default_subwords, options.size));
            wish = options.size;
            return vocabulary;
        } catch (const Error&) {
            if (!may_shrink || options.size * 3 / 4 < smallest_automatic_size) throw;
        }
}

std::string digest_of(const std::vector<TokenPair>& pairs) {
    Digest digest;
    const auto add = [&](const std::vector<std::int32_t>& ids) {
        digest.add(std::as_bytes(std::span(ids)));
        digest.add(std::as_bytes(std::span(&eos_id, 1)));
    };
    for (const TokenPair& pair : pairs) {
        add(pair.source);
        add(pair.target);
    }
    return digest.text();
}

Vocabularies load_given(VocabularyRequest& request, const Say& say) {
    Vocabularies both;
    both.source = both.target = Vocabulary::load(request.model_file, request.lowercase);
    say(fmt::format("vocabulary: {} tokens from {}", grouped_text(both.source->size()), request.model_file));
    return both;
}

}  // namespace

TrainingText read_training_text(const DataOptions& options, const Say& say) {
    check_usage(!options.train.empty(), "nothing to learn from; give --train PREFIX --source de --target en, or --task numbers");
    check_usage(!options.source.empty() && !options.target.empty(),
                fmt::format("--train {} needs the file endings of both languages: --source de --target en", options.train));
    TrainingPairs pairs = without_empty_sides(read_corpus(options.train, options.source, options.target));
    if (pairs.left_out > 0) say(fmt::format("{} training pairs with an empty side are left out", grouped_text(pairs.left_out)));
    TrainingText text{.training = std::move(pairs.corpus), .validation = {}};
    check(text.training.size() > 0, "{}: there is no training pair; wanted lines with text in both files", options.train);
    if (!options.valid.empty())
        text.validation = read_corpus(options.valid, options.source, options.target);
    else
        say("no --valid PREFIX: nothing will be validated, and no best model kept");
    return text;
}

Vocabularies make_vocabularies(VocabularyRequest& request, const Corpus& text, const Say& say) {
    if (!request.model_file.empty()) return load_given(request, say);
    Vocabularies both;
    if (request.shared) {
        both.source = both.target = train_one(request, request.size, text.both_sides(), say);
        say(fmt::format("vocabulary: {} {} tokens for both languages", grouped_text(both.source->size()), request.type));
        return both;
    }
    if (!request.source_size) request.source_size = request.size;
    if (!request.target_size) request.target_size = request.size;
    both.source = train_one(request, request.source_size, text.sources(), say);
    both.target = train_one(request, request.target_size, text.targets(), say);
    say(fmt::format("vocabularies: {} and {} {} tokens", grouped_text(both.source->size()), grouped_text(both.target->size()),
                    request.type));
    return both;
}

TextDigests digests(const TrainingData& data) {
    Digest validation_text;
    for (const SentencePair& pair : data.validation_text.pairs) validation_text.add(pair.source + "\n" + pair.target + "\n");
    return {.training_pairs = static_cast<std::int64_t>(data.training.size()),
            .training = digest_of(data.training),
            .validation_pairs = static_cast<std::int64_t>(data.validation.size()),
            .validation = digest(digest_of(data.validation) + validation_text.text())};
}

TrainingData encode_training_data(TrainingText text, Vocabularies vocabularies) {
    TrainingData data;
    data.training = encode_corpus(text.training, *vocabularies.source, *vocabularies.target);
    data.validation = encode_corpus(text.validation, *vocabularies.source, *vocabularies.target);
    data.validation_text = std::move(text.validation);
    data.vocabularies = std::move(vocabularies);
    return data;
}

}  // namespace heddle::app
