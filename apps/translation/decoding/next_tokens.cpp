#include "apps/translation/decoding/next_tokens.h"

#include <algorithm>
#include <numeric>

#include "apps/translation/batching/batch_tensors.h"
#include "autograd/tape.h"
#include "kernels/softmax/softmax.h"

namespace heddle::app {
namespace {

DecodingStep step_of(const std::vector<double>& probabilities, std::int32_t written, const Vocabulary& target,
                     std::size_t count) {
    std::vector<std::int32_t> ids(probabilities.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto probability = [&](std::int32_t id) { return probabilities[static_cast<std::size_t>(id)]; };
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(), [&](std::int32_t a, std::int32_t b) {
        return probability(a) > probability(b) || (probability(a) == probability(b) && a < b);
    });
    DecodingStep step{.probability = probability(written), .likeliest = {}};
    for (auto id = ids.begin(); id != end; ++id) step.likeliest.push_back({target.token(*id), probability(*id)});
    return step;
}

}  // namespace

std::vector<DecodingStep> decoding_steps(const nn::Transformer& model, const Vocabulary& target,
                                         const TranslationAttention& attention, std::size_t count) {
    const NoGrad no_grad;
    const nn::Sentences source = packed({&attention.source_ids, 1}), read = packed({&attention.read_ids, 1});
    const Variable memory = model.encode(source.tokens, source.spans);
    const Tensor hidden = model.decode(read.tokens, read.spans, memory, source.spans).value();
    std::vector<DecodingStep> steps;
    for (std::size_t i = 0; i < attention.written_ids.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const Tensor logits = model.logits(hidden.slice(row, row + 1)).to(DType::f64);
        steps.push_back(step_of(kernels::softmax_forward(logits).to_vector(), attention.written_ids[i], target, count));
    }
    return steps;
}

}  // namespace heddle::app
