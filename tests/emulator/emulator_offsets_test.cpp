// Ops on tensors of more than 2^31 elements: the emulator commits only pages that kernels touch, and of large launches runs only
// the last block. The results must equal those of the same op on a small tensor bit for bit; an overflowed offset would be
// outside of every tensor, or give different results.
#include <gtest/gtest.h>

#include <vector>

#include "core/device.h"
#include "core/tensor.h"
#include "kernels/activation/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached/attention_cached.h"
#include "kernels/cast/cast.h"
#include "kernels/concat/concat.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embedding/embedding.h"
#include "kernels/emulator/run/run.h"
#include "kernels/gather/gather.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/linear/linear.h"
#include "kernels/log_softmax/log_softmax.h"
#include "kernels/permute/permute.h"
#include "kernels/reduce/reduce.h"
#include "kernels/residual/residual.h"
#include "kernels/slice/slice.h"
#include "kernels/softmax/softmax.h"
#include "kernels/top_k/top_k.h"
#include "tests/numbers.h"

namespace heddle::kernels {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 31;

Tensor random(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
    return normal(shape, DType::f32, seed).to(dtype).to(Device::cuda);
}
// A tensor [rows, ...] of which only the last rows are filled.
Tensor with_end(std::int64_t rows, const Tensor& end) {
    std::vector<std::int64_t> extents{rows};
    for (int i = 1; i < end.rank(); ++i) extents.push_back(end.dim(i));
    Tensor all = Tensor::empty(Shape(extents), end.dtype(), Device::cuda);
    all.slice(rows - end.dim(0), rows).copy_(end);
    return all;
}
template <class Op>
auto on_last_blocks(Op op) {
    const emulator::ChosenBlocks chosen({emulator::kLastBlock});
    auto result = op();
    device::synchronize();
    return result;
}
void expect_same_end(const Tensor& got, const Tensor& want, std::int64_t rows, const char* what) {
    ASSERT_GT(got.numel(), kMany) << what;
    const Tensor a = got.slice(got.dim(0) - rows, got.dim(0)).to(Device::cpu);
    const Tensor b = want.slice(want.dim(0) - rows, want.dim(0)).to(Device::cpu);
    EXPECT_TRUE(same_bits(a, b)) << what << ": " << a.to_vector()[0] << ", wanted " << b.to_vector()[0];
}

TEST(EmulatorOffsets, OfSweeps) {
    for (const std::int64_t n : {kMany + 4096, kMany + 4099})  // whole vectors, and with remaining elements
        for (const DType dtype : {DType::f32, DType::bf16}) {
            const Tensor a = random({64}, dtype, 1), b = random({64}, dtype, 2), c = random({64}, DType::u8, 3);
            const Tensor as = with_end(n, a), bs = with_end(n, b), cs = with_end(n, c);
            const auto expect = [&](const char* what, auto op) {
                const emulator::ChosenBlocks chosen({0, emulator::kLastBlock});  // the first block takes the remaining elements
                expect_same_end(op(as, bs, cs), op(a, b, c), 3, what);
            };
            expect("add", [](auto& x, auto& y, auto&) { return add(x, y); });
            expect("tanh", [](auto& x, auto&, auto&) { return tanh(x); });
            expect("tanh_backward", [](auto& x, auto& y, auto&) { return unary_backward(Unary::tanh, x, y); });
            expect("scale", [](auto& x, auto&, auto&) { return scale(x, 3); });
            expect("where", [](auto& x, auto& y, auto& condition) { return where(condition, x, y); });
            expect("relu", [](auto& x, auto&, auto&) { return relu_forward(x); });
            expect("relu_backward", [](auto& x, auto& y, auto&) { return relu_backward(x, y); });
            expect("gelu", [](auto& x, auto&, auto&) { return gelu_forward(x); });
            expect("gelu_backward", [](auto& x, auto& y, auto&) { return gelu_backward(x, y); });
            expect("cast", [](auto& x, auto&, auto&) { return cast(x, x.dtype() == DType::f32 ? DType::bf16 : DType::f32); });
            expect("residual", [](auto& x, auto& y, auto&) { return residual_forward(x, y, {}); });
            expect("fill", [](auto& x, auto&, auto&) {
                Tensor y = Tensor::empty(x.shape(), x.dtype(), Device::cuda);
                fill(y, 5);
                return y;
            });
        }
}

TEST(EmulatorOffsets, OfBroadcastsAndDropout) {
    constexpr std::int64_t kCols = 40, kRows = kMany / kCols + 99;
    const Tensor x = random({64, kCols}, DType::f32, 1), row = random({kCols}, DType::f32, 2);
    const Tensor xs = with_end(kRows, x);
    expect_same_end(on_last_blocks([&] { return add(xs, row); }), add(x, row), 1, "broadcast");
    const Dropout dropout(0.5, 7);
    const std::vector<double> from = x.slice(63, 64).to(Device::cpu).to_vector();
    for (const bool sum : {false, true}) {
        const Tensor y = on_last_blocks([&] { return sum ? residual_forward(xs, xs, dropout) : dropout_forward(xs, dropout); });
        const std::vector<double> to = y.slice(kRows - 1, kRows).to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < from.size(); ++i)
            EXPECT_NEAR(to[i],
                        (dropout.keeps_row(kRows - 1, static_cast<std::int64_t>(i)) ? 2 * from[i] : 0) + (sum ? from[i] : 0),
                        1e-4);
    }
}

// Narrow rows with one warp each, and wide ones with one block each.
TEST(EmulatorOffsets, OfRows) {
    for (const std::int64_t cols : {40, 9000})
        for (const DType dtype : {DType::f32, DType::bf16}) {
            const std::int64_t rows = kMany / cols + 99;
            const std::int64_t few = cols < 100 ? 16 : 2;
            const Tensor x = random({few, cols}, dtype, 1), y = random({few, cols}, dtype, 2);
            const Tensor gamma = random({cols}, dtype, 3), beta = random({cols}, dtype, 4);
            const Tensor xs = with_end(rows, x), ys = with_end(rows, y);
            const auto expect = [&](const char* what, auto op) {
                expect_same_end(on_last_blocks([&] { return op(xs, ys); }), op(x, y), 1, what);
            };
            expect("softmax", [](auto& a, auto&) { return softmax_forward(a); });
            expect("softmax_backward", [](auto& a, auto& b) { return softmax_backward(a, b); });
            expect("log_softmax", [](auto& a, auto&) { return log_softmax_forward(a); });
            expect("log_softmax_backward", [](auto& a, auto& b) { return log_softmax_backward(a, b); });
            expect("layer_norm", [&](auto& a, auto&) { return layer_norm_forward(a, gamma, beta, 1e-5).y; });
            expect("residual_layer_norm",
                   [&](auto& a, auto& b) { return residual_layer_norm_forward(a, b, gamma, beta, 1e-5, {}).y; });
            const LayerNormResult norm = layer_norm_forward(x, gamma, beta, 1e-5);
            const Tensor means = with_end(rows, norm.mean), rstds = with_end(rows, norm.rstd);
            expect("layer_norm_backward", [&](auto& a, auto& b) {
                const bool small = a.dim(0) == few;
                return layer_norm_backward(a, b, gamma, small ? norm.mean : means, small ? norm.rstd : rstds, true, {}, {});
            });
        }
}

TEST(EmulatorOffsets, OfLossesAndTheLargestWords) {
    constexpr std::int64_t kVocabulary = 40000, kRows = kMany / kVocabulary + 99;
    const Tensor logits = random({16, kVocabulary}, DType::bf16), all = with_end(kRows, logits);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(kRows), -1);
    ids.back() = 39999;
    const Tensor few = Tensor::from(std::vector<std::int32_t>(ids.end() - 16, ids.end()), {16}).to(Device::cuda);
    const Tensor many = Tensor::from(ids, {kRows}).to(Device::cuda);
    const Tensor one = Tensor::full({}, 1, DType::bf16, Device::cuda);
    expect_same_end(on_last_blocks([&] { return cross_entropy_backward(one, all, many, {}); }),
                    cross_entropy_backward(one, logits, few, {}), 1, "cross_entropy_backward");
    const TopK got = on_last_blocks([&] { return top_k_log_softmax(all, 4); }), want = top_k_log_softmax(logits, 4);
    EXPECT_TRUE(same_bits(got.ids.slice(kRows - 1, kRows).to(Device::cpu), want.ids.slice(15, 16).to(Device::cpu)));
}

TEST(EmulatorOffsets, OfReductions) {
    constexpr std::int64_t kCols = 40, kRows = kMany / kCols + 99;
    const Tensor x = random({16, kCols}, DType::f32), xs = with_end(kRows, x);
    const auto last = [](const Tensor& y) { return y.slice(y.dim(0) - 1, y.dim(0)).to(Device::cpu); };
    EXPECT_TRUE(same_bits(last(on_last_blocks([&] { return sum_forward(xs, 1); })), last(sum_forward(x, 1))));
    const Extremum most = on_last_blocks([&] { return max_forward(xs, 1); });
    EXPECT_TRUE(same_bits(last(most.y), last(max_forward(x, 1).y)));
    const Tensor dy = with_end(kRows, random({16}, DType::f32));
    expect_same_end(on_last_blocks([&] {
                        return sum_backward(dy, {kRows, kCols}, 1);
                    }),
                    sum_backward(dy.slice(kRows - 16, kRows), {16, kCols}, 1), 1, "sum_backward");
    Tensor rows = Tensor::empty({3, kMany / 2}, DType::f32, Device::cuda);
    for (int i = 0; i < 3; ++i)
        rows.slice(i, i + 1).reshape({kMany / 2}).slice(kMany / 2 - 4, kMany / 2).copy_(Tensor::full({4}, i, DType::f32));
    const Tensor columns = on_last_blocks([&] { return sum_forward(rows, 0); });
    EXPECT_EQ(columns.slice(kMany / 2 - 1, kMany / 2).to_vector()[0], 3);
}

TEST(EmulatorOffsets, OfTables) {
    constexpr std::int64_t kWords = 70001, kWidth = 32768;
    for (const DType dtype : {DType::f32, DType::bf16}) {
        Tensor table = with_end(kWords, random({2, kWidth}, dtype));
        const Tensor tokens = Tensor::from(std::vector<std::int32_t>{70000, 69999, 70000}, {3}).to(Device::cuda);
        const std::vector<double> rows = table.slice(kWords - 2, kWords).to_vector();
        for (const bool embedding : {false, true}) {
            const Tensor y =
                embedding ? embedding_forward(table, tokens, Spans({{0, 3}}, 3), {}, {}) : gather_forward(table, tokens);
            const std::vector<double> got = y.to_vector();
            for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], rows[(i + kWidth) % (2 * kWidth)]) << i;
        }
        const Tensor dy = Tensor::full({3, kWidth}, 1, dtype, Device::cuda);
        gather_backward(dy, tokens, table);
        const std::vector<double> sums = table.slice(kWords - 2, kWords).to_vector();
        for (std::size_t i = 0; i < sums.size(); ++i)
            ASSERT_NEAR(sums[i], rows[i] + (i < kWidth ? 1 : 2), dtype == DType::f32 ? 1e-5 : 0.03) << i;
    }
}

TEST(EmulatorOffsets, OfSlices) {
    constexpr std::int64_t kRun = kMany / 2 + 64;
    Tensor x = Tensor::empty({3, kRun}, DType::bf16, Device::cuda);
    Tensor end = x.slice(2, 3).reshape({kRun}).slice(kRun - 16, kRun);
    for (int i = 0; i < 3; ++i)
        x.slice(i, i + 1).reshape({kRun}).slice(kRun - 16, kRun).copy_(Tensor::full({16}, i + 1, DType::bf16));
    const Tensor part = slice_forward(x, 1, kRun - 16, kRun);
    EXPECT_EQ(part.to_vector()[47], 3);
    slice_backward(part, 1, kRun - 16, x);
    EXPECT_EQ(end.to_vector()[15], 6);
    place_slice(part, 1, kRun - 16, x);
    EXPECT_EQ(end.to_vector()[15], 3);
    const Tensor parts[] = {x, part};
    const Tensor joined = on_last_blocks([&] { return concat_forward(parts, 1); });
    EXPECT_EQ(joined.slice(2, 3).reshape({kRun + 16}).slice(kRun + 15, kRun + 16).to_vector()[0], 3);
}

TEST(EmulatorOffsets, OfPermutations) {
    const Tensor end = random({32, 40000}, DType::f32);
    constexpr std::int64_t kRows = kMany / 40000 + 99;
    const int turned[] = {1, 0};
    const Tensor y = on_last_blocks([&] { return permute_forward(with_end(kRows, end), turned); });
    EXPECT_TRUE(same_bits(y.slice(39999, 40000).reshape({kRows}).slice(kRows - 4, kRows).to(Device::cpu),
                          permute_forward(end, turned).slice(39999, 40000).reshape({32}).slice(28, 32).to(Device::cpu)));
    const Tensor quads = random({3, 8, 4}, DType::f32);
    Tensor x = Tensor::empty({3, kMany / 8, 4}, DType::f32, Device::cuda);
    for (int i = 0; i < 3; ++i)
        x.slice(i, i + 1).reshape({kMany / 8, 4}).slice(kMany / 8 - 8, kMany / 8).copy_(quads.slice(i, i + 1).reshape({8, 4}));
    const int exchanged[] = {1, 0, 2};
    expect_same_end(on_last_blocks([&] { return permute_forward(x, exchanged); }), permute_forward(quads, exchanged), 1,
                    "permute");
}

// q, k and v from one projection, of which only the last sentence is filled. The last block handles its last head.
TEST(EmulatorOffsets, OfAttention) {
    constexpr std::int64_t kModel = 2048, length = 10;
    for (const DType dtype : {DType::bf16, DType::f32})
        for (const std::int64_t width : {64, 128}) {  // in bf16 one warp per sentence, and tiles
            const std::int64_t heads = kModel / width;
            const std::int64_t rows = kMany / (3 * kModel) + 99, rows_of_results = kMany / kModel + 99;
            for (const bool far_results : {false, true}) {
                const std::int64_t all = far_results ? rows_of_results : rows;
                const Tensor near = random({length, 3 * kModel}, dtype);
                const Tensor far = with_end(all, near);
                const auto columns = [](const Tensor& qkv, int i) { return Columns(qkv, i * kModel, kModel); };
                const auto rules = [&](std::int64_t total) {
                    // No gaps: the blocks that fill them would be the last ones.
                    std::vector<Span> all_rows;
                    for (std::int64_t row = 0; row < total - length; row += 64)
                        all_rows.push_back({row, std::min<std::int64_t>(64, total - length - row)});
                    all_rows.push_back({total - length, length});
                    const Spans spans(std::move(all_rows), total);
                    return AttentionRules{.query_spans = spans, .key_spans = spans, .heads = heads, .causal = true};
                };
                const auto forward = [&](const Tensor& qkv) {
                    return attention_forward(columns(qkv, 0), columns(qkv, 1), columns(qkv, 2), rules(qkv.dim(0)));
                };
                const auto last_head = [&](const Tensor& x) {
                    const std::int64_t cols = x.dim(1), last = x.dim(0);
                    return x.slice(last - 1, last).reshape({cols}).slice(cols - width, cols).to(Device::cpu);
                };
                AttentionResult got = on_last_blocks([&] { return forward(far); }), want = forward(near);
                EXPECT_TRUE(same_bits(last_head(got.output), last_head(want.output))) << width;
                const Tensor d_near = random({length, kModel}, dtype, 5), d_far = with_end(all, d_near);
                const auto backward = [&](const Tensor& qkv, const AttentionResult& result, const Tensor& dy) {
                    const Tensor to = Tensor::empty(qkv.shape(), dtype, Device::cuda);
                    attention_backward(columns(qkv, 0), columns(qkv, 1), columns(qkv, 2), rules(qkv.dim(0)), result, dy,
                                       {columns(to, 0), columns(to, 1), columns(to, 2)});
                    return to;
                };
                // Heads that did not run have no log-sum: take it from the small tensor.
                got.log_sum.slice(all - length, all).copy_(want.log_sum);
                got.output.slice(all - length, all).copy_(want.output);
                const Tensor dgot = on_last_blocks([&] { return backward(far, got, d_far); }),
                             dwant = backward(near, want, d_near);
                EXPECT_TRUE(same_bits(last_head(dgot), last_head(dwant))) << "dV, " << width;
            }
        }
    // A cache of many slots, two of which are filled.
    const Tensor slots = random({2, kModel}, DType::f32, 8), query = random({1, kModel}, DType::f32, 9);
    const std::int64_t many = kMany / kModel + 99, two = 2;
    const std::vector<std::int64_t> lengths{2};
    const auto cached = [&](const Tensor& cache, std::int64_t last) {
        const auto slot = static_cast<std::int32_t>(last);
        const Tensor table = Tensor::from(std::vector<std::int32_t>{slot, slot - 1}, {1, 2}).to(Device::cuda);
        return attention_cached(query, {cache, cache, table, lengths}, 32).to(Device::cpu);
    };
    EXPECT_TRUE(same_bits(cached(with_end(many, slots), many - 1), cached(slots, two - 1)));
}

TEST(EmulatorOffsets, OfProducts) {
    constexpr std::int64_t kDepth = 64, kRows = kMany / kDepth + 256;
    // Only the last part of the rows is summed; the test is that no other memory is accessed.
    Tensor dbias = Tensor::zeros({kDepth}, DType::f32, Device::cuda);
    on_last_blocks([&] {
        linear_backward_bias(with_end(kRows, random({256, kDepth}, DType::f32)), dbias);
        return 0;
    });
}

}  // namespace
}  // namespace heddle::kernels
