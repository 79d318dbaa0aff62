// Tensors on the CUDA device, emulated or real: memory, copies, errors. Without a device every test is skipped.
#include <limits>
#include <regex>

#include "core/check.h"
#include "core/error.h"
#include "core/mark.h"
#include "core/spans.h"
#include "kernels/device/blocks.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle {
namespace {

class OnDevice : public testing::Test {
  protected:
    void SetUp() override {
        if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    }
};

/// Every dtype, with values whose bits differ in every byte.
std::vector<Tensor> of_every_dtype(std::int64_t rows, std::int64_t cols) {
    std::vector<Tensor> all;
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u8}) {
        Tensor tensor = Tensor::empty({rows, cols}, dtype);
        std::uint64_t state = 7;
        for (std::int64_t i = 0; i < tensor.bytes(); ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            tensor.mutable_bytes_data()[i] = static_cast<std::byte>(state >> 56);
        }
        all.push_back(tensor);
    }
    return all;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           std::memcmp(a.bytes_data(), b.bytes_data(), static_cast<std::size_t>(a.bytes())) == 0;
}

TEST_F(OnDevice, GoThereAndComeBackWithTheSameBits) {
    for (const std::int64_t cols : {1, 31, 1025})
        for (const Tensor& here : of_every_dtype(3, cols)) {
            const Tensor there = here.to(Device::cuda);
            EXPECT_EQ(there.device(), Device::cuda);
            EXPECT_EQ(there.dtype(), here.dtype());
            const Tensor back = there.to(Device::cpu);
            EXPECT_EQ(back.device(), Device::cpu);
            EXPECT_TRUE(same_bytes(back, here)) << name(here.dtype()) << ", " << cols << " columns";
        }
}

TEST_F(OnDevice, AreTheSameHandleWhereTheyLieAlready) {
    const Tensor here = Tensor::zeros({4}, DType::f32), there = here.to(Device::cuda);
    EXPECT_TRUE(here.to(Device::cpu).shares_storage(here));
    EXPECT_TRUE(there.to(Device::cuda).shares_storage(there));
    EXPECT_FALSE(Tensor().to(Device::cuda).defined());
}

TEST_F(OnDevice, AreSlicedAndReshapedThere) {
    const Tensor here = Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8}, {3, 3});
    const Tensor there = here.to(Device::cuda);
    const Tensor rows = there.slice(1, 3);
    EXPECT_TRUE(rows.shares_storage(there));
    EXPECT_EQ(rows.to_vector(), (std::vector<double>{3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(there.reshape({9}).slice(5, 6).item(), 5);
    Tensor target = Tensor::zeros({3, 3}, DType::f32, Device::cuda);
    target.slice(2, 3).copy_(there.slice(0, 1));
    EXPECT_EQ(target.to_vector(), (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1, 2}));
}

TEST_F(OnDevice, AreFilled) {
    EXPECT_EQ(Tensor::zeros({3}, DType::f64, Device::cuda).to_vector(), (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(Tensor::full({2}, 1.5, DType::bf16, Device::cuda).to_vector(), (std::vector<double>{1.5, 1.5}));
    Tensor there = Tensor::full({3}, 7, DType::i32, Device::cuda);
    const std::uint64_t version = there.version();
    there.slice(1, 2).fill_(0);
    EXPECT_EQ(there.to_vector(), (std::vector<double>{7, 0, 7}));
    EXPECT_EQ(there.version(), version + 1);
    EXPECT_TRUE(std::signbit(Tensor::full({1}, -0.0, DType::f32, Device::cuda).item()));
}

TEST_F(OnDevice, AreClonedCopiedAndConverted) {
    const Tensor here = Tensor::from<float>({1, 2.5, -3.0625}, {3});
    const Tensor there = here.to(Device::cuda), clone = there.clone();
    EXPECT_FALSE(clone.shares_storage(there));
    EXPECT_EQ(clone.device(), Device::cuda);
    Tensor back = Tensor::zeros({3}, DType::f32);
    back.copy_(clone);
    EXPECT_TRUE(same_bits(back, here));
    Tensor other = Tensor::zeros({3}, DType::f32, Device::cuda);
    other.copy_(here);
    EXPECT_TRUE(same_bits(other.to(Device::cpu), here));
    const Tensor doubles = there.to(DType::f64);
    EXPECT_EQ(doubles.device(), Device::cuda);
    EXPECT_EQ(doubles.to_vector(), here.to_vector());
}

TEST_F(OnDevice, AreCopiedOntoThemselvesWhereTheyOverlap) {
    Tensor there = Tensor::from<std::int32_t>({0, 1, 2, 3, 4}, {5}).to(Device::cuda);
    there.slice(1, 5).copy_(there.slice(0, 4));
    EXPECT_EQ(there.to_vector(), (std::vector<double>{0, 0, 1, 2, 3}));
    there.slice(0, 4).copy_(there.slice(1, 5));
    EXPECT_EQ(there.to_vector(), (std::vector<double>{0, 1, 2, 3, 3}));
}

TEST_F(OnDevice, MayBeEmpty) {
    for (const Shape& shape : {Shape({0}), Shape({0, 5}), Shape({3, 0})}) {
        const Tensor there = Tensor::full(shape, 2, DType::f32, Device::cuda);
        EXPECT_EQ(there.to(Device::cpu).shape(), shape);
        EXPECT_TRUE(there.clone().to_vector().empty());
        Tensor::empty(shape, DType::f32, Device::cuda).copy_(there);
    }
}

TEST_F(OnDevice, CountWhatIsInUse) {
    const std::int64_t before = memory_statistics(Device::cuda).in_use, requests = memory_statistics(Device::cuda).requests;
    const std::int64_t host = memory_statistics().in_use;
    {
        const Tensor there = Tensor::zeros({1 << 18}, DType::f32, Device::cuda);
        EXPECT_EQ(memory_statistics(Device::cuda).in_use - before, 1 << 20);
        EXPECT_EQ(memory_statistics().in_use, host);
    }
    EXPECT_EQ(memory_statistics(Device::cuda).in_use, before);
    EXPECT_EQ(memory_statistics(Device::cuda).requests, requests + 1);
    EXPECT_GE(memory_statistics(Device::cuda).peak, before + (1 << 20));
    reset_peak_memory(Device::cuda);
    EXPECT_EQ(memory_statistics(Device::cuda).peak, before);
}

TEST_F(OnDevice, UseFreedMemoryAgainUnlessEveryEndIsWatched) {
    release_kept_memory(Device::cuda);
    const std::int64_t before = memory_statistics(Device::cuda).from_system;
    for (int step = 0; step < 5; ++step) Tensor::zeros({1000}, DType::f32, Device::cuda);
    EXPECT_EQ(memory_statistics(Device::cuda).from_system - before, device::emulated() ? 5 : 1);
    if (device::emulated()) {
        EXPECT_EQ(memory_statistics(Device::cuda).kept, 0);
        const std::int64_t in_use = memory_statistics(Device::cuda).in_use;
        const Tensor odd = Tensor::zeros({3}, DType::u8, Device::cuda);
        EXPECT_EQ(memory_statistics(Device::cuda).in_use - in_use, 3) << "exactly its bytes";
    }
}

TEST_F(OnDevice, SayWhatWasWantedAndHadWhenThereIsTooLittleMemory) {
    try {
        Tensor::empty({std::int64_t{1} << 50}, DType::u8, Device::cuda);
        ADD_FAILURE() << "a petabyte";
    } catch (const OutOfMemory& error) {
        EXPECT_TRUE(std::regex_match(error.what(), std::regex("memory: the CUDA device has no 1125.9 TB left "
                                                              "\\(\\S+ \\w+ in use, \\S+ [GT]B of \\S+ [GT]B are free\\)")))
            << error.what();
    }
    EXPECT_EQ(Tensor::full({1}, 3, DType::f32, Device::cuda).item(), 3) << "and go on";
}

TEST_F(OnDevice, CountWaitsAndCopies) {
    const device::Statistics before = device::statistics();
    const Tensor there = Tensor::from<float>({1, 2}, {2}).to(Device::cuda);
    const Tensor zeros = Tensor::zeros({2}, DType::f32, Device::cuda), clone = there.clone();
    device::Statistics after = device::statistics();
    EXPECT_EQ(after.copies_to_device - before.copies_to_device, 1);
    EXPECT_EQ(after.copies_to_host - before.copies_to_host, 0);
    EXPECT_EQ(after.synchronisations - before.synchronisations, 0) << "nothing waits on the way there";
    EXPECT_EQ(there.slice(0, 1).item(), 1);
    after = device::statistics();
    EXPECT_EQ(after.copies_to_host - before.copies_to_host, 1);
    EXPECT_EQ(after.synchronisations - before.synchronisations, 1);
    EXPECT_EQ(after.launches - before.launches, 0);
}

TEST_F(OnDevice, AreNotMixedWithOthersUnseen) {
    const Tensor x = Tensor::zeros({2}, DType::f32, Device::cuda), mask = Tensor::zeros({2}, DType::u8);
    expect_error(
        [&] {
            check_device("softmax", {{"x", x}, {"mask", mask}});
        },
        "softmax: mask lies on cpu, but x on cuda; move it with to()");
    expect_error([&] { check_device("softmax", "mask", mask, x.device()); },
                 "softmax: mask lies on cpu, wanted on cuda; move it with to()");
    check_device("softmax", {{"x", x}, {"mask", Tensor()}, {"again", x}});
    check_device("softmax", "mask", Tensor(), x.device());
    expect_error([&] { dispatch_float("swish", x, []<class T>(TypeTag<T>) {}); },
                 "swish: has no CUDA kernel; move its arguments to the CPU");
}

TEST_F(OnDevice, KeepTheSpansOfABatch) {
    const std::vector<std::int64_t> lengths = {2, 0, 3};
    const Spans spans = Spans::padded(lengths, 4), copy = spans;
    const std::int64_t before = device::statistics().copies_to_device;
    const Tensor table = copy.on_device();
    EXPECT_EQ(table.shape(), Shape({3, 2}));
    EXPECT_EQ(table.dtype(), DType::i32);
    EXPECT_EQ(table.to_vector(), (std::vector<double>{0, 2, 4, 0, 8, 3}));
    EXPECT_TRUE(spans.on_device().shares_storage(table)) << "uploaded once, for all copies";
    EXPECT_EQ(device::statistics().copies_to_device - before, 1);
    EXPECT_EQ(Spans().on_device().shape(), Shape({0, 2}));
    EXPECT_EQ(spans, Spans::padded(lengths, 4)) << "what is on the device makes no difference";
    const std::int64_t many = std::int64_t{1} << 31;
    expect_error([&] { Spans({{many - 1, 1}}, many).on_device(); }, "2147483648 rows");
}

TEST_F(OnDevice, TakeTimesWithoutWaiting) {
    device::Stopwatch watch;
    EXPECT_TRUE(watch.laps().empty());
    const Tensor from = Tensor::zeros({1000}, DType::f32, Device::cuda);
    Tensor to = Tensor::empty({1000}, DType::f32, Device::cuda);
    const std::int64_t before = device::statistics().synchronisations;
    watch.mark();
    for (int i = 0; i < 3; ++i) {
        to.copy_(from);
        watch.mark();
    }
    EXPECT_EQ(device::statistics().synchronisations - before, 0);
    const std::vector<double> laps = watch.laps();
    EXPECT_EQ(device::statistics().synchronisations - before, 1);
    EXPECT_EQ(laps.size(), 3u);
    for (const double seconds : laps) EXPECT_TRUE(seconds > 0 && seconds < 10) << seconds;
    EXPECT_TRUE(watch.laps().empty()) << "the marks were read";
}

TEST_F(OnDevice, DescribeTheDevice) {
    EXPECT_NE(device::description().find("sm_"), std::string::npos) << device::description();
    EXPECT_EQ(device::description().find("emulated") == 0, device::emulated()) << device::description();
    EXPECT_GE(device::multiprocessors(), 1);
    EXPECT_EQ(device::why_unavailable(), "");
}

TEST_F(OnDevice, CountBlocks) {
    EXPECT_EQ(device::blocks_for(0, 128), 0u);
    EXPECT_EQ(device::blocks_for(1, 128), 1u);
    EXPECT_EQ(device::blocks_for(128, 128), 1u);
    EXPECT_EQ(device::blocks_for(129, 128), 2u);
    EXPECT_EQ(device::blocks_for((std::int64_t{1} << 31) - 1, 1), 2147483647u);
    expect_error([] { device::blocks_for(std::int64_t{1} << 31, 1); }, "are 2147483648 blocks, but a grid holds");
    EXPECT_EQ(device::blocks_for(std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 40), 1u << 23);
}

}  // namespace
}  // namespace heddle
