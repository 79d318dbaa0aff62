#include "apps/chapters/clauses.h"

#include <algorithm>
#include <iterator>

#include "apps/lab/kit.h"
#include "apps/lab/toy_translation.h"
#include "nn/search/search.h"

namespace heddle::chapters {
namespace {

constexpr std::int32_t subjects = 8, verbs = 8, objects = 16, joints = 2;
constexpr std::int32_t first_verb = lab::first_word + subjects, first_object = first_verb + verbs;
constexpr std::int32_t first_joint = first_object + objects;

std::int32_t draw(std::int32_t first, std::int32_t count, Sequence& numbers) {
    return first + static_cast<std::int32_t>(numbers.below(static_cast<std::uint64_t>(count)));
}

void add_clause(ClausePair& pair, Sequence& numbers) {
    const std::size_t begin = pair.source.size();
    pair.source.push_back(draw(lab::first_word, subjects, numbers));
    for (std::uint64_t left = numbers.below(5); left > 0; --left) pair.source.push_back(draw(first_object, objects, numbers));
    pair.source.push_back(draw(first_verb, verbs, numbers));
    pair.origins.push_back(begin);
    pair.origins.push_back(pair.source.size() - 1);
    for (std::size_t i = begin + 1; i + 1 < pair.source.size(); ++i) pair.origins.push_back(i);
}

}  // namespace

ClausePair ClausePair::cut(std::size_t count) const {
    ClausePair result = *this;
    const std::size_t left = std::min(count, source.size());
    result.source.resize(left);
    result.target.resize(left);
    result.origins.resize(left);
    result.words = static_cast<std::int64_t>(left);
    return result;
}

std::vector<ClausePair> draw_clauses(std::size_t count, Sequence& numbers) {
    std::vector<ClausePair> pairs(count);
    for (ClausePair& pair : pairs) {
        for (std::uint64_t left = 1 + numbers.below(4); left > 0; --left) {
            add_clause(pair, numbers);
            if (left == 1) continue;
            pair.origins.push_back(pair.source.size());
            pair.source.push_back(draw(first_joint, joints, numbers));
        }
        for (const std::size_t origin : pair.origins) pair.target.push_back(pair.source[origin]);
        pair.words = static_cast<std::int64_t>(pair.source.size());
    }
    return pairs;
}

std::vector<ClausePair> by_length(std::span<const ClausePair> pairs, std::int64_t words, bool within) {
    std::vector<ClausePair> result;
    std::ranges::copy_if(pairs, std::back_inserter(result),
                         [&](const ClausePair& pair) { return (pair.words <= words) == within; });
    return result;
}

std::vector<app::TokenPair> token_pairs(std::span<const ClausePair> pairs) { return {pairs.begin(), pairs.end()}; }

std::vector<app::TokenPair> short_pairs(std::size_t count, Sequence& numbers) {
    return token_pairs(by_length(draw_clauses(count, numbers), short_words, true));
}

std::vector<std::vector<std::int32_t>> sources_of(std::span<const app::TokenPair> pairs) {
    std::vector<std::vector<std::int32_t>> sources;
    for (const app::TokenPair& pair : pairs) {
        sources.push_back(pair.source);
        sources.back().push_back(app::eos_id);
    }
    return sources;
}

Tensor filled_up(std::span<const std::int32_t> tokens, const Spans& packed, const Spans& padded, std::int32_t filling) {
    Tensor result = Tensor::full({padded.rows()}, filling, DType::i32);
    for (std::int64_t i = 0; i < packed.size(); ++i)
        std::copy_n(tokens.begin() + packed[i].start, packed[i].length, result.mutable_data<std::int32_t>() + padded[i].start);
    return result;
}

nn::TransformerOptions clause_transformer() {
    nn::TransformerOptions options = lab::small_transformer(first_joint + joints);
    options.positions = nn::Positions::learned;
    options.position_table = longest_sentence + 5;
    return options;
}

std::vector<double> teach_clauses(nn::Transformer& model, std::span<const app::TokenPair> pairs, std::int64_t steps,
                                  std::uint64_t key) {
    Sequence numbers(key);
    return lab::train(model, {.steps = steps, .lr = 5e-3, .warmup = 30, .clip = 1}, [&](std::int64_t) {
        std::vector<std::int64_t> batch(32);
        for (std::int64_t& index : batch) index = static_cast<std::int64_t>(numbers.below(pairs.size()));
        return lab::translation_loss(model, app::make_batch(pairs, batch));
    });
}

std::vector<std::vector<std::int32_t>> translated(const nn::Transformer& model, std::span<const app::TokenPair> pairs) {
    std::vector<std::vector<std::int32_t>> result;
    for (nn::HypothesisLists::value_type& found : nn::beam_search(model, sources_of(pairs), {.beam = 1}))
        result.push_back(std::move(found[0].tokens));
    return result;
}

double share_right(const std::vector<std::vector<std::int32_t>>& translations, std::span<const app::TokenPair> pairs) {
    double right = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) right += translations[i] == pairs[i].target;
    return right / static_cast<double>(pairs.size());
}

}  // namespace heddle::chapters
