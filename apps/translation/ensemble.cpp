#include "apps/translation/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/translation/vocabulary.h"
#include "autograd/tape.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/concat/concat.h"
#include "kernels/target_log_probability/target_log_probability.h"
#include "kernels/top_k/top_k.h"

namespace heddle::app {
namespace {

Tensor as_tensor(const std::vector<std::int32_t>& ids) { return Tensor::from(ids, {static_cast<std::int64_t>(ids.size())}); }

// Row i of logits [rows, V] and its most probable token, from which the log-probability of every other follows:
// log p_t = x_t - x_best + log p_best.
class Row {
  public:
    Row(const Tensor& logits, const kernels::TopK& best, std::int64_t i)
        : x(logits.data<float>() + i * logits.cols()),
          log_total(static_cast<double>(x[best.ids.data<std::int32_t>()[i]]) -
                    static_cast<double>(best.values.data<float>()[i])) {}

    const float* x;
    double log_total;  // log sum_j e^(x_j)
};

// log of the mean of e^(x_m), which is the first of them exactly when all are equal.
double log_mean_exp(std::span<const double> x) {
    const double largest = *std::max_element(x.begin(), x.end());
    if (largest == -std::numeric_limits<double>::infinity()) return largest;
    double sum = 0;
    for (const double each : x) sum += each == largest ? 1 : std::exp(each - largest);
    return largest + std::log(sum / static_cast<double>(x.size()));
}

}  // namespace

Ensemble::Ensemble(std::vector<const nn::Transformer*> models) : models_(std::move(models)) {
    check(!models_.empty(), "ensemble: no model");
    const nn::TransformerOptions& first = models_.front()->options();
    for (const nn::Transformer* model : models_) {
        const nn::TransformerOptions& other = model->options();
        check(other.source_vocabulary == first.source_vocabulary && other.target_vocabulary == first.target_vocabulary,
              "ensemble: models with vocabularies of {} and {} tokens, and of {} and {}; wanted the same ones",
              first.source_vocabulary, first.target_vocabulary, other.source_vocabulary, other.target_vocabulary);
    }
}

std::int64_t Ensemble::position_table() const {
    std::int64_t least = models_.front()->options().position_table;
    for (const nn::Transformer* model : models_) least = std::min(least, model->options().position_table);
    return least;
}

std::optional<std::int64_t> Ensemble::longest_sentence() const {
    std::optional<std::int64_t> least;
    for (const nn::Transformer* model : models_)
        if (const auto longest = model->options().longest_sentence()) least = std::min(least.value_or(*longest), *longest);
    return least;
}

// Several models are mixed on the CPU, wherever they lie.
Tensor Ensemble::mixed(const std::vector<Tensor>& all) const {
    if (all.size() == 1) return all.front();
    std::vector<Tensor> logits;
    std::vector<kernels::TopK> best;
    for (const Tensor& each : all) {
        logits.push_back(each.to(Device::cpu));
        best.push_back(kernels::top_k_log_softmax(logits.back(), 1));
    }
    const std::int64_t rows = logits.front().rows(), vocabulary = logits.front().cols();
    Tensor result = Tensor::empty({rows, vocabulary}, DType::f32);
    parallel_for(rows, grain_for(20 * vocabulary), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> x(logits.size());
        for (std::int64_t i = begin; i < end; ++i) {
            std::vector<Row> models;
            for (std::size_t m = 0; m < logits.size(); ++m) models.emplace_back(logits[m], best[m], i);
            float* to = result.data<float>() + i * vocabulary;
            for (std::int64_t j = 0; j < vocabulary; ++j) {
                for (std::size_t m = 0; m < models.size(); ++m)
                    x[m] = static_cast<double>(models[m].x[j]) - (models[m].log_total - models[0].log_total);
                to[j] = static_cast<float>(log_mean_exp(x));
            }
        }
    });
    return result;
}

Tensor log_probabilities(const Tensor& logits, std::span<const std::int32_t> tokens) {
    const Tensor targets = Tensor::from(tokens, {static_cast<std::int64_t>(tokens.size())});
    return kernels::target_log_probability(logits, targets.to(logits.device()));
}

Decoding::Decoding(const Ensemble& models, std::span<const std::vector<std::int32_t>> sources, std::int64_t hypotheses,
                   std::int64_t longest)
    : models_(models), sources_(static_cast<std::int64_t>(sources.size())) {
    const NoGrad no_grad;
    std::vector<std::int32_t> tokens;
    std::vector<std::int64_t> lengths;
    for (const auto& source : sources) {
        tokens.insert(tokens.end(), source.begin(), source.end());
        lengths.push_back(static_cast<std::int64_t>(source.size()));
    }
    const Spans spans = Spans::packed(lengths);
    for (const nn::Transformer* model : models.models())
        caches_.push_back(model->start_decoding(model->encode(as_tensor(tokens), spans).value(), spans, hypotheses, longest));
}

Decoding::Start Decoding::start(std::span<const std::int32_t> prefix) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(sources_), bos_id);
    Start start{read(as_tensor(tokens)), std::vector<double>(tokens.size(), 0)};
    std::vector<Tensor> added;
    for (const std::int32_t forced : prefix) {
        tokens.assign(tokens.size(), forced);
        added.push_back(log_probabilities(start.logits, tokens));
        start.logits = read(as_tensor(tokens));
    }
    if (added.empty()) return start;
    const std::vector<double> each = kernels::concat_forward(added, 0).to_vector();  // [prefix, sources]
    for (std::size_t i = 0; i < each.size(); ++i) start.log_probability[i % tokens.size()] += each[i];
    return start;
}

Tensor Decoding::step(std::span<const std::int32_t> parents, const std::vector<std::int32_t>& tokens) {
    for (nn::DecoderCache& cache : caches_) cache.reorder(parents);
    return read(as_tensor(tokens));
}

Tensor Decoding::step(const Tensor& parents, const Tensor& tokens, const std::vector<std::int32_t>& sentences) {
    for (std::size_t m = 0; m < caches_.size(); ++m) caches_[m].reorder(parents.to(models_.models()[m]->device()), sentences);
    return read(tokens);
}

Tensor Decoding::read(const Tensor& tokens) {
    std::vector<Tensor> logits;
    for (std::size_t m = 0; m < caches_.size(); ++m) logits.push_back(models_.models()[m]->step(tokens, caches_[m]));
    return models_.mixed(logits);
}

}  // namespace heddle::app
