// A small GPT: it learns a tongue twister letter by letter, and continues its sentences.
#include <heddle/heddle.h>

#include <string>
#include <vector>

using namespace heddle;

const std::vector<std::string> sentences = {
    "Peter Piper picked a peck of pickled peppers.", "A peck of pickled peppers Peter Piper picked.",
    "If Peter Piper picked a peck of pickled peppers,", "where's the peck of pickled peppers Peter Piper picked?"};

nn::Tokens tokens_of(const std::string& text) { return {text.begin(), text.end()}; }  // its bytes; 2 and 3 are the marks

int main() {
    std::vector<nn::Tokens> texts;
    for (const std::string& sentence : sentences) texts.push_back(tokens_of(sentence));
    const nn::TextBatch batch = nn::text_batch(texts);  // what is read, and the token after each

    nn::LanguageModel model(128, {.layers = 2, .d_model = 64, .heads = 4, .d_ff = 128, .dropout = 0});
    optim::AdamW adam(model, {.lr = 3e-3, .clip = 1});
    for (int update = 0; update < 200; ++update) {
        adam.zero_grad();
        model.loss(batch).backward();
        adam.step();
    }

    model.eval();
    for (const std::string prompt : {"Peter", "A peck", "If", "where"}) {
        const nn::Tokens text = generate(model, tokens_of(prompt), {.temperature = 0});
        fmt::print("{}\n", std::string(text.begin(), text.end()));
    }
    const nn::Tokens drawn = generate(model, tokens_of("p"), {.top_k = 5, .temperature = 0.8, .seed = 3});
    fmt::print("{}\n", std::string(drawn.begin(), drawn.end()));
}
