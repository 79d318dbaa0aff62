// Translates two digits into German words, 27 into "sieben und zwanzig", also numbers that it was never shown.
#include <heddle/heddle.h>

#include <algorithm>

using namespace heddle;
using Tokens = std::vector<std::int32_t>;

constexpr const char* words[] = {".",       "ein",     "zwei",    "drei",    "vier",     "fuenf",   "sechs",
                                 "sieben",  "acht",    "neun",    "zwanzig", "dreissig", "vierzig", "fuenfzig",
                                 "sechzig", "siebzig", "achtzig", "neunzig", "und"};

// Sentences of `length` tokens each, one after the other.
nn::Sentences sentences(const Tokens& tokens, std::size_t length) {
    const std::vector<std::int64_t> lengths(tokens.size() / length, static_cast<std::int64_t>(length));
    return {Tensor::from(tokens, {std::ssize(tokens)}), Spans::packed(lengths)};
}

int main() {
    Tokens source, target_in, target_out, unseen;  // word 0 begins and ends a sentence
    for (std::int32_t number = 21; number < 100; ++number) {
        const std::int32_t tens = number / 10, ones = number % 10;
        if (ones == 0) continue;
        Tokens& digits = number % 7 == 0 ? unseen : source;
        digits.insert(digits.end(), {tens, ones});
        if (number % 7 == 0) continue;
        target_in.insert(target_in.end(), {0, ones, 18, tens + 8});
        target_out.insert(target_out.end(), {ones, 18, tens + 8, 0});
    }
    nn::Transformer model({.source_vocabulary = 10, .target_vocabulary = 19, .d_model = 32, .d_ff = 64, .tie = nn::Tie::target});
    optim::Adam adam(model, {.lr = 5e-3});
    for (int update = 0; update < 300; ++update) {
        adam.zero_grad();
        model.loss(sentences(source, 2), sentences(target_in, 4), sentences(target_out, 4).tokens).backward();
        adam.step();
    }
    model.eval();
    const NoGrad no_grad;
    const nn::Sentences given = sentences(unseen, 2);
    auto cache = model.start_decoding(model.encode(given.tokens, given.spans).value(), given.spans, given.spans.size(), 4);
    std::vector<std::string> lines(unseen.size() / 2);
    Tokens last(lines.size(), 0);
    for (int step = 0; step < 3; ++step) {
        const Tensor logits = model.step(Tensor::from(last, {given.spans.size()}), cache);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const auto row = logits.values<float>().subspan(i * 19, 19);
            last[i] = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
            lines[i] += fmt::format(" {}", words[last[i]]);
        }
    }
    for (std::size_t i = 0; i < lines.size(); ++i) fmt::print("{}{}:{}\n", unseen[2 * i], unseen[2 * i + 1], lines[i]);
}
