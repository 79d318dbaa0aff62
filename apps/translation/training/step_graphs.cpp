#include "apps/translation/training/step_graphs.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/format.h"

namespace heddle::app {
namespace {

// Each part of the inputs begins at a whole number of these.
constexpr std::int64_t alignment = 16;

}  // namespace

std::shared_ptr<const FittedBatch> StepGraphs::fitted(const PairBatch& batch) const {
    const BatchCapacity capacity = capacity_of(batch, position_limit_);
    if (batch.fitted != nullptr && batch.fitted->capacity == capacity) return batch.fitted;
    return std::make_shared<const FittedBatch>(batch, capacity);
}

void StepGraphs::fit(PairBatch& batch) const {
    auto result = std::make_shared<FittedBatch>(*fitted(batch));
    for (int side = 0; side < 2; ++side) {
        std::vector<SpansTableKey> wanted;
        {
            const std::lock_guard lock(mutex_);
            if (const auto known = known_[side].find(result->capacity); known != known_[side].end()) wanted = known->second;
        }
        result->make_tables(side, wanted);
    }
    batch.fitted = std::move(result);
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
        const auto place = [&](std::int64_t size) {
            return std::exchange(bytes, bytes + (size + alignment - 1) / alignment * alignment);
        };
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

void StepGraphs::fill(Captured& captured, const PairBatch& batch, const FittedBatch& fitted, std::uint64_t random_key,
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
    put(inputs.source.order, fitted.order[0], 0);
    put(inputs.target_in.order, fitted.order[1], 0);
    for (int side = 0; side < 2; ++side)
        for (const SpansTable& table : captured.tables[side])
            fitted.with_table(side, table.key, [&](const std::vector<std::int32_t>& numbers) { put(table.tensor, numbers, 0); });
    staging_.send(captured.memory.mutable_bytes_data(), captured.memory.bytes());
}

void StepGraphs::run(const PairBatch& batch, std::uint64_t random_key, double divisor) {
    const std::shared_ptr<const FittedBatch> fitted = this->fitted(batch);
    const auto found = captured_.find(fitted->capacity);
    if (found == captured_.end()) {
        const auto direct = std::make_shared<Captured>(fitted->spans[0], fitted->spans[1]);
        fill(*direct, batch, *fitted, random_key, divisor);
        {
            const MemoryArena::Use use(arena_);  // so that it needs no memory beside that of the graphs
            step_(direct->inputs);
        }
        captured_.emplace(fitted->capacity, direct);
        ++counts_.direct;
        return;
    }
    Captured& captured = *found->second;
    if (captured.graph.captured()) {
        fill(captured, batch, *fitted, random_key, divisor);
        ++counts_.replayed;
    } else {
        // The first step has asked for all tables that there are.
        captured.lay_out(Spans(captured.inputs.source.spans), Spans(captured.inputs.target_in.spans));
        know_tables(captured, fitted->capacity);
        fill(captured, batch, *fitted, random_key, divisor);
        const MemoryArena::Use use(arena_);
        const auto step = [&] { step_(captured.inputs); };
        try {
            captured.graph.capture(step);
        } catch (const OutOfMemory&) {
            captured.graph.capture(step);  // there may be room now
        }
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
