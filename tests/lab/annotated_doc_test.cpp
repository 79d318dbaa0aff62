// The example of docs/presets/annotated.md, which shows this code.
#include <gtest/gtest.h>

#include <algorithm>

#include "autograd/tape.h"
#include "nn/transformer.h"
#include "tests/documents.h"
#include "tests/nn/nn_support.h"

namespace heddle {
namespace {

// clang-format off
// Each word is the best one behind those before: encode once, decode what is there, look at the last row.
std::vector<std::int32_t> translate(const nn::Transformer& model, const nn::Sentences& source, std::int32_t begin, std::int32_t end,
                                    std::size_t most) {
    const NoGrad not_recorded;
    const Variable memory = model.encode(source.tokens, source.spans);
    std::vector<std::int32_t> words = {begin};
    while (words.size() < most && (words.size() == 1 || words.back() != end)) {
        const auto length = static_cast<std::int64_t>(words.size());
        const nn::Sentences target{Tensor::from<std::int32_t>(words, {length}), Spans::packed(std::vector{length})};
        const Variable hidden = model.decode(target.tokens, target.spans, memory, source.spans);
        const std::vector<double> last = model.generator(hidden).value().slice(length - 1, length).to_vector();
        words.push_back(static_cast<std::int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
    }
    return words;
}
// clang-format on

TEST(AnnotatedPage, ShowsWhatIsCompiledHere) { expect_compiled("docs/presets/annotated.md", "tests/lab/annotated_doc_test.cpp"); }

// A model with random weights translates, deterministically, within the given length.
TEST(AnnotatedPage, TheExampleTranslates) {
    nn::Transformer model({.source_vocabulary = 20, .target_vocabulary = 20, .d_model = 32});
    model.eval();
    const nn::Sentences source = nn::packed({nn::random_tokens(7, 20, 1)});
    const std::vector<std::int32_t> words = translate(model, source, 2, 3, 10);
    EXPECT_EQ(words, translate(model, source, 2, 3, 10));
    EXPECT_EQ(words.front(), 2);
    EXPECT_TRUE(words.size() == 10 || words.back() == 3) << words.size();
    EXPECT_EQ(std::count(words.begin(), words.end() - 1, 3), 0);
    // Token-by-token decoding gives the same words.
    const Tensor memory = model.encode(source.tokens, source.spans).value();
    nn::DecoderCache cache = model.start_decoding(memory, source.spans, 1, 10);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::vector<double> scores = model.step(Tensor::from<std::int32_t>({words[i]}, {1}), cache).to_vector();
        EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), words[i + 1]) << i;
    }
}

}  // namespace
}  // namespace heddle
