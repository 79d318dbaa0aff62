// Attention's rows of queries: what one gives does not depend on the others, nor on how many there are.
#include "kernels/attention/attention.h"
#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_pieces.h"
#include "tests/kernels/attention_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

TEST(AttentionRows, AQueryRowsBitsDoNotDependOnTheOtherQueryRows) {
    AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{45}),
                         .key_spans = Spans::packed(std::vector<std::int64_t>{70}),
                         .heads = 2};
    AttentionCase at = make_case(rules, 32, 32, false);
    const Tensor all = at.forward().output, queries = at.query_base;
    for (const std::int64_t count : {1, 3, 5, 16, 17})
        for (std::int64_t first = 0; first + count <= 45; first += 7) {
            at.query_base = queries.slice(first, first + count).clone();
            at.rules.query_spans = Spans::packed(std::vector<std::int64_t>{count});
            EXPECT_TRUE(same_bits(at.forward().output, all.slice(first, first + count))) << first << ", " << count;
        }
}

// Without a log-sum-exp for backward, a few queries are computed one by one.
TEST(AttentionRows, FewQueriesHaveTheBitsOfABlockAtEveryLevel) {
    const auto forwards = HEDDLE_ALL_LEVELS(attention_forward_fast);
    for (const bool causal : {false, true}) {
        AttentionRules rules{.query_spans = Spans::packed(std::vector<std::int64_t>{8, 1, 5, 3}),
                             .key_spans = Spans::packed(std::vector<std::int64_t>{20, 70, 3, 64}),
                             .heads = 4,
                             .key_heads = 2};
        rules.causal = causal;
        const AttentionCase at = make_case(rules, 20, 37, false);
        const auto view = view_attention<float>(at.query(), at.key(), at.value(), rules);
        std::vector<AttentionItem> items;
        for (std::int64_t s = 0; s < 4; ++s)
            for (std::int64_t h = 0; h < 4; ++h) items.push_back({s, h});
        for (std::size_t level = 0; level < forwards.size(); ++level) {
            Guarded<float> block(17 * 148), one_by_one(17 * 148), log_sum(17 * 4), scratch(attention_forward_scratch(70, 20, 37));
            forwards[level](view, items.data(), 16, {block.data(), 148, 37}, log_sum.data(), scratch.data());
            forwards[level](view, items.data(), 16, {one_by_one.data(), 148, 37}, nullptr, scratch.data());
            EXPECT_TRUE(one_by_one.intact() && scratch.intact()) << level;
            EXPECT_TRUE(same_bits(one_by_one.tensor({17, 148}), block.tensor({17, 148})))
                << "level " << level << ", causal " << causal;
        }
    }
}

// Narrow heads of short sentences stand side by side in the lanes, but not with a mask: one that hides nothing changes no bit.
// Nor do they with dropout, or when heads share their keys.
class NarrowHeads : public testing::TestWithParam<std::tuple<std::pair<std::int64_t, std::int64_t>, bool, const char*>> {
  protected:
    const Spans queries_ = Spans::packed(std::vector<std::int64_t>{7, 1, 40, 16, 17, 33, 5});
    const Spans keys_ = Spans::packed(std::vector<std::int64_t>{7, 9, 3, 16, 32, 33, 0});

    AttentionRules rules(bool masked) const {
        const auto& [size, causal, what] = GetParam();
        AttentionRules rules{.query_spans = queries_, .key_spans = keys_, .heads = size.first, .causal = causal};
        if (std::string_view(what) == "shared") rules.key_heads = 1;
        if (std::string_view(what) == "dropout") rules.dropout = Dropout(0.4, 5);
        if (masked) rules.mask = Tensor::ones({queries_.longest(), keys_.longest()}, DType::u8);
        return rules;
    }
    static std::vector<AttentionItem> items(std::int64_t heads) {
        std::vector<AttentionItem> all;
        for (std::int64_t sentence = 0; sentence < 7; ++sentence)
            for (std::int64_t head = 0; head < heads; ++head) all.push_back({sentence, head});
        return all;
    }
    // Outputs, with and without a log-sum-exp, this, and the three gradients.
    std::vector<Tensor> results(std::size_t level, bool masked) const {
        const std::int64_t width = std::get<0>(GetParam()).second;
        AttentionCase at = make_case(rules(false), width, width, false);
        at.rules = rules(masked);
        const std::int64_t heads = at.rules.heads, key_heads = at.rules.heads_of_keys(), columns = heads * width;
        const auto view = view_attention<float>(at.query(), at.key(), at.value(), at.rules);
        Guarded<float> output(queries_.rows() * columns), alone(queries_.rows() * columns), log_sum(queries_.rows() * heads);
        Guarded<float> d_query(queries_.rows() * columns), d_key(keys_.rows() * key_heads * width);
        Guarded<float> d_value(keys_.rows() * key_heads * width), scratch(attention_backward_scratch(33, width, width));
        const std::vector<AttentionItem> forward = items(heads), backward = items(key_heads);
        const auto run = HEDDLE_ALL_LEVELS(attention_forward_fast)[level];
        run(view, forward.data(), std::ssize(forward), {output.data(), columns, width}, log_sum.data(), scratch.data());
        run(view, forward.data(), std::ssize(forward), {alone.data(), columns, width}, nullptr, scratch.data());
        HEDDLE_ALL_LEVELS(attention_backward_fast)
        [level](view,
                {{output.data(), columns, width},
                 log_sum.data(),
                 {at.d_output.data<float>(), columns, width},
                 {d_query.data(), columns, width},
                 {d_key.data(), key_heads * width, width},
                 {d_value.data(), key_heads * width, width}},
                backward.data(), std::ssize(backward), scratch.data());
        std::vector<Tensor> all;
        for (const Guarded<float>* memory : {&output, &alone, &log_sum, &d_query, &d_key, &d_value, &scratch})
            EXPECT_TRUE(memory->intact()) << level;
        for (Guarded<float>* memory : {&output, &alone, &d_query}) all.push_back(memory->tensor({queries_.rows(), columns}));
        for (Guarded<float>* memory : {&d_key, &d_value}) all.push_back(memory->tensor({keys_.rows(), key_heads * width}));
        all.push_back(log_sum.tensor({queries_.rows(), heads}));
        return all;
    }
};

TEST_P(NarrowHeads, HaveTheBitsOfBlocksAtEveryLevel) {
    for (std::size_t level = 0; level < HEDDLE_ALL_LEVELS(attention_forward_fast).size(); ++level) {
        const std::vector<Tensor> narrow = results(level, false), blocks = results(level, true);
        for (std::size_t i = 0; i < narrow.size(); ++i)
            EXPECT_TRUE(same_bits(narrow[i], blocks[i])) << "result " << i << ", level " << level;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, NarrowHeads,
                         testing::Combine(testing::Values(std::pair{4, 4}, std::pair{8, 4}, std::pair{3, 4}, std::pair{2, 8},
                                                          std::pair{4, 8}),
                                          testing::Bool(), testing::Values("plain", "shared", "dropout")));

}  // namespace
}  // namespace heddle::kernels
