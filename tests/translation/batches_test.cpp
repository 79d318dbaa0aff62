#include "apps/translation/batching/batch_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/random.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

std::vector<std::int32_t> tokens(std::uint64_t count, std::int32_t first) {
    std::vector<std::int32_t> out;
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(first + static_cast<std::int32_t>(i % 50));
    return out;
}

/// Pairs with 1 to `longest` tokens per side.
std::vector<TokenPair> random_pairs(std::size_t count, std::uint64_t longest) {
    Sequence numbers(5);
    std::vector<TokenPair> pairs;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t length = 1 + numbers.below(longest);
        pairs.push_back({tokens(std::max<std::uint64_t>(1, length - numbers.below(std::min<std::uint64_t>(length, 4))), 10),
                         tokens(length, 100)});
    }
    return pairs;
}

std::int64_t padded_tokens(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& batch) {
    std::int64_t widest = 0;
    for (const std::int64_t i : batch) widest = std::max(widest, pairs[static_cast<std::size_t>(i)].width());
    return widest * static_cast<std::int64_t>(batch.size());
}

std::vector<std::int64_t> all_indices(const BatchPlan& plan) {
    std::vector<std::int64_t> out;
    for (const auto& batch : plan.batches) out.insert(out.end(), batch.begin(), batch.end());
    return out;
}

TEST(BatchPlan, HoldsEveryPairOnceAndNeverExceedsTheTokens) {
    const std::vector<TokenPair> pairs = random_pairs(2000, 40);
    for (const std::int64_t most : {41, 100, 999, 3000, 1000000}) {
        const BatchPlan plan = plan_batches(pairs, {.batch_tokens = most, .max_length = 0}, 1, 0);
        std::vector<std::int64_t> seen = all_indices(plan);
        EXPECT_EQ(plan.sentences, 2000);
        std::sort(seen.begin(), seen.end());
        ASSERT_EQ(seen.size(), 2000u);
        for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<std::int64_t>(i));
        for (const auto& batch : plan.batches) EXPECT_LE(padded_tokens(pairs, batch), most);
    }
}

TEST(BatchPlan, FillsEachBatchUntilTheNextPairWouldNotFit) {
    const std::vector<TokenPair> pairs = random_pairs(500, 30);
    const BatchPlan plan = plan_batches(pairs, {.batch_tokens = 300, .max_length = 0, .shuffle = false}, 1, 0);
    ASSERT_GT(plan.batches.size(), 5u);
    for (std::size_t b = 0; b + 1 < plan.batches.size(); ++b) {
        std::vector<std::int64_t> larger = plan.batches[b];
        larger.push_back(plan.batches[b + 1].front());
        EXPECT_GT(padded_tokens(pairs, larger), 300);
    }
}

TEST(BatchPlan, SortsByTargetThenSourceLength) {
    const std::vector<TokenPair> pairs = random_pairs(300, 20);
    const std::vector<std::int64_t> order = all_indices(plan_batches(pairs, {.batch_tokens = 100, .shuffle = false}, 1, 0));
    const auto key = [&](std::int64_t i) {
        const TokenPair& pair = pairs[static_cast<std::size_t>(i)];
        return std::tuple(pair.target.size(), pair.source.size(), i);
    };
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); }));
}

TEST(BatchPlan, DependsOnSeedAndEpochAlone) {
    const std::vector<TokenPair> pairs = random_pairs(600, 25);
    const BatchLimits options{.batch_tokens = 400};
    const BatchPlan plan = plan_batches(pairs, options, 3, 7);
    EXPECT_EQ(plan.batches, plan_batches(pairs, options, 3, 7).batches);
    EXPECT_NE(plan.batches, plan_batches(pairs, options, 3, 8).batches);
    EXPECT_NE(plan.batches, plan_batches(pairs, options, 4, 7).batches);
    EXPECT_EQ(plan_batches(pairs, {.batch_tokens = 400, .shuffle = false}, 3, 7).batches,
              plan_batches(pairs, {.batch_tokens = 400, .shuffle = false}, 4, 8).batches);
}

TEST(BatchPlan, BringsOtherNeighboursTogetherInEveryEpoch) {
    const std::vector<TokenPair> pairs(200, TokenPair{tokens(5, 10), tokens(5, 10)});
    const auto sets = [&](std::uint64_t epoch) {
        std::set<std::set<std::int64_t>> out;
        for (const auto& batch : plan_batches(pairs, {.batch_tokens = 60}, 1, epoch).batches)
            out.insert({batch.begin(), batch.end()});
        return out;
    };
    EXPECT_NE(sets(0), sets(1));
}

TEST(BatchPlan, CountsWhatItLeavesOut) {
    const std::vector<TokenPair> pairs{
        {tokens(3, 10), tokens(4, 10)},  {tokens(9, 10), tokens(2, 10)}, {{}, tokens(2, 10)}, {tokens(1, 10), {}},
        {tokens(2, 10), tokens(19, 10)}, {tokens(8, 10), tokens(8, 10)}};
    const BatchPlan plan = plan_batches(pairs, {.batch_tokens = 9, .max_length = 10}, 1, 0);
    EXPECT_EQ(plan.empty, 2);
    EXPECT_EQ(plan.too_long, 1);  // 19 tokens and EOS
    EXPECT_EQ(plan.too_wide, 1);  // 9 tokens and EOS alone exceed 9
    EXPECT_EQ(plan.sentences, 2);
    EXPECT_EQ(plan.source_tokens, 4 + 9);
    EXPECT_EQ(plan.target_tokens, 5 + 9);
}

TEST(BatchPlan, CountsSentencesInsteadOfTokensOrBoth) {
    std::vector<TokenPair> pairs;
    for (std::int64_t n = 1; n <= 10; ++n) pairs.push_back({tokens(n, 10), tokens(n, 10)});
    const auto sizes = [&](BatchLimits options) {
        options.shuffle = false;
        std::vector<std::size_t> found;
        for (const auto& batch : plan_batches(pairs, options, 1, 0).batches) found.push_back(batch.size());
        return found;
    };
    EXPECT_EQ(sizes({.batch_tokens = 0, .batch_sentences = 4}), (std::vector<std::size_t>{4, 4, 2}));
    EXPECT_EQ(sizes({.batch_tokens = 20, .batch_sentences = 4}), (std::vector<std::size_t>{4, 2, 2, 1, 1})) << "widths 2 to 11";
    EXPECT_EQ(sizes({.batch_tokens = 0, .batch_sentences = 10}), (std::vector<std::size_t>{10}));
    EXPECT_THROW(plan_batches(pairs, {.batch_tokens = 0, .batch_sentences = -1}, 1, 0), Error);
}

TEST(BatchPlan, LeavesPairsOfManyWordsOutAndCountsThem) {
    const std::vector<TokenPair> pairs{{tokens(2, 10), tokens(2, 10), 10}, {tokens(2, 10), tokens(2, 10), 11}};
    EXPECT_EQ(plan_batches(pairs, {.max_words = 10}, 1, 0).too_long, 1);
    EXPECT_EQ(plan_batches(pairs, {.max_words = 0}, 1, 0).sentences, 2);
    EXPECT_EQ(plan_batches(pairs, {.max_words = 10}, 1, 0).batches, (std::vector<std::vector<std::int64_t>>{{0}}));
}

TEST(EncodedPairs, KnowTheirWordsBetweenSpaces) {
    const std::vector<std::string> lines{"a, b. c"};
    const auto vocabulary = train_vocabulary({.type = VocabularyType::word, .size = 0}, lines);
    const Corpus corpus{{{"a, b.", "a"}, {" a\u00a0b \tc ", "a b c d!"}}};
    const std::vector<TokenPair> pairs = encode_corpus(corpus, *vocabulary, *vocabulary);
    EXPECT_EQ(pairs[0].words, 2) << "a sign belongs to its word here";
    EXPECT_EQ(pairs[1].words, 4) << "the longer side";
    EXPECT_EQ(words_in(""), 0);
}

TEST(BatchPlan, WithoutAnyPairIsAnErrorThatSaysWhy) {
    const std::vector<TokenPair> pairs{{tokens(30, 10), tokens(30, 10)}};
    const std::vector<TokenPair> empty(2);
    const auto why = [](const std::vector<TokenPair>& pairs, const BatchLimits& options) {
        return error_of([&] { plan_batches(pairs, options, 1, 0); });
    };
    // A limit that is switched off is not named as a reason.
    const std::string table = " tokens (--max-length, or the table of learned positions)",
                      hint = "; give larger limits, or other text";
    EXPECT_EQ(why(pairs, {.batch_tokens = 20, .max_length = 0}),
              "batches: none of the 1 pairs can be used: 1 that alone exceed 20 tokens (--batch-tokens)" + hint);
    EXPECT_EQ(why(pairs, {.batch_tokens = 20, .max_length = 25}),
              "batches: none of the 1 pairs can be used: 1 longer than 25" + table + hint);
    std::vector<TokenPair> wordy = pairs;
    wordy[0].words = 30;
    EXPECT_EQ(why(wordy, {.batch_tokens = 0, .batch_sentences = 4, .max_length = 0, .max_words = 9}),
              "batches: none of the 1 pairs can be used: 1 longer than 9 words (--max-words)" + hint);
    EXPECT_EQ(why(empty, {.batch_tokens = 20, .max_length = 0}),
              "batches: none of the 2 pairs can be used: 2 with an empty side; give other text");
    EXPECT_EQ(why({}, {.batch_tokens = 20}), "batches: there are no pairs; wanted at least one");
    EXPECT_THROW(plan_batches(pairs, {.batch_tokens = 0}, 1, 0), Error);
    EXPECT_THROW(plan_batches({}, {}, 1, 0), Error);
}

TEST(PairBatch, PacksSentencesWithBosAndEos) {
    const std::vector<TokenPair> pairs{{{10, 11}, {20}}, {{12}, {21, 22, 23}}, {{13, 14, 15}, {24, 25}}};
    const std::vector<std::int64_t> indices{2, 0};
    const PairBatch batch = make_batch(pairs, indices);
    EXPECT_EQ(batch.source, (std::vector<std::int32_t>{13, 14, 15, eos_id, 10, 11, eos_id}));
    EXPECT_EQ(batch.target_in, (std::vector<std::int32_t>{bos_id, 24, 25, bos_id, 20}));
    EXPECT_EQ(batch.target_out, (std::vector<std::int32_t>{24, 25, eos_id, 20, eos_id}));
    EXPECT_EQ(batch.source_spans, Spans({{0, 4}, {4, 3}}, 7));
    EXPECT_EQ(batch.target_spans, Spans({{0, 3}, {3, 2}}, 5));
    EXPECT_EQ(batch.sentences, 2);
    EXPECT_EQ(batch.source_tokens, 7);
    EXPECT_EQ(batch.target_tokens, 5);
    EXPECT_EQ(batch.indices, indices);
    EXPECT_THROW(make_batch(pairs, std::vector<std::int64_t>{3}), Error);
    EXPECT_THROW(make_batch(pairs, std::vector<std::int64_t>{-1}), Error);
}

TEST(EncodeCorpus, IsTheSameForAnyNumberOfThreads) {
    Corpus corpus;
    for (int i = 0; i < 500; ++i) corpus.pairs.push_back({"a b c " + std::to_string(i), std::to_string(i * 7) + " x"});
    std::vector<std::string_view> lines = corpus.source_views();
    for (const std::string_view target : corpus.target_views()) lines.push_back(target);
    const auto vocabulary = train_vocabulary({.type = VocabularyType::character, .size = 0}, lines);
    const auto encoded = [&](int count) {
        const WithThreads on(count);
        return encode_corpus(corpus, *vocabulary, *vocabulary);
    };
    const std::vector<TokenPair> alone = encoded(1), together = encoded(3);
    ASSERT_EQ(alone.size(), 500u);
    for (std::size_t i = 0; i < alone.size(); ++i) {
        ASSERT_EQ(alone[i].source, together[i].source);
        ASSERT_EQ(alone[i].target, vocabulary->encode(corpus.pairs[i].target));
        ASSERT_EQ(alone[i].target, together[i].target);
    }
}

}  // namespace
}  // namespace heddle::app
