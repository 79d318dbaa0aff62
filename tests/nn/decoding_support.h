// Shared by the tests of decoding: small models of random weights, and the probabilities of all their translations, computed
// without a cache or a search.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "autograd/tape.h"
#include "nn/search/search.h"
#include "tests/nn/nn_support.h"

namespace heddle::nn {

inline constexpr std::int32_t begin_mark = Marks{}.begin, end_mark = Marks{}.end;

using Model = std::unique_ptr<Transformer>;

// A model with random weights, whose predictions differ more between tokens the larger `deviation` is. With a `table` it has
// learned positions, which limit the number of translations.
inline Model random_model(std::int64_t vocabulary, std::uint64_t seed, double deviation = 0.5, std::int64_t table = 0) {
    TransformerOptions options = tiny_options();
    options.source_vocabulary = options.target_vocabulary = vocabulary;
    options.encoder_layers = options.decoder_layers = 1;
    if (table > 0) {
        options.positions = Positions::learned;
        options.position_table = table;
    }
    auto model = std::make_unique<Transformer>(options, seed);
    disturb(*model, seed, deviation);
    model->eval();
    return model;
}

inline Tokens source_of(std::int64_t count, std::int64_t vocabulary, std::uint64_t seed) {
    Tokens source = random_tokens(count - 1, vocabulary, seed);
    source.push_back(end_mark);
    return source;
}

// log p(token | source, prefix) for every token, without a cache; for several models, the logarithm of the mean probability.
inline std::vector<double> next_log_probabilities(const Ensemble& models, const Tokens& source, const Tokens& prefix) {
    const NoGrad no_grad;
    const Sentences from = packed({source});
    Tokens in{begin_mark};
    in.insert(in.end(), prefix.begin(), prefix.end());
    const Sentences to = packed({in});
    const auto last = static_cast<std::int64_t>(prefix.size());
    std::vector<double> mean(static_cast<std::size_t>(models.target_vocabulary()), 0);
    for (const Transformer* model : models.models()) {
        const Variable memory = model->encode(from.tokens, from.spans);
        const Tensor hidden = model->decode(to.tokens, to.spans, memory, from.spans).value();
        const std::vector<double> logits = model->logits(hidden.slice(last, last + 1)).to_vector();
        double sum = 0;
        for (const double logit : logits) sum += std::exp(logit);
        for (std::size_t j = 0; j < logits.size(); ++j)
            mean[j] += std::exp(logits[j]) / sum / static_cast<double>(models.models().size());
    }
    for (double& probability : mean) probability = std::log(probability);
    return mean;
}

// All translations that begin with `prefix` and end within `longest` tokens, including the end mark; best first.
inline std::vector<Hypothesis> all_translations(const Ensemble& models, const Tokens& source, std::int64_t longest, double alpha,
                                                const Tokens& prefix = {}) {
    std::vector<Hypothesis> all;
    Tokens tokens;
    const std::function<void(double)> go_on = [&](double log_probability) {
        const std::vector<double> next = next_log_probabilities(models, source, tokens);
        const std::size_t length = tokens.size();
        if (length >= prefix.size()) {
            const double ended = log_probability + next[end_mark];
            all.push_back({tokens, ended, ended / std::pow(static_cast<double>(length + 1), alpha), true});
        }
        if (static_cast<std::int64_t>(length) + 1 == longest) return;
        for (std::size_t token = 0; token < next.size(); ++token) {
            const auto id = static_cast<std::int32_t>(token);
            if (length < prefix.size() ? id != prefix[length] : id == end_mark) continue;
            tokens.push_back(id);
            go_on(log_probability + next[token]);
            tokens.pop_back();
        }
    };
    go_on(0);
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    return all;
}

}  // namespace heddle::nn
