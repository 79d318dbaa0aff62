// The teaching ladders, step by step.
#include "apps/explain/examples.h"
#include "kernels/attention/ladder/attention_ladder.h"
#include "kernels/feed_forward/feed_forward_ladder.h"
#include "kernels/layer_norm/layer_norm_ladder.h"
#include "kernels/matmul/matmul_ladder.h"
#include "kernels/permute/permute_ladder.h"
#include "kernels/softmax/softmax_ladder.h"

namespace heddle::explain {
namespace {

using namespace heddle::kernels;

template <MatmulStep step, DType dtype = DType::f32>
void matmul(Session& s, Extents d) {
    const Tensor a = s.input("a", Tensor::randn({d[0], d[2]}, 1, dtype)), b = s.input("b", Tensor::randn({d[2], d[1]}, 2, dtype));
    Tensor c;
    s.trace([&] { c = matmul_ladder(step, a, b); });
    s.name("c", c);
}
template <TransposeStep step>
void transpose(Session& s, Extents d) {
    map<[](const Tensor& x) { return transpose_ladder(step, x); }>(s, d);
}
template <SoftmaxStep step>
void softmax(Session& s, Extents d) {
    map<[](const Tensor& x) { return softmax_ladder(step, x); }>(s, d);
}
template <LayerNormStep step>
void layer_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", randn(d, 1)), gamma = s.input("gamma", row(d[1], 2)), beta = s.input("beta", row(d[1], 3));
    Tensor y;
    s.trace([&] { y = layer_norm_ladder(step, x, gamma, beta, 1e-5); });
    s.name("y", y);
}
template <AttentionStep step>
void attention(Session& s, Extents d) {
    const Tensor query = s.input("query", randn(d, 1)), key = s.input("key", randn(d, 2)), value = s.input("value", randn(d, 3));
    Tensor output;
    s.trace([&] { output = attention_ladder(step, query, key, value, d[0]); });
    s.name("output", output);
}
template <FeedForwardStep step>
void feed_forward(Session& s, Extents d) {
    const Tensor x = s.input("x", randn({d[0], d[1]}, 1));
    const FeedForwardWeights weights{s.input("w1", randn({d[2], d[1]}, 2)), s.input("b1", row(d[2], 3)),
                                     s.input("w2", randn({d[1], d[2]}, 4)), s.input("b2", row(d[1], 5))};
    Tensor y;
    s.trace([&] { y = feed_forward_ladder(step, x, weights); });
    s.name("y", y);
}

double matmul_operations(Extents d) { return 2 * product(d); }
// Operations of q k^T and p v without a mask.
double attention_operations(Extents d) { return 4 * product(d) * static_cast<double>(d[0]); }

constexpr auto kRows = "rows, cols";
constexpr auto kProduct = "m, n, k";
constexpr auto kAttention = "time, head_dim";
constexpr auto kNetwork = "rows, d_model, d_ff";

}  // namespace

std::vector<Example> ladder_examples() {
    using T = TransposeStep;
    using S = SoftmaxStep;
    using L = LayerNormStep;
    using M = MatmulStep;
    using A = AttentionStep;
    using F = FeedForwardStep;
    return {
        {"permute-naive", "transposed copy, step 1: a thread an element", kRows, {64, 64}, transpose<T::naive>},
        {"permute-tile", "transposed copy, step 2: through a tile in shared memory", kRows, {64, 64}, transpose<T::tile>},
        {"permute-padding",
         "transposed copy, step 3: rows of the tile begin in different banks",
         kRows,
         {64, 64},
         transpose<T::padding>},
        {"permute-swizzle",
         "transposed copy, step 4: each row's columns in another order",
         kRows,
         {64, 64},
         transpose<T::swizzle>},
        {"softmax-naive", "softmax, step 1: a thread a row", kRows, {32, 64}, softmax<S::naive>},
        {"softmax-block", "softmax, step 2: a block a row, joined in shared memory", kRows, {32, 64}, softmax<S::block>},
        {"softmax-warp", "softmax, step 3: a warp a row, joined by shuffles", kRows, {32, 64}, softmax<S::warp>},
        {"softmax-online", "softmax, step 4: maximum and sum in one pass", kRows, {32, 64}, softmax<S::online>},
        {"softmax-registers", "softmax, step 5: the row stays in registers", kRows, {32, 64}, softmax<S::registers>},
        {"softmax-vectors", "softmax, step 6: 16 bytes an access", kRows, {32, 64}, softmax<S::vectors>},
        {"layer-norm-naive", "layer norm, step 1: a thread a row", kRows, {32, 64}, layer_norm<L::naive>},
        {"layer-norm-warp", "layer norm, step 2: a warp a row", kRows, {32, 64}, layer_norm<L::warp>},
        {"layer-norm-one-pass", "layer norm, step 3: mean and variance in one pass", kRows, {32, 64}, layer_norm<L::one_pass>},
        {"layer-norm-registers", "layer norm, step 4: the row stays in registers", kRows, {32, 64}, layer_norm<L::registers>},
        {"layer-norm-vectors", "layer norm, step 5: 16 bytes an access", kRows, {32, 64}, layer_norm<L::vectors>},
        {"matmul-naive",
         "matrix product, step 1: one element a thread",
         kProduct,
         {16, 32, 16},
         matmul<M::naive>,
         matmul_operations},
        {"matmul-shared-tile",
         "matrix product, step 2: tiles in shared memory",
         kProduct,
         {32, 32, 64},
         matmul<M::shared_tile>,
         matmul_operations},
        {"matmul-register-tile",
         "matrix product, step 3: 8 x 8 elements a thread",
         kProduct,
         {64, 64, 16},
         matmul<M::register_tile>,
         matmul_operations},
        {"matmul-vector-loads",
         "matrix product, step 4: 16 bytes an access",
         kProduct,
         {64, 64, 16},
         matmul<M::vector_loads>,
         matmul_operations},
        {"matmul-warp-tile",
         "matrix product, step 5: 64 x 64 elements a warp",
         kProduct,
         {64, 64, 16},
         matmul<M::warp_tile>,
         matmul_operations},
        {"matmul-tensor-cores",
         "matrix product, step 6: tensor cores",
         kProduct,
         {64, 64, 64},
         matmul<M::tensor_cores, DType::bf16>,
         matmul_operations,
         true},
        {"matmul-copies-ahead",
         "matrix product, step 7: the next tiles are on their way",
         kProduct,
         {64, 64, 64},
         matmul<M::copies_ahead, DType::bf16>,
         matmul_operations,
         true},
        {"matmul-swizzle",
         "matrix product, step 8: tiles without padding",
         kProduct,
         {64, 64, 64},
         matmul<M::swizzle, DType::bf16>,
         matmul_operations,
         true},
        {"matmul-whole-lines",
         "matrix product, step 9: C in whole sectors",
         kProduct,
         {64, 64, 64},
         matmul<M::whole_lines, DType::bf16>,
         matmul_operations,
         true},
        {"attention-naive",
         "attention, step 1: three kernels, the scores in memory",
         kAttention,
         {32, 32},
         attention<A::naive>,
         attention_operations},
        {"attention-fused",
         "attention, step 2: one kernel, a row of scores in shared memory",
         kAttention,
         {32, 32},
         attention<A::fused>,
         attention_operations},
        {"attention-online",
         "attention, step 3: the softmax runs along with the keys",
         kAttention,
         {32, 32},
         attention<A::online>,
         attention_operations},
        {"attention-tiles",
         "attention, step 4: tiles of keys and values for eight queries",
         kAttention,
         {32, 32},
         attention<A::tiles>,
         attention_operations},
        {"attention-padding",
         "attention, step 5: rows of a tile begin in different banks",
         kAttention,
         {32, 32},
         attention<A::padding>,
         attention_operations},
        {"attention-rows",
         "attention, step 6: four queries a warp",
         kAttention,
         {32, 32},
         attention<A::rows>,
         attention_operations},
        {"feed-forward-naive",
         "feed-forward, step 1: two products, two passes",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::naive>,
         feed_forward_operations},
        {"feed-forward-epilogue",
         "feed-forward, step 2: bias and ReLU where a product ends",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::epilogue>,
         feed_forward_operations},
        {"feed-forward-tiles",
         "feed-forward, step 3: tiles of both factors in shared memory",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::tiles>,
         feed_forward_operations},
        {"feed-forward-fused",
         "feed-forward, step 4: one kernel, h in shared memory",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::fused>,
         feed_forward_operations},
        {"feed-forward-rows",
         "feed-forward, step 5: a weight is used for four rows",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::rows>,
         feed_forward_operations},
        {"feed-forward-copies-ahead",
         "feed-forward, step 6: the next weights are on their way",
         kNetwork,
         {16, 32, 64},
         feed_forward<F::copies_ahead>,
         feed_forward_operations},
    };
}

}  // namespace heddle::explain
