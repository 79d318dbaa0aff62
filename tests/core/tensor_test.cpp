// core/tensor.h, core/shape.h, core/dtype.h, core/check.h.
#include "core/tensor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "core/device.h"
#include "tests/support.h"

namespace heddle {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

Tensor counting(const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return Tensor::from(values, shape);
}

TEST(Shape, CountsElementsRowsAndColumns) {
    const Shape shape{2, 3, 5};
    EXPECT_EQ(shape.numel(), 30);
    EXPECT_EQ(shape.rows(), 6);
    EXPECT_EQ(shape.cols(), 5);
    EXPECT_EQ(shape[-1], 5);
    EXPECT_EQ(shape[0], 2);
    EXPECT_EQ(shape.str(), "[2, 3, 5]");
    const Shape scalar;
    EXPECT_EQ(std::tuple(scalar.rank(), scalar.numel(), scalar.rows(), scalar.cols(), scalar.str()),
              std::tuple(0, 1, 1, 1, "[]"));
}

TEST(Shape, RefusesWhatIsNoShape) {
    expect_error([] { Shape({2, -1}); }, "an extent is -1");
    expect_error([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, "more than 8 axes");
    expect_error([] { std::ignore = Shape({2, 3})[2]; }, "axis 2 of [2, 3], which has 2 axes");
    expect_error([] { std::ignore = Shape({2, 3})[-3]; }, "axis -3");
    expect_error([] { Shape({2}).set(0, -5); }, "an extent is -5");
}

TEST(Shape, NeverWrapsAroundWhenItCounts) {
    expect_error([] { std::ignore = Shape({kHuge, kHuge}).numel(); }, "more elements than 64 bits can count");
    expect_error([] { std::ignore = Shape({kHuge, kHuge, kHuge, kHuge}).numel(); }, "more elements");
    expect_error([] { std::ignore = Shape({kHuge, kHuge, 2}).rows(); }, "more elements");
    EXPECT_EQ(Shape({kHuge, kHuge, 0}).numel(), 0);
    EXPECT_EQ(Shape({0, kHuge, kHuge}).numel(), 0);
}

TEST(Shape, ComparesRankAndExtents) {
    EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
    EXPECT_FALSE(Shape({2, 3}) == Shape({3, 2}));
    EXPECT_FALSE(Shape({2}) == Shape({2, 1}));
}

TEST(Tensor, LiesOverMemoryOfSomebodyElseAndKeepsItAlive) {
    auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
    const std::weak_ptr<std::vector<float>> alive = owner;
    float* const memory = owner->data();
    Tensor row;
    {
        const Tensor whole = Tensor::over(memory, {3, 2}, DType::f32, std::move(owner));
        EXPECT_EQ(whole.data<float>(), memory);
        row = whole.slice(1, 2);
    }
    ASSERT_FALSE(alive.expired());
    EXPECT_EQ(row.to_vector(), (std::vector<double>{3, 4}));
    row = {};
    EXPECT_TRUE(alive.expired());
    expect_error([&] { Tensor::over(memory, {1}, DType::f32, nullptr); }, "without an owner");
}

TEST(Tensor, ViewsShareTheStorageAndClonesDoNot) {
    const Tensor whole = counting({4, 3});
    Tensor rows = whole.slice(1, 3);
    const Tensor flat = whole.reshape({12});
    const Tensor copy = whole.clone();
    EXPECT_TRUE(rows.shares_storage(whole) && flat.shares_storage(whole));
    EXPECT_FALSE(copy.shares_storage(whole));
    EXPECT_FALSE(Tensor().shares_storage(Tensor()));
    rows.fill_(-1);
    EXPECT_EQ(flat.to_vector(), (std::vector<double>{0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11}));
    EXPECT_EQ(copy.to_vector()[3], 3);
}

TEST(Tensor, SlicesOfSlicesStartWhereTheyShould) {
    const Tensor inner = counting({5, 2, 2}).slice(1, 5).slice(2, 4);
    EXPECT_EQ(inner.shape(), Shape({2, 2, 2}));
    EXPECT_EQ(inner.to_vector(), (std::vector<double>{12, 13, 14, 15, 16, 17, 18, 19}));
    EXPECT_EQ(counting({3}).slice(3, 3).numel(), 0);
    EXPECT_EQ(Tensor::zeros({0, 4}, DType::f32).slice(0, 0).shape(), Shape({0, 4}));
}

TEST(Tensor, RefusesWrongSlicesAndReshapes) {
    const Tensor tensor = counting({4, 3});
    expect_error([&] { tensor.slice(2, 5); }, "slice: rows [2, 5) of [4, 3]");
    expect_error([&] { tensor.slice(3, 2); }, "slice: rows [3, 2)");
    expect_error([&] { tensor.slice(-1, 2); }, "slice: rows [-1, 2)");
    expect_error([&] { tensor.reshape({5, 2}); }, "[4, 3] has 12 elements, but [5, 2] has 10");
    expect_error([] { Tensor::full({}, 1, DType::f32).slice(0, 1); }, "a scalar has no rows");
}

TEST(Tensor, EveryInPlaceChangeBumpsTheVersionThatViewsShare) {
    Tensor tensor = counting({4, 3});
    Tensor view = tensor.slice(0, 1);
    const std::uint64_t start = tensor.version();
    view.fill_(1);
    EXPECT_EQ(tensor.version(), start + 1);
    view.copy_(counting({1, 3}));
    EXPECT_EQ(tensor.version(), start + 2);
    tensor.bump_version();
    EXPECT_EQ(view.version(), start + 3);
    std::ignore = tensor.clone();
    std::ignore = tensor.to(DType::f64);
    std::ignore = tensor.reshape({12});
    EXPECT_EQ(tensor.version(), start + 3) << "reading is no change";
}

// True if any function that gives write access can be called.
template <class T>
concept Writable = requires(T& tensor) {
    tensor.template mutable_data<float>();
}
|| requires(T& tensor) { tensor.template mutable_values<float>(); }
|| requires(T& tensor) { tensor.mutable_bytes_data(); };

TEST(Tensor, OnlyTheMutableAccessWrites) {
    Tensor tensor = counting({4, 3});
    const std::span<const float> read = tensor.values<float>();
    // Reading a writable tensor gives const pointers: write access must be asked for.
    static_assert(std::is_same_v<decltype(tensor.data<float>()), const float*>);
    static_assert(std::is_same_v<decltype(tensor.bytes_data()), const std::byte*>);
    static_assert(std::is_same_v<decltype(Columns(tensor).data<float>()), const float*>);
    static_assert(Writable<Tensor> && !Writable<const Tensor>);
    static_assert(Writable<Columns> && !Writable<const Columns>);
    tensor.mutable_data<float>()[1] = 5;
    *tensor.mutable_bytes_data() = std::byte{};
    Columns(tensor, 1, 2).mutable_data<float>()[1] = 6;
    EXPECT_EQ(tensor.version(), 0u) << "kernels bump the version once, not at each pointer that they take";
    tensor.mutable_values<float>()[3] = 7;
    EXPECT_EQ(tensor.version(), 1u);
    EXPECT_EQ(std::vector(read.begin(), read.begin() + 4), (std::vector<float>{0, 5, 6, 7}));
}

TEST(Tensor, RemembersWhereItWasLastChangedInPlace) {
    Tensor tensor = counting({2});
    tensor.fill_(1);
    EXPECT_EQ(tensor.changed_at().line(), __LINE__ - 1);
    EXPECT_STREQ(tensor.changed_at().file_name(), "tests/core/tensor_test.cpp")
        << "a place in the project, wherever it was built";
    tensor.slice(0, 1).bump_version();
    EXPECT_EQ(tensor.changed_at().line(), __LINE__ - 1);
    EXPECT_EQ(counting({2}).changed_at().line(), 0);
}

TEST(Tensor, StorageIdentitiesAreNeverUsedAgain) {
    const std::uint64_t first = counting({100}).storage_id();
    const std::uint64_t second = counting({100}).storage_id();  // very likely at the same address
    EXPECT_NE(first, second);
}

TEST(Tensor, KnowsWhetherItIsTheOnlyOwner) {
    Tensor tensor = counting({4, 3});
    EXPECT_TRUE(tensor.unique());
    {
        const Tensor view = tensor.slice(0, 1);
        EXPECT_FALSE(tensor.unique());
    }
    EXPECT_TRUE(tensor.unique());
    EXPECT_FALSE(Tensor().unique());
}

TEST(Tensor, CopiesWithinItselfAndChecksTheSource) {
    Tensor tensor = counting({4, 1});
    tensor.slice(1, 4).copy_(tensor.slice(0, 3));
    EXPECT_EQ(tensor.to_vector(), (std::vector<double>{0, 0, 1, 2}));
    expect_error([&] { tensor.copy_(counting({1, 4})); }, "the source is [1, 4] f32, but the target is [4, 1] f32");
    expect_error([&] { tensor.copy_(tensor.to(DType::f64)); }, "f64");
    Tensor scalar = Tensor::full({}, 1, DType::f32);
    expect_error([&] { scalar.copy_(Tensor()); }, "the source is an undefined tensor");
    expect_error([&] { Tensor().copy_(scalar); }, "the target is an undefined tensor");
}

TEST(Tensor, AnUndefinedOneIsAnErrorWhereElementsAreWanted) {
    Tensor undefined;
    EXPECT_FALSE(undefined.defined());
    expect_error([&] { undefined.data<float>(); }, "undefined tensor");
    expect_error([&] { undefined.fill_(1); }, "undefined tensor");
    expect_error([&] { undefined.to_vector(); }, "undefined tensor");
    EXPECT_FALSE(undefined.clone().defined());
    EXPECT_FALSE(undefined.to(DType::f64).defined());
    undefined.bump_version();
    EXPECT_EQ(undefined.version(), 0u);
}

TEST(Tensor, SaysWhichElementTypeItHas) {
    expect_error([] { counting({2}).data<double>(); }, "the elements of [2] are f32, but were asked for as f64");
    expect_error([] { Tensor::from<float>({1, 2, 3}, {2}); }, "3 values given for shape [2], which holds 2");
    expect_error([] { counting({2}).item(); }, "wants one element, but the shape is [2]");
    EXPECT_EQ(Tensor::full({1, 1}, 7, DType::u8).item(), 7);
}

TEST(Tensor, RefusesToFillIntegersWithWhatTheyCannotHold) {
    for (const auto& [value, words] : {std::pair{256.0, "256"}, {-1.0, "-1"}, {1e30, "1e+30"}, {double{NAN}, "nan"}})
        expect_error(
            [value = value] { Tensor::full({2}, value, DType::u8); },
            std::string("fill: the number ") + words + " does not fit into u8, which holds 0 to 255; give another dtype");
    Tensor x = Tensor::full({2}, -1.9, DType::i32);
    expect_error([&] { x[1] = 2147483648.0; }, "fill: the number 2147483648 does not fit into i32");
    EXPECT_EQ(x.to_vector(), (std::vector<double>{-1, -1}));  // a fraction is cut off, and what is refused changes nothing
    x[1] = -2147483648.9;
    EXPECT_EQ(x.to_vector()[1], -2147483648.0);
    EXPECT_EQ(Tensor::full({1}, 255.5, DType::u8).item(), 255);
}

TEST(Tensor, RefusesMoreThanAnyMemoryHolds) {
    expect_error([] { Tensor::empty({kHuge, kHuge}, DType::f32); }, "more elements than 64 bits can count");
    expect_error([] { Tensor::empty({kHuge, 1 << 20}, DType::u8); }, "larger than any memory");
    if (!device::available()) expect_error([] { Tensor::empty({2}, DType::f32, Device::cuda); }, device::why_unavailable());
}

TEST(Tensor, FillsEveryDType) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8}) {
        EXPECT_EQ(Tensor::full({3}, 5, dtype).to_vector(), std::vector<double>(3, 5)) << name(dtype);
        EXPECT_EQ(Tensor::zeros({3}, dtype).to_vector(), std::vector<double>(3, 0)) << name(dtype);
        EXPECT_EQ(Tensor::full({3}, 5, dtype).bytes(), 3 * size_of(dtype)) << name(dtype);
    }
}

TEST(Conversion, KeepsTheHandleWhenNothingChanges) {
    const Tensor tensor = counting({2});
    EXPECT_TRUE(tensor.to(DType::f32).shares_storage(tensor));
}

TEST(Conversion, KeepsSmallIntegersBetweenAllDTypes) {
    const std::vector<double> values{0, 1, 2, 100, 255};
    for (const DType from : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8})
        for (const DType to : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8})
            EXPECT_EQ(Tensor::from(values, {5}).to(from).to(to).to_vector(), values) << name(from) << " to " << name(to);
}

TEST(Conversion, ToIntegersTruncatesSaturatesAndTurnsNaNIntoZero) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor doubles = Tensor::from<double>({1.9, -1.9, 255.9, 256, -0.5, 3e9, -3e9, infinity, -infinity, nan}, {10});
    const double most = 2147483647;
    const double least = -2147483648.0;
    EXPECT_EQ(doubles.to(DType::i32).to_vector(), (std::vector<double>{1, -1, 255, 256, 0, most, least, most, least, 0}));
    EXPECT_EQ(doubles.to(DType::u8).to_vector(), (std::vector<double>{1, 0, 255, 255, 0, 255, 0, 255, 0, 0}));
    EXPECT_EQ(doubles.to(DType::f32).to(DType::i32).to_vector(), doubles.to(DType::i32).to_vector());
    EXPECT_EQ(Tensor::from<bf16>({bf16(3e9F), bf16(-2.5F)}, {2}).to(DType::i32).to_vector(), (std::vector<double>{most, -2}));
}

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
    const auto rounded = [](std::uint32_t bits) { return bf16(from_bits(bits)).bits; };
    EXPECT_EQ(rounded(0x3f800000), 0x3f80);
    EXPECT_EQ(rounded(0x3f807fff), 0x3f80) << "just below the tie";
    EXPECT_EQ(rounded(0x3f808000), 0x3f80) << "a tie, even below";
    EXPECT_EQ(rounded(0x3f808001), 0x3f81) << "just above the tie";
    EXPECT_EQ(rounded(0x3f818000), 0x3f82) << "a tie, even above";
    EXPECT_EQ(rounded(0xbf818000), 0xbf82) << "the sign changes nothing";
    EXPECT_EQ(rounded(0x3fff8000), 0x4000) << "the carry reaches the exponent";
    EXPECT_EQ(rounded(0x7f7fffff), 0x7f80) << "the largest float rounds to infinity";
    EXPECT_EQ(rounded(0x00000001), 0x0000) << "the smallest float rounds to zero";
    EXPECT_EQ(rounded(0x80000000), 0x8000) << "-0 stays -0";
}

TEST(BFloat16, KeepsNaNAndInfinity) {
    for (const std::uint32_t bits : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu})
        EXPECT_TRUE(std::isnan(static_cast<float>(bf16(from_bits(bits))))) << bits;
    EXPECT_EQ(static_cast<float>(bf16(from_bits(0xff800000))), from_bits(0xff800000));
    EXPECT_EQ(static_cast<float>(bf16(from_bits(0x7f800000))), from_bits(0x7f800000));
}

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        bf16 value;
        value.bits = static_cast<std::uint16_t>(bits);
        const auto number = static_cast<float>(value);
        if (!std::isnan(number)) {
            ASSERT_EQ(bf16(number).bits, bits);
        }
    }
}

TEST(Check, NamesOpArgumentGivenAndWanted) {
    const Tensor tensor = counting({2, 3});
    expect_error([&] { check_shape("layer_norm", "gamma", tensor, {3}); }, "layer_norm: gamma has shape [2, 3], wanted [3]");
    expect_error([&] { check_dtype("embedding", "tokens", tensor, DType::i32); }, "embedding: tokens is f32, wanted i32");
    expect_error([&] { check_rank("matmul", "a", tensor, 3); }, "matmul: a has shape [2, 3], wanted 3 axes");
    expect_error([] { check_defined("matmul", "b", Tensor()); }, "matmul: b is an undefined tensor");
    check_shape("layer_norm", "gamma", tensor, {2, 3});
    check_dtype("layer_norm", "gamma", tensor, DType::f32);
    check_rank("layer_norm", "gamma", tensor, 2);
}

TEST(Columns, AreReadInPlace) {
    const Columns columns(counting({2, 3, 4}), 1, 2);
    EXPECT_EQ(columns.rows(), 6);
    EXPECT_EQ(columns.pitch(), 4);
    EXPECT_EQ(columns.data<float>()[columns.pitch()], 5);
}

}  // namespace
}  // namespace heddle
