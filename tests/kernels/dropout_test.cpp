// Dropout: rows beyond 32 bits, and what is handed on without a copy.
#include "kernels/dropout/dropout.h"

#include "autograd/ops.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

TEST(Dropout, CountsRowsBeyond32Bits) {
    const Dropout dropout(0.5, 9);
    const std::int64_t row = (std::int64_t{5} << 32) + 3;
    const std::vector<float> ones(64, 1);
    for (const auto rows : HEDDLE_ALL_LEVELS(dropout_rows)) {
        std::vector<float> y(64);
        // The functions address x and y by row: the pointers are moved back by as much.
        const auto offset = static_cast<std::uintptr_t>(row) * 64 * sizeof(float);
        rows(reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(ones.data()) - offset),
             reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(y.data()) - offset), row, row + 1, 64, dropout);
        for (std::int64_t c = 0; c < 64; ++c) EXPECT_EQ(y[static_cast<std::size_t>(c)] != 0, dropout.keeps_row(row, c)) << c;
    }
}

TEST(Dropout, PassesTheTensorOnWhenItIsOff) {
    const Tensor x = normal({3, 5}, DType::f32, 1);
    for (const Dropout& off : {Dropout(), Dropout(0, 4)}) {
        EXPECT_TRUE(dropout_forward(x, off).shares_storage(x));
        EXPECT_TRUE(ops::dropout(Variable(x, true), off).is_leaf()) << "nothing is recorded";
    }
}

}  // namespace
}  // namespace heddle::kernels
