#include "kernels/attention/detail/attention_work.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace heddle::kernels {
namespace {

// More than any batch of the capacity has: each sentence wastes less than a tile.
std::int64_t most_tiles(const Spans& spans, std::int64_t size) {
    return std::min(spans.rows() / size + spans.size(), spans.size() * ((spans.longest() + size - 1) / size));
}

std::vector<std::int32_t> make_tiles(const Spans& spans, std::int64_t size) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(spans.size()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return spans[a].length > spans[b].length; });
    std::vector<std::int32_t> tiles;
    for (const std::int64_t sentence : order)
        for (std::int64_t tile = (spans[sentence].length + size - 1) / size - 1; tile >= 0; --tile) {
            tiles.push_back(static_cast<std::int32_t>(sentence));
            tiles.push_back(static_cast<std::int32_t>(tile * size));
        }
    if (!spans.within_capacity()) return tiles;
    // The rest of the list is tiles of the last sentence, which is empty.
    for (auto left = most_tiles(spans, size) - static_cast<std::int64_t>(tiles.size()) / 2; left > 0; --left) {
        tiles.push_back(static_cast<std::int32_t>(spans.size() - 1));
        tiles.push_back(0);
    }
    return tiles;
}

}  // namespace

Tensor attention_tiles(const Spans& spans, std::int64_t size) {
    const Tensor tiles = spans.table(make_tiles, size);
    return tiles.reshape({tiles.numel() / 2, 2});
}

}  // namespace heddle::kernels
