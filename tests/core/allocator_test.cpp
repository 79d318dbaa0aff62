// core/storage.h: the caching allocator.
#include <cstring>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/sanitizers.h"
#include "core/storage.h"
#include "core/tensor.h"
#include "core/text.h"
#include "tests/support.h"

namespace heddle {
namespace {

/// Releases kept blocks before each test.
class Allocator : public testing::Test {
  protected:
    void SetUp() override {
        release_kept_memory();
        reset_peak_memory();
        start_ = memory_statistics();
    }
    std::int64_t from_system() const { return memory_statistics().from_system - start_.from_system; }

    MemoryStatistics start_;
};

TEST_F(Allocator, GivesAFreedBlockToTheNextRequestOfItsSize) {
    const std::byte* block = nullptr;
    {
        const Storage first(100'000, Device::cpu);
        block = first.data();
    }
    for (int i = 0; i < 10; ++i) {
        const Storage again(100'000, Device::cpu);
        EXPECT_EQ(again.data(), block);
    }
    EXPECT_EQ(from_system(), 1);
    EXPECT_EQ(memory_statistics().requests - start_.requests, 11);
}

TEST_F(Allocator, ServesSlightlySmallerRequestsFromAKeptBlock) {
    { const Storage first(100'000, Device::cpu); }
    { const Storage smaller(90'000, Device::cpu); }
    EXPECT_EQ(from_system(), 1);
    { const Storage far_smaller(10'000, Device::cpu); }
    EXPECT_EQ(from_system(), 2) << "a large block should not be spent on a small request";
    { const Storage larger(200'000, Device::cpu); }
    EXPECT_EQ(from_system(), 3);
}

TEST_F(Allocator, CountsWhatIsInUseKeptAndThePeak) {
    const std::int64_t before = memory_statistics().in_use;
    {
        const Storage a(1 << 20, Device::cpu);
        const Storage b(1 << 20, Device::cpu);
        EXPECT_EQ(memory_statistics().in_use - before, 2 << 20);
    }
    EXPECT_EQ(memory_statistics().in_use, before);
    EXPECT_EQ(memory_statistics().kept, 2 << 20);
    EXPECT_EQ(memory_statistics().peak - before, 2 << 20);
    reset_peak_memory();
    EXPECT_EQ(memory_statistics().peak, before);
    const Storage c(1 << 20, Device::cpu);
    EXPECT_EQ(memory_statistics().kept, 1 << 20);
    EXPECT_EQ(memory_statistics().peak - before, 1 << 20);
    release_kept_memory();
    EXPECT_EQ(memory_statistics().kept, 0);
}

TEST_F(Allocator, WastesAtMostAnEighthOnRounding) {
    for (std::int64_t bytes = 512; bytes < 4'000'000; bytes = bytes * 21 / 20) {
        const std::int64_t before = memory_statistics().in_use;
        const Storage storage(bytes, Device::cpu);
        const std::int64_t taken = memory_statistics().in_use - before;
        ASSERT_GE(taken, bytes);
        ASSERT_LE(taken, bytes + bytes / 8 + 64) << bytes;
        release_kept_memory();
    }
}

TEST_F(Allocator, GivesAlignedMemoryOfItsOwnToEveryRequestOfNothing) {
    const Storage a(0, Device::cpu);
    const Storage b(0, Device::cpu);
    EXPECT_NE(a.data(), nullptr);
    EXPECT_NE(a.data(), b.data());
    EXPECT_EQ(a.bytes(), 0);
    const Tensor empty = Tensor::zeros({0, 5}, DType::f32);
    EXPECT_EQ(empty.numel(), 0);
    EXPECT_TRUE(empty.to_vector().empty());
    EXPECT_TRUE(empty.clone().to(DType::f64).reshape({5, 0}).defined());
}

TEST_F(Allocator, AlignsEveryBlockToACacheLine) {
    for (std::int64_t bytes = 0; bytes < 5000; bytes += 13) {
        const Storage storage(bytes, Device::cpu);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(storage.data()) % 64, 0u) << bytes;
        std::memset(storage.data(), 0x5a, static_cast<std::size_t>(bytes));
    }
}

#if defined(HEDDLE_ADDRESS_SANITIZER)
TEST_F(Allocator, LetsAddressSanitizerSeeAccessesBesideAndAfterABlock) {
    const auto touch = [](const std::byte* at) { return static_cast<int>(*const_cast<volatile const std::byte*>(at)); };
    const Storage storage(1000, Device::cpu);
    EXPECT_DEATH(touch(storage.data() + 1000), "AddressSanitizer");
    const std::byte* gone = nullptr;
    {
        const Storage short_lived(5000, Device::cpu);
        gone = short_lived.data();
    }
    EXPECT_DEATH(touch(gone), "AddressSanitizer");
}
#endif

TEST_F(Allocator, SaysWhenTheSystemHasNoMemoryLeftAndGoesOn) {
    EXPECT_THROW(Storage(std::int64_t{1} << 56, Device::cpu), OutOfMemory);
    const std::string message = error_of([] { Storage(std::int64_t{1} << 56, Device::cpu); });
    EXPECT_EQ(message, "memory: the system has no 72057.6 TB left (" + size_text(start_.in_use) + " in use)");
    EXPECT_EQ(memory_statistics().in_use, start_.in_use);
    EXPECT_NE(Storage(100, Device::cpu).data(), nullptr);
}

TEST_F(Allocator, RefusesNegativeSizes) {
    expect_error([] { Storage(-1, Device::cpu); }, "-1 bytes asked for");
}

TEST_F(Allocator, ServesSeveralThreadsWithoutSharingABlock) {
    std::vector<std::thread> threads;
    std::atomic<int> damaged = 0;
    for (int id = 1; id <= 4; ++id)
        threads.emplace_back([id, &damaged] {
            for (int i = 0; i < 500; ++i) {
                const Storage storage(256 + i % 7 * 64, Device::cpu);
                std::memset(storage.data(), id, static_cast<std::size_t>(storage.bytes()));
                std::this_thread::yield();
                for (std::int64_t at = 0; at < storage.bytes(); ++at)
                    if (storage.data()[at] != static_cast<std::byte>(id)) ++damaged;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(damaged, 0);
    EXPECT_EQ(memory_statistics().in_use, start_.in_use);
}

}  // namespace
}  // namespace heddle
