#include "kernels/attention/cached/attention_cached.h"

#include <algorithm>

#include "kernels/attention/alibi.h"
#include "tests/kernels/attention_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr std::int64_t kHeads = 2, kWidth = 32, kColumns = kHeads * kWidth;

// A few sentences of one projection [tokens, 3 columns] and causal attention over them.
struct Sentences {
    std::vector<std::int64_t> lengths;
    Spans spans;
    Tensor projection, output;

    Sentences(std::vector<std::int64_t> of_lengths, DType dtype)
        : lengths(std::move(of_lengths)),
          spans(Spans::packed(lengths)),
          projection(normal({spans.rows(), 3 * kColumns}, DType::f32, 11).to(dtype)),
          output(attention_forward({projection, 0, kColumns}, {projection, kColumns, kColumns},
                                   {projection, 2 * kColumns, kColumns},
                                   {.query_spans = spans, .key_spans = spans, .heads = kHeads, .causal = true})
                     .output) {}
};

// Cache rows in a scattered order: token i lies in slot (i * 37 + 5) % slots.
std::int32_t slot_of(std::int64_t token, std::int64_t slots) { return static_cast<std::int32_t>((token * 37 + 5) % slots); }

TEST(AttentionCached, EveryStepHasTheBitsOfCausalAttentionWithoutACache) {
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Sentences all({1, 14, 33, 90, 70}, dtype);
        constexpr std::int64_t kSlots = 211;
        const Tensor keys = Tensor::full({kSlots, kColumns}, NAN, dtype), values = Tensor::full({kSlots, kColumns}, NAN, dtype);
        const auto column = [&](std::int64_t token, std::int64_t part) {
            return Columns(all.projection.slice(token, token + 1), part * kColumns, kColumns);
        };
        const auto copy = [&](const Columns& from, Tensor to, std::int64_t row) {
            const std::int64_t bytes = size_of(dtype);
            std::copy_n(from.base.bytes_data() + from.begin * bytes, kColumns * bytes,
                        to.slice(row, row + 1).mutable_bytes_data());
        };
        for (std::int64_t step = 0; step < all.spans.longest(); ++step) {
            std::vector<std::int64_t> open, lengths;
            for (std::int64_t s = 0; s < all.spans.size(); ++s)
                if (step < all.spans[s].length) open.push_back(s);
            const auto rows = std::ssize(open);
            Tensor queries = Tensor::empty({rows, kColumns}, dtype), table = Tensor::full({rows, 90}, -1, DType::i32);
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t start = all.spans[open[static_cast<std::size_t>(r)]].start;
                copy(column(start + step, 0), queries, r);
                copy(column(start + step, 1), keys, slot_of(start + step, kSlots));
                copy(column(start + step, 2), values, slot_of(start + step, kSlots));
                for (std::int64_t t = 0; t <= step; ++t)
                    table.mutable_data<std::int32_t>()[r * 90 + t] = slot_of(start + t, kSlots);
                lengths.push_back(step + 1);
            }
            const Tensor output = attention_cached(queries, {keys, values, table, lengths}, kHeads);
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t token = all.spans[open[static_cast<std::size_t>(r)]].start + step;
                EXPECT_TRUE(same_bits(output.slice(r, r + 1), all.output.slice(token, token + 1))) << step << ", " << r;
            }
        }
    }
}

TEST(AttentionCached, GroupedKeysHaveTheBitsOfCausalAttentionWithoutACache) {
    constexpr std::int64_t kKeys = kWidth, kTime = 70;  // one head of keys for both of the query
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Spans spans = Spans::packed(std::vector<std::int64_t>{kTime});
        const Tensor query = normal({kTime, kColumns}, DType::f32, 1).to(dtype),
                     key = normal({kTime, kKeys}, DType::f32, 2).to(dtype),
                     value = normal({kTime, kKeys}, DType::f32, 3).to(dtype);
        const AttentionRules rules{.query_spans = spans, .key_spans = spans, .heads = kHeads, .key_heads = 1, .causal = true};
        const Tensor whole = attention_forward(query, key, value, rules).output;
        Tensor table = Tensor::empty({1, kTime}, DType::i32);
        for (std::int32_t i = 0; i < kTime; ++i) table.mutable_data<std::int32_t>()[i] = i;
        for (std::int64_t i = 0; i < kTime; ++i) {
            const std::vector<std::int64_t> lengths{i + 1};
            const Tensor output = attention_cached(query.slice(i, i + 1), {key, value, table, lengths, 1}, kHeads);
            EXPECT_TRUE(same_bits(output, whole.slice(i, i + 1))) << i;
        }
    }
}

TEST(AttentionCached, LinearBiasesGiveTheBitsOfCausalAttentionWithoutACache) {
    constexpr std::int64_t kTime = 70, kLonger = 75;
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Spans spans = Spans::packed(std::vector<std::int64_t>{kTime});
        const Tensor x = normal({kTime, 3 * kColumns}, DType::f32, 1).to(dtype);
        const Columns query(x, 0, kColumns), key(x, kColumns, kColumns), value(x, 2 * kColumns, kColumns);
        const AttentionRules rules{.query_spans = spans,
                                   .key_spans = spans,
                                   .heads = kHeads,
                                   .causal = true,
                                   .bias = alibi_bias(kHeads, kLonger, dtype)};
        const Tensor whole = attention_forward(query, key, value, rules).output;
        Tensor table = Tensor::empty({2, kTime}, DType::i32);
        for (std::int64_t i = 0; i < 2 * kTime; ++i) table.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % kTime);
        for (std::int64_t i = 1; i < kTime; ++i) {
            // Beside a shorter row, whose newest key is another one.
            const std::vector<std::int64_t> lengths{i + 1, i};
            Tensor rows = Tensor::empty({2, 3 * kColumns}, dtype);
            rows.slice(0, 1).copy_(x.slice(i, i + 1));
            rows.slice(1, 2).copy_(x.slice(i - 1, i));
            const Tensor output = attention_cached({rows, 0, kColumns},
                                                   {.key = key,
                                                    .value = value,
                                                    .table = table,
                                                    .lengths = lengths,
                                                    .bias = alibi_cached_bias(kHeads, kLonger + 3, dtype)},
                                                   kHeads);
            EXPECT_TRUE(same_bits(output.slice(0, 1), whole.slice(i, i + 1))) << i;
            EXPECT_TRUE(same_bits(output.slice(1, 2), whole.slice(i - 1, i))) << i;
        }
    }
}

TEST(AttentionCached, LinearBiasesHaveThePapersSlopes) {
    EXPECT_EQ(alibi_slopes(8), (std::vector{.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625}));
    EXPECT_EQ(alibi_slopes(1), std::vector{std::exp2(-8.0)});
    EXPECT_EQ(alibi_slopes(3), (std::vector{std::exp2(-4.0), std::exp2(-8.0), std::exp2(-2.0)}));
    EXPECT_EQ(alibi_bias(2, 3, DType::f64).to_vector(),
              (std::vector{0., -.0625, -.125, -.0625, 0., -.0625, -.125, -.0625, 0., 0., -.00390625, -.0078125, -.00390625, 0.,
                           -.00390625, -.0078125, -.00390625, 0.}));
    EXPECT_EQ(alibi_cached_bias(2, 3, DType::f64).to_vector(), (std::vector{-.125, -.0625, 0., -.0078125, -.00390625, 0.}));
    expect_error([] { alibi_slopes(0); }, "0 heads");
}

TEST(AttentionCached, FollowsTheTableWhenHypothesesBranch) {
    const Tensor keys = normal({6, kColumns}, DType::f32, 1), values = normal({6, kColumns}, DType::f32, 2);
    const Tensor query = normal({1, kColumns}, DType::f32, 3);
    Tensor queries = Tensor::empty({3, kColumns}, DType::f32);
    for (std::int64_t r = 0; r < 3; ++r) queries.slice(r, r + 1).copy_(query);
    // The third hypothesis is the first one again; the second branched off after one token.
    const Tensor table = Tensor::from(std::vector<std::int32_t>{4, 0, 3, 4, 5, 1, 4, 0, 3}, {3, 3});
    const std::vector<std::int64_t> lengths{3, 3, 3};
    const Tensor output = attention_cached(queries, {keys, values, table, lengths}, kHeads);
    EXPECT_TRUE(same_bits(output.slice(0, 1), output.slice(2, 3)));
    EXPECT_FALSE(same_bits(output.slice(0, 1), output.slice(1, 2)));
    Tensor key = Tensor::empty({3, kColumns}, DType::f32), value = Tensor::empty({3, kColumns}, DType::f32);
    for (std::int64_t t = 0; t < 3; ++t) {
        const std::int32_t slot = table.data<std::int32_t>()[3 + t];
        key.slice(t, t + 1).copy_(keys.slice(slot, slot + 1));
        value.slice(t, t + 1).copy_(values.slice(slot, slot + 1));
    }
    const AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{1}),
                               .key_spans = Spans::packed(std::vector<std::int64_t>{3}),
                               .heads = kHeads};
    EXPECT_TRUE(same_bits(output.slice(1, 2), attention_forward(query, key, value, rules).output));
}

TEST(AttentionCached, ARowWithoutKeysIsZero) {
    const Tensor cache = normal({2, kColumns}, DType::f32, 1), query = normal({2, kColumns}, DType::f32, 2);
    const std::vector<std::int64_t> lengths{0, 1};
    const Tensor output = attention_cached(query, {cache, cache, Tensor::zeros({2, 1}, DType::i32), lengths}, kHeads);
    for (const double value : output.slice(0, 1).to_vector()) EXPECT_EQ(value, 0.0);
    EXPECT_LE(relative_error(output.slice(1, 2), cache.slice(0, 1)), 1e-6);  // one key has weight 1
}

TEST(AttentionCached, GivesTheSameBitsForAnyNumberOfThreads) {
    const Tensor keys = normal({50, kColumns}, DType::f32, 1), values = normal({50, kColumns}, DType::f32, 2);
    Tensor query = normal({300, kColumns}, DType::f32, 3), table = Tensor::empty({300, 20}, DType::i32);
    Sequence random(4);
    for (std::int32_t& slot : table.mutable_values<std::int32_t>()) slot = static_cast<std::int32_t>(random.below(50));
    const std::vector<std::int64_t> lengths = random_lengths(300, 20, 5);
    Tensor first;
    for (const int count : {1, 2, 3}) {
        const WithThreads with(count);
        const Tensor output = attention_cached(query, {keys, values, table, lengths}, kHeads);
        if (!first.defined()) first = output;
        EXPECT_TRUE(same_bits(output, first)) << count;
    }
}

TEST(AttentionCached, SaysWhatDoesNotFit) {
    const Tensor x = normal({2, kColumns}, DType::f32, 1);
    const std::vector<std::int64_t> lengths{1, 2}, long_ones{1, 3};
    const auto run = [&](std::vector<std::int32_t> slots, const std::vector<std::int64_t>& of_lengths) {
        const Tensor table = Tensor::from(slots, {std::ssize(slots) / 2, 2});
        attention_cached(x, {x, x, table, of_lengths}, kHeads);
    };
    expect_error([&] { run({0, 0, 0, 2}, lengths); }, "attention_cached: row 1 names cache row 2, but there are 2");
    expect_error([&] { run({0, 0, 0, -1}, lengths); }, "attention_cached: row 1 names cache row -1");
    expect_error([&] { run({0, 0, 0, 0}, long_ones); }, "attention_cached: row 1 has 3 keys, but the table holds 2");
    expect_error([&] { run({0, 0}, lengths); }, "wanted one row and one length for each of 2 query rows");
    expect_error([&] { attention_cached(x, {x, x, x, lengths}, kHeads); }, "table");
}

}  // namespace
}  // namespace heddle::kernels
