#include "core/spans.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "core/device.h"
#include "core/format.h"
#include "core/tensor.h"

namespace heddle {

/// The copies on the device, one for each stream that has asked: no order says that another stream's upload has run.
struct Spans::Uploaded {
    std::mutex mutex;
    std::map<void*, Tensor> tables;
};

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

Tensor Spans::on_device() const {
    check(rows_ <= std::numeric_limits<std::int32_t>::max(), "spans: {} rows, but tables on the device count up to 2147483647",
          rows_);
    if (uploaded_ == nullptr) return Tensor::empty({0, 2}, DType::i32, Device::cuda);  // spans of nothing
    const std::lock_guard lock(uploaded_->mutex);
    Tensor& table = uploaded_->tables[device::current_stream()];
    if (!table.defined()) {
        std::vector<std::int32_t> numbers;
        numbers.reserve(2 * spans_.size());
        for (const Span& span : spans_) {
            numbers.push_back(static_cast<std::int32_t>(span.start));
            numbers.push_back(static_cast<std::int32_t>(span.length));
        }
        table = Tensor::from(numbers, {size(), 2}).to(Device::cuda);
    }
    return table;
}

}  // namespace heddle
