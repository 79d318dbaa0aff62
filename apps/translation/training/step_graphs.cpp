#include "apps/translation/training/step_graphs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/format.h"
#include "kernels/embedding/embedding.h"

namespace heddle::app {
namespace {

// Each part of the inputs begins at a whole number of these.
constexpr std::int64_t alignment = 16;

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

// The host's part of a step.
struct PreparedBatch {
    const StepGraphs* by = nullptr;
    BatchCapacity capacity;
    Spans spans[2];                      // of source and target, within the capacity
    std::vector<std::int32_t> order[2];  // kernels::rows_by_token
    std::vector<std::pair<SpansTableKey, std::vector<std::int32_t>>> tables[2];

    /// use(numbers) with the table that was made ahead, or else now.
    template <class Use>
    void with_numbers(int side, const SpansTableKey& wanted, Use&& use) const {
        for (const auto& [key, numbers] : tables[side])
            if (key == wanted) return use(numbers);
        use(wanted.make(spans[side], wanted.parameter));
    }
};

std::shared_ptr<const PreparedBatch> StepGraphs::prepared(const PairBatch& batch) const {
    if (batch.prepared != nullptr && batch.prepared->by == this) return batch.prepared;
    auto result = std::make_shared<PreparedBatch>();
    result->by = this;
    result->capacity = capacity_of(batch, position_limit_);
    result->spans[0] = batch.source_spans.within(result->capacity.source);
    result->spans[1] = batch.target_spans.within(result->capacity.target);
    result->order[0] = kernels::rows_by_token(batch.source, result->spans[0]);
    result->order[1] = kernels::rows_by_token(batch.target_in, result->spans[1]);
    return result;
}

void StepGraphs::prepare(PairBatch& batch) const {
    auto result = std::make_shared<PreparedBatch>(*prepared(batch));
    for (int side = 0; side < 2; ++side) {
        std::vector<SpansTableKey> wanted;
        {
            const std::lock_guard lock(mutex_);
            if (const auto known = known_[side].find(result->capacity); known != known_[side].end()) wanted = known->second;
        }
        result->tables[side].clear();
        for (const SpansTableKey& key : wanted)
            result->tables[side].emplace_back(key, key.make(result->spans[side], key.parameter));
    }
    batch.prepared = std::move(result);
}

// The inputs of a capacity: one tensor of bytes, and what stands where in it.
struct StepGraphs::Captured {
    StepInputs inputs;
    Tensor memory;                      // u8 [bytes]
    std::vector<SpansTable> tables[2];  // of source and target, in `memory`; none before they are known
    device::Graph graph;

    // `source` and `target` within the capacity. What they were asked for so far lies in the memory from now on.
    Captured(const Spans& source, const Spans& target) { lay_out(source, target); }

    void lay_out(const Spans& source, const Spans& target) {
        const Spans* const spans[] = {&source, &target};
        std::int64_t bytes = 0;
        const auto place = [&](std::int64_t size) { return std::exchange(bytes, bytes + round_up(size, alignment)); };
        const auto ids = [](const Spans& s) { return s.rows() * size_of(DType::i32); };
        const std::int64_t key = place(8), divisor = place(8), from = place(ids(source)), in = place(ids(target)),
                           out = place(ids(target)), from_order = place(2 * ids(source)), in_order = place(2 * ids(target));
        std::vector<std::int64_t> places;
        for (const Spans* const one : spans)
            for (const SpansTable& table : one->tables()) places.push_back(place(table.tensor.bytes()));
        memory = Tensor::empty({bytes}, DType::u8, Device::cuda);
        const auto part = [&](std::int64_t begin, std::int64_t size, DType dtype) {
            return memory.slice(begin, begin + size).view_as(dtype);
        };
        inputs.random_key = reinterpret_cast<const std::uint64_t*>(memory.slice(key, key + 8).bytes_data());
        inputs.divisor = part(divisor, 8, DType::f64).reshape({});
        const auto order = [&](std::int64_t begin, const Spans& s) {
            return part(begin, 2 * ids(s), DType::i32).reshape({2, s.rows()});
        };
        inputs.source = {part(from, ids(source), DType::i32), source, order(from_order, source)};
        inputs.target_in = {part(in, ids(target), DType::i32), target, order(in_order, target)};
        inputs.target_out = part(out, ids(target), DType::i32);
        auto next = places.begin();
        for (int side = 0; side < 2; ++side) {
            std::vector<Tensor> moved;
            for (const SpansTable& table : spans[side]->tables())
                moved.push_back(part(*next++, table.tensor.bytes(), DType::i32));
            spans[side]->move_tables(moved);
            tables[side] = spans[side]->tables();
        }
    }
};

void StepGraphs::fill(Captured& captured, const PairBatch& batch, const PreparedBatch& prepared, std::uint64_t random_key,
                      double divisor) {
    const StepInputs& inputs = captured.inputs;
    std::byte* const to = staging_.begin(captured.memory.bytes());
    const std::byte* const begin = captured.memory.bytes_data();
    // The numbers followed by `rest`.
    const auto put = [&](const Tensor& tensor, const std::vector<std::int32_t>& numbers, std::int32_t rest) {
        check(static_cast<std::int64_t>(numbers.size()) <= tensor.numel(),
              "training step: {} numbers where the capacity has room for {}", numbers.size(), tensor.numel());
        auto* const at = reinterpret_cast<std::int32_t*>(to + (tensor.bytes_data() - begin));
        std::fill(std::copy(numbers.begin(), numbers.end(), at), at + tensor.numel(), rest);
    };
    std::memcpy(to, &random_key, sizeof random_key);
    std::memcpy(to + (inputs.divisor.bytes_data() - begin), &divisor, sizeof divisor);
    put(inputs.source.tokens, batch.source, 0);
    put(inputs.target_in.tokens, batch.target_in, 0);
    put(inputs.target_out, batch.target_out, -1);
    put(inputs.source.order, prepared.order[0], 0);
    put(inputs.target_in.order, prepared.order[1], 0);
    for (int side = 0; side < 2; ++side)
        for (const SpansTable& table : captured.tables[side])
            prepared.with_numbers(side, table.key,
                                  [&](const std::vector<std::int32_t>& numbers) { put(table.tensor, numbers, 0); });
    staging_.send(captured.memory.mutable_bytes_data(), captured.memory.bytes());
}

void StepGraphs::run(const PairBatch& batch, std::uint64_t random_key, double divisor) {
    const std::shared_ptr<const PreparedBatch> prepared = this->prepared(batch);
    const auto found = captured_.find(prepared->capacity);
    if (found == captured_.end()) {
        const auto direct = std::make_shared<Captured>(prepared->spans[0], prepared->spans[1]);
        fill(*direct, batch, *prepared, random_key, divisor);
        {
            const MemoryArena::Use use(arena_);  // so that it needs no memory beside that of the graphs
            step_(direct->inputs);
        }
        captured_.emplace(prepared->capacity, direct);
        ++counts_.direct;
        return;
    }
    Captured& captured = *found->second;
    if (captured.graph.captured()) {
        fill(captured, batch, *prepared, random_key, divisor);
        ++counts_.replayed;
    } else {
        // The first step has asked for all tables that there are.
        captured.lay_out(Spans(captured.inputs.source.spans), Spans(captured.inputs.target_in.spans));
        know_tables(captured, prepared->capacity);
        fill(captured, batch, *prepared, random_key, divisor);
        const MemoryArena::Use use(arena_);
        captured.graph.capture([&] { step_(captured.inputs); });
        ++counts_.captured;
    }
    captured.graph.launch();
}

void StepGraphs::know_tables(const Captured& captured, const BatchCapacity& capacity) {
    const std::lock_guard lock(mutex_);
    for (int side = 0; side < 2; ++side)
        for (const SpansTable& table : captured.tables[side]) known_[side][capacity].push_back(table.key);
}

}  // namespace heddle::app
