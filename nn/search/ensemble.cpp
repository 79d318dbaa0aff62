#include "nn/search/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/tape.h"
#include "core/format.h"
#include "kernels/concat/concat.h"
#include "kernels/mean_probability/mean_probability.h"
#include "kernels/target_log_probability/target_log_probability.h"

namespace heddle::nn {
namespace {

Tensor as_tensor(const Tokens& ids) { return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())}); }

// log of the sum of exp(x[token]) over these tokens, without overflow, and finite however unlikely they are.
double log_sum_exp(std::span<const double> x, std::span<const std::int32_t> tokens) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const std::int32_t token : tokens) largest = std::max(largest, x[static_cast<std::size_t>(token)]);
    for (const std::int32_t token : tokens) sum += std::exp(x[static_cast<std::size_t>(token)] - largest);
    return largest + std::log(sum);
}

void keep_only(std::span<const std::int32_t> tokens, Decoding::Start& start) {
    const std::vector<double> logits = start.logits.to_vector();
    const auto width = static_cast<std::size_t>(start.logits.cols());
    Tokens all(width);
    std::iota(all.begin(), all.end(), 0);
    std::vector<float> kept(logits.size(), -std::numeric_limits<float>::infinity());
    for (std::size_t row = 0; row * width < logits.size(); ++row) {
        const std::span<const double> x = std::span(logits).subspan(row * width, width);
        for (const std::int32_t token : tokens)
            kept[row * width + static_cast<std::size_t>(token)] = static_cast<float>(x[static_cast<std::size_t>(token)]);
        start.log_probability[row] += log_sum_exp(x, tokens) - log_sum_exp(x, all);
    }
    start.logits = Tensor::from(kept, start.logits.shape()).to(start.logits.device());
}

}  // namespace

Ensemble::Ensemble(std::vector<const Transformer*> models) : models_(std::move(models)) {
    check(!models_.empty(), "ensemble: no model");
    const TransformerOptions& first = models_.front()->options();
    for (const Transformer* model : models_) {
        const TransformerOptions& other = model->options();
        check(other.source_vocabulary == first.source_vocabulary && other.target_vocabulary == first.target_vocabulary,
              "ensemble: models with vocabularies of {} and {} tokens, and of {} and {}; wanted the same ones",
              first.source_vocabulary, first.target_vocabulary, other.source_vocabulary, other.target_vocabulary);
        check(other.decoder_only == first.decoder_only, "ensemble: a model that translates and a language model");
    }
}

std::int64_t Ensemble::position_table() const {
    std::int64_t least = models_.front()->options().position_table;
    for (const Transformer* model : models_) least = std::min(least, model->options().position_table);
    return least;
}

std::optional<std::int64_t> Ensemble::longest_sentence() const {
    std::optional<std::int64_t> least;
    for (const Transformer* model : models_)
        if (const auto longest = model->options().longest_sentence()) least = std::min(least.value_or(*longest), *longest);
    return least;
}

Tensor Ensemble::mixed(const std::vector<Tensor>& logits) const { return kernels::mean_probability(logits); }

Tensor log_probabilities(const Tensor& logits, std::span<const std::int32_t> tokens) {
    const Tensor targets = Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size())});
    return kernels::target_log_probability(logits, targets.to(logits.device()));
}

Decoding::Decoding(const Ensemble& models, std::span<const Tokens> sources, std::int32_t begin, std::int64_t hypotheses,
                   std::int64_t longest)
    : models_(&models), sources_(static_cast<std::int64_t>(sources.size())), begin_(begin) {
    const NoGrad no_grad;
    const Sentences source = packed(sources);
    for (const Transformer* model : models.models())
        caches_.push_back(model->start_decoding(model->encode(source), source.spans, hypotheses, longest));
}

Decoding::Start Decoding::start(std::span<const std::int32_t> prefix, std::span<const std::int32_t> first) {
    Tokens tokens(static_cast<std::size_t>(sources_), begin_);
    Start start{read(as_tensor(tokens)), std::vector<double>(tokens.size(), 0)};
    std::vector<Tensor> added;
    for (const std::int32_t forced : prefix) {
        tokens.assign(tokens.size(), forced);
        added.push_back(log_probabilities(start.logits, tokens));
        start.logits = read(as_tensor(tokens));
    }
    if (!added.empty()) {
        const std::vector<double> each = kernels::concat_forward(added, 0).to_vector();  // [prefix, sources]
        for (std::size_t i = 0; i < each.size(); ++i) start.log_probability[i % tokens.size()] += each[i];
    }
    if (!first.empty()) keep_only(first, start);
    return start;
}

Tensor Decoding::step(std::span<const std::int32_t> parents, const Tokens& tokens) {
    for (DecoderCache& cache : caches_) cache.reorder(parents);
    return read(as_tensor(tokens));
}

Tensor Decoding::step(const Tensor& parents, const Tensor& tokens, const std::vector<std::int32_t>& sentences) {
    for (std::size_t m = 0; m < caches_.size(); ++m) caches_[m].reorder(parents.to(models_->models()[m]->device()), sentences);
    return read(tokens);
}

bool Decoding::make_room(std::int64_t steps) {
    bool stays = true;
    for (DecoderCache& cache : caches_) stays = cache.make_room(steps) && stays;
    return stays;
}
void Decoding::start_capture(const kernels::Replays& replays, std::int64_t steps) {
    for (DecoderCache& cache : caches_) cache.start_capture(replays, steps);
}
void Decoding::end_capture() {
    for (DecoderCache& cache : caches_) cache.end_capture();
}
void Decoding::replayed(std::int64_t steps) {
    for (DecoderCache& cache : caches_) cache.replayed(steps);
}

Tensor Decoding::read(const Tensor& tokens) {
    std::vector<Tensor> logits;
    for (std::size_t m = 0; m < caches_.size(); ++m) logits.push_back(models_->models()[m]->step(tokens, caches_[m]));
    return models_->mixed(logits);
}

}  // namespace heddle::nn
