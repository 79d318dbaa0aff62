// Kernels stop at what their host functions cannot look at: indices outside a table, rows without a distribution. On a GPU this
// would end the device's context, and with it the tests behind this one.
#include "core/error.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gather/gather.h"
#include "kernels/top_k/top_k.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

TEST(KernelStopsDevice, AtATokenOutsideTheTable) {
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

TEST(KernelStopsDevice, AtAnIndexOutsideTheTable) {
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

TEST(KernelStopsDevice, AtARowWithoutADistribution) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "ends the context of a real device";
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {std::nan(""), infinity, -infinity}) {
        const Tensor logits = Tensor::full({2, 8}, bad, DType::f32).to(Device::cuda);
        expect_error([&] { top_k_log_softmax(logits, 2).values.to(Device::cpu); }, "top_k: a row of logits holds NaN");
    }
}

}  // namespace
}  // namespace heddle::kernels
