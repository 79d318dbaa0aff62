#include "apps/translation/batching/batches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "core/format.h"
#include "core/parallel.h"
#include "core/random.h"

namespace heddle::app {
namespace {

std::int64_t length(const std::vector<std::int32_t>& tokens) { return static_cast<std::int64_t>(tokens.size()); }

/// Numbers of an epoch's own: neither the next epoch nor the next seed draws them again.
Sequence epoch_numbers(std::uint64_t seed, std::uint64_t epoch) {
    const Counter bits = philox4x32(seed ^ stable_hash("batches"),
                                    {static_cast<std::uint32_t>(epoch), static_cast<std::uint32_t>(epoch >> 32), 0, 0});
    return Sequence(bits[0] | std::uint64_t{bits[1]} << 32);
}

/// The pairs that may stand in a batch, in file order; the others are counted in `plan`.
std::vector<std::int64_t> usable_pairs(std::span<const TokenPair> pairs, const BatchOptions& options, BatchPlan& plan) {
    std::vector<std::int64_t> usable;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::int64_t width = pairs[i].width();
        if (pairs[i].source.empty() || pairs[i].target.empty()) {
            ++plan.empty;
        } else if ((options.max_length > 0 && width > options.max_length) ||
                   (options.max_words > 0 && pairs[i].words > options.max_words)) {
            ++plan.too_long;
        } else if (options.batch_tokens > 0 && width > options.batch_tokens) {
            ++plan.too_wide;
        } else {
            usable.push_back(static_cast<std::int64_t>(i));
        }
    }
    return usable;
}

void sort_by_length(std::vector<std::int64_t>& order, std::span<const TokenPair> pairs, const std::vector<std::uint64_t>& ties) {
    const auto key = [&](std::int64_t i) {
        const TokenPair& pair = pairs[static_cast<std::size_t>(i)];
        return std::tuple(pair.target.size(), pair.source.size(), ties.empty() ? 0 : ties[static_cast<std::size_t>(i)], i);
    };
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
}

// Each reason that left out a pair, with the limits that are on.
std::string why_none(std::size_t pairs, const BatchPlan& plan, const BatchOptions& options) {
    if (pairs == 0) return "there are no pairs; wanted at least one";
    std::vector<std::string> reasons, limits;
    if (options.max_length > 0)
        limits.push_back(fmt::format("{} tokens (--max-length, or the table of learned positions)", options.max_length));
    if (options.max_words > 0) limits.push_back(fmt::format("{} words (--max-words)", options.max_words));
    if (plan.empty > 0) reasons.push_back(fmt::format("{} with an empty side", plan.empty));
    if (plan.too_long > 0) reasons.push_back(fmt::format("{} longer than {}", plan.too_long, fmt::join(limits, " or ")));
    if (plan.too_wide > 0)
        reasons.push_back(fmt::format("{} that alone exceed {} tokens (--batch-tokens)", plan.too_wide, options.batch_tokens));
    return fmt::format("none of the {} pairs can be used: {}; give {}", pairs, fmt::join(reasons, ", "),
                       plan.too_long + plan.too_wide > 0 ? "larger limits, or other text" : "other text");
}

bool is_full(const std::vector<std::int64_t>& batch, std::int64_t widest, const BatchOptions& options) {
    const auto with_one_more = static_cast<std::int64_t>(batch.size()) + 1;
    return (options.batch_tokens > 0 && widest * with_one_more > options.batch_tokens) ||
           (options.batch_sentences > 0 && with_one_more > options.batch_sentences);
}

}  // namespace

std::int64_t TokenPair::width() const { return std::max(length(source), length(target)) + 1; }

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

BatchPlan plan_batches(std::span<const TokenPair> pairs, const BatchOptions& options, std::uint64_t seed, std::uint64_t epoch) {
    check(options.batch_tokens >= 0 && options.batch_sentences >= 0 && (options.batch_tokens > 0 || options.batch_sentences > 0),
          "batches: batch_tokens is {} and batch_sentences {}; wanted one of them above 0, and 0 for no limit",
          options.batch_tokens, options.batch_sentences);
    check(options.max_length >= 0, "batches: max_length is {}; wanted a number of tokens, or 0 for no limit", options.max_length);
    BatchPlan plan;
    std::vector<std::int64_t> order = usable_pairs(pairs, options, plan);
    check(!order.empty(), "batches: {}", why_none(pairs.size(), plan, options));

    Sequence numbers = epoch_numbers(seed, epoch);
    std::vector<std::uint64_t> ties(options.shuffle ? pairs.size() : 0);
    for (std::uint64_t& tie : ties) tie = numbers.next();
    sort_by_length(order, pairs, ties);

    std::int64_t widest = 0;
    for (const std::int64_t i : order) {
        const TokenPair& pair = pairs[static_cast<std::size_t>(i)];
        widest = std::max(widest, pair.width());
        if (plan.batches.empty() || is_full(plan.batches.back(), widest, options)) {
            plan.batches.emplace_back();
            widest = pair.width();
        }
        plan.batches.back().push_back(i);
        plan.source_tokens += length(pair.source) + 1;
        plan.target_tokens += length(pair.target) + 1;
    }
    plan.sentences = static_cast<std::int64_t>(order.size());
    if (options.shuffle) numbers.shuffle(plan.batches);
    return plan;
}

Batch make_batch(std::span<const TokenPair> pairs, std::span<const std::int64_t> indices) {
    Batch batch;
    std::vector<std::int64_t> source_lengths, target_lengths;
    for (const std::int64_t i : indices) {
        check(i >= 0 && i < static_cast<std::int64_t>(pairs.size()), "batch: there is no pair {}; there are {}", i, pairs.size());
        const auto& [source, target, words] = pairs[static_cast<std::size_t>(i)];
        batch.source.insert(batch.source.end(), source.begin(), source.end());
        batch.source.push_back(eos_id);
        batch.target_in.push_back(bos_id);
        batch.target_in.insert(batch.target_in.end(), target.begin(), target.end());
        batch.target_out.insert(batch.target_out.end(), target.begin(), target.end());
        batch.target_out.push_back(eos_id);
        source_lengths.push_back(length(source) + 1);
        target_lengths.push_back(length(target) + 1);
    }
    batch.source_spans = Spans::packed(source_lengths);
    batch.target_spans = Spans::packed(target_lengths);
    batch.sentences = static_cast<std::int64_t>(indices.size());
    batch.source_tokens = length(batch.source);
    batch.target_tokens = length(batch.target_out);
    batch.indices.assign(indices.begin(), indices.end());
    return batch;
}

Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end) {
    check(0 <= begin && begin <= end && end <= batch.sentences, "batch: sentences [{}, {}) of {}", begin, end, batch.sentences);
    Batch part;
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

}  // namespace heddle::app
