#include "autograd/observe.h"
#include "autograd/ops.h"
#include "tests/autograd/proofs_support.h"
#include "tests/kernels/attention_cases.h"
#include "tests/support.h"

namespace heddle {
namespace {

using ops::ColumnsOf;

TEST(AttentionGradient, OneProjectionReceivesAllThreeSlicesInOneTensor) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{4, 3});
    const Variable base(normal({7, 3 * 16}, DType::f32, 1), true);
    ops::AttentionArguments options;
    options.heads = 2;
    const Variable y =
        ops::attention(ColumnsOf(base, 0, 16), ColumnsOf(base, 16, 16), ColumnsOf(base, 32, 16), spans, spans, options);
    const Tensor cotangent = normal({7, 16}, DType::f32, 2);
    backward(y, cotangent);
    // The same three inputs as separate tensors.
    std::vector<Variable> apart;
    for (std::int64_t i = 0; i < 3; ++i) {
        Tensor part = Tensor::empty({7, 16}, DType::f32);
        for (std::int64_t row = 0; row < 7; ++row)
            std::copy_n(base.value().data<float>() + row * 48 + i * 16, 16, part.mutable_data<float>() + row * 16);
        apart.emplace_back(part, true);
    }
    const Variable z = ops::attention(apart[0], apart[1], apart[2], spans, spans, options);
    backward(z, cotangent);
    EXPECT_TRUE(same_bits(y.value(), z.value()));
    for (std::int64_t row = 0; row < 7; ++row)
        for (std::int64_t c = 0; c < 48; ++c)
            EXPECT_EQ(base.grad().data<float>()[row * 48 + c],
                      apart[static_cast<std::size_t>(c / 16)].grad().data<float>()[row * 16 + c % 16]);
}

TEST(AttentionGradient, NothingIsSavedWhenNothingNeedsAGradient) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{4});
    const Variable x(normal({4, 8}, DType::f32, 1), true);
    const std::int64_t before = tape_size();
    const NoGrad no_grad;
    const Variable y = ops::attention(x, x, x, spans, spans, {.heads = 2});
    EXPECT_EQ(tape_size(), before);
    EXPECT_FALSE(y.requires_grad());
}

TEST(AttentionGradient, HandsOutTheWeightsWhenAsked) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{4, 2});
    const Variable x(normal({6, 8}, DType::f32, 1), true);
    Tensor weights;
    ops::attention(x, x, x, spans, spans, {.heads = 2, .causal = true, .weights = &weights});
    ASSERT_EQ(weights.shape(), Shape({2, 2, 4, 4}));
    for (std::int64_t i = 0; i < 4; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < 4; ++j) sum += weights.data<float>()[i * 4 + j];
        EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_EQ(weights.data<float>()[1], 0.0f);  // the first token does not attend to the second
}

// The causal rule is aligned to the end: of q queries and k keys, query i meets the keys 0 to i + k - q.
TEST(AttentionGradient, CountsTheProductsOfThePairsThatMeet) {
    const std::vector<std::int64_t> queries = {2, 3, 1, 4}, keys = {3, 1, 4, 4};
    std::int64_t every = 0, causal = 0;
    for (std::size_t s = 0; s < queries.size(); ++s)
        for (std::int64_t i = 0; i < queries[s]; ++i)
            for (std::int64_t j = 0; j < keys[s]; ++j) {
                ++every;
                causal += j <= i + keys[s] - queries[s] ? 1 : 0;
            }
    EXPECT_EQ(causal, 5 + 1 + 4 + 10);
    const Variable query(normal({10, 4}, DType::f32, 1)), key(normal({12, 4}, DType::f32, 2)),
        value(normal({12, 6}, DType::f32, 3));
    for (const bool rule : {false, true}) {
        std::int64_t counted = -1;
        const ObserveOps observe([&](const ObservedOp& op) { counted = op.multiply_adds; });
        ops::attention(query, key, value, Spans::packed(queries), Spans::packed(keys), {.heads = 2, .causal = rule});
        EXPECT_EQ(counted, (rule ? causal : every) * (4 + 6)) << "causal " << rule;
    }
}

TEST(AttentionGradient, AMaskChangedBeforeBackwardIsAnError) {
    const Spans spans = Spans::packed(std::vector<std::int64_t>{4});
    const Variable x(normal({4, 8}, DType::f32, 1), true);
    Tensor mask = Tensor::full({4, 4}, 1, DType::u8);
    const Variable y = ops::attention(x, x, x, spans, spans, {.heads = 2, .mask = mask});
    mask.fill_(0);
    expect_error([&] { backward(y, normal({4, 8}, DType::f32, 2)); }, "changed in place");
}

}  // namespace
}  // namespace heddle
