// CPU levels for which same_bits() is true give the same bits. A process has one level, so each level runs in a separate process:
// this program with HEDDLE_CPU_LEVEL set, which prints a digest of every op's values and gradients, of trained weights and of
// searches.
#include <fmt/format.h>

#include "apps/translation/training/learner.h"
#include "apps/translation/training/plan.h"
#include "apps/translation/training/validation.h"
#include "autograd/cases/op_cases.h"
#include "core/cpu.h"
#include "core/digest.h"
#include "nn/search/search.h"
#include "tests/nn/nn_support.h"
#include "tests/shell.h"

namespace heddle {
namespace {

// The level for which this process prints digests; if empty, it is the test that compares them.
const char* const kPrinting = "HEDDLE_TEST_PRINTS_BITS";

void print(const std::string& what, const std::vector<Tensor>& tensors) {
    Digest bits;
    for (const Tensor& tensor : tensors) bits.add({tensor.bytes_data(), static_cast<std::size_t>(tensor.bytes())});
    std::printf("%s: %s\n", what.c_str(), bits.text().c_str());
}

// The value and all gradients of an op's case in f32 (its proof uses f64).
void print_case(const GradientCase& one, std::size_t number) {
    const RandomState state{Generator()};
    std::vector<Variable> inputs;
    for (const Tensor& input : one.inputs) inputs.emplace_back(input.to(DType::f32), true);
    const Variable y = one.function(inputs);
    backward(y, normal(y.shape(), DType::f32, 7));
    std::vector<Tensor> tensors = {y.value()};
    for (const Variable& input : inputs)
        if (input.grad().defined()) tensors.push_back(input.grad());
    print(fmt::format("{} {}, {}", number, one.op, one.what), tensors);
}

// The ops at sizes larger than a vector and not divisible by it; the proofs' cases are small.
std::vector<GradientCase> wide_cases() {
    std::vector<GradientCase> cases;
    const DropoutMask dropout(0.2, 17);
    for (const std::int64_t cols : {31, 33, 100, 515}) {
        const std::vector<Tensor> rows = {random_input({37, cols}, 1), random_input({37, cols}, 2), random_input({cols}, 3),
                                          random_input({cols}, 4)};
        const auto add = [&](const char* op, const GradientFunction& function) {
            cases.push_back({op, fmt::format("{} columns", cols), function, rows});
        };
        const auto targets = Tensor::from(nn::random_tokens(37, cols, 5), {37});
        add("layer_norm", [](auto in) { return ops::layer_norm(in[0], in[2], in[3]); });
        add("residual_layer_norm, its sum", [=](auto in) {
            const ops::ResidualNorm both = ops::residual_layer_norm(in[0], in[1], in[2], in[3], 1e-5, dropout);
            return ops::add(both.sum, both.normalised);
        });
        add("residual_rms_norm, its sum", [=](auto in) {
            const ops::ResidualNorm both = ops::residual_rms_norm(in[0], in[1], in[2], 1e-6, dropout);
            return ops::add(both.sum, both.normalised);
        });
        add("residual", [=](auto in) { return ops::residual(in[0], in[1], dropout); });
        add("gelu", [](auto in) { return ops::gelu(in[0]); });
        add("gelu by tanh", [](auto in) { return ops::gelu(in[0], true); });
        add("silu", [](auto in) { return ops::silu(in[0]); });
        add("softmax", [](auto in) { return ops::softmax(in[0]); });
        add("log_softmax", [](auto in) { return ops::log_softmax(in[0]); });
        add("cross_entropy", [=](auto in) { return ops::cross_entropy(in[0], targets, {.label_smoothing = 0.1}); });
        add("linear_cross_entropy", [=](auto in) {
            return ops::linear_cross_entropy(in[0], in[1], {}, Tensor::from(nn::random_tokens(37, 37, 6), {37}));
        });
        add("matmul", [](auto in) { return ops::matmul(in[0], in[1], false, true); });
        add("embedding", [=](auto in) {
            return ops::embedding(in[0], Tensor::from(nn::random_tokens(80, 37, 7), {80}),
                                  Spans::packed(std::vector<std::int64_t>{50, 30}),
                                  {.scale = 3, .positions = {}, .dropout = dropout});
        });
        // w2 [cols, 37] is w1 [37, cols] transposed.
        for (const ops::Activation activation :
             {ops::Activation::relu, ops::Activation::gelu, ops::Activation::gelu_tanh, ops::Activation::silu})
            add("feed_forward", [=](auto in) {
                const int axes[] = {1, 0};
                return ops::feed_forward(in[0], in[1], {}, ops::permute(in[1], axes), {}, activation, dropout);
            });
        // 18 units; w2 is one row of the gate's.
        for (const ops::Activation activation :
             {ops::Activation::relu, ops::Activation::gelu, ops::Activation::gelu_tanh, ops::Activation::silu})
            add("gated_feed_forward", [=](auto in) {
                const Variable x = ops::slice(in[0], 1, 0, 18), w1 = ops::slice(ops::slice(in[1], 0, 0, 36), 1, 0, 18);
                return ops::gated_feed_forward(x, w1, {}, ops::slice(w1, 0, 0, 20), {}, activation, dropout);
            });
    }
    for (const std::int64_t head : {2, 4, 8, 12, 16, 20, 32, 64, 72})
        cases.push_back({"rotary",
                         fmt::format("heads of {}", head),
                         [=](auto in) {
                             return ops::rotary(in[0], Spans::packed({20, 17}), head, 2 * head, {.first_position = 3});
                         },
                         {random_input({37, 3 * head}, 8)}});
    for (const std::int64_t head : {12, 20, 64})
        for (const bool causal : {false, true})
            cases.push_back(
                {"attention",
                 fmt::format("heads of {}{}", head, causal ? ", causal" : ""),
                 [=](auto in) {
                     const Spans spans = Spans::packed(std::vector<std::int64_t>{1, 35, 70, 130});
                     return ops::attention(in[0], in[1], in[2], spans, spans,
                                           {.heads = 2, .causal = causal, .dropout = causal ? dropout : DropoutMask()});
                 },
                 {random_input({236, 2 * head}, 8), random_input({236, 2 * head}, 9), random_input({236, 2 * head}, 10)}});
    return cases;
}

struct Training {
    std::string what;
    nn::TransformerOptions model;
    app::TrainingOptions options;
};

// Sizes that are not divisible by a vector, and every op that is compiled for each level.
std::vector<Training> trainings() {
    Training plain{.what = "relu, pre-norm, adam", .model = {}, .options = {}};
    plain.model.source_vocabulary = plain.model.target_vocabulary = 203;
    plain.model.encoder_layers = plain.model.decoder_layers = 2;
    plain.model.d_model = 40;
    plain.model.heads = 2;
    plain.model.d_ff = 72;
    plain.model.dropout = 0.2;
    plain.options.warmup = 10;
    plain.options.batch_tokens = 600;
    Training other = plain;
    other.what = "gelu, post-norm, learned positions, no ties, adamw";
    other.model.source_vocabulary = 97;
    other.model.target_vocabulary = 1030;
    other.model.d_model = 72;
    other.model.heads = 3;
    other.model.norm = nn::NormPlace::post;
    other.model.activation = ops::Activation::gelu;
    other.model.positions = nn::Positions::learned;
    other.model.tie = nn::Tie::none;
    other.options.optimizer = optim::Method::adamw;
    other.options.weight_decay = 0.01;
    Training third = other;
    third.what = "gelu by tanh, no dropout, sgd";
    third.model.activation = ops::Activation::gelu_tanh;
    third.model.dropout = 0;
    third.model.d_model = 64;
    third.model.heads = 4;
    third.options.optimizer = optim::Method::sgd;
    third.options.lr = 0.1;
    Training fourth = plain;
    fourth.what = "silu, post-norm, Marian's positions, zero start";
    fourth.model.norm = nn::NormPlace::post;
    fourth.model.activation = ops::Activation::silu;
    fourth.model.positions = nn::Positions::marian;
    fourth.model.zero_start = true;
    return {plain, other, third, fourth};
}

std::vector<app::TokenPair> random_pairs(const nn::TransformerOptions& model) {
    Sequence random(11);
    const auto sentence = [&](std::int64_t words, std::int64_t vocabulary) {
        std::vector<std::int32_t> tokens;
        for (std::int64_t i = 0; i < words; ++i)
            tokens.push_back(static_cast<std::int32_t>(4 + random.below(static_cast<std::uint64_t>(vocabulary - 4))));
        return tokens;
    };
    std::vector<app::TokenPair> pairs;
    for (std::int64_t i = 0; i < 120; ++i) {
        const std::int64_t words = 1 + i * i % 75;
        pairs.push_back({sentence(words, model.source_vocabulary), sentence(1 + words * 2 / 3, model.target_vocabulary)});
    }
    return pairs;
}

// Thirty updates, then each sentence's likelihood and the results of a search.
void print_training(const Training& one) {
    const std::vector<app::TokenPair> pairs = random_pairs(one.model);
    nn::Transformer model(one.model, 1);
    app::TrainingOptions options = one.options;
    options.lr = app::rate_of(options);
    app::Learner learner(model, options, 0);
    const app::BatchPlan plan = app::plan_batches(pairs, app::batch_limits(options), 1, 1);
    std::vector<double> numbers;
    for (std::size_t update = 0; update < 30; ++update) {
        const app::PairBatch batch = app::make_batch(pairs, plan.batches[update % plan.batches.size()]);
        const app::UpdateReport report = learner.update({&batch, 1});
        numbers.insert(numbers.end(), {report.loss, report.gradient_norm});
    }
    print(one.what + ", losses and gradient norms", {Tensor::from(numbers, {std::ssize(numbers)})});
    print(one.what + ", weights", {learner.parameters().values});
    model.eval();
    std::vector<double> found;
    for (std::size_t i = 0; i < 10; ++i) found.push_back(app::likelihood(model, {&pairs[i], 1}, 1000).nll);
    const std::vector<std::vector<std::int32_t>> sources = {pairs[5].source, pairs[8].source, pairs[20].source};
    for (const auto& hypotheses : nn::beam_search(model, sources, {.beam = 3, .n_best = 3}))
        for (const nn::Hypothesis& hypothesis : hypotheses) {
            found.push_back(hypothesis.log_probability);
            found.insert(found.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
        }
    print(one.what + ", likelihoods and searches", {Tensor::from(found, {std::ssize(found)})});
}

// The output lines of this program at a level.
std::vector<std::string> printed_at(CpuLevel level) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const ShellOutput output = shell(fmt::format("HEDDLE_CPU_LEVEL={} {}=1 {} --gtest_filter=Levels.PrintTheirBits 2>&1",
                                                 word_of(level), kPrinting, quoted(program)));
    EXPECT_EQ(output.status, 0) << output.text;
    std::vector<std::string> lines;
    std::istringstream text(output.text);
    for (std::string line; std::getline(text, line);)
        if (line.size() > 18 && line.compare(line.size() - 18, 2, ": ") == 0) lines.push_back(line);
    return lines;
}

TEST(Levels, PrintTheirBits) {
    if (std::getenv(kPrinting) == nullptr) GTEST_SKIP() << "a process that Levels.GiveTheSameBits starts";
    std::vector<GradientCase> cases = gradient_cases(), wide = wide_cases();
    std::move(wide.begin(), wide.end(), std::back_inserter(cases));
    for (std::size_t i = 0; i < cases.size(); ++i) print_case(cases[i], i);
    for (const Training& one : trainings()) print_training(one);
}

TEST(Levels, GiveTheSameBits) {
    const CpuLevel best = processor_level();
    bool compared = false;
    for (const CpuLevel lower : {CpuLevel::v2, CpuLevel::v3}) {
        const CpuLevel level = static_cast<CpuLevel>(static_cast<int>(lower) + 1);
        if (level > best || !same_bits(lower, level)) continue;
        compared = true;
        const std::vector<std::string> expected = printed_at(lower);
        EXPECT_GT(expected.size(), 100u);
        EXPECT_EQ(printed_at(level), expected) << name(level) << " and " << name(lower);
    }
    if (!compared) GTEST_SKIP() << "this processor has no two levels with the same bits";
}

}  // namespace
}  // namespace heddle
