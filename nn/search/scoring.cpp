#include "nn/search/scoring.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/concat/concat.h"
#include "kernels/softmax/softmax.h"
#include "nn/search/search.h"

namespace heddle::nn {
namespace {

constexpr std::int64_t tokens_scored_at_once = 3000;
constexpr std::int64_t logits_at_once = std::int64_t{1} << 21;  // 8 MB of each model

std::int64_t length(const Tokens& tokens) { return static_cast<std::int64_t>(tokens.size()); }

// The tokens that the decoder reads to write `written`: the beginning mark and all but the last token.
Tokens read_for(const Tokens& written, std::int32_t begin) {
    Tokens read = {begin};
    read.insert(read.end(), written.begin(), written.end() - 1);
    return read;
}

// Each model's last hidden values [tokens written, d_model].
std::vector<Tensor> hidden_values(const Ensemble& models, const ScoreBatch& batch) {
    std::vector<Tokens> read;
    for (const Tokens& written : batch.written) read.push_back(read_for(written, batch.begin));
    const Sentences source = packed(batch.sources), target_in = packed(read);
    std::vector<Tensor> hidden;
    for (const Transformer* model : models.models())
        hidden.push_back(model->decode(target_in, model->encode(source), source.spans).value());
    return hidden;
}

// The scored tokens of a target: all and the end mark, or the first `most` if they do not fit.
Tokens written_of(const Tokens& target, std::int64_t most, std::int32_t end) {
    if (length(target) >= most) return {target.begin(), target.begin() + most};
    Tokens written = target;
    written.push_back(end);
    return written;
}

std::vector<ScoreBatch> score_batches(std::span<const Tokens> sources, std::vector<Tokens> written, std::int32_t begin) {
    std::vector<std::int64_t> widths;
    for (std::size_t i = 0; i < sources.size(); ++i) widths.push_back(std::max(length(sources[i]), length(written[i])));
    std::vector<ScoreBatch> batches;
    for (std::vector<std::int64_t>& indices : batches_by_width(widths, tokens_scored_at_once)) {
        ScoreBatch& batch = batches.emplace_back();
        for (const std::int64_t i : indices) {
            batch.sources.push_back(sources[static_cast<std::size_t>(i)]);
            batch.written.push_back(std::move(written[static_cast<std::size_t>(i)]));
        }
        batch.indices = std::move(indices);
        batch.begin = begin;
    }
    return batches;
}

void check_pairs(const Ensemble& models, std::span<const Tokens> sources, std::span<const Tokens> targets) {
    check(sources.size() == targets.size(), "score: {} sources, but {} targets", sources.size(), targets.size());
    for (const Transformer* model : models.models())
        check(!model->training(), "score: the model is in training mode; call its eval() first");
    for (std::size_t i = 0; i < sources.size(); ++i)
        check(sources[i].empty() == models.without_source(), "score: source {} has {}", i,
              sources[i].empty() ? "no tokens, wanted at least one, such as the end mark"
                                 : "tokens, but a language model reads no source");
}

StepProbabilities step_of(const std::vector<double>& probabilities, std::int32_t written, std::size_t count) {
    std::vector<std::int32_t> ids(probabilities.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto probability = [&](std::int32_t id) { return probabilities[static_cast<std::size_t>(id)]; };
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(), [&](std::int32_t a, std::int32_t b) {
        return probability(a) > probability(b) || (probability(a) == probability(b) && a < b);
    });
    StepProbabilities step{.written = probability(written), .likeliest = {}};
    for (auto id = ids.begin(); id != end; ++id) step.likeliest.emplace_back(*id, probability(*id));
    return step;
}

// A sentence's part of a batch's maps [sentences, heads, queries, keys], without the room that its longer neighbours need.
std::vector<Tensor> maps_of_sentence(const std::vector<Tensor>& batch, std::size_t sentence, std::int64_t rows,
                                     std::int64_t cols) {
    const auto at = static_cast<std::int64_t>(sentence);
    std::vector<Tensor> maps;
    for (const Tensor& all : batch) {
        const Tensor wide = all.slice(at, at + 1);
        const std::int64_t heads = wide.shape()[1], wide_rows = wide.shape()[2], wide_cols = wide.shape()[3];
        Tensor& map = maps.emplace_back(Tensor::empty({1, heads, rows, cols}, DType::f32));
        for (std::int64_t row = 0; row < heads * rows; ++row)
            std::copy_n(wide.data<float>() + (row / rows * wide_rows + row % rows) * wide_cols, cols,
                        map.mutable_data<float>() + row * cols);
    }
    return maps;
}

}  // namespace

// The logits stay where they are computed: only one number of each token is copied from there.
std::vector<double> token_log_probabilities(const Ensemble& models, const ScoreBatch& batch) {
    const NoGrad no_grad;
    const std::vector<Tensor> hidden = hidden_values(models, batch);
    const std::int64_t rows = std::max<std::int64_t>(1, logits_at_once / models.target_vocabulary());
    Tokens targets;
    for (const Tokens& written : batch.written) targets.insert(targets.end(), written.begin(), written.end());
    std::vector<Tensor> parts;
    for (std::int64_t first = 0; first < length(targets); first += rows) {
        const std::int64_t last = std::min(first + rows, length(targets));
        std::vector<Tensor> logits;
        for (std::size_t m = 0; m < hidden.size(); ++m)
            logits.push_back(models.models()[m]->logits(hidden[m].slice(first, last)));
        parts.push_back(log_probabilities(
            models.mixed(logits),
            std::span(targets).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first))));
    }
    return kernels::concat_forward(parts, 0).to_vector();
}

std::vector<PairScore> score(const Ensemble& models, std::span<const Tokens> sources, std::span<const Tokens> targets,
                             const Marks& marks, const ScoreBatches& compute) {
    check_pairs(models, sources, targets);
    const std::int64_t most = models.longest_sentence().value_or(std::numeric_limits<std::int64_t>::max());
    std::vector<PairScore> scores(sources.size());
    std::vector<Tokens> written;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        written.push_back(written_of(targets[i], most, marks.end));
        scores[i].tokens = length(written[i]);
        scores[i].complete = length(targets[i]) < most;
    }
    const std::vector<ScoreBatch> batches = score_batches(sources, std::move(written), marks.begin);
    std::vector<std::vector<double>> tokens;
    if (compute)
        tokens = compute(batches);
    else
        for (const ScoreBatch& batch : batches) tokens.push_back(token_log_probabilities(models, batch));
    for (std::size_t b = 0; b < batches.size(); ++b) {
        auto next = tokens[b].begin();
        for (const std::int64_t i : batches[b].indices) {
            PairScore& each = scores[static_cast<std::size_t>(i)];
            for (std::int64_t t = 0; t < each.tokens; ++t) each.log_probability += *next++;
        }
    }
    return scores;
}

PairScore score(const Ensemble& models, const Tokens& source, const Tokens& target, const Marks& marks) {
    return score(models, {&source, 1}, {&target, 1}, marks).front();
}

std::vector<StepProbabilities> step_probabilities(const Transformer& model, const Tokens& source, const Tokens& read,
                                                  std::span<const std::int32_t> written, std::size_t count) {
    const NoGrad no_grad;
    const Sentences from = packed({&source, 1}), to = packed({&read, 1});
    const Tensor hidden = model.decode(to, model.encode(from), from.spans).value();
    std::vector<StepProbabilities> steps;
    for (std::size_t i = 0; i < written.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const Tensor logits = model.logits(hidden.slice(row, row + 1)).to(DType::f64);
        steps.push_back(step_of(kernels::softmax_forward(logits).to_vector(), written[i], count));
    }
    return steps;
}

std::vector<AttentionMaps> attention_maps(const Transformer& model, std::span<const Tokens> sources,
                                          std::span<const Tokens> read) {
    const NoGrad no_grad;
    const Sentences from = packed(sources), to = packed(read);
    AttentionMaps all;
    const Variable memory = model.encode(from, &all);
    model.decode(to, memory, from.spans, &all);
    for (std::vector<Tensor>* kind : {&all.encoder, &all.decoder, &all.cross})
        for (Tensor& map : *kind) map = map.to(Device::cpu).to(DType::f32);
    std::vector<AttentionMaps> maps;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::int64_t keys = length(sources[i]), queries = length(read[i]);
        maps.push_back({.encoder = maps_of_sentence(all.encoder, i, keys, keys),
                        .decoder = maps_of_sentence(all.decoder, i, queries, queries),
                        .cross = maps_of_sentence(all.cross, i, queries, keys)});
    }
    return maps;
}

}  // namespace heddle::nn
