// The table of a decoder's cache, on every device.
#include "kernels/cache_table/cache_table.h"

#include "core/random.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

Tensor numbers_of(const std::vector<std::int32_t>& numbers) {
    return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

// Hypotheses as lists of rows, which are copied whole: what the table must say after each step.
TEST(CacheTableDevice, IsWhatCopiedListsWouldBe) {
    for (const Device device : all_devices()) {
        constexpr std::int64_t capacity = 70;
        Sequence random(3);
        std::vector<std::vector<std::int32_t>> lists(4);
        Tensor table = Tensor::empty({4, capacity}, DType::i32, device);
        std::int64_t rows = 0;
        for (std::int64_t position = 0; position < capacity; ++position) {
            std::vector<std::int32_t> parents;
            std::vector<std::vector<std::int32_t>> next;
            const std::uint64_t count = position % 5 == 0 ? lists.size() : 1 + random.below(9);
            for (std::uint64_t i = 0; i < count; ++i) {
                parents.push_back(static_cast<std::int32_t>(position % 5 == 0 ? i : random.below(lists.size())));
                next.push_back(lists[static_cast<std::size_t>(parents.back())]);
                next.back().push_back(static_cast<std::int32_t>(rows + static_cast<std::int64_t>(i)));
            }
            const Tensor given = position % 5 == 0 ? Tensor() : numbers_of(parents).to(device);  // each goes on as it was
            table = extended_cache_table(table, given, position, rows);
            ASSERT_EQ(table.shape(), Shape({static_cast<std::int64_t>(count), capacity}));
            ASSERT_EQ(table.device(), device);
            rows += static_cast<std::int64_t>(count);
            lists = next;
        }
        const Tensor given = table.to(Device::cpu);
        for (std::size_t i = 0; i < lists.size(); ++i)
            for (std::size_t t = 0; t < lists[i].size(); ++t)
                ASSERT_EQ(given.data<std::int32_t>()[static_cast<std::int64_t>(i) * capacity + static_cast<std::int64_t>(t)],
                          lists[i][t])
                    << name(device) << ", hypothesis " << i << ", token " << t;
    }
}

TEST(CacheTableDevice, OfNoHypothesesIsEmpty) {
    for (const Device device : all_devices())
        EXPECT_EQ(
            extended_cache_table(Tensor::zeros({3, 5}, DType::i32, device), Tensor::zeros({0}, DType::i32, device), 2, 9).shape(),
            Shape({0, 5}));
}

TEST(CacheTableDevice, WrongUseIsAnError) {
    const Tensor table = Tensor::zeros({3, 5}, DType::i32);
    const auto with = [&](const std::vector<std::int32_t>& parents, std::int64_t position, std::int64_t row) {
        return [&table, parents, position, row] { extended_cache_table(table, numbers_of(parents), position, row); };
    };
    expect_error(with({0, 3}, 1, 0), "hypothesis 1 continues 3, but there are 3");
    expect_error(with({-1}, 1, 0), "hypothesis 0 continues -1");
    expect_error(with({0}, 5, 0), "a token at position 5, but table [3, 5] has 5 columns");
    expect_error(with({0, 1}, 1, 2147483646), "2 rows from row 2147483646, more than an i32 can number");
    if (!device::available() || !device::emulated()) return;  // it ends the context of a real device
    expect_error(
        [&] {
            extended_cache_table(table.to(Device::cuda), numbers_of({0, 3}).to(Device::cuda), 1, 0).to(Device::cpu);
        },
        "a hypothesis goes on from one that does not exist");
}

// In a captured step the numbers of the places grow with the replays, and the newest keys lie where the table says.
TEST(CacheTableDevice, GrowsWithTheReplays) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    const Tensor parents = numbers_of({0, 0, 1}).to(Device::cuda);
    kernels::Replays replays;
    replays.reset();
    Tensor table = kernels::extended_cache_table(
        kernels::extended_cache_table(Tensor::zeros({3, 6}, DType::i32, Device::cuda), {}, 0, 0), parents, 1, 3);
    // A table's columns beyond the position are never written, so nothing may read them.
    const auto begin_of = [](const Tensor& of, std::int64_t row, std::int64_t count) {
        return of.reshape({18}).slice(6 * row, 6 * row + count);
    };
    Tensor replayed = Tensor::empty({3, 6}, DType::i32, Device::cuda), other = Tensor::empty({3, 6}, DType::i32, Device::cuda);
    for (std::int64_t row = 0; row < 3; ++row) begin_of(replayed, row, 2).copy_(begin_of(table, row, 2));
    Tensor cache = Tensor::zeros({16, 4}, DType::bf16, Device::cuda);
    for (std::int64_t step = 0; step < 3; ++step) {
        table = kernels::extended_cache_table(table, parents, 2 + step, 6 + 3 * step);
        kernels::extend_cache_table(replayed, parents, 2, replays.growth(1), 6, replays.growth(3), other);
        std::swap(replayed, other);
        const Tensor keys = normal({3, 6}, DType::f32, static_cast<std::uint64_t>(step)).to(DType::bf16).to(Device::cuda);
        kernels::store_in_cache({keys, 2, 4}, 6, replays.growth(3), cache);
        const std::vector<double> stored = cache.slice(6 + 3 * step, 9 + 3 * step).to(Device::cpu).to_vector();
        const std::vector<double> given = keys.to(Device::cpu).to_vector();
        for (std::size_t i = 0; i < stored.size(); ++i) EXPECT_EQ(stored[i], given[i / 4 * 6 + 2 + i % 4]) << step << " " << i;
        replays.add();
    }
    for (std::int64_t row = 0; row < 3; ++row)
        EXPECT_EQ(begin_of(replayed, row, 5).to_vector(), begin_of(table, row, 5).to_vector()) << row;
}

TEST(CacheTableDevice, StoresRowsOfEveryAlignment) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    kernels::Replays replays;
    replays.reset();
    Tensor bytes = Tensor::empty({3, 32}, DType::u8);
    for (std::int64_t i = 0; i < bytes.numel(); ++i) bytes.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
    const Tensor keys = bytes.to(Device::cuda);
    for (const std::int64_t width : {1, 2, 4, 8, 16}) {
        Tensor cache = Tensor::zeros({5, width}, DType::u8, Device::cuda);
        kernels::store_in_cache({keys, width, width}, 2, replays.growth(3), cache);
        const std::vector<double> stored = cache.to_vector();
        for (std::int64_t i = 0; i < cache.numel(); ++i) {
            const std::int64_t row = i / width - 2;
            EXPECT_EQ(stored[static_cast<std::size_t>(i)], row < 0 ? 0 : static_cast<double>(row * 32 + width + i % width))
                << width << " " << i;
        }
    }
}

}  // namespace
}  // namespace heddle::kernels
