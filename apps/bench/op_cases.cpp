#include "apps/bench/op_cases.h"

#include <fmt/format.h>

#include <iterator>

#include "kernels/adam/adam.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "kernels/top_k/top_k.h"

namespace heddle::app {
namespace {

/// The extents of a batch and a model.
struct Sizes {
    std::int64_t sentences, length, d_model, heads, d_ff, vocabulary;
    std::int64_t some_rows;   // of [some_rows, vocabulary] logits
    std::int64_t parameters;  // of the optimizer's arrays
    std::int64_t rows() const { return sentences * length; }
};

constexpr Sizes translator = {200, 14, 128, 4, 512, 6000, 256, 2'157'056};
constexpr Sizes tiny = {4, 5, 32, 2, 64, 50, 8, 1000};

// Tensors of 512 MB of this dtype: [rows, 1024], logits [some_rows, 32768], flat arrays.
Sizes large_sizes(DType dtype) {
    const std::int64_t elements = (std::int64_t{512} << 20) / size_of(dtype);
    return {elements / 1024 / 64, 64, 1024, 16, 4096, 32768, elements / 32768, elements};
}

void append(std::vector<OpCase>& cases, std::vector<OpCase> more) {
    cases.insert(cases.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// The optimizer's passes over all parameters. They have no backward, and no other dtype than f32.
void add_optimizer(std::vector<OpCase>& cases, const benches::Setting& on, std::int64_t parameters) {
    if (on.dtype != DType::f32) return;
    const auto flat = [=] { return Tensor::full({parameters}, 0.01, DType::f32, on.device); };
    const Spans all = Spans::packed(std::vector<std::int64_t>{parameters});
    cases.push_back({.op = "gradient_norm",
                     .what = fmt::format("[{}]", parameters),
                     .prepare = [=]() -> benches::Run {
                         return [=, gradients = flat()] {
                             kernels::measure_gradients(gradients, all, 1);
                             return Variable();
                         };
                     },
                     .forward_bytes = on.bytes(static_cast<double>(parameters))});
    cases.push_back({.op = "adam",
                     .what = fmt::format("[{}]", parameters),
                     .prepare = [=]() -> benches::Run {
                         return [=, values = flat(), gradients = flat(), first = flat(), second = flat()]() mutable {
                             kernels::adam_step(values, gradients, first, second, all, {.lr = 1e-4});
                             return Variable();
                         };
                     },
                     .forward_bytes = on.bytes(7.0 * static_cast<double>(parameters))});
}

// The choice of the next token; without backward, too.
void add_top_k(std::vector<OpCase>& cases, const benches::Setting& on, const Sizes& at) {
    const std::int64_t some_rows = at.some_rows, vocabulary = at.vocabulary;
    cases.push_back({.op = "top_k",
                     .what = fmt::format("[{}, {}], the best 10", some_rows, vocabulary),
                     .prepare = [=]() -> benches::Run {
                         return [logits = benches::numbers({some_rows, vocabulary}, on)] {
                             kernels::top_k_log_softmax(logits, 10);
                             return Variable();
                         };
                     },
                     .forward_bytes = on.bytes(static_cast<double>(some_rows * vocabulary))});
}

std::vector<OpCase> model_cases(const benches::Setting& on, const Sizes& at) {
    std::vector<OpCase> cases;
    cases.push_back(benches::linear(on, at.rows(), at.d_model, 3 * at.d_model));
    cases.push_back(benches::linear(on, at.rows(), at.d_model, at.d_model));
    cases.push_back(benches::linear(on, at.rows(), at.d_model, at.d_ff));
    cases.push_back(benches::linear(on, at.rows(), at.d_ff, at.d_model));
    cases.push_back(benches::linear(on, at.rows(), 2 * at.d_model, 8 * at.d_model));
    cases.push_back(benches::matmul(on, at.sentences, at.length, at.d_model));
    cases.push_back(benches::feed_forward(on, at.rows(), at.d_model, at.d_ff));
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(at.sentences), at.length);
    const std::string what = fmt::format("{} sentences of {}, {} heads", at.sentences, at.length, at.heads);
    for (const bool causal : {false, true})
        cases.push_back(benches::attention(on, what, lengths, at.d_model, at.heads, causal, benches::dropout_of_training()));
    cases.push_back(benches::linear_cross_entropy(on, at.rows(), at.d_model, at.vocabulary));
    cases.push_back(benches::cross_entropy(on, at.some_rows, at.vocabulary));
    cases.push_back(benches::embedding(on, at.sentences, at.length, at.vocabulary, at.d_model));
    for (benches::RowCases* const of : benches::kRowCases) append(cases, of(on, at.rows(), at.d_model));
    add_optimizer(cases, on, at.parameters);
    add_top_k(cases, on, at);
    return cases;
}

// What the packed attention is for: sentences as a corpus has them. Lengths 10, 47, 33, 19, .. : every length from 10 to 60 as
// often.
std::vector<OpCase> sentence_cases(const benches::Setting& on) {
    std::vector<OpCase> cases;
    for (const std::int64_t d_model : {128, 512})
        for (const std::int64_t sentences : {64, 128, 256})
            for (const bool causal : {false, true}) {
                std::vector<std::int64_t> lengths;
                for (std::int64_t i = 0; i < sentences; ++i) lengths.push_back(10 + 37 * i % 51);
                const std::int64_t heads = d_model == 128 ? 4 : 8;
                const std::string what = fmt::format("{} sentences of 10-60, {} heads of {}", sentences, heads, d_model / heads);
                cases.push_back(benches::attention(on, what, lengths, d_model, heads, causal, {}));
            }
    return cases;
}

std::vector<OpCase> large_cases(const benches::Setting& on) {
    std::vector<OpCase> cases;
    constexpr std::int64_t tokens = 16384, d_model = 2048;
    for (const std::int64_t head : {64, 128})
        for (const std::int64_t length : {std::int64_t{2048}, tokens})
            for (const bool causal : {false, true}) {
                const std::vector<std::int64_t> lengths(static_cast<std::size_t>(tokens / length), length);
                const std::string what =
                    fmt::format("{} sentences of {}, {} heads of {}", lengths.size(), length, d_model / head, head);
                cases.push_back(benches::attention(on, what, lengths, d_model, d_model / head, causal, {}));
            }
    cases.push_back(benches::linear(on, tokens, d_model, d_model));
    cases.push_back(benches::linear(on, tokens, d_model, 4 * d_model));
    cases.push_back(benches::linear_cross_entropy(on, tokens, 1024, 32768));
    const Sizes at = large_sizes(on.dtype);
    cases.push_back(benches::cross_entropy(on, at.some_rows, at.vocabulary));
    cases.push_back(benches::embedding(on, at.sentences, at.length, at.vocabulary, at.d_model));
    for (benches::RowCases* const of : benches::kRowCases) append(cases, of(on, at.rows(), at.d_model));
    for (benches::RowCases* const of : benches::kNormalising) append(cases, of(on, at.some_rows, at.vocabulary));  // wide rows
    add_optimizer(cases, on, at.parameters);
    add_top_k(cases, on, at);
    return cases;
}

}  // namespace

std::vector<OpCase> op_cases(const OpSetting& setting) {
    const benches::Setting on = {setting.device, setting.dtype};
    if (setting.sizes == "large") return large_cases(on);
    if (setting.sizes == "sentences") return sentence_cases(on);
    return model_cases(on, setting.sizes == "tiny" ? tiny : translator);
}

}  // namespace heddle::app
