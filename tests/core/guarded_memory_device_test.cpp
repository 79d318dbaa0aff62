// The guard bytes around tensors on a GPU detect writes outside of a tensor. This test uses them on the emulated device, too.
#include "tests/core/guarded_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/device.h"
#include "core/tensor.h"
#include "kernels/elementwise/elementwise.h"

namespace heddle {
namespace {

// Installs the guards before the first tensor is created.
class GuardedMemory : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (device::available()) guard_device_memory();
    }
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

TEST_F(GuardedMemory, IsPoisonedAndUsable) {
    for (const double value : Tensor::empty({33}, DType::f32, Device::cuda).to_vector()) EXPECT_TRUE(std::isnan(value));
    {
        const Tensor x = Tensor::full({33}, 2, DType::bf16, Device::cuda);
        for (const double value : kernels::mul(x, x).to_vector()) EXPECT_EQ(value, 4);
    }
    EXPECT_EQ(damaged_guards(), "");
}

TEST_F(GuardedMemory, SeesAByteOnEitherSide) {
    for (const bool dropped : {false, true}) {
        Tensor x = Tensor::zeros({33}, DType::u8, Device::cuda);
        device::fill(x.mutable_bytes_data() + 35, 0, 1);
        if (dropped) x = Tensor();
        EXPECT_EQ(damaged_guards(), "3 bytes behind the end of a tensor of 33 bytes something was written\n");
    }
    {
        Tensor x = Tensor::zeros({7}, DType::f64, Device::cuda);
        device::fill(x.mutable_bytes_data() - 1, 0, 1);
        EXPECT_EQ(damaged_guards(), "1 bytes before the start of a tensor of 56 bytes something was written\n");
    }
    EXPECT_EQ(damaged_guards(), "");
}

}  // namespace
}  // namespace heddle
