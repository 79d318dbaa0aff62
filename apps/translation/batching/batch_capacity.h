// The size that a batch is padded to on a device, and what the host computes of a batch for it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "apps/translation/batching/batches.h"
#include "core/spans.h"

namespace heddle::app {

/// The size that batches which share a captured step are padded to.
struct BatchCapacity {
    SpansCapacity source;
    SpansCapacity target;

    friend auto operator<=>(const BatchCapacity&, const BatchCapacity&) = default;
};

/// The smallest capacity that holds the batch: rows in eight steps per power of two, 128 at least; sentences in steps of 128; the
/// longest sentence a power of two, 32 at least, but no longer than `position_limit` (a table of learned positions).
BatchCapacity capacity_of(const PairBatch& batch, std::optional<std::int64_t> position_limit);

/// A batch within a capacity: the numbers that a step on a device reads beside the ids.
struct FittedBatch {
    BatchCapacity capacity;
    Spans spans[2];                      ///< of source and target, within the capacity
    std::vector<std::int32_t> order[2];  ///< kernels::rows_by_token

    FittedBatch(const PairBatch& batch, const BatchCapacity& within);
    /// Makes these tables of a side's spans ahead of time.
    void make_tables(int side, std::span<const SpansTableKey> wanted);
    /// use(numbers) with a table that was made ahead, or else is made now.
    template <class Use>
    void with_table(int side, const SpansTableKey& wanted, Use&& use) const {
        for (const auto& [key, numbers] : tables_[side])
            if (key == wanted) return use(numbers);
        use(wanted.make(spans[side], wanted.parameter));
    }

  private:
    std::vector<std::pair<SpansTableKey, std::vector<std::int32_t>>> tables_[2];
};

}  // namespace heddle::app
