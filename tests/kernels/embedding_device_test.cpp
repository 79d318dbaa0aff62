// The embedding on every device against the f64 reference.
#include "kernels/embedding/embedding.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

constexpr Numbers kExact{Device::cpu, DType::f64};
constexpr std::int64_t kVocabulary = 37;

struct Case {
    Spans spans;
    std::int64_t cols;
    EmbeddingPlan plan;
    bool positions;
};

std::vector<Case> cases() {
    const std::vector<std::int64_t> lengths = {3, 1, 0, 7, 0, 2};
    const Spans packed = Spans::packed(lengths), padded = Spans::padded(lengths, 8);
    const Spans gaps({{2, 3}, {5, 0}, {9, 4}}, 16);
    return {{packed, 8, {}, false},
            {packed, 33, {.scale = 5.5}, true},
            {padded, 128, {.scale = 3, .dropout = Dropout(0.3, 77)}, true},
            {gaps, 31, {.scale = 2, .dropout = Dropout(0.1, 78)}, true},
            {gaps, 1032, {.scale = 2, .first_position = 4}, true},
            {Spans(), 8, {}, true},
            {Spans({}, 5), 8, {}, false},
            {Spans::packed(std::vector<std::int64_t>{1100, 1030}), 1, {}, false}};
}

// Few different tokens, so that they repeat; outside the spans what no table has.
Tensor tokens_of(const Spans& spans) {
    Sequence random(5);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(spans.rows()), -9);
    for (const Span& span : spans)
        for (std::int64_t i = span.start; i < span.start + span.length; ++i)
            ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random.below(4) * 12);
    return Tensor::from(ids, {spans.rows()});
}

std::int64_t positions_of(const Case& one) { return one.plan.first_position + one.spans.longest() + 1; }
std::string text(const Case& one) { return std::to_string(one.spans.rows()) + " x " + std::to_string(one.cols); }

TEST(EmbeddingDevice, ForwardIsTheFormula) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : cases())
            for (const bool aligned : {true, false}) {
                Tensor table = in(numbers, normal({kVocabulary, one.cols}, DType::f64, 1));
                if (!aligned) table = offset_by_one(table);
                const Tensor positions =
                    one.positions ? in(numbers, normal({positions_of(one), one.cols}, DType::f64, 2)) : Tensor();
                const Tensor tokens = tokens_of(one.spans);
                const auto exact = [](const Tensor& tensor) {
                    return tensor.defined() ? tensor.to(Device::cpu).to(DType::f64) : tensor;
                };
                expect_close(embedding_forward(table, tokens.to(numbers.device), one.spans, positions, one.plan),
                             embedding_forward(exact(table), tokens, one.spans, exact(positions), one.plan), numbers, text(one));
            }
}

TEST(EmbeddingDevice, BackwardAddsTheFormula) {
    for (const Numbers& numbers : all_numbers())
        for (const Case& one : cases())
            for (const bool aligned : {true, false}) {
                Tensor dy = in(numbers, normal({one.spans.rows(), one.cols}, DType::f64, 3));
                const Tensor exact = dy.to(Device::cpu).to(DType::f64), tokens = tokens_of(one.spans);
                if (!aligned) dy = offset_by_one(dy);
                const auto gradients = [&](const Tensor& from, DType sums) {
                    Tensor dtable = normal({kVocabulary, one.cols}, DType::f64, 8).to(DType::bf16).to(sums).to(from.device());
                    Tensor dpositions =
                        normal({positions_of(one), one.cols}, DType::f64, 9).to(DType::bf16).to(sums).to(from.device());
                    embedding_backward(from, tokens.to(from.device()), one.spans, one.plan, &dtable,
                                       one.positions ? &dpositions : nullptr);
                    return std::vector<Tensor>{dtable, dpositions};
                };
                const std::vector<Tensor> want = gradients(exact, DType::f64);
                for (const DType sums : {numbers.dtype, numbers.dtype == DType::bf16 ? DType::f32 : numbers.dtype}) {
                    const std::vector<Tensor> got = gradients(dy, sums);
                    for (std::size_t i = 0; i < 2; ++i)
                        expect_close(got[i], want[i], {numbers.device, sums}, text(one), {.f64 = 1e-12, .f32 = 1e-5});
                    expect_same_bits_again([&] { return gradients(dy, sums); }, text(one));
                }
            }
}

// More words than the sort tells apart in one pass; one that comes in every second row, some that come twice, and gaps.
TEST(EmbeddingDevice, BackwardOfThreeThousandWords) {
    const std::int64_t words = 3000;
    const Spans spans({{1, 130}, {140, 0}, {150, 170}}, 330);
    std::vector<std::int32_t> ids(330, -9);
    for (const Span& span : spans)
        for (std::int64_t i = span.start; i < span.start + span.length; ++i)
            ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 2 == 0 ? 2999 : i * 37 % 97 * 31);
    const Tensor tokens = Tensor::from(ids, {330});
    for (const Numbers& numbers : all_numbers())
        for (const double dropout : {0.0, 0.3}) {
            const EmbeddingPlan plan{.scale = 2, .dropout = Dropout(dropout, 79)};
            const Tensor dy = in(numbers, normal({330, 8}, DType::f64, 3));
            const auto gradient = [&](const Tensor& from, DType sums) {
                Tensor dtable = Tensor::full({words, 8}, 0.5, sums).to(from.device());
                embedding_backward(from, tokens.to(from.device()), spans, plan, &dtable, nullptr);
                return dtable;
            };
            const Tensor want = gradient(dy.to(Device::cpu).to(DType::f64), DType::f64);
            for (const DType sums : {numbers.dtype, numbers.dtype == DType::bf16 ? DType::f32 : numbers.dtype})
                expect_close(gradient(dy, sums), want, {numbers.device, sums}, "3000 words", {.f64 = 1e-12, .f32 = 1e-5});
        }
}

TEST(EmbeddingDevice, StopsAtATokenOutsideTheTable) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "ends the context of a real device";
    const Tensor table = Tensor::zeros({4, 8}, DType::f32, Device::cuda);
    const Spans spans = Spans::packed(std::vector<std::int64_t>{3});
    for (const std::int32_t bad : {-1, 4}) {
        const Tensor tokens = Tensor::from(std::vector<std::int32_t>{0, bad, 3}, {3}).to(Device::cuda);
        expect_error([&] { embedding_forward(table, tokens, spans, {}, {}).to(Device::cpu); },
                     "embedding: a token lies outside the table");
        Tensor dtable = table.clone();
        expect_error(
            [&] {
                embedding_backward(Tensor::zeros({3, 8}, DType::f32, Device::cuda), tokens, spans, {}, &dtable, nullptr);
                dtable.to(Device::cpu);
            },
            "embedding: a token lies outside the table");
    }
}

}  // namespace
}  // namespace heddle::kernels
