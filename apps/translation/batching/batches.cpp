#include "apps/translation/batching/batches.h"

#include <algorithm>

#include "core/format.h"
#include "core/parallel.h"
#include "kernels/embedding/embedding.h"

namespace heddle::app {
namespace {

std::int64_t length(const std::vector<std::int32_t>& tokens) { return static_cast<std::int64_t>(tokens.size()); }

}  // namespace

std::vector<TokenPair> encode_corpus(const Corpus& corpus, const Vocabulary& source, const Vocabulary& target) {
    std::vector<TokenPair> out(corpus.pairs.size());
    parallel_for(corpus.size(), 64, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const SentencePair& pair = corpus.pairs[i];
            out[i] = {source.encode(pair.source), target.encode(pair.target),
                      std::max(words_in(pair.source), words_in(pair.target))};
        }
    });
    return out;
}

PairBatch make_batch(const TokenPairs& pairs, std::span<const std::int64_t> indices) {
    PairBatch batch;
    std::vector<std::int64_t> source_lengths, target_lengths;
    for (const std::int64_t i : indices) {
        check(i >= 0 && i < pairs.size(), "batch: there is no pair {}; there are {}", i, pairs.size());
        const std::size_t source = batch.source.size(), target = batch.target_out.size();
        pairs.append(i, batch.source, batch.target_out);
        batch.target_in.push_back(bos_id);
        batch.target_in.insert(batch.target_in.end(), batch.target_out.begin() + static_cast<std::ptrdiff_t>(target),
                               batch.target_out.end());
        if (batch.source.size() > source) batch.source.push_back(eos_id);  // a text has no source
        batch.target_out.push_back(eos_id);
        source_lengths.push_back(static_cast<std::int64_t>(batch.source.size() - source));
        target_lengths.push_back(static_cast<std::int64_t>(batch.target_out.size() - target));
    }
    batch.source_spans = Spans::packed(source_lengths);
    batch.target_spans = Spans::packed(target_lengths);
    batch.sentences = static_cast<std::int64_t>(indices.size());
    batch.source_tokens = length(batch.source);
    batch.target_tokens = length(batch.target_out);
    batch.indices.assign(indices.begin(), indices.end());
    return batch;
}

PairBatch part_of(const PairBatch& batch, std::int64_t begin, std::int64_t end) {
    check(0 <= begin && begin <= end && end <= batch.sentences, "batch: sentences [{}, {}) of {}", begin, end, batch.sentences);
    PairBatch part;
    const auto rows = [&](const Spans& spans, std::int64_t sentence) {
        return sentence == batch.sentences ? spans.rows() : spans[sentence].start;
    };
    const auto lengths = [&](const Spans& spans) {
        std::vector<std::int64_t> result;
        for (std::int64_t i = begin; i < end; ++i) result.push_back(spans[i].length);
        return Spans::packed(result);
    };
    const auto copy = [](auto& to, const auto& from, std::int64_t first, std::int64_t last) {
        to.assign(from.begin() + first, from.begin() + last);
    };
    const std::int64_t source = rows(batch.source_spans, begin), source_end = rows(batch.source_spans, end),
                       target = rows(batch.target_spans, begin), target_end = rows(batch.target_spans, end);
    copy(part.source, batch.source, source, source_end);
    copy(part.target_in, batch.target_in, target, target_end);
    copy(part.target_out, batch.target_out, target, target_end);
    copy(part.indices, batch.indices, begin, end);
    part.source_spans = lengths(batch.source_spans);
    part.target_spans = lengths(batch.target_spans);
    part.sentences = end - begin;
    part.source_tokens = source_end - source;
    part.target_tokens = target_end - target;
    return part;
}

BatchTensors tensors_of(const PairBatch& batch, Device device) {
    const auto sentences = [&](const std::vector<std::int32_t>& tokens, const Spans& spans) {
        nn::Sentences result{Tensor::from(tokens, {spans.rows()}).to(device), spans};
        if (device == Device::cuda)
            result.order = Tensor::from(kernels::rows_by_token(tokens, spans), {2, spans.rows()}).to(device);
        return result;
    };
    return {.source = sentences(batch.source, batch.source_spans),
            .target_in = sentences(batch.target_in, batch.target_spans),
            .target_out = Tensor::from(batch.target_out, {batch.target_tokens}).to(device)};
}

}  // namespace heddle::app
