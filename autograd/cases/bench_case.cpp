#include "autograd/cases/bench_case.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::cases {

Tensor numbers(const Shape& shape, const BenchSetting& on) {
    // They need not be new ones, and making them takes longer than the measurement.
    constexpr std::int64_t period = 4'000'037;
    const std::int64_t count = shape.numel(), made = std::min(count, period);
    Tensor values = Tensor::empty({made}, DType::f32);
    fill_normal(values, 0, 0.1, 7 + static_cast<std::uint64_t>(count));
    const Tensor pattern = values.to(on.dtype).to(on.device);
    if (made == count) return pattern.reshape(shape);
    const Tensor all = Tensor::empty({count}, on.dtype, on.device);
    for (std::int64_t at = 0; at < count; at += made) {
        const std::int64_t end = std::min(count, at + made);
        Tensor part = all.slice(at, end);
        part.copy_(pattern.slice(0, end - at));
    }
    return all.reshape(shape);
}

Variable leaf(const Shape& shape, const BenchSetting& on) { return Variable(numbers(shape, on), true); }

Variable fresh(const Variable& leaf) { return Variable(leaf.value(), true); }

Tensor random_tokens(std::int64_t count, std::int64_t bound, const BenchSetting& on) {
    Sequence sequence(11);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(sequence.below(static_cast<std::uint64_t>(bound)));
    return Tensor::from(ids, {count}).to(on.device);
}

Tensor flat(const BenchSetting& on) { return Tensor::full({on.parameters}, 0.01, DType::f32, on.device); }

DropoutMask dropout_of_training() { return {0.2, 3}; }

BenchCase row_case(const BenchSetting& on, const char* op, const std::string& what, double forward, double backward,
                   const std::function<Variable(const RowInputs&)>& run) {
    const std::int64_t rows = on.rows(), cols = on.d_model;
    const auto hidden = static_cast<double>(rows * cols);
    return {.op = op,
            .what = fmt::format("[{}, {}]{}", rows, cols, what),
            .make_run = [=]() -> Run {
                const RowInputs in = {leaf({rows, cols}, on), leaf({rows, cols}, on), leaf({cols}, on), leaf({cols}, on)};
                return [=] { return run(in); };
            },
            .forward_bytes = on.bytes(forward * hidden),
            .backward_bytes = on.bytes(backward * hidden)};
}

BenchSetting wide_rows(const BenchSetting& on) {
    BenchSetting wide = on;
    wide.sentences = on.some_rows;
    wide.length = 1;
    wide.d_model = on.vocabulary;
    return wide;
}

}  // namespace heddle::cases
