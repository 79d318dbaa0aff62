// A language model of characters: one causal Transformer layer learns a tongue twister and continues it.
#include <heddle/heddle.h>

#include <algorithm>
#include <string>

using namespace heddle;

const std::string text =
    "Peter Piper picked a peck of pickled peppers. A peck of pickled peppers Peter Piper picked. If Peter Piper picked a peck of "
    "pickled peppers, where's the peck of pickled peppers Peter Piper picked? ";

constexpr int time_steps = 32, width = 64, letters = 128;

// The characters' numbers, i32 [1, n].
Tensor numbers_of(const std::string& characters) {
    Tensor numbers = Tensor::empty({1, static_cast<std::int64_t>(characters.size())}, DType::i32);
    std::copy(characters.begin(), characters.end(), numbers.mutable_values<std::int32_t>().begin());
    return numbers;
}

struct Model : nn::Module {
    nn::Embedding embedding{*this, "embedding", letters, width};
    nn::PositionalEncoding positions{*this, "positions", nn::Positions::sinusoidal, 256, width};
    nn::LayerNorm attention_norm{*this, "attention_norm", width};
    nn::SelfAttention attention{*this, "attention", {.d_model = width, .heads = 4}};
    nn::LayerNorm feed_forward_norm{*this, "feed_forward_norm", width};
    nn::FeedForward feed_forward{*this, "feed_forward", width, 4 * width, ops::Activation::relu};
    nn::Linear output{*this, "output", width, letters};

    // Characters i32 [lines, time]; the logits [lines * time, letters] of the character after each.
    Variable operator()(const Tensor& lines) const {
        const std::vector<std::int64_t> lengths(static_cast<std::size_t>(lines.dim(0)), lines.dim(1));
        const Spans spans = Spans::packed(lengths);
        Variable x = embedding.forward(lines.reshape({lines.numel()}), spans, positions);
        x = x + attention(attention_norm(x), spans, {.causal = true});
        x = x + feed_forward(feed_forward_norm(x));
        return output(x);
    }
};

int main() {
    std::vector<std::pair<Tensor, Tensor>> examples;  // all lines of the text, and the same a character further on
    for (std::size_t i = 0; i + time_steps < text.size(); ++i)
        examples.emplace_back(numbers_of(text.substr(i, time_steps)).reshape({time_steps}),
                              numbers_of(text.substr(i + 1, time_steps)).reshape({time_steps}));
    Model model;
    optim::AdamW adam(model, {.lr = 3e-3, .clip = 1});
    for (std::uint64_t epoch = 0; epoch < 25; ++epoch)
        for (const auto& [x, y] : batches(examples, 16, {.shuffle = epoch})) {
            adam.zero_grad();
            const Variable loss = cross_entropy(model(x), y.reshape({y.numel()}));
            loss.backward();
            adam.step();
        }
    model.eval();
    const NoGrad no_grad;
    std::string line = "Peter Piper ";
    while (line.size() < 100) {
        const std::string seen = line.substr(line.size() - std::min<std::size_t>(line.size(), time_steps));
        const Tensor logits = model(numbers_of(seen)).value();
        const auto last = logits.values<float>().last(letters);
        line += static_cast<char>(std::max_element(last.begin(), last.end()) - last.begin());
    }
    fmt::print("{}\n", line);
}
