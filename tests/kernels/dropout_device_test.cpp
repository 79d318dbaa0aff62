// Dropout on every device: where its key lies, and NaN.
#include <cstring>

#include "core/random.h"
#include "kernels/dropout/dropout.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

// A key of which one part lies in memory, where it changes between two launches.
TEST(DropoutOnDevices, CompletesItsKeyFromMemory) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    Generator keys;
    keys.seed = 5;
    Tensor step = Tensor::empty({1}, DType::f64, Device::cuda);  // eight bytes
    const Tensor x = normal({9, 264}, DType::f32, 1);
    for (const std::uint64_t update : {1, 2}) {
        keys.start(update, 0);
        const Dropout told = keys.next_dropout("dropout", 0.4);
        keys.start(update, 0);
        keys.step_key_on_device = reinterpret_cast<const std::uint64_t*>(step.bytes_data());
        const Dropout completed = keys.next_dropout("dropout", 0.4);
        keys.step_key_on_device = nullptr;
        const std::uint64_t key = keys.step_key();
        double bits = 0;
        std::memcpy(&bits, &key, sizeof bits);
        step.copy_(Tensor::from(std::vector<double>{bits}, {1}));
        EXPECT_NE(told.key, completed.key);
        EXPECT_TRUE(same_bits(dropout_forward(x.to(Device::cuda), completed).to(Device::cpu), dropout_forward(x, told)));
    }
}

TEST(DropoutOnDevices, LetsNaNThroughAlsoWhereItDrops) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = Tensor::full({4, 24}, std::numeric_limits<double>::quiet_NaN(), DType::f64);
        for (const double value : dropout_forward(in(numbers, x), Dropout(0.5, 3)).to(Device::cpu).to_vector())
            EXPECT_TRUE(std::isnan(value)) << to_string(numbers);
    }
}

}  // namespace
}  // namespace heddle::kernels
