// A beam search that runs out of memory while it captures its steps, on the emulated device.
#include <gtest/gtest.h>

#include "core/device.h"
#include "core/device_impl.h"
#include "nn/search/search.h"
#include "tests/nn/decoding_support.h"

namespace heddle::nn {
namespace {

// Blocks that fill the device's memory. They go when the kept blocks are given back, as if they were kept, too.
std::vector<std::byte*> fillers;
int refused = 0;

std::byte* take(std::int64_t bytes, void* stream) {
    std::byte* const block = device::detail::memory_policy().take_for_capture(bytes, stream);
    refused += block == nullptr ? 1 : 0;
    return block;
}
void give(std::byte* block, void* stream) {
    for (std::byte* const filler : fillers) device::detail::memory_policy().give(filler, stream);
    fillers.clear();
    device::detail::memory_policy().give(block, stream);
}

TEST(BeamSearchMemory, CapturesAgainWhereTheFirstTimeFoundNoRoom) {
    if (!device::available() || !device::emulated()) GTEST_SKIP() << "fills the whole device";
    device::detail::take_memory_from(take, give, false);
    const Model model = random_model(30, 4, 0.6);
    model->to(Device::cuda);
    const std::vector<Tokens> sources{source_of(4, 30, 1), source_of(2, 30, 2)};
    const auto search = [&] { return beam_search(*model, sources, {.beam = 3, .n_best = 2}); };
    const HypothesisLists wanted = search();
    search();  // keeps a block for each request but those of the graph, which has memory of its own
    for (std::int64_t size = std::int64_t{1} << 36; size >= 4096; size /= 2)
        while (std::byte* const filler = device::detail::memory_policy().take_for_capture(size, nullptr))
            fillers.push_back(filler);
    const HypothesisLists found = search();
    EXPECT_TRUE(fillers.empty()) << "the graph found no room";
    EXPECT_EQ(refused, 0) << "all others did";
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
        for (std::size_t n = 0; n < 2; ++n) {
            EXPECT_EQ(found[i][n].tokens, wanted[i][n].tokens);
            EXPECT_EQ(found[i][n].log_probability, wanted[i][n].log_probability);
        }
}

}  // namespace
}  // namespace heddle::nn
