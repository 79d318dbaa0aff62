#include "kernels/gradient_norm/gradient_norm.h"

#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

double norm_of(const Tensor& g, std::int64_t begin, std::int64_t end) {
    long double total = 0;
    const std::vector<double> values = g.to_vector();
    for (std::int64_t i = begin; i < end; ++i) {
        const long double value = values[static_cast<std::size_t>(i)];
        total += value * value;
    }
    return std::sqrt(static_cast<double>(total));
}

TEST(GradientNorm, LeavesFrozenRangesOut) {
    Tensor g = normal({30000}, DType::f32, 3);
    const Spans active({{5, 9000}, {9005, 1}, {20000, 10000}}, 30000);
    const double wanted = std::sqrt(std::pow(norm_of(g, 5, 9006), 2) + std::pow(norm_of(g, 20000, 30000), 2));
    EXPECT_NEAR(gradient_norm(g, active), wanted, 1e-14 * wanted);
    g.mutable_data<float>()[9006] = std::nanf("");  // a frozen element
    EXPECT_NEAR(gradient_norm(g, active), wanted, 1e-14 * wanted);
    EXPECT_EQ(gradient_norm(g, Spans({}, 30000)), 0);
}

// As ranks do that have a part of the gradient each.
TEST(GradientNorm, HasTheSameBitsFromPartsThatAreCutAtBlocks) {
    const Tensor g = normal({30000}, DType::f32, 4);
    const Spans active({{5, 9000}, {20000, 10000}}, 30000);
    ASSERT_EQ(gradient_squares(g, active).size(), 4u);
    for (const std::int64_t block : {5 + kNormBlock, std::int64_t{20000}, 20000 + kNormBlock}) {
        const auto part = [&](std::int64_t begin, std::int64_t end) {
            std::vector<Span> ranges;
            for (const Span& range : active) {
                const std::int64_t first = std::max(range.start, begin), last = std::min(range.start + range.length, end);
                if (first < last) ranges.push_back({first - begin, last - first});
            }
            return gradient_squares(g.slice(begin, end), Spans(ranges, end - begin));
        };
        std::vector<double> all = part(0, block);
        const std::vector<double> rest = part(block, 30000);
        all.insert(all.end(), rest.begin(), rest.end());
        EXPECT_EQ(all, gradient_squares(g, active));
        EXPECT_EQ(norm_of_squares(all, active), gradient_norm(g, active));
    }
    expect_error([&] { norm_of_squares(std::vector<double>(3), active); }, "3 sums of squares are fewer");
    expect_error([&] { norm_of_squares(std::vector<double>(5), active); }, "5 sums of squares, but 4 blocks");
}

TEST(GradientNorm, KeepsLargeAndSmallNumbersApartInF64) {
    Tensor g = Tensor::full({100000}, 1e25, DType::f32);  // the square is no float
    EXPECT_NEAR(gradient_norm(g), 1e25f * std::sqrt(1e5), 1e16);
    g.fill_(1e-30);
    EXPECT_NEAR(gradient_norm(g), 1e-30f * std::sqrt(1e5), 1e-39);
}

TEST(GradientNorm, ClipsToTheGreatestNorm) {
    EXPECT_EQ(clip_factor(0.5, 1), 1);
    EXPECT_EQ(clip_factor(7, 0), 1);
    EXPECT_DOUBLE_EQ(clip_factor(4, 1), 1 / (4 + 1e-6));
    expect_error([] { clip_factor(1, -1); }, "clip: the greatest norm is -1");
    Tensor g = normal({1025}, DType::f32, 6);
    scale_gradients(g, clip_factor(gradient_norm(g), 0.5));
    EXPECT_NEAR(gradient_norm(g), 0.5, 1e-6);
}

}  // namespace
}  // namespace heddle::kernels
