// Pieces of the device layer that no op's test sees by themselves: division, rounding, the stated errors of functions, launches
// and requirements that are refused. Reductions, vectors, pipelines and tensor cores are those of every_op_device_test and the
// ladders.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "core/spans.h"
#include "tests/devices.h"
#include "tests/kernels/device_layer_kernels.h"
#include "tests/support.h"

namespace heddle {
namespace {

class DeviceLayer : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

Tensor on_device(const Shape& shape, DType dtype) { return Tensor::full(shape, std::nan(""), dtype).to(Device::cuda); }
Tensor zeros(const Shape& shape, DType dtype) { return Tensor::zeros(shape, dtype, Device::cuda); }

float from_bits(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Around multiples of the divisor, up to both ends of 32 bits and beyond them.
TEST_F(DeviceLayer, DividesExactly) {
    const std::int64_t k32 = std::int64_t{1} << 32;
    for (const std::int64_t by :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{10}, std::int64_t{64},
          std::int64_t{641}, std::int64_t{1025}, std::int64_t{65536}, std::int64_t{1000003}, k32 / 2 - 1, k32 / 2, k32 / 2 + 1,
          k32 - 5, k32 - 1, k32, k32 + 1, 3 * k32 + 17})
        for (const std::int64_t about :
             {std::int64_t{0}, by, 2 * by, 1000 * by, k32 / 2, k32 / by * by, k32, k32 * 5 / by * by, 7 * k32}) {
            Tensor y = on_device({64}, DType::f64);
            const std::int64_t first = std::max<std::int64_t>(0, about - 32);
            testing_kernels::quotients(first, by, y);
            const std::vector<double> got = y.to(Device::cpu).to_vector();
            for (std::int64_t i = 0; i < 64; ++i)
                ASSERT_EQ(got[static_cast<std::size_t>(i)], static_cast<double>((first + i) / by)) << first + i << " / " << by;
        }
}

// Every bf16, and the f32 numbers at, just below and just above the middle between each two of them.
TEST_F(DeviceLayer, Bf16RoundsToNearestEvenAndKeepsNaN) {
    std::vector<float> inputs;
    for (std::uint32_t high = 0; high < 0x10000; high += 7)
        for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
            inputs.push_back(from_bits(high << 16 | low));
    const Tensor x = Tensor::from(inputs, {static_cast<std::int64_t>(inputs.size())}).to(Device::cuda);
    Tensor y = zeros(x.shape(), DType::bf16), back = zeros(x.shape(), DType::f32);
    testing_kernels::to_bf16(x, y);
    testing_kernels::from_bf16(y, back);
    const Tensor given = y.to(Device::cpu), loaded = back.to(Device::cpu);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bf16 want(inputs[i]), got = given.data<bf16>()[i];
        if (std::isnan(inputs[i])) {
            ASSERT_TRUE(std::isnan(static_cast<float>(got)) && std::isnan(loaded.data<float>()[i]))
                << std::hex << bits_of(inputs[i]);
        } else {
            ASSERT_EQ(got.bits, want.bits) << std::hex << bits_of(inputs[i]);
            ASSERT_EQ(bits_of(loaded.data<float>()[i]), std::uint32_t{want.bits} << 16);
        }
    }
}

// exponential: 2^-22 + |x| 2^-23 as stated; logarithm: 2 ulp (CUDA's manual: 1); inverse_root: 2^-22.
TEST_F(DeviceLayer, FunctionsStayWithinTheirStatedErrors) {
    std::vector<double> inputs;
    for (double x = -80; x < 80; x += 0.37) inputs.push_back(x);
    const auto n = static_cast<std::int64_t>(inputs.size());
    for (const DType dtype : {DType::f32, DType::f64}) {
        const Tensor x = Tensor::from(inputs, {n}).to(dtype);
        Tensor y = zeros({4, n}, dtype);
        testing_kernels::functions(x.to(Device::cuda), y);
        const std::vector<double> given = y.to(Device::cpu).to_vector(), at = x.to_vector();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const double ulp = dtype == DType::f32 ? 0x1p-23 : 0x1p-52, v = at[i];
            const auto near = [&](int function, double want, double relative) {
                const double got = given[static_cast<std::size_t>(function * n) + i];
                EXPECT_TRUE(std::abs(got - want) <= relative * std::abs(want))
                    << "function " << function << " of " << v << ": " << got;
            };
            near(0, std::exp(v), 2 * ulp + std::abs(v) * ulp);
            near(1, std::log(std::abs(v)), 2 * ulp);
            near(2, 1 / std::sqrt(std::abs(v)), 2 * ulp);
            near(3, std::max(v, 0.5), 0);
        }
    }
    const Tensor nan = Tensor::full({1}, std::nan(""), DType::f32, Device::cuda);
    Tensor y = zeros({4, 1}, DType::f32);
    testing_kernels::functions(nan, y);
    for (const double value : y.to(Device::cpu).to_vector()) EXPECT_TRUE(std::isnan(value));
}

// Nothing says to one stream that another one's upload has run: in the emulator a shared table would be a race between them.
TEST_F(DeviceLayer, SpansAreUploadedOnceForEachStream) {
    const Spans spans({{0, 2}, {3, 4}}, 8);
    const Tensor own = spans.on_device();
    testing_kernels::on_another_stream([&] {
        const Tensor other = spans.on_device();
        EXPECT_FALSE(other.shares_storage(own));
        EXPECT_TRUE(Spans(spans).on_device().shares_storage(other));
        EXPECT_EQ(other.to_vector(), (std::vector<double>{0, 2, 3, 4}));
    });
    EXPECT_TRUE(spans.on_device().shares_storage(own));
    EXPECT_EQ(own.to_vector(), (std::vector<double>{0, 2, 3, 4}));
}

TEST_F(DeviceLayer, ARefusedLaunchNamesKernelAndGeometry) {
    Tensor y = zeros({1}, DType::f32);
    for (const auto& [grid_y, threads, shared] : {std::tuple(70000u, 32u, std::size_t{0}), std::tuple(1u, 2048u, std::size_t{0}),
                                                  std::tuple(1u, 32u, std::size_t{300000})}) {
        const std::string message = error_of([&, grid_y = grid_y, threads = threads, shared = shared] {
            testing_kernels::launch_with(y, grid_y, threads, shared);
            device::synchronize();
        });
        EXPECT_NE(message.find("nothing_kernel"), std::string::npos) << message;
        const std::string number = std::to_string(grid_y > 1 ? grid_y : threads > 32 ? threads : static_cast<unsigned>(shared));
        EXPECT_NE(message.find(number), std::string::npos) << message;
    }
    testing_kernels::launch_with(y, 65535, 1, 0);
    testing_kernels::launch_with(y, 0, 1, 0);  // an empty grid launches nothing
    device::synchronize();
}

// A GPU's context ends with the first failed requirement, so that only the emulator can show it.
TEST_F(DeviceLayer, AFailedRequirementStopsTheKernelWithItsMessage) {
    testing_kernels::require_positive(Tensor::full({32}, 1, DType::f32, Device::cuda));
    device::synchronize();
    if (!device::emulated()) GTEST_SKIP() << "on a GPU the process would have to end with it";
    std::vector<float> values(32, 1);
    values[7] = -1;
    const Tensor x = Tensor::from(values, {32}).to(Device::cuda);
    const std::string message = error_of([&] {
        testing_kernels::require_positive(x);
        device::synchronize();
    });
    for (const char* part : {"a number is negative", "require_positive_kernel", "thread (7, 0, 0)"})
        EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Lanes count along x alone. With a second axis there would be two threads for each lane.
TEST_F(DeviceLayer, TheEmulatorRefusesLanesInABlockOfTwoAxes) {
    if (!device::emulated()) GTEST_SKIP() << "a GPU does not look";
    const std::string message = error_of([] {
        testing_kernels::lanes_of_two_axes();
        device::synchronize();
    });
    for (const char* part : {"a block along x alone", "lanes_of_two_axes_kernel"})
        EXPECT_NE(message.find(part), std::string::npos) << message;
}

// Whole tiles are permuted, and the eight 16-byte chunks that ldmatrix reads at once (one column, eight rows) lie in different
// banks.
TEST(Swizzle, IsAPermutationWithoutBankConflicts) {
    std::set<int> places;
    for (int row = 0; row < 64; ++row)
        for (int col = 0; col < 128; ++col) places.insert(testing_kernels::swizzled_place(row, col, 64));
    EXPECT_EQ(places.size(), 64u * 128u);
    EXPECT_EQ(*places.rbegin(), 64 * 128 - 1);
    for (int row = 0; row < 64; row += 8)
        for (int col = 0; col < 128; col += 8) {
            std::set<int> banks;
            for (int i = 0; i < 8; ++i) banks.insert(testing_kernels::swizzled_place(row + i, col, 64) * 2 / 16 % 8);
            EXPECT_EQ(banks.size(), 8u);
        }
}

// The emulator searches kernels' arguments for pointers to freed memory, and takes half of an old one beside the threshold for
// one.
TEST_F(DeviceLayer, ADropoutRuleHasNoPadding) { EXPECT_EQ(testing_kernels::stale_bytes_of_a_dropout_rule(), 0); }

}  // namespace
}  // namespace heddle
