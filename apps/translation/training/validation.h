// The quality of a model on sentences that it was not trained on.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "apps/translation/run/log.h"
#include "apps/translation/text/corpus.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Translates lines with a model in evaluation mode; line n of the result belongs to line n.
using TranslateLines = std::function<std::vector<std::string>(const nn::Transformer&, const std::vector<std::string>&)>;

struct ValidationOptions {
    std::int64_t batch_tokens = 3000;
    std::int64_t sentences = 500;  ///< the first so many are translated for BLEU; 0: none
    std::int64_t samples = 3;      ///< shown of these, spread evenly
};

/// The likelihood of given translations: sums over all target tokens, without label smoothing.
struct Likelihood {
    double nll = 0;
    std::int64_t tokens = 0;
    std::int64_t correct = 0;
};

/// The batches that likelihood() goes through. Error when no pair can be used.
BatchPlan plan_validation(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens);

/// Pairs with an empty side, those wider than `batch_tokens` and those too long for learned positions count nothing. The model
/// must be in evaluation mode.
Likelihood likelihood(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens);

/// Loss, perplexity and accuracy over `pairs`, BLEU, exact matches and samples over the first sentences of `text`. Fills
/// everything but epoch, update and best. Nothing is translated when the loss is not finite. Restores the model's
/// mode.
ValidationReport validate(nn::Transformer& model, std::span<const TokenPair> pairs, const Corpus& text,
                          const TranslateLines& translate, const ValidationOptions& options);

}  // namespace heddle::app
