#include "kernels/embedding/embedding.h"

#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

TEST(Embedding, NamesWhatDoesNotFit) {
    const Tensor table = Tensor::zeros({4, 6}, DType::f32), positions = Tensor::zeros({3, 6}, DType::f32);
    const auto tokens = [](std::int32_t last) { return Tensor::from(std::vector<std::int32_t>{0, 1, last}, {3}); };
    const Spans spans({{0, 3}}, 3);
    expect_error([&] { embedding_forward(table, tokens(4), spans, positions, {}); },
                 "embedding: tokens[2] is 4, but the table has 4 rows");
    expect_error([&] { embedding_forward(table, tokens(-1), spans, positions, {}); }, "embedding: tokens[2] is -1");
    expect_error([&] { embedding_forward(table, tokens(1), spans, positions, {.first_position = 1}); },
                 "embedding: a sentence reaches position 3, but positions has 3 rows");
    expect_error(
        [&] {
            embedding_forward(table, tokens(1), spans, Tensor::zeros({3, 5}, DType::f32), {});
        },
        "embedding: positions has shape [3, 5], wanted [3, 6]");
    expect_error([&] { embedding_forward(table, tokens(1), spans, positions, {.first_position = -1}); }, "first_position is -1");
}

TEST(SinusoidalPositions, FollowTheFormulaOfEachLayout) {
    struct Layout {
        Sines sines;
        std::int64_t width;
    };
    for (const auto& [sines, width] : {Layout{Sines::alternate, 8},
                                       {Sines::alternate, 3},
                                       {Sines::first, 8},
                                       {Sines::first_to_the_end, 2},
                                       {Sines::first_to_the_end, 64}}) {
        const Tensor table = sinusoidal_positions(50, width, DType::f64, sines);
        const auto last = static_cast<double>(sines == Sines::first_to_the_end ? width - 2 : width);  // Marian ends at 1/10000
        for (std::int64_t p = 0; p < 50; ++p)
            for (std::int64_t c = 0; c < width; ++c) {
                const bool alternating = sines == Sines::alternate, cosine = alternating ? c % 2 == 1 : c >= width / 2;
                const auto i = static_cast<double>(alternating ? c / 2 : c % (width / 2));
                const double angle = static_cast<double>(p) * (i == 0 ? 1 : std::pow(10000.0, -2 * i / last));
                EXPECT_NEAR(table.data<double>()[p * width + c], cosine ? std::cos(angle) : std::sin(angle), 1e-13);
            }
        EXPECT_TRUE(same_bits(sinusoidal_positions(50, width, DType::f32, sines), table.to(DType::f32)));
        EXPECT_TRUE(same_bits(sinusoidal_positions(9, width, DType::f64, sines), table.slice(0, 9)));
    }
    expect_error([&] { sinusoidal_positions(3, 7, DType::f64, Sines::first); }, "width 7, wanted an even one");
}

// The gradient of every other row has the same bits, on each device and in an order from the host, and positions get theirs.
TEST(Embedding, AnUntrainedTokenGetsNoGradient) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < 700; ++i) ids.push_back(i % 3 == 0 ? 5 : i * 7 % 40);  // token 5 fills a third of the rows
    const Spans spans({{3, 200}, {250, 449}}, 700);
    const Tensor order = Tensor::from(kernels::rows_by_token(ids, spans), {2, 700});
    for (const Numbers& numbers : all_numbers())
        for (const std::int32_t untrained : {5, 7, 39})
            for (const bool ordered : {false, true}) {
                const Tensor dy = in(numbers, normal({700, 24}, DType::f64, 1)),
                             tokens = Tensor::from(ids, {700}).to(numbers.device);
                const auto gradients = [&](std::int32_t without, bool in_order) {
                    Tensor table = in(numbers, Tensor::zeros({40, 24}, DType::f64)),
                           positions = in(numbers, Tensor::zeros({449, 24}, DType::f64));
                    const kernels::EmbeddingPlan plan{.scale = 2, .dropout = Dropout(0.1, 3), .untrained = without};
                    kernels::embedding_backward(dy, tokens, spans, plan, &table, &positions,
                                                in_order ? order.to(numbers.device) : Tensor());
                    return std::pair(table.to(Device::cpu), positions.to(Device::cpu));
                };
                const auto [all, positions] = gradients(-1, ordered);
                const auto [table, same_positions] = gradients(untrained, ordered);
                EXPECT_TRUE(same_bits(all, gradients(-1, false).first)) << "the order changes no bit";
                for (std::int64_t row = 0; row < 40; ++row) {
                    const Tensor got = table.slice(row, row + 1), want = all.slice(row, row + 1);
                    EXPECT_TRUE(same_bits(got, row == untrained ? Tensor::zeros(want.shape(), want.dtype()) : want)) << row;
                    EXPECT_TRUE(row != untrained || !same_bits(got, want)) << "the example shows nothing";
                }
                EXPECT_TRUE(same_bits(positions, same_positions));
            }
}

TEST(Embedding, ListsItsRowsByToken) {
    const Spans spans({{1, 3}, {4, 0}, {5, 2}}, 9);
    EXPECT_EQ(kernels::rows_by_token(std::vector<std::int32_t>{9, 4, 0, 4, 9, 0, 2, 9, 9}, spans),
              (std::vector<std::int32_t>{0, 0, 2, 4, 4, -1, -1, -1, -1, 2, 5, 6, 1, 3, 0, 4, 7, 8}));
    EXPECT_EQ(kernels::rows_by_token({}, Spans::packed({})), std::vector<std::int32_t>{});
    // A batch within a capacity has fewer tokens than rows.
    const Spans within = Spans::packed({2}).within({.rows = 4, .sentences = 2, .longest = 3});
    EXPECT_EQ(kernels::rows_by_token(std::vector<std::int32_t>{3, 1}, within),
              (std::vector<std::int32_t>{1, 3, -1, -1, 1, 0, 2, 3}));
    expect_error([&] { kernels::rows_by_token(std::vector<std::int32_t>{1, -2}, Spans::packed({2})); }, "token -2 of row 1");
}

}  // namespace
}  // namespace heddle::kernels
