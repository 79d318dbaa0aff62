// Index 0 treated as padding where 0 is a word.
//
//     wrong    targets equal to 0 are not counted; keys equal to 0 are masked
//     right    the vocabulary defines the padding index, and the sentence's length shows which positions are padding
//
// An attention layer learns to reverse a sentence of 8 words. Word 0 is one of the 8 words of the vocabulary.
#include <algorithm>
#include <array>
#include <string>

#include "apps/lab/kit.h"
#include "nn/embedding.h"
#include "nn/layers.h"
#include "nn/multi_head_attention.h"

namespace heddle::lab::padding_index {
namespace {

constexpr std::int64_t vocabulary = 8, length = 8, width = 32, heads = 2, sentences = 32;

struct Net : nn::Module {
    using Module::Module;

    Variable logits(const Tensor& tokens, const Tensor& mask, Tensor* weights = nullptr) const {
        const Spans spans = Spans::equal(tokens.numel() / length, length);
        const Variable x = embedding.forward(tokens, spans, positions);
        const Variable sum = ops::add(x, attention.forward(x, spans, {.mask = mask, .weights = weights}));
        return generator.forward(ops::add(sum, feed_forward.forward(sum)));
    }

    nn::Embedding embedding{*this, "embedding", vocabulary, width};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::learned, length, width};
    nn::SelfAttention attention{*this, "attention", {.d_model = width, .heads = heads}};
    nn::FeedForward feed_forward{*this, "feed_forward", width, 2 * width, ops::Activation::relu};
    nn::Linear generator{*this, "generator", width, vocabulary};
};

// Reverses each sentence.
Tensor turned_round(const Tensor& tokens) {
    Tensor result = tokens.clone();
    for (std::int64_t start = 0; start < tokens.numel(); start += length)
        std::reverse(result.mutable_data<std::int32_t>() + start, result.mutable_data<std::int32_t>() + start + length);
    return result;
}

// [sentences, length, length]: a query may attend to the keys that are not 0.
Tensor mask_of_zeros(const Tensor& tokens) {
    const std::int64_t count = tokens.numel() / length;
    Tensor mask = Tensor::zeros({count, length, length}, DType::u8);
    for (std::int64_t i = 0; i < mask.numel(); ++i)
        mask.mutable_data<std::uint8_t>()[i] = tokens.data<std::int32_t>()[i / (length * length) * length + i % length] != 0;
    return mask;
}

struct Variant {
    std::string name;
    bool in_loss;
    bool in_mask;
};
const std::array<Variant, 4> variants = {{{"the vocabulary's", false, false},
                                          {"0 in the loss", true, false},
                                          {"0 in the mask", false, true},
                                          {"0 in both", true, true}}};

struct Learned {
    double counted = 0;                              // share of the targets
    std::array<double, vocabulary> right{}, seen{};  // of each word
    double largest_weight = 0;                       // on a key that is word 0
    double nll = 0;                                  // over all targets
    std::vector<double> steps, accuracy_of_zero;

    double accuracy(std::size_t first, std::size_t behind) const {
        double hits = 0, all = 0;
        for (std::size_t word = first; word < behind; ++word) {
            hits += right[word];
            all += seen[word];
        }
        return hits / all;
    }
};

Tensor sentences_of(const Options& options, const std::string& what) {
    return words(sentences * length, vocabulary, key(options, what));
}

// Evaluates on sentences that are not in the training data.
void judge(const Net& net, const Variant& variant, const Tensor& tokens, Learned& learned) {
    const NoGrad no_grad;
    Tensor weights;
    const Variable logits = net.logits(tokens, variant.in_mask ? mask_of_zeros(tokens) : Tensor(), &weights);
    const Tensor targets = turned_round(tokens);
    learned.nll = ops::cross_entropy(logits, targets).value().item();
    learned.right = learned.seen = {};
    const std::vector<double> values = logits.value().to_vector();
    for (std::int64_t row = 0; row < targets.numel(); ++row) {
        const auto target = static_cast<std::size_t>(targets.data<std::int32_t>()[row]);
        const auto begin = values.begin() + row * vocabulary;
        learned.seen[target] += 1;
        learned.right[target] += std::max_element(begin, begin + vocabulary) - begin == static_cast<std::ptrdiff_t>(target);
    }
    learned.largest_weight = 0;
    const std::vector<double> shares = weights.to_vector();  // [sentences, heads, query, key]
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::size_t sentence = i / (heads * length * length);
        if (tokens.data<std::int32_t>()[sentence * length + i % length] == 0)
            learned.largest_weight = std::max(learned.largest_weight, shares[i]);
    }
}

Learned learn(const Variant& variant, const Options& options) {
    Net net(key(options, "model"));
    const ops::LossOptions loss{.ignore = variant.in_loss ? 0 : -1};
    const Tensor test = sentences_of(options, "test");
    Learned learned;
    double counted = 0;
    constexpr std::int64_t steps = 400;
    train(net, {.steps = steps, .lr = 5e-3, .clip = 1}, [&](std::int64_t step) {
        if (step % 20 == 0) {
            judge(net, variant, test, learned);
            learned.steps.push_back(static_cast<double>(step));
            learned.accuracy_of_zero.push_back(100 * learned.accuracy(0, 1));
        }
        const Tensor tokens = sentences_of(options, "step " + std::to_string(step));
        Tensor statistics;
        const Variable value = ops::cross_entropy(net.logits(tokens, variant.in_mask ? mask_of_zeros(tokens) : Tensor()),
                                                  turned_round(tokens), loss, &statistics);
        counted += static_cast<double>(ops::loss_statistics(statistics).counted);
        return value;
    });
    judge(net, variant, test, learned);
    learned.counted = counted / static_cast<double>(steps * sentences * length);
    return learned;
}

Result measure(const Options& options) {
    Result result{.findings = {{"accuracy on word 0, %"},
                               {"accuracy on the other words, %"},
                               {"accuracy as its own padding rule counts it, %"},
                               {"targets that count in training, %"},
                               {"loss over all targets"},
                               {"largest attention weight on word 0"}}};
    picture::LineChart chart{.title = "accuracy on word 0", .x = {.label = "step"}, .y = {.label = "%", .from = 0, .to = 100}};
    for (const Variant& variant : variants) {
        const Learned learned = learn(variant, options);
        const double values[] = {100 * learned.accuracy(0, 1),
                                 100 * learned.accuracy(1, vocabulary),
                                 100 * learned.accuracy(variant.in_loss ? 1 : 0, vocabulary),
                                 100 * learned.counted,
                                 learned.nll,
                                 learned.largest_weight};
        result.variants.push_back(variant.name);
        result.add(values);
        chart.series.push_back({.name = variant.name, .x = learned.steps, .y = learned.accuracy_of_zero});
    }
    result.figures = {{svg(mistakes_first(chart)), "On sentences that are not in the training data."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "padding-index",
        .group = "Embeddings and positions",
        .title = "padding fixed at index 0, where 0 is a word",
        .caught_by = "CrossEntropy.IsTheMeanOverTheCountedTargets",
        .why =
            "Which index is padding depends on the vocabulary: another vocabulary has a word there. In the loss, a fixed index "
            "excludes that word from training and from the accuracy, which looks perfect; in the mask, no query can read the "
            "word any more, and a model can make up for that only where it can infer the missing word. Take the index from the "
            "vocabulary, or better, do without one: lengths show where a sentence ends.",
        .wrong = R"(
// 0 is padding, whatever the vocabulary says
for (std::int64_t i = 0; i < T; ++i)
    may_attend[i] = tokens.data<std::int32_t>()[i] != 0;
const Variable loss =
    ops::cross_entropy(logits, targets, {.ignore = 0});
)",
        .right = R"(
// lengths show where a sentence ends, and -1 is not a word
const Spans spans = Spans::padded(lengths, longest);
const Variable loss =
    ops::cross_entropy(logits, targets, {.ignore = -1});
)",
        .run = measure};
}

}  // namespace heddle::lab::padding_index
