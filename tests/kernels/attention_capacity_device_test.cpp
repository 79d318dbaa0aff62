// Attention on batches within a capacity, as captured training steps have them.
#include <fmt/format.h>

#include "tests/kernels/attention_device_cases.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// Batches within a capacity have empty sentences and rows of no sentence at the end, and work lists as long as any batch of the
// capacity could need: every kernel meets tiles without a row. The sentences keep their bits, and the rest is zeros.
TEST(AttentionCapacity, GivesABatchWithinACapacityTheSameBits) {
    const auto expect_same = [](const Tensor& within, const Tensor& alone, const std::string& what) {
        const Tensor rows = within.to(Device::cpu);
        EXPECT_TRUE(same_bits(rows.slice(0, alone.dim(0)).clone(), alone.to(Device::cpu))) << what;
        for (const double value : rows.slice(alone.dim(0), rows.dim(0)).to_vector()) EXPECT_EQ(value, 0) << what;
    };
    const auto expect_within = [&](const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                                   std::int64_t longest, int dk) {
        const Spans query_spans = Spans::packed(queries), key_spans = Spans::packed(keys);
        for (const bool causal : {false, true})
            for (const Numbers& numbers : all_numbers()) {
                const std::string what = fmt::format("dk {}, causal {}, {}", dk, causal, to_string(numbers));
                AttentionRules rules{.query_spans = query_spans.within({80, 4, longest}),
                                     .key_spans = key_spans.within({90, 4, longest}),
                                     .heads = 1,
                                     .causal = causal,
                                     .dropout = Dropout(0.2, 5)};
                const AttentionCase within = on(numbers, make_case(rules, dk, dk, false));
                AttentionCase alone = within;
                alone.rules.query_spans = query_spans;
                alone.rules.key_spans = key_spans;
                alone.query_base = within.query_base.slice(0, query_spans.rows());
                alone.key_base = within.key_base.slice(0, key_spans.rows());
                alone.d_output = within.d_output.slice(0, query_spans.rows());
                const AttentionResult result = within.forward(), want = alone.forward();
                expect_same(result.output, want.output, what);
                expect_same(result.log_sum, want.log_sum, what);
                const Gradients g = backward_of(within, result), wanted = backward_of(alone, want);
                expect_same(g.query, wanted.query, what);
                expect_same(g.key, wanted.key, what);
                expect_same(g.value, wanted.value, what);
            }
    };
    expect_within({17, 1, 20}, {5, 33, 2}, 64, 16);  // short ones
    expect_within({66, 9}, {65, 3}, 128, 32);        // by tensor cores
    expect_within({3, 2}, {2, 5}, 128, 130);         // too wide for these
}

}  // namespace
}  // namespace heddle::kernels
