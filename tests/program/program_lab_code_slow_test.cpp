// The code on the lab's pages compiles, piece by piece, after declarations of the names that it uses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "apps/lab/experiment.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr const char* given = R"(
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include "apps/translation/batching/token_pairs.h"
#include "apps/translation/metrics/bleu.h"
#include "apps/translation/text/text_file.h"
#include "apps/translation/vocabulary/vocabulary.h"
#include "autograd/ops.h"
#include "kernels/device/cuda.h"
#include "kernels/device/mma.h"
#include "nn/flat.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"
namespace heddle::pieces {  // whose names hide the ops'
extern Variable x, q, k, scores, factor, weight, memory, logits, one_hot, eps;
extern Tensor mask, targets;
extern Spans spans, memory_spans;
extern std::int64_t B, T, H, d, h, n, sentences, longest, batch;
extern std::size_t full_batches;
extern std::vector<std::int64_t> lengths;
extern nn::TransformerOptions options;
extern nn::Transformer model;
extern nn::Encoder encoder;
extern nn::Linear output, inner, outer;
extern nn::SelfAttention attention;
extern nn::FeedForward feed_forward;
extern nn::LayerNorm norm, next_norm;
extern std::vector<std::unique_ptr<nn::DecoderLayer>> decoder;
extern std::vector<nn::Stream> encoded;
extern nn::Stream y;
extern nn::FlatParameters parameters;
extern optim::Optimizer optimizer;
extern struct Saved {
    Tensor weights;
    std::map<std::string, Tensor> moments;
    std::int64_t updates, batch;
} saved;
extern std::vector<app::BleuStatistics> batches;
extern std::vector<app::TokenPair> pairs;
extern app::TextFile german, english;
using device::Accumulator16x8;
extern device::FragmentA a[32];
extern device::FragmentB b[32];
)";

// Compiler errors name the piece instead of the file.
std::string as_function(const std::string& name, std::string_view code, std::size_t number) {
    return fmt::format("#line 0 \"{}\"\nauto piece_{}() {{{}}}\n", name, number, code);
}

ShellOutput compile(const std::string& functions) {
    const TemporaryFolder folder;
    const std::string file = (folder / "pieces.cpp").string();
    std::ofstream(file) << given << functions << "}\n";
    return shell(quoted(HEDDLE_CXX) + " -std=c++20 -fsyntax-only -DHEDDLE_WITHOUT_CUDA -I" + quoted(HEDDLE_SOURCE_DIR) + " " +
                 quoted(file) + " 2>&1");
}

TEST(ProgramLabCode, EveryPieceCompiles) {
    std::string functions;
    std::size_t number = 0;
    for (const lab::Experiment& one : lab::experiments()) {
        functions += as_function(fmt::format("{}, wrong", one.name), one.wrong, number++);
        functions += as_function(fmt::format("{}, right", one.name), one.right, number++);
    }
    const ShellOutput output = compile(functions);
    EXPECT_EQ(output.status, 0) << output.text;
}

TEST(ProgramLabCode, APieceThatNamesNoOpIsFound) {
    const ShellOutput output = compile(as_function("a piece", "\nconst Variable y = ops::soft_max(x);\n", 0));
    EXPECT_NE(output.status, 0);
    EXPECT_NE(output.text.find("a piece:1"), std::string::npos) << output.text;
}

}  // namespace
}  // namespace heddle
