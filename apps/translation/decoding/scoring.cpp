#include "apps/translation/decoding/scoring.h"

#include "apps/translation/batching/batches.h"
#include "apps/translation/batching/line_batches.h"
#include "autograd/tape.h"
#include "core/format.h"

namespace heddle::app {

Likelihood likelihood(const nn::Transformer& model, const PairBatch& batch) {
    const NoGrad no_grad;
    Tensor counts;
    const BatchTensors tensors = tensors_of(batch);
    model.loss(tensors.source, tensors.target_in, tensors.target_out, {}, &counts);
    const ops::LossStatistics statistics = ops::loss_statistics(counts);
    return {.nll = statistics.nll, .tokens = statistics.counted, .correct = statistics.correct};
}

LineScores score_lines(const nn::Ensemble& models, const Vocabularies& vocabularies, std::span<const std::string> sources,
                       std::span<const std::string> targets, const UnknownSides& unknown, const nn::ScoreBatches& compute) {
    check(sources.size() == targets.size(), "scoring: {} sources, but {} targets", sources.size(), targets.size());
    std::vector<nn::Tokens> from = encode_lines(*vocabularies.source, sources), to = encode_lines(*vocabularies.target, targets);
    if (unknown.source != nullptr) unknown.source->look_at(sources, from);
    if (unknown.target != nullptr) unknown.target->look_at(targets, to);
    LineScores result;
    result.cut_sources = cut_to(from, models.position_table() - 1);
    if (!models.without_source())
        for (nn::Tokens& source : from) source.push_back(eos_id);
    result.scores = nn::score(models, from, to, {.begin = bos_id, .end = eos_id}, compute);
    return result;
}

}  // namespace heddle::app
