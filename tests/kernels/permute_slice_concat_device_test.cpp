// Elements that only move, on every device: permute, slice, concat.
#include "kernels/concat/concat.h"
#include "kernels/permute/permute.h"
#include "kernels/slice/slice.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

// Of one number type each; the reference moves the very same elements.
std::vector<Tensor> of_every_type(const Shape& shape) {
    std::vector<Tensor> all;
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8})
        all.push_back(normal(shape, DType::f64, 1, 100, 30).to(dtype));
    return all;
}

class MoveOnDevices : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

struct Order {
    Shape shape;
    std::vector<int> axes;
};
// Nothing moves; the last axis stays, whole vectors and not; it moves, by tiles (several, and broken ones) and too narrow for
// them; between other axes; empty.
const Order kOrders[] = {{{}, {}},
                         {{7}, {0}},
                         {{1, 5, 1}, {2, 1, 0}},
                         {{2, 3, 4}, {0, 1, 2}},
                         {{3, 5, 16}, {1, 0, 2}},
                         {{3, 5, 7}, {1, 0, 2}},
                         {{2, 3, 4, 8}, {0, 2, 1, 3}},
                         {{33, 40}, {1, 0}},
                         {{8, 9}, {1, 0}},
                         {{5, 40}, {1, 0}},
                         {{40, 3}, {1, 0}},
                         {{2, 33, 3, 9}, {0, 3, 2, 1}},
                         {{9, 2, 10, 3}, {2, 3, 0, 1}},
                         {{2, 3, 10, 12}, {3, 1, 0, 2}},
                         {{4, 0}, {1, 0}}};

TEST_F(MoveOnDevices, PermutesEveryType) {
    for (const Order& order : kOrders)
        for (const Tensor& x : of_every_type(order.shape))
            for (const bool offset : {false, true}) {
                const Tensor there = offset ? offset_by_one(x.to(Device::cuda)) : x.to(Device::cuda);
                const Tensor y = permute_forward(x, order.axes);
                EXPECT_TRUE(same_bits(permute_forward(there, order.axes).to(Device::cpu), y))
                    << x.shape().str() << " " << name(x.dtype());
                EXPECT_TRUE(same_bits(permute_backward(y.to(Device::cuda), order.axes).to(Device::cpu), x))
                    << x.shape().str() << " " << name(x.dtype()) << ", backward";
            }
}

const Shape kShapes[] = {{40}, {3, 16}, {4, 33, 5}, {2, 3, 32}};

TEST_F(MoveOnDevices, SlicesAndPlacesEveryType) {
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const Tensor& x : of_every_type(shape))
                for (const auto& [begin, end] :
                     {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, shape[axis]}, {1, 2}, {shape[axis] / 2, shape[axis]}}) {
                    const std::string what = shape.str() + " axis " + std::to_string(axis) + " " + std::string(name(x.dtype())) +
                                             " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
                    const Tensor part = slice_forward(x, axis, begin, end);
                    EXPECT_TRUE(same_bits(slice_forward(x.to(Device::cuda), axis, begin, end).to(Device::cpu), part)) << what;
                    Tensor whole = Tensor::full(shape, 3, x.dtype()), there = whole.to(Device::cuda);
                    place_slice(part, axis, begin, whole);
                    place_slice(part.to(Device::cuda), axis, begin, there);
                    EXPECT_TRUE(same_bits(there.to(Device::cpu), whole)) << what << ", placed";
                }
}

TEST_F(MoveOnDevices, ConcatenatesAndCutsAgain) {
    for (const Shape& shape : kShapes)
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const Tensor& x : of_every_type(shape)) {
                Shape other = shape;
                other.set(axis, 3);
                const Tensor more = Tensor::full(other, 7, x.dtype());
                const Tensor y = concat_forward(std::vector{x, more, x}, axis);
                const Tensor there = x.to(Device::cuda);
                const Tensor joined = concat_forward(std::vector{there, more.to(Device::cuda), there}, axis);
                EXPECT_TRUE(same_bits(joined.to(Device::cpu), y)) << shape.str() << " axis " << axis;
                const std::vector<Tensor> many(11, more), many_there(11, more.to(Device::cuda));  // more than one launch takes
                EXPECT_TRUE(same_bits(concat_forward(many_there, axis).to(Device::cpu), concat_forward(many, axis)));
                EXPECT_TRUE(same_bits(concat_backward(joined, axis, shape[axis], 3).to(Device::cpu), more))
                    << shape.str() << " axis " << axis;
            }
}

TEST(SliceOnDevices, AddsTheGradientAtItsPlace) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : kShapes)
            for (int axis = 0; axis < shape.rank(); ++axis)
                for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, shape[axis] / 2}) {
                    Shape part = shape;
                    part.set(axis, (shape[axis] - begin) / 2);
                    const Tensor before = normal(shape, DType::f64, 1), dy = normal(part, DType::f64, 2);
                    Tensor want = rounded(numbers, before).clone(), dx = in(numbers, before).clone();
                    slice_backward(rounded(numbers, dy), axis, begin, want);
                    slice_backward(in(numbers, dy), axis, begin, dx);
                    expect_close(dx, want, numbers, shape.str() + " axis " + std::to_string(axis));
                }
}

}  // namespace
}  // namespace heddle::kernels
