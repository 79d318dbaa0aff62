// A batch of sentences of different lengths with padding that is not masked.
//
//     wrong    softmax over all positions of the row, including padding
//     right    softmax over the sentence's own positions
//
// One model is trained on batches of equal lengths, without padding, then evaluated in batches with a longer sentence. The wrong
// variant is the same model with spans that treat padding as words.
#include <fmt/format.h>

#include <array>

#include "apps/lab/kit.h"
#include "nn/layers.h"

namespace heddle::lab::no_padding_mask {
namespace {

constexpr std::int64_t d_model = 32;
constexpr std::int64_t length = 5;  // of the test sentences
constexpr std::int64_t longest = 40, sentences = 200;
constexpr std::int32_t padding = 2;  // the words are 0 and 1

// The task: at each position, predict the more frequent word of the sentence.
struct Net : nn::Module {
    explicit Net(std::uint64_t seed) : Module(seed) {}
    static nn::TransformerOptions options() {
        return nn::TransformerOptions{.source_vocabulary = 3,
                                      .target_vocabulary = 3,
                                      .encoder_layers = 2,
                                      .d_model = d_model,
                                      .heads = 2,
                                      .d_ff = 2 * d_model,
                                      .dropout = 0}
            .complete();
    }
    Variable logits(const Tensor& tokens, const Spans& spans, nn::AttentionMaps* maps = nullptr) const {
        return output.forward(encoder.forward(embedding.forward(tokens, spans, positions), spans, maps));
    }
    nn::Embedding embedding{*this, "embedding", 3, d_model};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, longest, d_model};
    nn::Encoder encoder{*this, "encoder", options()};
    nn::Linear output{*this, "output", d_model, 2};
};

std::int32_t more_frequent(const std::int32_t* words, std::int64_t count) {
    std::int64_t ones = 0;
    for (std::int64_t i = 0; i < count; ++i) ones += words[i];
    return 2 * ones > count ? 1 : 0;
}

void teach(Net& net, const Options& options) {
    train(net, {.steps = 150, .lr = 3e-3}, [&](std::int64_t step) {
        constexpr std::int64_t batch = 32;
        const std::int64_t time = 3 + 2 * (step % 4);  // 3, 5, 7, 9: odd, so that there is an answer
        const Tensor tokens = words(batch * time, 2, key(options, fmt::format("batch {}", step)));
        Tensor answers = Tensor::empty(tokens.shape(), DType::i32);
        for (std::int64_t i = 0; i < tokens.numel(); ++i)
            answers.mutable_data<std::int32_t>()[i] = more_frequent(tokens.data<std::int32_t>() + i / time * time, time);
        return ops::cross_entropy(net.logits(tokens, Spans::equal(batch, time)), answers);
    });
}

// The sentences [sentences * length], each padded to `time` tokens.
Tensor filled_up(const Tensor& tokens, std::int64_t time) {
    Tensor result = Tensor::full({sentences * time}, padding, DType::i32);
    for (std::int64_t i = 0; i < tokens.numel(); ++i)
        result.mutable_data<std::int32_t>()[i / length * time + i % length] = tokens.data<std::int32_t>()[i];
    return result;
}

Spans spans_of(bool masked, std::int64_t time) {
    return masked ? Spans::padded(std::vector<std::int64_t>(sentences, length), time) : Spans::equal(sentences, time);
}

// The logits at the words' positions in a batch whose longest sentence has `time` words: [sentences * length, 2].
std::vector<double> answers(const Net& net, const Tensor& tokens, std::int64_t time, bool masked) {
    const std::vector<double> all = net.logits(filled_up(tokens, time), spans_of(masked, time)).value().to_vector();
    std::vector<double> result;
    for (std::int64_t row = 0; row < sentences * time; ++row)
        if (row % time < length) result.insert(result.end(), all.begin() + 2 * row, all.begin() + 2 * row + 2);
    return result;
}

double share_right(const Tensor& tokens, const std::vector<double>& logits) {
    double right = 0;
    for (std::int64_t i = 0; i < tokens.numel(); ++i) {
        const auto row = static_cast<std::size_t>(2 * i);
        const std::int32_t said = logits[row + 1] > logits[row] ? 1 : 0;
        right += said == more_frequent(tokens.data<std::int32_t>() + i / length * length, length) ? 1 : 0;
    }
    return right / static_cast<double>(tokens.numel());
}

// The share of the first layer's weight that the first sentence's words put on padding, averaged over heads and words.
double on_padding(const Net& net, const Tensor& tokens, bool masked) {
    nn::AttentionMaps maps;
    net.logits(filled_up(tokens, longest), spans_of(masked, longest), &maps);
    const Tensor& weights = maps.encoder[0];  // [sentences, heads, longest query, longest key]
    const auto queries = static_cast<std::size_t>(weights.dim(2)), keys = static_cast<std::size_t>(weights.dim(3));
    const std::vector<double> all = weights.slice(0, 1).to_vector();
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i / keys % queries < length && i % keys >= length) sum += all[i];
    return sum / static_cast<double>(weights.dim(1) * length);
}

Result measure(const Options& options) {
    Net net(key(options, "model"));
    teach(net, options);
    net.eval();
    const NoGrad no_grad;
    const Tensor tokens = words(sentences * length, 2, key(options, "sentences"));
    const std::vector<double> alone = answers(net, tokens, length, true);

    Result result{.variants = {"masked", "not masked"},
                  .findings = {{"change of the output beside a sentence of 40 words"},
                               {"right answers without a longer neighbour"},
                               {"right answers beside a sentence of 40 words"},
                               {"weight on padding, first layer"}}};
    picture::LineChart accuracy{.title = "sentences of 5 words beside a longer one",
                                .x = {.label = "words of the longest sentence in the batch"},
                                .y = {.label = "share of right answers", .from = 0, .to = 1},
                                .levels = {{"guessing", 0.5}}};
    for (const bool masked : {true, false}) {
        const std::string name = result.variants[masked ? 0 : 1];
        picture::Series& line = accuracy.series.emplace_back(picture::Series{.name = name});
        for (std::int64_t time = length; time <= longest; time += 5) {
            line.x.push_back(static_cast<double>(time));
            line.y.push_back(share_right(tokens, answers(net, tokens, time, masked)));
        }
        const double change = relative_change(alone, answers(net, tokens, longest, masked));
        result.add(std::array{change, line.y.front(), line.y.back(), on_padding(net, tokens, masked)});
    }
    result.figures = {{svg(mistakes_first(accuracy)), "The same model and sentences; only the longest sentence differs."}};
    return result;
}

}  // namespace

Experiment experiment() {
    return {
        .name = "no-padding-mask",
        .group = "Attention",
        .title = "padding that attention sees as words",
        .caught_by = "Transformer.SentenceHasTheSameBitsAloneAndInAnyBatch",
        .why =
            "Padding has keys like any word, so without a mask every position of a short sentence attends to it, and all the "
            "more the longer the longest sentence is. The model was never trained on padding, because batches of equal lengths "
            "have none: its answer for the same sentence is right in one batch and wrong in another. Spans, lengths or a mask "
            "exclude these positions from the sum, and a sentence has the same bits in every batch.",
        .wrong = R"(
// each sentence as long as the longest, with its padding
const std::vector<std::int64_t> rows(sentences, longest);
const Variable y = encoder.forward(x, Spans::packed(rows));
)",
        .right = R"(
// each sentence has its own length, without padding
const Spans spans = Spans::padded(lengths, longest);
const Variable y = encoder.forward(x, spans);
)",
        .run = measure};
}

}  // namespace heddle::lab::no_padding_mask
