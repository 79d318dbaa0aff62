// Dropout and the residual connection on every device, against the f64 reference.
#include <cstring>

#include "core/random.h"
#include "kernels/dropout/dropout.h"
#include "kernels/residual/residual.h"
#include "tests/devices.h"

namespace heddle::kernels {
namespace {

// Odd and even rows, whole groups of eight and broken ones, more than one block of 256 groups.
const Shape kShapes[] = {{0, 5}, {5, 0}, {1, 1}, {2, 31}, {3, 32}, {2, 33}, {5, 127}, {1, 1025}, {9, 264}, {2, 3, 8}, {260, 8}};

bool is_zero(double x) { return x == 0; }

void expect_same_zeros(const Tensor& got, const Tensor& want, const std::string& what) {
    const std::vector<double> given = got.to(Device::cpu).to_vector(), wanted = want.to_vector();
    for (std::size_t i = 0; i < given.size(); ++i) ASSERT_EQ(is_zero(given[i]), is_zero(wanted[i])) << what << ": element " << i;
}

TEST(DropoutOnDevices, DropsWhatTheReferenceDrops) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : kShapes)
            for (const double probability : {0.1, 0.5}) {
                const Dropout dropout(probability, 0x1234567890abcdefu);
                const Tensor x = normal(shape, DType::f64, 1);
                const Tensor want = dropout_forward(rounded(numbers, x), dropout);
                for (const bool offset : {false, true}) {
                    const Tensor placed = in(numbers, x);
                    const Tensor given = offset ? offset_by_one(placed) : placed;
                    const std::string what = "dropout of " + shape.str() + (offset ? ", offset by one" : "");
                    const Tensor y = dropout_forward(given, dropout);
                    expect_close(y, want, numbers, what);
                    expect_same_zeros(y, want, what);
                    expect_close(dropout_backward(given, dropout), want, numbers, what + ", backward");
                }
            }
}

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

TEST(DropoutOnDevices, AddsTheDroppedSublayerToTheStream) {
    for (const Numbers& numbers : all_numbers())
        for (const Shape& shape : kShapes)
            for (const Dropout& dropout : {Dropout(), Dropout(0.3, 77)}) {
                const Tensor x = normal(shape, DType::f64, 1), sublayer = normal(shape, DType::f64, 2);
                const Tensor want = residual_forward(rounded(numbers, x), rounded(numbers, sublayer), dropout);
                for (const int offset : {0, 1, 2}) {  // neither, the stream, the sublayer
                    const Tensor stream = in(numbers, x), branch = in(numbers, sublayer);
                    const std::string what = "residual of " + shape.str() + (dropout.active() ? " with dropout" : "") +
                                             ", offset " + std::to_string(offset);
                    expect_close(residual_forward(offset == 1 ? offset_by_one(stream) : stream,
                                                  offset == 2 ? offset_by_one(branch) : branch, dropout),
                                 want, numbers, what);
                }
                const Tensor dy = normal(shape, DType::f64, 3);
                expect_close(residual_backward(in(numbers, dy), dropout), dropout_backward(rounded(numbers, dy), dropout),
                             numbers, "residual backward of " + shape.str());
            }
}

TEST(DropoutOnDevices, GivesTheSameBitsAgain) {
    for (const Numbers& numbers : all_numbers()) {
        const Tensor x = in(numbers, normal({7, 129}, DType::f64, 1));
        const Dropout dropout(0.2, 5);
        expect_same_bits_again(
            [&] {
                return std::vector{dropout_forward(x, dropout), residual_forward(x, x, dropout)};
            },
            "dropout on " + to_string(numbers));
    }
}

}  // namespace
}  // namespace heddle::kernels
