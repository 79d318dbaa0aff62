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
TEST(AttentionRows, NarrowHeadsHaveTheBitsOfBlocksAtEveryLevel) {
    const auto forwards = HEDDLE_ALL_LEVELS(attention_forward_fast);
    const auto backwards = HEDDLE_ALL_LEVELS(attention_backward_fast);
    const Spans queries = Spans::packed(std::vector<std::int64_t>{7, 1, 40, 16, 17, 33, 5});
    const Spans keys = Spans::packed(std::vector<std::int64_t>{7, 9, 3, 16, 32, 33, 0});
    for (const auto& [heads, width] : {std::pair{4, 4}, {8, 4}, {3, 4}, {2, 8}, {4, 8}, {1, 8}})
        for (const bool causal : {false, true}) {
            const std::int64_t columns = heads * width;
            AttentionRules rules{.query_spans = queries, .key_spans = keys, .heads = heads, .causal = causal};
            const AttentionCase at = make_case(rules, width, width, false);
            rules.mask = Tensor::ones({40, 33}, DType::u8);
            const AttentionView<float> views[] = {view_attention<float>(at.query(), at.key(), at.value(), at.rules),
                                                  view_attention<float>(at.query(), at.key(), at.value(), rules)};
            std::vector<AttentionItem> items;
            for (std::int64_t s = 0; s < queries.size(); ++s)
                for (std::int64_t h = 0; h < heads; ++h) items.push_back({s, h});
            for (std::size_t level = 0; level < forwards.size(); ++level) {
                std::vector<Tensor> results[2];
                for (const bool masked : {false, true}) {
                    Guarded<float> output(119 * columns), unrecorded(119 * columns), log_sum(119 * heads);
                    Guarded<float> d_query(119 * columns), d_key(100 * columns), d_value(100 * columns);
                    Guarded<float> scratch(attention_backward_scratch(33, width, width));
                    const AttentionView<float>& view = views[masked];
                    const HeadRows<float> rows{output.data(), columns, width};
                    forwards[level](view, items.data(), std::ssize(items), rows, log_sum.data(), scratch.data());
                    forwards[level](view, items.data(), std::ssize(items), {unrecorded.data(), columns, width}, nullptr,
                                    scratch.data());
                    backwards[level](view,
                                     {{output.data(), columns, width},
                                      log_sum.data(),
                                      {at.d_output.data<float>(), columns, width},
                                      {d_query.data(), columns, width},
                                      {d_key.data(), columns, width},
                                      {d_value.data(), columns, width}},
                                     items.data(), std::ssize(items), scratch.data());
                    for (const Guarded<float>* memory : {&output, &unrecorded, &log_sum, &d_query, &d_key, &d_value, &scratch})
                        EXPECT_TRUE(memory->intact()) << level;
                    results[masked] = {output.tensor({119, columns}), unrecorded.tensor({119, columns}),
                                       log_sum.tensor({119, heads}),  d_query.tensor({119, columns}),
                                       d_key.tensor({100, columns}),  d_value.tensor({100, columns})};
                }
                for (std::size_t i = 0; i < results[0].size(); ++i)
                    EXPECT_TRUE(same_bits(results[0][i], results[1][i])) << "result " << i << ", level " << level << ", " << heads
                                                                         << " heads of " << width << ", causal " << causal;
            }
        }
}

}  // namespace
}  // namespace heddle::kernels
