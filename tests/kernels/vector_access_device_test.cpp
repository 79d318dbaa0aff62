// Kernels that only move elements access 16 bytes a thread where rows and addresses allow it: the emulator counts.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernels/activation/activation.h"
#include "kernels/cast/cast.h"
#include "kernels/device/inspect.h"
#include "kernels/dropout/dropout.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

class VectorAccessDevice : public testing::TestWithParam<DType> {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
        if (!device::emulated()) GTEST_SKIP() << "a GPU does not count accesses";
    }
};

Tensor numbers(const Shape& shape, DType dtype) { return normal(shape, DType::f32, 1, 2, 0.1).to(dtype).to(Device::cuda); }

// A warp's access is 32 times what each of its threads asks for.
double bytes_per_thread(const std::function<void()>& work) {
    const device::Traffic traffic = device::traffic_of(work);
    return static_cast<double>(traffic.bytes) / static_cast<double>(traffic.accesses) / 32;
}

struct Work {
    std::string name;
    std::function<void(const Tensor& x)> run;  // x: [16, columns]
};

std::vector<Work> works() {
    using namespace kernels;  // NOLINT
    const auto row = [](const Tensor& x) { return numbers({x.cols()}, x.dtype()); };
    const auto column = [](const Tensor& x) { return numbers({x.rows(), 1}, x.dtype()); };
    const auto condition = [](const Tensor& x) { return Tensor::zeros(x.shape(), DType::u8, Device::cuda); };
    return {{"exp", [](const Tensor& x) { kernels::exp(x); }},
            {"add", [](const Tensor& x) { add(x, x); }},
            {"add a row", [=](const Tensor& x) { add(x, row(x)); }},
            {"add to a row", [=](const Tensor& x) { add(row(x), x); }},
            {"add a column", [=](const Tensor& x) { add(x, column(x)); }},
            {"add to a column", [=](const Tensor& x) { add(column(x), x); }},
            {"where", [=](const Tensor& x) { where(condition(x), x, x); }},
            {"where, a column and a row", [=](const Tensor& x) { where(condition(x), column(x), row(x)); }},
            {"accumulate",
             [](const Tensor& x) {
                 Tensor sum = x;
                 accumulate(sum, x);
             }},
            {"relu", [](const Tensor& x) { relu_forward(x); }},
            {"gelu", [](const Tensor& x) { gelu_forward(x); }},
            {"dropout", [](const Tensor& x) { dropout_forward(x, Dropout(0.1, 1)); }},
            {"residual", [](const Tensor& x) { residual_forward(x, x, {}); }}};
}

TEST_P(VectorAccessDevice, IsOf16BytesWhereRowsAndAddressesAllowIt) {
    const Tensor fitting = numbers({16, 256}, GetParam());
    for (const Work& work : works()) EXPECT_EQ(bytes_per_thread([&] { work.run(fitting); }), 16) << work.name;
}

// The count is no constant: rows of 255 elements begin at any address.
TEST_P(VectorAccessDevice, IsOfOneElementWhereTheyDoNot) {
    const Tensor x = numbers({16, 255}, GetParam()), row = numbers({255}, GetParam());
    EXPECT_LE(bytes_per_thread([&] { kernels::add(x, row); }), size_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Of, VectorAccessDevice, testing::Values(DType::f32, DType::bf16),
                         [](const auto& at) { return std::string(name(at.param)); });

}  // namespace
}  // namespace heddle
