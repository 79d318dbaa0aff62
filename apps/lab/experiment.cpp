#include "apps/lab/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/lab/experiments.h"
#include "core/format.h"

namespace heddle::lab {

namespace {

// The groups: headings of the index page.
constexpr std::string_view attention = "Attention", model = "The whole model", embeddings = "Embeddings and positions",
                           loss = "The loss", training = "Norm, dropout and training", translating = "Translating and scoring",
                           checks = "Checks";

}  // namespace

const std::vector<Experiment>& experiments() {
    static const std::vector<Experiment> all = {
        {"split-heads", "heads split by reshape, without transposing heads and time",
         "Attention.AFutureTokenChangesEarlierOutputsByExactlyNothing", split_heads::experiment, split_heads::code, attention},
        {"tiny-mask", "logits multiplied by tiny negative numbers instead of masked",
         "Softmax.LengthsAndTheCausalRuleAreTheMaskTheyStandFor", tiny_mask::experiment, tiny_mask::code, attention},
        {"no-padding-mask", "padding that attention sees as words", "Transformer.SentenceHasTheSameBitsAloneAndInAnyBatch",
         no_padding_mask::experiment, no_padding_mask::code, attention},
        {"masked-row", "a fully masked row under four ways of masking", "Softmax.GivesZerosAndZeroGradientsWhereNothingAttends",
         masked_row::experiment, masked_row::code, attention},
        {"scaling", "dot products that are not scaled, or by another width's root", "Attention.IsTheFormulaOnNamedWeights",
         scaling::experiment, scaling::code, attention},
        {"head-slices", "heads that read slices of the embedding, and a mask of the head's width",
         "Attention.WorksWithoutBiasAndWithAnyHeadSize", head_slices::experiment, head_slices::code, attention},
        {"projections", "ReLU on queries, keys and values, or no output projection", "Attention.IsTheFormulaOnNamedWeights",
         projections::experiment, projections::code, attention},
        {"borrowed-maps", "self-attention maps returned as the cross-attention maps",
         "Transformer.CrossAttentionMapsAreNotTheSelfAttentionMaps", borrowed_maps::experiment, borrowed_maps::code, attention},
        {"paired-layers", "decoder layer i attends to the encoder's layer i",
         "Transformer.EveryDecoderLayerReadsTheEncodersLastLayer", paired_layers::experiment, paired_layers::code, model},
        {"repeated-modules", "layers and heads that are one object, or not registered with the model",
         "Module.StandardTransformerHasExactly2157056Parameters", repeated_modules::experiment, repeated_modules::code, model},
        {"position-codes", "position codes with another exponent, without cosines, or without row 0",
         "SinusoidalPositions.InterleaveSinesAndCosines", position_codes::experiment, position_codes::code, embeddings},
        {"embedding-scale", "embeddings added to the position codes without the factor sqrt(d)",
         "EmbeddingModule.ScalesBySqrtOfDModelAndAddsPositionsOfEachSentence", embedding_scale::experiment, embedding_scale::code,
         embeddings},
        {"weighted-positions", "words and positions in a weighted sum",
         "EmbeddingModule.ScalesBySqrtOfDModelAndAddsPositionsOfEachSentence", weighted_positions::experiment,
         weighted_positions::code, embeddings},
        {"uncut-positions", "a position table that is not cut to the sentence",
         "EmbeddingModule.ScalesBySqrtOfDModelAndAddsPositionsOfEachSentence", uncut_positions::experiment, uncut_positions::code,
         embeddings},
        {"target-vocabulary", "the target's embedding sized by the source's vocabulary",
         "Transformer.SizesEachSidesTablesByItsOwnVocabulary", target_vocabulary::experiment, target_vocabulary::code,
         embeddings},
        {"padding-index", "padding fixed at index 0, where 0 is a word", "CrossEntropy.IsTheMeanOverTheCountedTargets",
         padding_index::experiment, padding_index::code, embeddings},
        {"softmax-twice", "a softmax before a cross entropy that applies it again",
         "Transformer.LossIsTheCrossEntropyOfItsLogitsAndGoesDownToZero", softmax_twice::experiment, softmax_twice::code, loss},
        {"relu-logits", "a ReLU between the last projection and the softmax",
         "Transformer.LossIsTheCrossEntropyOfItsLogitsAndGoesDownToZero", relu_logits::experiment, relu_logits::code, loss},
        {"log-of-softmax", "the logarithm of a softmax instead of a log-softmax, in f32",
         "LogSoftmax.StaysFiniteWhereTheProbabilityUnderflows", log_of_softmax::experiment, log_of_softmax::code, loss},
        {"label-smoothing", "smoothed losses of different recipes compared, and padding trained as a word",
         "CrossEntropy.IsTheMeanOverTheCountedTargets", label_smoothing::experiment, label_smoothing::code, loss},
        {"unbiased-norm", "layer norm by the unbiased standard deviation, with eps outside the root",
         "LayerNorm.GradientOfAConstantRowIsBoundedByTheRootOfEps", unbiased_norm::experiment, unbiased_norm::code, training},
        {"norm-placement", "deep stacks without warm-up, without norms, without residuals",
         "Parity.ForwardLossAndEveryGradientEqualPyTorchInF64", norm_placement::experiment, norm_placement::code, training},
        {"dropout-modes", "dropout that is never applied, or never switched off",
         "DropoutPlaces.EachProbabilityActsInTrainingAloneAndNeverInEvaluation", dropout_modes::experiment, dropout_modes::code,
         training},
        {"dropout-redrawn", "dropout that is drawn again when an activation is recomputed",
         "Checkpoint.GivesTheBitsOfThePlainRunWithTheSameDropoutMasks", dropout_redrawn::experiment, dropout_redrawn::code,
         training},
        {"partial-resume", "a run resumed without its optimizer state or position in the epoch, or with an older optimizer state",
         "Resume.GivesTheBitsOfTheRunThatNeverStoppedFromEverySave", partial_resume::experiment, partial_resume::code, training},
        {"length-penalty", "translations compared by log p alone: the shortest one wins",
         "BeamSearch.AWideBeamFindsTheBestOfAllTranslations", length_penalty::experiment, length_penalty::code, translating},
        {"uncached-decoding", "decoding that recomputes every prefix and does not stop at the end mark",
         "BeamSearch.ReadsEachTokenOnceAndStopsAtTheEndMark", uncached_decoding::experiment, uncached_decoding::code,
         translating},
        {"batch-bleu", "BLEU of full batches, without short segments, or as a mean over the batch loop",
         "Bleu.OfAFileIsThatOfItsSegmentsAddedUpInAnyParts", batch_bleu::experiment, batch_bleu::code, translating},
        {"tensor-core-sums", "a long sum of products in one accumulator of a tensor core",
         "TensorCoreSums.TheResultIsTruncatedTowardZero", tensor_core_sums::experiment, tensor_core_sums::code, checks},
        {"cotangent-of-ones", "a gradient check of the output's sum", "Gradcheck.SeesWhatACotangentOfOnesWouldHide",
         cotangent_of_ones::experiment, cotangent_of_ones::code, checks},
        {"error-above-tolerance", "a check written error > tolerance: NaN passes", "Gradcheck.CatchesANaN",
         error_above_tolerance::experiment, error_above_tolerance::code, checks},
    };
    return all;
}

const Experiment* find_experiment(std::string_view name) {
    const std::vector<Experiment>& all = experiments();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Experiment& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

void Result::add(std::span<const double> values) {
    check(values.size() == findings.size(), "lab: a variant has {} numbers for {} findings; it needs one each", values.size(),
          findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) findings[i].values.push_back(values[i]);
}

double Result::value(std::string_view what, std::string_view variant) const {
    const auto column = std::find(variants.begin(), variants.end(), variant);
    check(column != variants.end(), "lab: there is no variant '{}'; there are {}", variant, fmt::join(variants, ", "));
    const auto row = std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.what == what; });
    std::vector<std::string> names;
    for (const Finding& one : findings) names.push_back(one.what);
    check(row != findings.end(), "lab: there is no finding '{}'; there are {}", what, fmt::join(names, ", "));
    return row->values.at(static_cast<std::size_t>(column - variants.begin()));
}

}  // namespace heddle::lab
