// The quality of a model on sentences that it was not trained on.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "apps/translation/batching/batch_stream.h"
#include "apps/translation/decoding/scoring.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/results.h"
#include "nn/transformer.h"

namespace heddle::app {

/// Translates lines with a model in evaluation mode; line n of the result belongs to line n. A language model gets empty lines,
/// and draws a text for each.
using TranslateLines = std::function<std::vector<std::string>(const nn::Transformer&, const std::vector<std::string>&)>;

struct ValidationOptions {
    std::int64_t sentences = 500;  ///< the first so many are translated for BLEU; 0: none
    std::int64_t samples = 3;      ///< shown of these, spread evenly
};

/// How validation pairs are batched; `text` names them in errors.
BatchLimits validation_options(const nn::Transformer& model, std::int64_t batch_tokens, std::string text = "validation");
/// The batches that likelihood() goes through. Error when no pair can be used.
BatchPlan plan_validation(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens);

/// Pairs with an empty side, those wider than `batch_tokens` and those too long for learned positions count nothing. The model
/// must be in evaluation mode.
Likelihood likelihood(const nn::Transformer& model, std::span<const TokenPair> pairs, std::int64_t batch_tokens);
/// The same of the batches of a plan_validation() of these pairs. `compute` computes them; empty: this process does.
Likelihood likelihood(const nn::Transformer& model, std::span<const TokenPair> pairs, const BatchPlan& plan,
                      const LikelihoodOfBatches& compute = {});

/// Loss, perplexity and accuracy over `pairs` in the batches of their plan_validation(), BLEU or chrF (see choose_metric()),
/// exact matches and samples over the first sentences of `text`. Fills everything but epoch, update and best. Nothing is
/// translated when the loss is not finite. Leaves the model in the mode that it had. `compute` as in likelihood().
ValidationReport validate(nn::Transformer& model, std::span<const TokenPair> pairs, const BatchPlan& plan, const Corpus& text,
                          const TranslateLines& translate, const ValidationOptions& options,
                          const LikelihoodOfBatches& compute = {});

}  // namespace heddle::app
