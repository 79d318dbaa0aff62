// The teaching ladders, step by step.
#include <fmt/format.h>

#include <deque>

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

struct Step {
    std::string_view name, idea;
    void (*run)(Session&, Extents);
    std::vector<std::int64_t> shape = {};  ///< default: the ladder's
    bool bf16 = false;
};
struct Ladder {
    std::string_view name, title, axes;
    std::vector<std::int64_t> shape;
    double (*operations)(Extents);
    std::vector<Step> steps;
};

std::vector<Ladder> ladders() {
    using T = TransposeStep;
    using S = SoftmaxStep;
    using L = LayerNormStep;
    using M = MatmulStep;
    using A = AttentionStep;
    using F = FeedForwardStep;
    constexpr DType bf16 = DType::bf16;
    return {{"permute",
             "transposed copy",
             "rows, cols",
             {64, 64},
             nullptr,
             {{"naive", "a thread an element", transpose<T::naive>},
              {"tile", "through a tile in shared memory", transpose<T::tile>},
              {"padding", "rows of the tile begin in different banks", transpose<T::padding>},
              {"swizzle", "each row's columns in another order", transpose<T::swizzle>}}},
            {"softmax",
             "softmax",
             "rows, cols",
             {32, 64},
             nullptr,
             {{"naive", "a thread a row", softmax<S::naive>},
              {"block", "a block a row, joined in shared memory", softmax<S::block>},
              {"warp", "a warp a row, joined by shuffles", softmax<S::warp>},
              {"online", "maximum and sum in one pass", softmax<S::online>},
              {"registers", "the row stays in registers", softmax<S::registers>},
              {"vectors", "16 bytes an access", softmax<S::vectors>}}},
            {"layer-norm",
             "layer norm",
             "rows, cols",
             {32, 64},
             nullptr,
             {{"naive", "a thread a row", layer_norm<L::naive>},
              {"warp", "a warp a row", layer_norm<L::warp>},
              {"one-pass", "mean and variance in one pass", layer_norm<L::one_pass>},
              {"registers", "the row stays in registers", layer_norm<L::registers>},
              {"vectors", "16 bytes an access", layer_norm<L::vectors>}}},
            {"matmul",
             "matrix product",
             "m, n, k",
             {64, 64, 16},
             matmul_operations,
             {{"naive", "one element a thread", matmul<M::naive>, {16, 32, 16}},
              {"shared-tile", "tiles in shared memory", matmul<M::shared_tile>, {32, 32, 64}},
              {"register-tile", "8 x 8 elements a thread", matmul<M::register_tile>},
              {"vector-loads", "16 bytes an access", matmul<M::vector_loads>},
              {"warp-tile", "64 x 64 elements a warp", matmul<M::warp_tile>},
              {"tensor-cores", "tensor cores", matmul<M::tensor_cores, bf16>, {64, 64, 64}, true},
              {"copies-ahead", "the next tiles are on their way", matmul<M::copies_ahead, bf16>, {64, 64, 64}, true},
              {"swizzle", "tiles without padding", matmul<M::swizzle, bf16>, {64, 64, 64}, true},
              {"whole-lines", "C in whole sectors", matmul<M::whole_lines, bf16>, {64, 64, 64}, true}}},
            {"attention",
             "attention",
             "time, head_dim",
             {32, 32},
             attention_operations,
             {{"naive", "three kernels, the scores in memory", attention<A::naive>},
              {"fused", "one kernel, a row of scores in shared memory", attention<A::fused>},
              {"online", "the softmax runs along with the keys", attention<A::online>},
              {"tiles", "tiles of keys and values for eight queries", attention<A::tiles>},
              {"padding", "rows of a tile begin in different banks", attention<A::padding>},
              {"rows", "four queries a warp", attention<A::rows>}}},
            {"feed-forward",
             "feed-forward",
             "rows, d_model, d_ff",
             {16, 32, 64},
             feed_forward_operations,
             {{"naive", "two products, two passes", feed_forward<F::naive>},
              {"epilogue", "bias and ReLU where a product ends", feed_forward<F::epilogue>},
              {"tiles", "tiles of both factors in shared memory", feed_forward<F::tiles>},
              {"fused", "one kernel, h in shared memory", feed_forward<F::fused>},
              {"rows", "a weight is used for four rows", feed_forward<F::rows>},
              {"copies-ahead", "the next weights are on their way", feed_forward<F::copies_ahead>}}}};
}

}  // namespace

std::vector<Example> ladder_examples() {
    static std::deque<std::string> texts;  // the examples view them
    std::vector<Example> examples;
    for (const Ladder& ladder : ladders()) {
        int number = 0;
        for (const Step& step : ladder.steps) {
            const std::string& name = texts.emplace_back(fmt::format("{}-{}", ladder.name, step.name));
            const std::string& title = texts.emplace_back(fmt::format("{}, step {}: {}", ladder.title, ++number, step.idea));
            examples.push_back({name, title, ladder.axes, step.shape.empty() ? ladder.shape : step.shape, step.run,
                                ladder.operations, step.bf16});
        }
    }
    return examples;
}

}  // namespace heddle::explain
