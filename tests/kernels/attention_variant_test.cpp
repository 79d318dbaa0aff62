// Which kernel a call of attention gets: attention_variant() beside the table of the chapter.
#include "kernels/attention/attention_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::kernels {
namespace {

// A row of the table. The first row that a call fits is the call's.
struct Row {
    std::string call;
    bool (*fits)(const AttentionCall& call);
    std::string forward, backward;
    int calls = 0;

    std::string line() const { return "| " + call + " | " + forward + " | " + backward + " |\n"; }
};

bool on_cpu(const AttentionCall& call) { return call.device == Device::cpu; }

std::vector<Row> table() {
    return {
        {"CPU, f64", [](const AttentionCall& call) { return on_cpu(call) && call.dtype == DType::f64; }, "reference",
         "reference"},
        {"CPU, f32", [](const AttentionCall& call) { return on_cpu(call) && call.dtype == DType::f32; }, "fast", "fast"},
        {"CUDA, f64", [](const AttentionCall& call) { return call.dtype == DType::f64; }, "plain", "plain"},
        {"CUDA, f32, all sentences of up to 64 tokens, heads of up to 64 columns",
         [](const AttentionCall& call) {
             return call.dtype == DType::f32 && call.longest_sentence <= 64 && call.head_width <= 64;
         },
         "short", "short"},
        {"CUDA, f32 otherwise", [](const AttentionCall& call) { return call.dtype == DType::f32; }, "plain", "plain"},
        {"CUDA, bf16, heads of more than 128 columns or a scale of 0 or less",
         [](const AttentionCall& call) { return call.head_width > 128 || !(call.scale > 0); }, "plain", "plain"},
        {"CUDA, bf16, a sentence of more than 64 tokens", [](const AttentionCall& call) { return call.longest_sentence > 64; },
         "mma", "mma"},
        {"CUDA, bf16, all sentences shorter, heads of 65 to 128 columns",
         [](const AttentionCall& call) { return call.head_width > 64; }, "short", "mma"},
        {"CUDA, bf16, all sentences shorter, heads of up to 64 columns", [](const AttentionCall&) { return true; }, "short",
         "short"},
    };
}

std::string name_of(AttentionVariant variant) {
    switch (variant) {
        case AttentionVariant::reference: return "reference";
        case AttentionVariant::fast: return "fast";
        case AttentionVariant::plain: return "plain";
        case AttentionVariant::mma: return "mma";
        case AttentionVariant::short_sentences: return "short";
    }
    return "?";
}

TEST(AttentionVariant, IsWhatTheChaptersTableSays) {
    std::vector<Row> rows = table();
    for (const Device device : {Device::cpu, Device::cuda})
        for (const DType dtype : {DType::f64, DType::f32, DType::bf16})
            for (const std::int64_t width : {1, 32, 64, 65, 128, 129, 256})
                for (const std::int64_t longest : {0, 1, 64, 65, 1000})
                    for (const double scale : {0.125, 1e-60, 0.0, -1.0, std::nan("")}) {
                        if (device == Device::cpu && dtype == DType::bf16) continue;  // an error of the op
                        // Smaller than any f32, it is 0 to the kernels.
                        const AttentionCall call{device, dtype, width, longest, scale};
                        const AttentionCall seen{device, dtype, width, longest, scale == 1e-60 ? 0 : scale};
                        const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& at) { return at.fits(seen); });
                        ASSERT_NE(row, rows.end());
                        ++row->calls;
                        EXPECT_EQ(name_of(attention_variant(AttentionPass::forward, call)), row->forward) << row->call;
                        EXPECT_EQ(name_of(attention_variant(AttentionPass::backward, call)), row->backward) << row->call;
                    }
    std::ostringstream chapter;
    chapter << std::ifstream(HEDDLE_SOURCE_DIR "/kernels/attention/README.md").rdbuf();
    std::string lines;
    for (const Row& row : rows) {
        EXPECT_GT(row.calls, 0) << row.call;
        lines += row.line();
    }
    EXPECT_THAT(chapter.str(), testing::HasSubstr("| call | forward | backward |\n|---|---|---|\n" + lines + "\n"));
}

}  // namespace
}  // namespace heddle::kernels
