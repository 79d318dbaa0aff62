// Translates two digits into German words, 27 into "sieben und zwanzig", also numbers that it was never shown.
#include <heddle/heddle.h>

using namespace heddle;

constexpr const char* words[] = {".",       "ein",     "zwei",    "drei",    "vier",     "fuenf",   "sechs",
                                 "sieben",  "acht",    "neun",    "zwanzig", "dreissig", "vierzig", "fuenfzig",
                                 "sechzig", "siebzig", "achtzig", "neunzig", "und"};

int main() {
    std::vector<nn::Tokens> source, target_in, target_out, unseen;  // word 0 begins and ends a translation
    for (std::int32_t number = 21; number < 100; ++number) {
        const std::int32_t tens = number / 10, ones = number % 10;
        if (ones == 0) continue;
        (number % 7 == 0 ? unseen : source).push_back({tens, ones});
        if (number % 7 == 0) continue;
        target_in.push_back({0, ones, 18, tens + 8});
        target_out.push_back({ones, 18, tens + 8, 0});
    }
    nn::Transformer model({.source_vocabulary = 10, .target_vocabulary = 19, .d_model = 32, .d_ff = 64, .tie = nn::Tie::target});
    optim::Adam adam(model, {.lr = 5e-3});
    for (int update = 0; update < 300; ++update) {
        adam.zero_grad();
        model.loss(nn::packed(source), nn::packed(target_in), nn::packed(target_out).tokens).backward();
        adam.step();
    }
    model.eval();
    const auto found = translate(model, unseen, {.beam = 5, .marks = {.begin = 0, .end = 0}});
    for (std::size_t i = 0; i < unseen.size(); ++i) {
        fmt::print("{}{}:", unseen[i][0], unseen[i][1]);
        for (const std::int32_t word : found[i].front().tokens) fmt::print(" {}", words[word]);
        fmt::print("\n");
    }
}
