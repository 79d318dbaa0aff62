// The drawings show the options' values, in the order of the data's flow.
#include "apps/command/model_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/markup.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

nn::TransformerOptions paper() {
    nn::TransformerOptions options;
    options.source_vocabulary = options.target_vocabulary = 1024;
    options.encoder_layers = 6;
    options.decoder_layers = 4;
    options.d_model = 512;
    options.heads = 8;
    options.d_ff = 2048;
    options.norm = nn::NormPlace::post;
    return options;
}

std::vector<std::string> texts(const nn::TransformerOptions& options, const std::string& name) {
    std::vector<std::string> found;
    for (const ModelPicture& one : model_pictures(options.complete())) {
        const Markup markup = markup_of(one.figure.svg);
        EXPECT_EQ(markup.error, "") << one.name;
        EXPECT_TRUE(one.figure.svg.find("\u2026") == std::string::npos) << one.name << " has a label that is cut";
        if (one.name == name)
            for (const Element& text : markup.all("text")) found.push_back(text.text);
    }
    return found;
}

TEST(ModelPictures, ABlocksBoxesStandInTheOrderOfItsNorms) {
    nn::TransformerOptions options = paper();
    EXPECT_THAT(texts(options, "encoder-block"),
                ElementsAre("input", "[tokens, 512]", "self-attention", "8 heads of 64", "dropout 0.1 of the weights",
                            "dropout 0.1", "layer norm", "eps 1e-5", "feed-forward", "512 to 2048 to 512, ReLU",
                            "dropout 0.1 inside", "dropout 0.1", "layer norm", "eps 1e-5", "output", "[tokens, 512]"));
    options.norm = nn::NormPlace::pre;
    options.dropout = 0;
    options.heads = 1;
    options.activation = ops::Activation::gelu;
    EXPECT_THAT(texts(options, "encoder-block"),
                ElementsAre("input", "[tokens, 512]", "layer norm", "eps 1e-5", "self-attention", "1 head of 512", "layer norm",
                            "eps 1e-5", "feed-forward", "512 to 2048 to 512, GELU", "output", "[tokens, 512]"));
}

TEST(ModelPictures, TheEncoderAloneNamesNothingOfTheDecoder) {
    nn::TransformerOptions options = paper();
    options.tie = nn::Tie::embeddings;
    EXPECT_THAT(texts(options, "model"), Contains("one matrix for both sides"));
    EXPECT_THAT(texts(options, "encoder"),
                AllOf(Contains("1024 x 512"), Contains("6 x"), Contains("output"), Not(Contains("one matrix for both sides")),
                      Not(Contains("memory")), Not(Contains("4 x"))));
}

TEST(ModelPictures, NameTheActivationThePositionsAndABiasOfATiedOutput) {
    nn::TransformerOptions options = paper();
    options.tie = nn::Tie::target;
    options.activation = ops::Activation::silu;
    options.positions = nn::Positions::marian;
    EXPECT_THAT(texts(options, "model"),
                AllOf(Contains("512 to 2048 to 512, SiLU").Times(2), Contains("sines of Marian").Times(2),
                      Contains("the embedding matrix again"), Not(Contains("and a bias"))));
    options.positions = nn::Positions::sines_first;
    options.output_bias = true;
    EXPECT_THAT(texts(options, "model"), AllOf(Contains("sines first").Times(2), Contains("and a bias")));
}

TEST(ModelPictures, SayWhichProjectionsHaveNoBias) {
    nn::TransformerOptions options = paper();
    EXPECT_THAT(texts(options, "heads"), Contains("512 to 512").Times(4));
    options.attention_bias = false;
    EXPECT_THAT(texts(options, "heads"), Contains("512 to 512, no bias").Times(4));
    EXPECT_THAT(texts(options, "decoder-block"), Contains("8 heads of 64, no bias").Times(2));
    EXPECT_THAT(texts(options, "encoder-block"), Contains("512 to 2048 to 512, ReLU"));
}

TEST(ModelPictures, SayHowManyHeadsTheKeysHave) {
    nn::TransformerOptions options = paper();
    options.key_heads = 2;
    EXPECT_THAT(texts(options, "heads"), AllOf(Contains("512 to 512").Times(2), Contains("512 to 128").Times(2)));
    EXPECT_THAT(texts(options, "decoder-block"), Contains("8 heads of 64, 2 of keys").Times(2));
}

TEST(ModelPictures, TheModelNamesItsStacksTablesAndOutput) {
    nn::TransformerOptions options = paper();
    EXPECT_THAT(texts(options, "model"),
                AllOf(Contains("6 x"), Contains("4 x"), Contains("1024 x 512"), Contains("sine and cosine"),
                      Contains("the embedding matrix again"), Contains("memory")));
    options.tie = nn::Tie::none;
    options.target_vocabulary = 99;
    options.positions = nn::Positions::learned;
    const std::vector<std::string> other = texts(options, "model");
    options.position_table = 77;
    EXPECT_THAT(texts(options, "model"), Contains("77 x 512").Times(2)) << "a table for each side";
    EXPECT_THAT(other, AllOf(Contains("1024 x 512"), Contains("99 x 512"), Contains("512 to 99"), Contains("learned")));
    EXPECT_THAT(other, Not(Contains("the embedding matrix again")));
    EXPECT_THAT(other, Contains("times sqrt(512)"));
    options.scale_embeddings = false;
    options.decoder_layers = 6;
    options.memory = nn::MemoryFrom::layer;
    EXPECT_THAT(texts(options, "model"),
                AllOf(Not(Contains("times sqrt(512)")), Contains("memory: layer i reads the encoder&#39;s layer i")));
    // A final norm adds one box to each stack.
    const auto norms = [](const nn::TransformerOptions& o) {
        const std::vector<std::string> all = texts(o, "model");
        return std::count(all.begin(), all.end(), "layer norm");
    };
    const auto without = norms(options);
    options.final_norm = true;
    EXPECT_EQ(norms(options), without + 2);
}

TEST(ModelPictures, AttentionIsScaledByTheHeadsOwnWidth) {
    nn::TransformerOptions options = paper();
    options.heads = 12;
    options.head_dim = 42;
    options.attention_dropout = 0.3;
    EXPECT_THAT(texts(options, "attention"),
                AllOf(Contains("times 1 / sqrt(42)"), Contains("[queries, 42]"), Contains("dropout 0.3")));
    EXPECT_THAT(texts(options, "heads"), AllOf(Contains("512 to 504"), Contains("504 columns"), Contains("504 to 512")));
}

// The causal picture shows its mask: ten of sixteen cells are filled, in the colour of the softmax's box.
TEST(ModelPictures, OneHeadStandsBetweenItsProjections) {
    nn::TransformerOptions options = paper();
    options.heads = 1;
    options.head_dim = 64;
    EXPECT_THAT(
        texts(options, "head"),
        ElementsAre("input", "[tokens, 512]", "linear: query", "512 to 64", "linear: key", "512 to 64", "linear: value",
                    "512 to 64", "query times key", "[queries, keys]", "times 1 / sqrt(64)", "variance 1 again", "mask",
                    "hidden places take no part", "softmax", "weights of a row sum to 1", "weights times value", "dropout 0.1",
                    "output of the head", "[tokens, 64]", "linear: output", "64 to 512", "output [tokens, 512]"));
    EXPECT_THAT(texts(options, "heads"), AllOf(Contains("1 head of 64"), Not(Contains("heads side by side"))));
    options.heads = 12;
    options.head_dim = 42;
    EXPECT_THAT(texts(options, "causal-head"),
                AllOf(Contains("causal mask"), Contains("[tokens, 42]"), Not(Contains("linear: output"))))
        << "the projection behind it belongs to all heads";
    const auto filled = [&](const std::string& name) {
        std::vector<std::string> fills;
        for (const ModelPicture& one : model_pictures(options.complete()))
            if (one.name == name)
                for (const Element& rect : markup_of(one.figure.svg).all("rect")) fills.push_back(rect.attributes.at("fill"));
        return std::count(fills.begin(), fills.end(), "#fbd9a5");
    };
    EXPECT_EQ(filled("head"), 2) << "mask and softmax";
    EXPECT_EQ(filled("causal-head"), 2 + 10);
}

TEST(ModelPictures, AreWrittenAsFilesAndAsAPage) {
    const TemporaryFolder folder;
    const std::filesystem::path to = folder / "a" / "b";
    write_model_pictures(to, paper().complete());
    for (const char* name : {"model.svg", "encoder.svg", "encoder-block.svg", "decoder-block.svg", "attention.svg", "head.svg",
                             "causal-head.svg", "heads.svg", "index.html"})
        EXPECT_GT(std::filesystem::file_size(to / name), 1000u) << name;
    std::ofstream(folder / "file") << "taken";
    expect_error([&] { write_model_pictures(folder / "file", paper().complete()); },
                 "--pictures " + (folder / "file").string() + ": the folder cannot be made: ");
}

}  // namespace
}  // namespace heddle::app
