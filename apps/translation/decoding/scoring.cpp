#include "apps/translation/decoding/scoring.h"

#include <algorithm>
#include <limits>

#include "apps/translation/batching/batch_tensors.h"
#include "apps/translation/batching/line_batches.h"
#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/concat/concat.h"

namespace heddle::app {
namespace {

constexpr std::int64_t tokens_scored_at_once = 3000;
constexpr std::int64_t logits_at_once = std::int64_t{1} << 21;  // 8 MB of each model

// Each model's last hidden values [target_tokens, d_model].
std::vector<Tensor> hidden_values(const Ensemble& models, const PairBatch& batch) {
    const Tensor source = Tensor::from(batch.source, {batch.source_tokens});
    const Tensor target = Tensor::from(batch.target_in, {batch.target_tokens});
    std::vector<Tensor> hidden;
    for (const nn::Transformer* model : models.models()) {
        const Variable memory = model->encode(source, batch.source_spans);
        hidden.push_back(model->decode(target, batch.target_spans, memory, batch.source_spans).value());
    }
    return hidden;
}

}  // namespace

// The logits stay where they are computed: one number of each token comes from there.
std::vector<double> token_log_probabilities(const Ensemble& models, const PairBatch& batch) {
    const NoGrad no_grad;
    const std::vector<Tensor> hidden = hidden_values(models, batch);
    const std::int64_t rows = std::max<std::int64_t>(1, logits_at_once / models.target_vocabulary());
    const std::span<const std::int32_t> targets(batch.target_out);
    std::vector<Tensor> parts;
    for (std::int64_t begin = 0; begin < batch.target_tokens; begin += rows) {
        const std::int64_t end = std::min(begin + rows, batch.target_tokens);
        std::vector<Tensor> logits;
        for (std::size_t m = 0; m < hidden.size(); ++m) logits.push_back(models.models()[m]->logits(hidden[m].slice(begin, end)));
        parts.push_back(log_probabilities(
            models.mixed(logits), targets.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))));
    }
    return kernels::concat_forward(parts, 0).to_vector();
}

Likelihood likelihood(const nn::Transformer& model, const PairBatch& batch) {
    const NoGrad no_grad;
    Tensor counts;
    const BatchTensors tensors = tensors_of(batch);
    model.loss(tensors.source, tensors.target_in, tensors.target_out, {}, &counts);
    const ops::LossStatistics statistics = ops::loss_statistics(counts);
    return {.nll = statistics.nll, .tokens = statistics.counted, .correct = statistics.correct};
}

namespace {

// With learned positions the decoder reads at most so many tokens. Longer targets lose the rest; says so in `scores`.
std::vector<TokenPair> fitting(std::span<const TokenPair> pairs, std::int64_t most, std::vector<PairScore>& scores) {
    std::vector<TokenPair> cut(pairs.begin(), pairs.end());
    for (std::size_t i = 0; i < cut.size(); ++i) {
        if (static_cast<std::int64_t>(cut[i].target.size()) < most) continue;
        cut[i].target.resize(static_cast<std::size_t>(most - 1));
        scores[i].complete = false;
    }
    return cut;
}

// A target that was cut is scored to its last token: the token after it stands where an end mark would.
void say_last_token(PairBatch& batch, std::int64_t sentence, const TokenPair& whole) {
    const Span span = batch.target_spans[sentence];
    batch.target_out[static_cast<std::size_t>(span.start + span.length - 1)] =
        whole.target[static_cast<std::size_t>(span.length - 1)];
}

}  // namespace

std::vector<PairScore> score_pairs(const Ensemble& models, std::span<const TokenPair> pairs, const ScoreBatches& score) {
    const std::int64_t most = models.longest_sentence().value_or(std::numeric_limits<std::int64_t>::max());
    std::vector<PairScore> scores(pairs.size());
    const std::vector<TokenPair> cut = fitting(pairs, most, scores);
    std::vector<std::int64_t> widths;
    for (const TokenPair& pair : cut) widths.push_back(pair.width());
    std::vector<PairBatch> batches;
    for (const std::vector<std::int64_t>& indices : batches_by_width(widths, tokens_scored_at_once)) {
        PairBatch& batch = batches.emplace_back(make_batch(cut, indices));
        for (std::size_t s = 0; s < indices.size(); ++s)
            if (const auto i = static_cast<std::size_t>(indices[s]); !scores[i].complete)
                say_last_token(batch, static_cast<std::int64_t>(s), pairs[i]);
    }
    const auto score_here = [&](const PairBatch& batch) { return token_log_probabilities(models, batch); };
    const std::vector<std::vector<double>> tokens = results_of(score, score_here, batches);
    for (std::size_t b = 0; b < batches.size(); ++b)
        for (std::int64_t s = 0; s < batches[b].sentences; ++s) {
            PairScore& each = scores[static_cast<std::size_t>(batches[b].indices[static_cast<std::size_t>(s)])];
            const Span span = batches[b].target_spans[s];
            each.tokens = span.length;
            for (std::int64_t t = span.start; t < span.start + span.length; ++t)
                each.log_probability += tokens[b][static_cast<std::size_t>(t)];
        }
    return scores;
}

LineScores score_lines(const Ensemble& models, const Vocabularies& vocabularies, std::span<const std::string> sources,
                       std::span<const std::string> targets, const UnknownSides& unknown, const ScoreBatches& score) {
    check(sources.size() == targets.size(), "scoring: {} sources, but {} targets", sources.size(), targets.size());
    std::vector<std::vector<std::int32_t>> from = encode_lines(*vocabularies.source, sources);
    std::vector<std::vector<std::int32_t>> to = encode_lines(*vocabularies.target, targets);
    if (unknown.source != nullptr) unknown.source->look_at(sources, from);
    if (unknown.target != nullptr) unknown.target->look_at(targets, to);
    LineScores result;
    result.cut_sources = cut_to(from, models.position_table() - 1);
    std::vector<TokenPair> pairs;
    for (std::size_t i = 0; i < from.size(); ++i) pairs.push_back({std::move(from[i]), std::move(to[i])});
    result.scores = score_pairs(models, pairs, score);
    return result;
}

}  // namespace heddle::app
