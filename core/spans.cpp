#include "core/spans.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "core/check.h"
#include "core/device.h"
#include "core/format.h"

namespace heddle {

/// The uploaded tables, one set per stream, because another stream's upload may not have run yet.
struct Spans::Uploaded {
    std::mutex mutex;
    std::map<void*, std::vector<SpansTable>> tables;
};

namespace {

std::vector<std::int32_t> starts_and_lengths(const Spans& spans, std::int64_t) {
    std::vector<std::int32_t> numbers;
    numbers.reserve(2 * static_cast<std::size_t>(spans.size()));
    for (const Span& span : spans) {
        numbers.push_back(static_cast<std::int32_t>(span.start));
        numbers.push_back(static_cast<std::int32_t>(span.length));
    }
    return numbers;
}

}  // namespace

Spans::Spans(std::vector<Span> spans, std::int64_t rows)
    : spans_(std::move(spans)), rows_(rows), uploaded_(std::make_shared<Uploaded>()) {
    check(rows >= 0, "spans: a tensor of {} rows", rows);
    std::int64_t end = 0;
    for (const Span& span : spans_) {
        check(span.length >= 0 && span.start >= end && span.start <= rows && span.length <= rows - span.start,
              "spans: {} rows from row {} overlap the sentence before or leave the {} rows", span.length, span.start, rows);
        end = span.start + span.length;
        tokens_ += span.length;
        longest_ = std::max(longest_, span.length);
    }
}

Spans Spans::packed(std::span<const std::int64_t> lengths) {
    std::vector<Span> spans;
    spans.reserve(lengths.size());
    std::int64_t start = 0;
    for (const std::int64_t length : lengths) {
        spans.push_back({start, length});
        start += length;
    }
    return {std::move(spans), start};
}

Spans Spans::equal(std::int64_t sentences, std::int64_t length) {
    return packed(std::vector<std::int64_t>(static_cast<std::size_t>(sentences), length));
}

Spans Spans::padded(std::span<const std::int64_t> lengths, std::int64_t time) {
    std::vector<Span> spans;
    spans.reserve(lengths.size());
    for (const std::int64_t length : lengths) {
        check(length <= time, "spans: a sentence of {} tokens in a padded batch of {} time steps", length, time);
        spans.push_back({static_cast<std::int64_t>(spans.size()) * time, length});
    }
    const auto rows = static_cast<std::int64_t>(lengths.size()) * time;
    return {std::move(spans), rows};
}

Spans Spans::within(const SpansCapacity& capacity) const {
    check(
        rows_ <= capacity.rows && longest_ <= capacity.longest && size() < capacity.sentences,
        "spans: {} rows, {} sentences of up to {} rows do not fit into a capacity of {} rows, {} sentences of up to {} rows; one "
        "sentence stays empty",
        rows_, size(), longest_, capacity.rows, capacity.sentences, capacity.longest);
    std::vector<Span> spans = spans_;
    const std::int64_t end = spans.empty() ? 0 : spans.back().start + spans.back().length;
    spans.resize(static_cast<std::size_t>(capacity.sentences), {end, 0});
    Spans result(std::move(spans), capacity.rows);
    result.longest_ = capacity.longest;
    result.within_capacity_ = true;
    return result;
}

Tensor Spans::on_device() const {
    if (uploaded_ == nullptr) return Tensor::empty({0, 2}, DType::i32, Device::cuda);  // no spans
    return table(starts_and_lengths, 0).reshape({size(), 2});
}

Tensor Spans::table(MakeTable make, std::int64_t parameter) const {
    check(rows_ <= std::numeric_limits<std::int32_t>::max(), "spans: {} rows, but tables on the device count up to 2147483647",
          rows_);
    if (uploaded_ == nullptr) return Tensor::empty({0}, DType::i32, Device::cuda);
    const std::lock_guard lock(uploaded_->mutex);
    std::vector<SpansTable>& tables = uploaded_->tables[device::current_stream()];
    for (const SpansTable& known : tables)
        if (known.key == SpansTableKey{make, parameter}) return known.tensor;
    const std::vector<std::int32_t> numbers = make(*this, parameter);
    const Tensor tensor = Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())}).to(Device::cuda);
    tables.push_back({{make, parameter}, tensor});
    return tensor;
}

std::vector<SpansTable> Spans::tables() const {
    if (uploaded_ == nullptr) return {};
    const std::lock_guard lock(uploaded_->mutex);
    return uploaded_->tables[device::current_stream()];
}

void Spans::move_tables(const std::vector<Tensor>& memory) const {
    if (uploaded_ == nullptr && memory.empty()) return;
    const std::lock_guard lock(uploaded_->mutex);
    std::vector<SpansTable>& tables = uploaded_->tables[device::current_stream()];
    check(tables.size() == memory.size(), "spans: {} tables, but memory for {}", tables.size(), memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        check_shape("spans", "memory", memory[i], tables[i].tensor.shape());
        tables[i].tensor = memory[i];
    }
}

}  // namespace heddle
