// Examples of attention, the feed-forward network, the output layer and decoding.
#include <array>

#include "apps/explain/examples.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached/attention_cached.h"
#include "kernels/beam_step/beam_step.h"
#include "kernels/cache_table/cache_table.h"
#include "kernels/feed_forward/feed_forward.h"
#include "kernels/few_rows/few_rows.h"
#include "kernels/linear/linear.h"
#include "kernels/linear_cross_entropy/linear_cross_entropy.h"
#include "kernels/mean_probability/mean_probability.h"
#include "kernels/target_log_probability/target_log_probability.h"
#include "kernels/update_tally/update_tally.h"

namespace heddle::explain {
namespace {

using namespace heddle::kernels;

// ---- attention: queries and keys, one sentence and one head

AttentionRules rules_of(Extents d) {
    return {.query_spans = Spans::packed(std::array{d[0]}), .key_spans = Spans::packed(std::array{d[0]}), .causal = true};
}
template <DType dtype>
void attention(Session& s, Extents d) {
    const Tensor q = s.input("query", randn(d, 1, dtype)), k = s.input("key", randn(d, 2, dtype));
    const Tensor v = s.input("value", randn(d, 3, dtype));
    AttentionResult result;
    s.trace([&] { result = attention_forward(q, k, v, rules_of(d)); });
    s.name("output", result.output);
    s.name("log_sum", result.log_sum);
}
// Operations of q k^T and p v with a causal mask: query i has i + 1 keys.
double causal_attention_operations(Extents d) { return 2 * product(d) * static_cast<double>(d[0] + 1); }
template <DType dtype>
void attention_dx(Session& s, Extents d) {
    const Tensor q = s.input("query", randn(d, 1, dtype)), k = s.input("key", randn(d, 2, dtype));
    const Tensor v = s.input("value", randn(d, 3, dtype)), d_output = s.input("d_output", randn(d, 4, dtype));
    const AttentionRules rules = rules_of(d);
    const AttentionResult forward = attention_forward(q, k, v, rules);
    s.name("output", forward.output);
    s.name("log_sum", forward.log_sum);
    const Tensor zeros = Tensor::zeros(Shape(d), dtype);
    const Tensor dq = s.input("d_query", zeros), dk = s.input("d_key", zeros), dv = s.input("d_value", zeros);
    s.trace([&] { attention_backward(q, k, v, rules, forward, d_output, {dq, dk, dv}); });
}
// Every row has d[1] keys, which are not adjacent in the cache.
void attention_cached(Session& s, Extents d) {
    const std::int64_t slots = d[0] * d[1];
    const Tensor query = s.input("query", randn({d[0], d[2]}, 1));
    const Tensor key = s.input("key", randn({slots, d[2]}, 2)), value = s.input("value", randn({slots, d[2]}, 3));
    const Tensor table = s.input("table", some_indices(slots, slots).reshape({d[0], d[1]}));
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(d[0]), d[1]);
    Tensor output;
    s.trace([&] { output = kernels::attention_cached(query, {key, value, table, lengths}, 1); });
    s.name("output", output);
}

// ---- the feed-forward network and linear maps

FeedForwardWeights network(Session& s, Extents d, DType dtype) {
    return {s.input("w1", randn({d[2], d[1]}, 2, dtype)), s.input("b1", row(d[2], 3, dtype)),
            s.input("w2", randn({d[1], d[2]}, 4, dtype)), s.input("b2", row(d[1], 5, dtype))};
}
template <DType dtype>
void feed_forward(Session& s, Extents d) {
    const Tensor x = s.input("x", randn({d[0], d[1]}, 1, dtype));
    const FeedForwardWeights weights = network(s, d, dtype);
    FeedForwardResult result;
    s.trace([&] { result = feed_forward_forward(x, weights, Activation::relu, {}, false); });
    s.name("y", result.y);
}
void feed_forward_dx(Session& s, Extents d) {
    constexpr DType dtype = DType::bf16;
    const Tensor x = s.input("x", randn({d[0], d[1]}, 1, dtype)), dy = s.input("dy", randn({d[0], d[1]}, 6, dtype));
    const FeedForwardWeights weights = network(s, d, dtype);
    const FeedForwardResult forward = feed_forward_forward(x, weights, Activation::relu, {}, true);
    s.name("hidden", forward.hidden);
    FeedForwardWeights none;
    Tensor dx;
    s.trace([&] {
        dx = feed_forward_backward(dy, x, forward.hidden, weights, Activation::relu, {},
                                   {.x = true, .w1 = false, .b1 = false, .w2 = false, .b2 = false}, none);
    });
    s.name("dx", dx);
}
void linear_bias(Session& s, Extents d) {
    const Tensor dy = s.input("dy", randn(d, 1));
    Tensor dbias = s.input("dbias", Tensor::zeros({d[1]}));
    s.trace([&] { linear_backward_bias(dy, dbias); });
}
void few_rows(Session& s, Extents d) {
    const Tensor x = s.input("x", randn({d[0], d[2]}, 1, DType::bf16));
    const Tensor weight = s.input("weight", randn({d[1], d[2]}, 2, DType::bf16));
    const Tensor bias = s.input("bias", row(d[1], 3, DType::bf16));
    const Tensor y = Tensor::empty({d[0], d[1]}, DType::bf16, Device::cuda);
    s.name("y", y);
    s.trace([&] { few_rows_linear({.x = x, .weight = weight, .bias = bias}, {.y = y}); });
}
void loss(Session& s, Extents d) {
    const Tensor x = s.input("x", randn({d[0], d[2]}, 1)), weight = s.input("weight", randn({d[1], d[2]}, 2));
    const Tensor targets = s.input("targets", some_indices(d[0], d[1]));
    LinearCrossEntropyResult result;
    s.trace(
        [&] { result = linear_cross_entropy(x, weight, {}, targets, {.label_smoothing = 0.1}, {.x = true, .weight = true}); });
    s.name("loss", result.loss);
    s.name("dx", result.dx);
    s.name("dweight", result.dweight);
    s.name("statistics", result.statistics);
}

// ---- decoding

// The first step of a search: each sentence has one open hypothesis, its first row, with 2 * beam continuations.
void beam(Session& s, Extents d) {
    const std::int64_t sentences = d[0], width = d[1];
    Beams beams({.beam = width}, std::vector<std::int64_t>(static_cast<std::size_t>(sentences), 16),
                std::vector<double>(static_cast<std::size_t>(sentences), 0.0), Device::cuda);
    const std::int64_t rows = sentences * width, k = beams.considered();
    std::vector<float> values;
    std::vector<std::int32_t> slots;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < k; ++i) values.push_back(-0.25f * static_cast<float>(i + row % 3 + 1));
    for (std::int64_t sentence = 0; sentence < sentences; ++sentence) {
        slots.push_back(static_cast<std::int32_t>(sentence));
        slots.push_back(static_cast<std::int32_t>(sentence * width));
    }
    const TopK top{s.input("values", Tensor::from(values, {rows, k})),
                   s.input("ids", some_indices(rows * k, 31).reshape({rows, k}))};
    const Tensor places = s.input("slots", Tensor::from(slots, {sentences, 2}));
    for (const auto& [name, tensor] :
         {std::pair{"open", beams.open}, {"log_probability", beams.log_probability}, {"node", beams.node}, {"tree", beams.tree}})
        s.name(name, tensor);
    BeamStep step;
    s.trace([&] { step = beam_step(beams, top, places); });
    s.name("parents", step.parents);
    s.name("tokens", step.tokens);
}
void cache_table(Session& s, Extents d) {
    const Tensor table = s.input("table", some_indices(d[0] * d[1], 64).reshape({d[0], d[1]}));
    const Tensor parents = s.input("parents", some_indices(d[0], d[0]));
    Tensor y;
    s.trace([&] { y = extended_cache_table(table, parents, d[1] / 2, 64); });
    s.name("y", y);
}
void mean(Session& s, Extents d) {
    const std::vector<Tensor> models = {s.input("first", randn(d, 1)), s.input("second", randn(d, 2))};
    Tensor y;
    s.trace([&] { y = mean_probability(models); });
    s.name("y", y);
}
void target(Session& s, Extents d) {
    const Tensor logits = s.input("logits", randn(d, 1)), targets = s.input("targets", some_indices(d[0], d[1]));
    Tensor y;
    s.trace([&] { y = target_log_probability(logits, targets); });
    s.name("y", y);
}

// ---- training

void tally(Session& s, Extents d) {
    const Tensor tally = s.input("tally", empty_tally(Device::cpu)),
                 measured = s.input("measured", Tensor::full({2}, 1, DType::f64));
    std::vector<Tensor> statistics;
    for (std::int64_t batch = 0; batch < d[0]; ++batch)
        statistics.push_back(s.input("statistics", Tensor::full({4}, 2, DType::f64)));
    s.trace([&] {
        Tensor sums = tally, norm = measured;
        for (const Tensor& one : statistics) tally_losses(sums, one);
        tally_update(sums, norm);
    });
}

}  // namespace

std::vector<Example> model_examples() {
    return {
        {"attention",
         "causal attention of a short sentence, f32",
         "time, head_dim",
         {16, 32},
         attention<DType::f32>,
         causal_attention_operations},
        {"attention-backward", "the gradients of attention, f32", "time, head_dim", {16, 32}, attention_dx<DType::f32>},
        {"attention-bf16",
         "causal attention of a short sentence, bf16 with tensor cores",
         "time, head_dim",
         {16, 32},
         attention<DType::bf16>,
         causal_attention_operations,
         true},
        {"attention-bf16-backward",
         "the gradients of attention, bf16 with tensor cores",
         "time, head_dim",
         {16, 32},
         attention_dx<DType::bf16>,
         nullptr,
         true},
        {"feed-forward",
         "the feed-forward network in one kernel, f32",
         "rows, d_model, d_ff",
         {16, 32, 64},
         feed_forward<DType::f32>,
         feed_forward_operations},
        {"feed-forward-bf16",
         "the feed-forward network in one kernel, bf16 with tensor cores",
         "rows, d_model, d_ff",
         {16, 32, 64},
         feed_forward<DType::bf16>,
         feed_forward_operations,
         true},
        {"feed-forward-bf16-backward",
         "dx of the feed-forward network, bf16 with tensor cores",
         "rows, d_model, d_ff",
         {16, 32, 64},
         feed_forward_dx,
         nullptr,
         true},
        {"linear-backward-bias", "the gradient of a linear map's bias", "rows, out", {64, 64}, linear_bias},
        {"linear-cross-entropy", "the output layer and its loss, with gradients", "rows, vocabulary, d_model", {8, 64, 16}, loss},
        {"few-rows",
         "a linear map of a few rows of bf16, as decoding needs it",
         "rows, out, in",
         {4, 32, 64},
         few_rows,
         nullptr,
         true},
        {"attention-cached",
         "attention of new tokens over a cache of keys",
         "rows, keys, head_dim",
         {4, 24, 32},
         attention_cached},
        {"cache-table", "the rows of a cache that belong to each hypothesis", "hypotheses, capacity", {4, 32}, cache_table},
        {"beam-step", "one step of a beam search", "sentences, beam", {2, 4}, beam},
        {"mean-probability", "the mean of two models' probabilities, as logits", "rows, vocabulary", {4, 64}, mean},
        {"target-log-probability", "the log-probability of a given token", "rows, vocabulary", {4, 64}, target},
        {"update-tally", "the losses and the norm of an update, kept for the host", "batches", {1}, tally},
    };
}

}  // namespace heddle::explain
