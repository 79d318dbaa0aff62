#include "apps/translation/batching/batch_capacity.h"

#include <algorithm>
#include <bit>

#include "kernels/embedding/embedding.h"

namespace heddle::app {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// At most an eighth is lost, or 127 rows, and an epoch has a few dozen capacities.
std::int64_t round_rows(std::int64_t rows) {
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(rows - 1, 1))));
    return round_up(rows, std::max<std::int64_t>(128, power / 8));
}

SpansCapacity capacity_of(const Spans& spans, std::optional<std::int64_t> position_limit) {
    const auto longest =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(32, spans.longest()))));
    return {.rows = round_rows(spans.rows()),
            .sentences = round_up(spans.size() + 1, 128),
            .longest = std::max(spans.longest(), std::min(longest, position_limit.value_or(longest)))};
}

}  // namespace

BatchCapacity capacity_of(const PairBatch& batch, std::optional<std::int64_t> position_limit) {
    return {capacity_of(batch.source_spans, position_limit), capacity_of(batch.target_spans, position_limit)};
}

FittedBatch::FittedBatch(const PairBatch& batch, const BatchCapacity& within)
    : capacity(within),
      spans{batch.source_spans.within(within.source), batch.target_spans.within(within.target)},
      order{kernels::rows_by_token(batch.source, spans[0]), kernels::rows_by_token(batch.target_in, spans[1])} {}

void FittedBatch::make_tables(int side, std::span<const SpansTableKey> wanted) {
    tables_[side].clear();
    for (const SpansTableKey& key : wanted) tables_[side].emplace_back(key, key.make(spans[side], key.parameter));
}

}  // namespace heddle::app
