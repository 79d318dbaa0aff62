#include "apps/explain/example_inputs.h"

#include <array>

#include "kernels/activation/activation.h"
#include "kernels/adam/adam.h"
#include "kernels/cast/cast.h"
#include "kernels/concat/concat.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gather/gather.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/log_softmax/log_softmax.h"
#include "kernels/permute/permute.h"
#include "kernels/reduce/reduce.h"
#include "kernels/residual/residual.h"
#include "kernels/slice/slice.h"
#include "kernels/softmax/softmax.h"
#include "kernels/top_k/top_k.h"

namespace heddle::explain {
namespace {

using namespace heddle::kernels;

// ---- one tensor to another of its shape

template <auto op>
void map_backward(Session& s, Extents shape) {
    const Tensor dy = s.input("dy", numbers(shape, 1)), x = s.input("x", numbers(shape, 2));
    Tensor dx;
    s.trace([&] { dx = op(dy, x); });
    s.name("dx", dx);
}

void add_op(Session& s, Extents d) {
    const Tensor a = s.input("a", numbers(d, 1)), b = s.input("b", row(d[1], 2));
    Tensor y;
    s.trace([&] { y = add(a, b); });
    s.name("y", y);
}
void relu(Session& s, Extents d) {
    map<[](const Tensor& x) { return relu_forward(x); }>(s, d);
}
void gelu(Session& s, Extents d) {
    map<[](const Tensor& x) { return gelu_forward(x); }>(s, d);
}
void gelu_dx(Session& s, Extents d) {
    map_backward<[](const Tensor& dy, const Tensor& x) { return gelu_backward(dy, x); }>(s, d);
}
void dropout(Session& s, Extents d) {
    map<[](const Tensor& x) { return dropout_forward(x, Dropout(0.25, 1)); }>(s, d);
}
void to_bf16(Session& s, Extents d) {
    map<[](const Tensor& x) { return cast(x, DType::bf16); }>(s, d);
}

// ---- rows

void softmax(Session& s, Extents d) {
    map<[](const Tensor& x) { return softmax_forward(x); }>(s, d);
}
void softmax_dx(Session& s, Extents d) {
    const Tensor dy = s.input("dy", numbers(d, 1)), y = s.input("y", softmax_forward(numbers(d, 2)));
    Tensor dx;
    s.trace([&] { dx = softmax_backward(dy, y); });
    s.name("dx", dx);
}
void log_softmax(Session& s, Extents d) {
    map<[](const Tensor& x) { return log_softmax_forward(x); }>(s, d);
}
void layer_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1)), gamma = s.input("gamma", row(d[1], 2)), beta = s.input("beta", row(d[1], 3));
    LayerNormResult result;
    s.trace([&] { result = layer_norm_forward(x, gamma, beta, 1e-5); });
    s.name("y", result.y);
    s.name("mean", result.mean);
    s.name("rstd", result.rstd);
}
void layer_norm_dx(Session& s, Extents d) {
    const Tensor dy = s.input("dy", numbers(d, 1)), gamma = row(d[1], 3), host = numbers(d, 2);
    const LayerNormResult forward = layer_norm_forward(host, gamma, row(d[1], 4), 1e-5);
    const Tensor x = s.input("x", host), on_device = s.input("gamma", gamma);
    const Tensor mean = s.input("mean", forward.mean), rstd = s.input("rstd", forward.rstd);
    const Tensor dgamma = s.input("dgamma", Tensor::zeros({d[1]})), dbeta = s.input("dbeta", Tensor::zeros({d[1]}));
    Tensor dx;
    s.trace([&] { dx = layer_norm_backward(dy, x, on_device, mean, rstd, true, dgamma, dbeta); });
    s.name("dx", dx);
}
void residual_layer_norm(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1)), sublayer = s.input("sublayer", numbers(d, 2));
    const Tensor gamma = s.input("gamma", row(d[1], 3)), beta = s.input("beta", row(d[1], 4));
    LayerNormResult result;
    s.trace([&] { result = residual_layer_norm_forward(x, sublayer, gamma, beta, 1e-5, Dropout(0.1, 1)); });
    s.name("sum", result.sum);
    s.name("y", result.y);
    s.name("mean", result.mean);
    s.name("rstd", result.rstd);
}
void residual(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1)), sublayer = s.input("sublayer", numbers(d, 2));
    Tensor y;
    s.trace([&] { y = residual_forward(x, sublayer, Dropout(0.1, 1)); });
    s.name("y", y);
}
void cross_entropy(Session& s, Extents d) {
    const Tensor logits = s.input("logits", numbers(d, 1)), targets = s.input("targets", some_indices(d[0], d[1]));
    CrossEntropyResult result;
    s.trace([&] { result = cross_entropy_forward(logits, targets, {.label_smoothing = 0.1}); });
    s.name("loss", result.loss);
    s.name("statistics", result.statistics);
}
void cross_entropy_dx(Session& s, Extents d) {
    const Tensor logits = s.input("logits", numbers(d, 1)), targets = s.input("targets", some_indices(d[0], d[1]));
    const Tensor dloss = s.input("dloss", Tensor::full({}, 1));
    Tensor dlogits;
    s.trace([&] { dlogits = cross_entropy_backward(dloss, logits, targets, {.label_smoothing = 0.1}); });
    s.name("dlogits", dlogits);
}
void top_k(Session& s, Extents d) {
    const Tensor logits = s.input("logits", numbers(d, 1));
    TopK result;
    s.trace([&] { result = top_k_log_softmax(logits, std::min<std::int64_t>(4, d[1])); });
    s.name("values", result.values);
    s.name("ids", result.ids);
}

// ---- rows by number

void gather(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1)), indices = s.input("indices", some_indices(2 * d[0], d[0]));
    Tensor y;
    s.trace([&] { y = gather_forward(x, indices); });
    s.name("y", y);
}
void gather_dx(Session& s, Extents d) {
    const std::array<std::int64_t, 2> taken = {2 * d[0], d[1]};
    const Tensor dy = s.input("dy", numbers(taken, 1)), indices = s.input("indices", some_indices(taken[0], d[0]));
    Tensor dx = s.input("dx", Tensor::zeros(Shape(d)));
    s.trace([&] { gather_backward(dy, indices, dx); });
}
void embedding_dx(Session& s, Extents d) {
    const std::int64_t vocabulary = 16;
    const Tensor dy = s.input("dy", numbers(d, 1)), tokens = s.input("tokens", some_indices(d[0], vocabulary));
    Tensor dtable = s.input("dtable", Tensor::zeros({vocabulary, d[1]})),
           dpositions = s.input("dpositions", Tensor::zeros(Shape(d)));
    const Spans spans = Spans::packed(std::array{d[0]});
    s.trace([&] { embedding_backward(dy, tokens, spans, {.scale = 8}, &dtable, &dpositions); });
}
void embedding(Session& s, Extents d) {
    const std::int64_t vocabulary = 16;
    const Tensor table = s.input("table", Tensor::randn({vocabulary, d[1]}, 1));
    const Tensor tokens = s.input("tokens", some_indices(d[0], vocabulary));
    const Tensor positions = s.input("positions", sinusoidal_positions(d[0], d[1], DType::f32));
    const Spans spans = Spans::packed(std::array{d[0]});
    Tensor y;
    s.trace([&] { y = embedding_forward(table, tokens, spans, positions, {.scale = 8}); });
    s.name("y", y);
}

// ---- shapes

void permute(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1));
    Tensor y;
    s.trace([&] { y = permute_forward(x, std::array{1, 0}); });
    s.name("y", y);
}
void concat(Session& s, Extents d) {
    const std::vector<Tensor> parts = {s.input("a", numbers(d, 1)), s.input("b", numbers(d, 2))};
    Tensor y;
    s.trace([&] { y = concat_forward(parts, 1); });
    s.name("y", y);
}
void slice(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1));
    Tensor y;
    s.trace([&] { y = slice_forward(x, 1, d[1] / 4, d[1]); });
    s.name("y", y);
}

// ---- sums

void sum_rows(Session& s, Extents d) {
    map<[](const Tensor& x) { return sum_forward(x, -1); }>(s, d);
}
void sum_columns(Session& s, Extents d) {
    map<[](const Tensor& x) { return sum_forward(x, 0); }>(s, d);
}
void max_rows(Session& s, Extents d) {
    const Tensor x = s.input("x", numbers(d, 1));
    Maximum result;
    s.trace([&] { result = max_forward(x, -1); });
    s.name("y", result.y);
    s.name("indices", result.indices);
}
void norm(Session& s, Extents d) {
    const Tensor gradients = s.input("gradients", numbers(d, 1));
    Tensor measured;
    s.trace([&] { measured = measure_gradients(gradients, Spans::packed(std::array{d[0]}), 1); });
    s.name("measured", measured);
}
void adam(Session& s, Extents d) {
    Tensor parameters = s.input("parameters", numbers(d, 1)), first = s.input("m", Tensor::zeros(Shape(d)));
    Tensor second = s.input("v", Tensor::zeros(Shape(d)));
    const Tensor gradients = s.input("gradients", numbers(d, 2));
    s.trace([&] { adam_step(parameters, gradients, first, second, Spans::packed(std::array{d[0]}), {.lr = 1e-3}); });
}

}  // namespace

const std::vector<Example>& examples() {
    static const std::vector<Example> all = [] {
        std::vector<Example> found = {
            {"relu", "max(x, 0): one element a thread", "rows, cols", {4, 64}, relu},
            {"gelu", "the exact GELU", "rows, cols", {4, 64}, gelu},
            {"gelu-backward", "the gradient of GELU", "rows, cols", {4, 64}, gelu_dx},
            {"add", "a sum with broadcasting: a row added to each row", "rows, cols", {4, 64}, add_op},
            {"cast", "f32 to bf16", "rows, cols", {4, 64}, to_bf16},
            {"dropout", "dropout from counter-based random numbers", "rows, cols", {4, 64}, dropout},
            {"residual", "x + dropout(sublayer) in one pass", "rows, cols", {4, 64}, residual},
            {"permute", "a transposed copy", "rows, cols", {64, 64}, permute},
            {"concat", "two tensors side by side", "rows, cols", {4, 64}, concat},
            {"slice", "a range of columns", "rows, cols", {4, 64}, slice},
            {"sum-rows", "the sum of each row", "rows, cols", {4, 64}, sum_rows},
            {"sum-columns", "the sum of each column", "rows, cols", {16, 64}, sum_columns},
            {"max-rows", "the maximum of each row, and where it is", "rows, cols", {4, 64}, max_rows},
            {"gradient-norm", "the norm of all gradients in one array", "elements", {2048}, norm},
            {"adam", "one step of Adam over one array", "elements", {1024}, adam},
            {"softmax", "softmax of each row", "rows, cols", {4, 64}, softmax},
            {"softmax-backward", "the gradient of softmax", "rows, cols", {4, 64}, softmax_dx},
            {"log-softmax", "the logarithm of softmax", "rows, cols", {4, 64}, log_softmax},
            {"layer-norm", "layer normalisation of each row", "rows, cols", {4, 64}, layer_norm},
            {"layer-norm-backward",
             "the gradients of layer norm: dx, and the column sums dgamma and dbeta",
             "rows, cols",
             {8, 64},
             layer_norm_dx},
            {"residual-layer-norm",
             "residual sum, dropout and layer norm in one pass",
             "rows, cols",
             {4, 64},
             residual_layer_norm},
            {"cross-entropy", "the loss of each row of logits, with label smoothing", "rows, vocabulary", {4, 64}, cross_entropy},
            {"cross-entropy-backward", "the gradient of the loss for its logits", "rows, vocabulary", {4, 64}, cross_entropy_dx},
            {"top-k", "the four most probable columns of each row", "rows, vocabulary", {2, 256}, top_k},
            {"gather", "rows by number", "rows, cols", {8, 64}, gather},
            {"gather-backward",
             "the gradient of gather: rows that were taken twice are summed",
             "rows, cols",
             {8, 64},
             gather_dx},
            {"embedding", "the rows of tokens, scaled, plus positions", "tokens, d_model", {6, 64}, embedding},
            {"embedding-backward", "the gradients of table and positions", "tokens, d_model", {6, 64}, embedding_dx},
        };
        for (const auto& more : {ladder_examples(), model_examples()}) found.insert(found.end(), more.begin(), more.end());
        return found;
    }();
    return all;
}

}  // namespace heddle::explain
