#include "core/spans.h"

#include <algorithm>

#include "core/format.h"

namespace heddle {

Spans::Spans(std::vector<Span> spans, std::int64_t rows) : spans_(std::move(spans)), rows_(rows) {
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

}  // namespace heddle
