#include "kernels/embedding/embedding.h"

#include "autograd/ops.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

struct Batch {
    Tensor tokens;
    Spans spans;
};

// Sentences of the given lengths with random tokens, `gap` rows of token -5 after each.
Batch batch_of(const std::vector<std::int64_t>& lengths, std::int64_t gap, std::int64_t vocabulary, std::uint64_t key) {
    std::vector<Span> spans;
    std::vector<std::int32_t> tokens;
    Sequence random(key);
    for (const std::int64_t length : lengths) {
        spans.push_back({static_cast<std::int64_t>(tokens.size()), length});
        for (std::int64_t i = 0; i < length; ++i)
            tokens.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary))));
        tokens.insert(tokens.end(), static_cast<std::size_t>(gap), -5);
    }
    const auto rows = static_cast<std::int64_t>(tokens.size());
    return {Tensor::from(tokens, {rows}), Spans(spans, rows)};
}

double factor(const Dropout& dropout, std::int64_t row, std::int64_t column) {
    return dropout.keeps_row(row, column) ? dropout.scale() : 0;
}

TEST(Embedding, EveryLevelEqualsTheFormulaAndWritesNothingElse) {
    const Dropout dropout(0.4, 6);
    for (const std::int64_t d : {1, 31, 32, 33, 64, 127, 128, 1025})
        for (const auto embed : HEDDLE_ALL_LEVELS(embed_row)) {
            const Tensor row = normal({d}, DType::f32, 1), place = normal({d}, DType::f32, 2);
            Guarded<float> y(d);
            embed(row.data<float>(), place.data<float>(), 3, y.data(), 9, d, dropout);
            EXPECT_TRUE(y.intact());
            Tensor wanted = Tensor::empty({d}, DType::f64);
            for (std::int64_t c = 0; c < d; ++c)
                wanted.mutable_data<double>()[c] = (3.0 * row.data<float>()[c] + place.data<float>()[c]) * factor(dropout, 9, c);
            EXPECT_LT(relative_error(y.tensor({d}), wanted), 1e-6) << d;
        }
}

TEST(Embedding, GivesASentenceTheSameBitsAloneAndInAnyBatch) {
    const Batch batch = batch_of({9, 4, 30}, 3, 20, 1);
    const Tensor table = normal({20, 65}, DType::f32, 2), positions = sinusoidal_positions(32, 65, DType::f32);
    const Tensor whole = embedding_forward(table, batch.tokens, batch.spans, positions, {.scale = 8});
    for (const Span& span : batch.spans) {
        const Tensor alone = embedding_forward(table, batch.tokens.slice(span.start, span.start + span.length),
                                               Spans({{0, span.length}}, span.length), positions, {.scale = 8});
        EXPECT_TRUE(same_bits(alone, whole.slice(span.start, span.start + span.length)));
    }
}

TEST(Embedding, GoesOnFromAPositionAsADecoderWithACacheDoes) {
    const Batch sentence = batch_of({10}, 0, 20, 1);
    const Tensor table = normal({20, 33}, DType::f32, 2), positions = sinusoidal_positions(10, 33, DType::f32);
    const Tensor whole = embedding_forward(table, sentence.tokens, sentence.spans, positions, {});
    const Tensor last =
        embedding_forward(table, sentence.tokens.slice(9, 10), Spans({{0, 1}}, 1), positions, {.first_position = 9});
    EXPECT_TRUE(same_bits(last, whole.slice(9, 10)));
}

TEST(Embedding, NamesWhatDoesNotFit) {
    const Tensor table = Tensor::zeros({4, 6}, DType::f32), positions = Tensor::zeros({3, 6}, DType::f32);
    const auto tokens = [](std::int32_t last) { return Tensor::from(std::vector<std::int32_t>{0, 1, last}, {3}); };
    const Spans spans({{0, 3}}, 3);
    expect_error([&] { embedding_forward(table, tokens(4), spans, positions, {}); },
                 "embedding: tokens[2] is 4, but the table has 4 rows");
    expect_error([&] { embedding_forward(table, tokens(-1), spans, positions, {}); }, "embedding: tokens[2] is -1");
    expect_error(
        [&] {
            embedding_forward(table, tokens(1), Spans({{0, 2}}, 2), positions, {});
        },
        "embedding: tokens has shape [3], wanted [2]");
    expect_error([&] { embedding_forward(table, tokens(1), spans, positions, {.first_position = 1}); },
                 "embedding: a sentence reaches position 3, but positions has 3 rows");
    expect_error(
        [&] {
            embedding_forward(table, tokens(1), spans, Tensor::zeros({3, 5}, DType::f32), {});
        },
        "embedding: positions has shape [3, 5], wanted [3, 6]");
    expect_error([&] { embedding_forward(table, tokens(1), spans, positions, {.first_position = -1}); }, "first_position is -1");
    EXPECT_EQ(embedding_forward(table, Tensor::empty({0}, DType::i32), Spans({}, 0), positions, {}).shape(), (Shape{0, 6}));
}

TEST(SinusoidalPositions, InterleaveSinesAndCosines) {
    const Tensor table = sinusoidal_positions(50, 8, DType::f64);
    for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(table.data<double>()[c], c % 2);
    for (std::int64_t p = 0; p < 50; ++p)
        for (std::int64_t i = 0; i < 4; ++i) {
            const double angle = static_cast<double>(p) / std::pow(10000.0, 2 * static_cast<double>(i) / 8);
            EXPECT_NEAR(table.data<double>()[p * 8 + 2 * i], std::sin(angle), 1e-14);
            EXPECT_NEAR(table.data<double>()[p * 8 + 2 * i + 1], std::cos(angle), 1e-14);
        }
    EXPECT_TRUE(same_bits(sinusoidal_positions(50, 8, DType::f32), table.to(DType::f32)));
    EXPECT_TRUE(same_bits(sinusoidal_positions(9, 8, DType::f64), table.slice(0, 9)));
}

TEST(SinusoidalPositions, OfAnOddWidthEndWithASine) {
    const Tensor table = sinusoidal_positions(3, 3, DType::f64);
    EXPECT_NEAR(table.data<double>()[2 * 3 + 2], std::sin(2 / std::pow(10000.0, 2.0 / 3)), 1e-15);
}

TEST(Embedding, AddsToTheGradientThatATableHolds) {
    Variable table(normal({4, 3}, DType::f32, 1), true);
    const Tensor tokens = Tensor::from(std::vector<std::int32_t>{1, 1}, {2});
    for (int pass = 0; pass < 2; ++pass)
        backward(ops::embedding(table, tokens, Spans({{0, 2}}, 2)), Tensor::full({2, 3}, 1, DType::f32));
    EXPECT_EQ(table.grad().to_vector(), (std::vector<double>{0, 0, 0, 4, 4, 4, 0, 0, 0, 0, 0, 0}));
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
                const auto gradients = [&](std::int32_t without) {
                    Tensor table = in(numbers, Tensor::zeros({40, 24}, DType::f64)),
                           positions = in(numbers, Tensor::zeros({449, 24}, DType::f64));
                    const kernels::EmbeddingPlan plan{.scale = 2, .dropout = Dropout(0.1, 3), .untrained = without};
                    kernels::embedding_backward(dy, tokens, spans, plan, &table, &positions,
                                                ordered ? order.to(numbers.device) : Tensor());
                    return std::pair(table.to(Device::cpu), positions.to(Device::cpu));
                };
                const auto [all, positions] = gradients(-1);
                const auto [table, same_positions] = gradients(untrained);
                for (std::int64_t row = 0; row < 40; ++row) {
                    const Tensor got = table.slice(row, row + 1), want = all.slice(row, row + 1);
                    EXPECT_TRUE(same_bits(got, row == untrained ? Tensor::zeros(want.shape(), want.dtype()) : want)) << row;
                    EXPECT_TRUE(row != untrained || !same_bits(got, want)) << "the example shows nothing";
                }
                EXPECT_TRUE(same_bits(positions, same_positions));
            }
}

TEST(SinusoidalPositions, WithTheSinesFirstHaveTheColumnsOfTheAlternatingOnes) {
    const Tensor alternating = sinusoidal_positions(50, 8, DType::f64),
                 first = sinusoidal_positions(50, 8, DType::f64, Sines::first);
    for (std::int64_t p = 0; p < 50; ++p)
        for (std::int64_t i = 0; i < 4; ++i)
            for (const std::int64_t cosine : {0, 1})
                EXPECT_EQ(first.data<double>()[p * 8 + 4 * cosine + i], alternating.data<double>()[p * 8 + 2 * i + cosine]);
}

TEST(SinusoidalPositions, OfMarianFallToOneTenThousandth) {
    const Tensor table = sinusoidal_positions(50, 64, DType::f64, Sines::first_to_the_end);
    for (std::int64_t p = 0; p < 50; ++p)
        for (std::int64_t i = 0; i < 32; ++i) {
            const double angle = static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(i) / 31);
            EXPECT_NEAR(table.data<double>()[p * 64 + i], std::sin(angle), 1e-13);
            EXPECT_NEAR(table.data<double>()[p * 64 + 32 + i], std::cos(angle), 1e-13);
        }
    // The three tables differ, and a width of two, with one frequency, is no division by zero.
    const Tensor other = sinusoidal_positions(50, 64, DType::f64, Sines::first);
    double largest = 0;
    for (std::int64_t i = 0; i < 50 * 64; ++i)
        largest = std::max(largest, std::abs(table.data<double>()[i] - other.data<double>()[i]));
    EXPECT_GT(largest, 0.5);
    EXPECT_EQ(sinusoidal_positions(3, 2, DType::f64, Sines::first_to_the_end).to_vector(),
              sinusoidal_positions(3, 2, DType::f64).to_vector());
    expect_error([&] { sinusoidal_positions(3, 7, DType::f64, Sines::first); }, "width 7, wanted an even one");
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

TEST(Embedding, HasTheSameGradientInAnOrderFromTheHost) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 700; ++i) tokens.push_back(i % 3 == 0 ? 5 : i * 7 % 40);  // one token fills a third of the rows
    for (const Spans& spans : {Spans::packed({300, 400}), Spans({{3, 200}, {250, 449}}, 700)}) {
        const Tensor dy = normal({700, 24}, DType::f32, 1).to(Device::cuda), ids = Tensor::from(tokens, {700}).to(Device::cuda);
        const Tensor order = Tensor::from(kernels::rows_by_token(tokens, spans), {2, 700}).to(Device::cuda);
        Tensor sorted = Tensor::zeros({40, 24}, DType::f32, Device::cuda), given = sorted.clone();
        const kernels::EmbeddingPlan plan{.scale = 2, .dropout = Dropout(0.1, 3)};
        kernels::embedding_backward(dy, ids, spans, plan, &sorted, nullptr);
        kernels::embedding_backward(dy, ids, spans, plan, &given, nullptr, order);
        EXPECT_TRUE(same_bits(given.to(Device::cpu), sorted.to(Device::cpu)));
    }
}

}  // namespace
}  // namespace heddle::kernels
