// Rows by number on every device, against the f64 reference.
#include "core/error.h"
#include "kernels/gather/gather.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// n indices below `bound`, index 0 in every second place, and every fifth one negative when `gaps`.
Tensor indices_of(std::int64_t n, std::int64_t bound, bool gaps) {
    std::vector<std::int32_t> indices;
    Sequence random(static_cast<std::uint64_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        const auto drawn = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
        indices.push_back(gaps && i % 5 == 3 ? -1 - drawn : i % 2 == 0 ? 0 : drawn);
    }
    return Tensor::from(indices, {n});
}

Tensor moved(const Numbers& numbers, const Tensor& tensor, bool offset) {
    return offset ? offset_by_one(in(numbers, tensor)) : in(numbers, tensor);
}

TEST(GatherOnDevices, TakesRowsOfEveryWidth) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : {Shape{5}, Shape{7, 1}, Shape{9, 31}, Shape{9, 32}, Shape{3, 2, 20}, Shape{4, 0}})
            for (const std::int64_t n : {0, 1, 33})
                for (const bool offset : {false, true}) {
                    const Tensor x = normal(shape, DType::f64, 1), indices = indices_of(n, shape[0], false);
                    expect_close(gather_forward(moved(numbers, x, offset), in(numbers, indices)),
                                 gather_forward(rounded(numbers, x), indices), numbers, "gather from " + shape.str(),
                                 {.f64 = 0, .f32 = 0});
                }
}

TEST(GatherOnDevices, MovesElementsOfEveryType) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const DType dtype : {DType::u8, DType::i32, DType::bf16})
        for (const std::int64_t cols : {1, 2, 6, 32}) {
            const Tensor x = normal({6, cols}, DType::f64, 1, 100, 30).to(dtype), indices = indices_of(20, 6, false);
            EXPECT_TRUE(same_bits(gather_forward(x.to(Device::cuda), indices.to(Device::cuda)).to(Device::cpu),
                                  gather_forward(x, indices)))
                << name(dtype) << " " << cols;
        }
}

struct Backward {
    std::int64_t n, bound, cols;
};
// Tables of one row and of more than 2^8 and 2^16; indices with few rows, and one with more than 64; several tiles of columns,
// and of the sort.
const Backward kBackward[] = {{0, 3, 8},   {1, 1, 1},     {7, 300, 33},    {33, 5, 32},   {64, 2, 31},
                              {129, 1, 8}, {300, 7, 300}, {260, 70000, 4}, {5000, 400, 1}};

TEST(GatherOnDevices, AddsTheGradientsOfEachRow) {
    for (const Numbers& numbers : all_numbers())
        for (const Backward& sizes : kBackward)
            for (const bool gaps : {false, true}) {
                if (sizes.n > 1000 && (!gaps || numbers.dtype != DType::f32)) continue;  // the sort does not know dtypes
                const std::string what = std::to_string(sizes.n) + " rows of " + std::to_string(sizes.cols) + " into " +
                                         std::to_string(sizes.bound) + (gaps ? ", some nowhere" : "");
                const Tensor dy = normal({sizes.n, sizes.cols}, DType::f64, 1), indices = indices_of(sizes.n, sizes.bound, gaps);
                const Tensor before = normal({sizes.bound, sizes.cols}, DType::f64, 2);
                Tensor want = rounded(numbers, before).clone();
                gather_backward(rounded(numbers, dy), indices, want, 1.5);
                Tensor dx = in(numbers, before).clone();
                gather_backward(in(numbers, dy), in(numbers, indices), dx, 1.5);
                expect_close(dx, want, numbers, what, {.f64 = 1e-12, .f32 = 1e-5});
            }
}

// On a GPU it would end the device's context, and with it the tests behind this one.
TEST(GatherOnDevices, StopsAtAnIndexOutsideTheTable) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "needs the emulated device";
    const Tensor x = normal({3, 4}, DType::f32, 1).to(Device::cuda),
                 indices = Tensor::from(std::vector<std::int32_t>{0, 3}, {2}).to(Device::cuda);
    expect_error([&] { gather_forward(x, indices).to(Device::cpu); }, "gather: an index lies outside x");
    Tensor dx = Tensor::zeros({3, 4}, DType::f32, Device::cuda);
    expect_error(
        [&] {
            gather_backward(gather_forward(x, Tensor::zeros({2}, DType::i32, Device::cuda)), indices, dx);
            device::synchronize();
        },
        "gather: an index lies outside x");
}

TEST(GatherOnDevices, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor dy = in(numbers, normal({400, 9}, DType::f64, 1)), indices = in(numbers, indices_of(400, 11, true));
        expect_same_bits_again(
            [&] {
                Tensor dx = Tensor::zeros({11, 9}, numbers.dtype, numbers.device);
                gather_backward(dy, indices, dx);
                return std::vector{dx};
            },
            "gather backward on " + to_string(numbers));
    }
}

}  // namespace
}  // namespace heddle::kernels
