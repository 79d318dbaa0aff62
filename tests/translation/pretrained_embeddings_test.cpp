// Word vectors from files: matching of tokens, and errors.
#include "apps/translation/training/pretrained_embeddings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "apps/translation/vocabulary/word_vectors.h"
#include "kernels/linear/linear.h"
#include "tests/nn/nn_support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PretrainedEmbeddings : public testing::Test {
  protected:
    /// The ids are 4 the, 5 cat, 6 sat.
    std::shared_ptr<const Vocabulary> vocabulary_ =
        train_vocabulary({.type = VocabularyType::word, .size = 0}, std::vector<std::string>{"the the the cat cat sat"});
    Tensor table_ = Tensor::full({7, 3}, -1, DType::f32);
    TemporaryFolder folder_;

    std::string file(const std::string& text, const std::string& name = "vectors.txt") const {
        const std::string path = (folder_.path() / name).string();
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    EmbeddingMatch load(const std::string& text) { return load_embedding(file(text), *vocabulary_, table_); }
    std::vector<double> row(const char* token) const {
        const std::int32_t id = vocabulary_->encode(token).at(0);
        return table_.slice(id, id + 1).to_vector();
    }
};

TEST_F(PretrainedEmbeddings, AreReadWithAndWithoutAFirstLine) {
    for (const char* first : {"", "3 3\n"}) {
        table_.fill_(-1);
        const EmbeddingMatch match = load(first + std::string("cat 1 2.5 -3e-1\ndog 7 7 7\nthe\t0 0 4 \r\n"));
        EXPECT_EQ(match.found, 2);
        EXPECT_EQ(match.vectors, 3);
        EXPECT_EQ(match.repeated, 0);
        EXPECT_THAT(row("cat"), ElementsAre(1, 2.5, -0.3f));
        EXPECT_THAT(row("the"), ElementsAre(0, 0, 4));
        EXPECT_THAT(row("sat"), ElementsAre(-1, -1, -1)) << "unknown to the file: as it was";
    }
}

TEST_F(PretrainedEmbeddings, ReachACopyOfTheTableThatEvaluationKeeps) {
    const Tensor x = Tensor::full({1, 3}, 1, DType::f32);
    kernels::PackedWeight packed;
    kernels::linear_forward(x, table_, {}, &packed);
    load("cat 1 2 3\n");
    EXPECT_EQ(kernels::linear_forward(x, table_, {}, &packed).to_vector(), kernels::linear_forward(x, table_, {}).to_vector());
}

TEST_F(PretrainedEmbeddings, TakeTheFirstVectorOfAToken) {
    const EmbeddingMatch match = load("cat 1 1 1\ncat 2 2 2\ndog 1 1 1\ndog 1 1 1\n");
    EXPECT_EQ(match.found, 1);
    EXPECT_EQ(match.vectors, 4);
    EXPECT_EQ(match.repeated, 1);
    EXPECT_THAT(row("cat"), ElementsAre(1, 1, 1));
}

TEST_F(PretrainedEmbeddings, NameTheLineThatIsWrong) {
    expect_error([&] { load("cat 1 2 3\nthe 1 2\n"); }, "vectors.txt:2: a token and 2 numbers, wanted 3");
    expect_error([&] { load("cat 1 2 3\nthe 1 2 3 4\n"); }, "vectors.txt:2: a token and 4 numbers");
    expect_error([&] { load("cat 1 zwei 3\n"); }, "vectors.txt:1: number 2 of 'cat' is 'zwei'");
    expect_error([&] { load("cat 1 2 nan\n"); }, "'nan', wanted a finite number");
    expect_error([&] { load("cat 1 1e99 3\n"); }, "'1e99'");
    expect_error([&] { load("2 4\ncat 1 2 3 4\n"); }, "vectors.txt:1: the vectors have 4 numbers, but the model has --d-model 3");
    expect_error([&] { load("5 3\ncat 1 2 3\n"); }, "promises 5 vectors, but there are 1");
    expect_error([&] { load("dog 1 2 3\n"); }, "none of its 1 tokens");
    expect_error([&] { load(""); }, "none of its 0 tokens");
    expect_error([&] { load("cat 1 2 3\n\xff 1 2 3\n"); }, "UTF-8");
    expect_error([&] { load_embedding((folder_.path() / "none").string(), *vocabulary_, table_); }, "none");
}

// GloVe's 840B vectors have such tokens. A token that cannot be in a vocabulary is counted all the same.
TEST_F(PretrainedEmbeddings, HaveTokensWithSpaces) {
    const EmbeddingMatch match = load("4 3\n. . . 1 2 3\nthe  nan\tcat 4 5 6\ncat 7 8 9\n2000 1 1 1\n");
    EXPECT_EQ(match.vectors, 4);
    EXPECT_EQ(match.found, 1);
    EXPECT_THAT(row("cat"), ElementsAre(7, 8, 9));
    EXPECT_THAT(row("the"), ElementsAre(-1, -1, -1));
    expect_error([&] { load("cat 1 2 3\nthe cat 1 x 3\n"); }, "vectors.txt:2: number 2 of 'the cat' is 'x'");
    expect_error([&] { load("the cat 1 2 3 4\n"); }, "vectors.txt:1: a token and 4 numbers, wanted 3");
    expect_error([&] { load("2000 1 2 3 4 5\n"); }, "vectors.txt:1: a token and 5 numbers, wanted 3");
}

TEST_F(PretrainedEmbeddings, ReplaceBytesThatAreNotTextWhenAsked) {
    std::vector<std::string> said;
    const Reading reading{.replace_invalid = true, .say = [&](std::string_view text) { said.emplace_back(text); }};
    const EmbeddingMatch match = load_embedding(file("cat 1 2 3\n\xff\xfe 1 2 3\nthe 4 5 6\n"), *vocabulary_, table_, reading);
    EXPECT_EQ(match.vectors, 3);
    EXPECT_EQ(match.found, 2);
    EXPECT_THAT(row("the"), ElementsAre(4, 5, 6));
    ASSERT_EQ(said.size(), 1u);
    EXPECT_THAT(said[0], HasSubstr("vectors.txt: replaced what is not UTF-8 by U+FFFD in 1 line"));
}

TEST_F(PretrainedEmbeddings, GoToTheSideThatTheyAreOf) {
    nn::TransformerOptions options = nn::tiny_options();
    options.source_vocabulary = options.target_vocabulary = 7;
    const std::string ones = file("cat 1 1 1 1 1 1 1 1\n", "a"), twos = file("cat 2 2 2 2 2 2 2 2\n", "b");
    const Vocabularies vocabularies{vocabulary_, vocabulary_};
    std::vector<std::string> said;
    const Say say = [&](std::string_view text) { said.emplace_back(text); };
    const auto cat = [&](const nn::Transformer& model, const std::string& name) {
        return nn::named_tensor(model, name).to_vector().at(8 * static_cast<std::size_t>(vocabulary_->encode("cat").at(0)));
    };
    const nn::Transformer apart(options);
    load_embeddings(apart, vocabularies, {ones, twos}, {.say = say});
    EXPECT_EQ(cat(apart, "source_embedding.weight"), 1);
    EXPECT_EQ(cat(apart, "target_embedding.weight"), 2);
    EXPECT_NE(cat(apart, "output.weight"), 2);
    ASSERT_EQ(said.size(), 2u);
    EXPECT_THAT(said[1], HasSubstr("target_embedding.weight: 1 of 7 tokens are in"));
    load_embeddings(apart, vocabularies, {twos}, {.say = say});
    EXPECT_EQ(cat(apart, "source_embedding.weight"), 2);
    const std::string_view threes = "cat 3 3 3 3 3 3 3 3\n";
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], threes.data(), threes.size()), static_cast<ssize_t>(threes.size()));
    close(ends[1]);
    load_embeddings(apart, vocabularies, {"/dev/fd/" + std::to_string(ends[0])}, {.say = say});
    close(ends[0]);
    EXPECT_EQ(cat(apart, "source_embedding.weight"), 3);
    EXPECT_EQ(cat(apart, "target_embedding.weight"), 3) << "from what can be read only once, such as standard input";
    options.tie = nn::Tie::all;
    const nn::Transformer shared(options);
    load_embeddings(shared, vocabularies, {ones}, {.say = say});
    EXPECT_EQ(cat(shared, "embedding.weight"), 1);
    expect_error([&] { load_embeddings(shared, vocabularies, {ones, twos}, {.say = say}); }, "share a matrix");
}

}  // namespace
}  // namespace heddle::app
