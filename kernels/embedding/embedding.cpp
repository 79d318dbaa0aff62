#include "kernels/embedding/embedding.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/dropout/dropout.h"
#include "kernels/gather/gather.h"

namespace heddle::kernels {
namespace {

// The reference for f64 and dual numbers: one row of y.
template <class T>
void embed(const T* table, const T* position, double scale, T* y, std::int64_t row, std::int64_t cols, const Dropout& dropout) {
    for (std::int64_t column = 0; column < cols; ++column) {
        const T value = scale * table[column] + (position == nullptr ? T{0} : position[column]);
        y[column] = value * (dropout.keeps_row(row, column) ? dropout.scale() : 0);
    }
}

void embed(const float* table, const float* position, double scale, float* y, std::int64_t row, std::int64_t cols,
           const Dropout& dropout) {
    by_level(v2::embed_row, v3::embed_row, v4::embed_row)(table, position, static_cast<float>(scale), y, row, cols, dropout);
}

void check_tokens(const Tensor& tokens, const Spans& spans, std::int64_t vocabulary) {
    check_dtype("embedding", "tokens", tokens, DType::i32);
    check_shape("embedding", "tokens", tokens, {spans.rows()});
    if (tokens.device() == Device::cuda) return;  // the kernels look at the values
    const std::int32_t* token = tokens.data<std::int32_t>();
    for (const Span& span : spans)
        for (std::int64_t i = span.start; i < span.start + span.length; ++i)
            check(token[i] >= 0 && token[i] < vocabulary, "embedding: tokens[{}] is {}, but the table has {} rows", i, token[i],
                  vocabulary);
}

// Gradients of bf16 rows may be summed in f32.
void check_gradient_dtype(const char* argument, const Tensor& gradient, const Tensor& dy) {
    const bool wider = dy.dtype() == DType::bf16 && gradient.dtype() == DType::f32;
    check_dtype("embedding_backward", argument, gradient, wider ? DType::f32 : dy.dtype());
}

void check_positions(const char* argument, const Tensor& positions, const Tensor& like, const Spans& spans,
                     std::int64_t first_position) {
    check_rank("embedding", argument, positions, 2);
    check_shape("embedding", argument, positions, {positions.dim(0), like.cols()});
    check(first_position >= 0, "embedding: first_position is {}, wanted at least 0", first_position);
    check(spans.longest() == 0 || first_position + spans.longest() <= positions.dim(0),
          "embedding: a sentence reaches position {}, but {} has {} rows; lengthen the table or shorten the sentence",
          first_position + spans.longest() - 1, argument, positions.dim(0));
}

// Which span row i belongs to, for a walk over ascending rows.
class SpanCursor {
  public:
    SpanCursor(const Spans& spans, std::int64_t row) : spans_(spans) {
        const auto after = std::upper_bound(spans.begin(), spans.end(), row,
                                            [](std::int64_t at, const Span& span) { return at < span.start + span.length; });
        at_ = after - spans.begin();
    }
    // The span that holds `row`, or null. Rows must not descend between calls.
    const Span* find(std::int64_t row) {
        while (at_ < spans_.size() && row >= spans_[at_].start + spans_[at_].length) ++at_;
        return at_ < spans_.size() && row >= spans_[at_].start ? &spans_[at_] : nullptr;
    }

  private:
    const Spans& spans_;
    std::int64_t at_ = 0;
};

// tokens, with -1 in the rows that give the table no gradient: those that no span covers, and those of `untrained`.
Tensor trained_tokens(const Tensor& tokens, const Spans& spans, std::int32_t untrained) {
    if (!spans.has_gaps() && untrained < 0) return tokens;
    Tensor trained = Tensor::full(tokens.shape(), -1, DType::i32);
    const std::int32_t* from = tokens.data<std::int32_t>();
    std::int32_t* to = trained.mutable_data<std::int32_t>();
    for (const Span& span : spans) std::copy_n(from + span.start, span.length, to + span.start);
    if (untrained >= 0) std::replace(to, to + tokens.numel(), untrained, -1);
    return trained;
}

void add_positions(const Tensor& e, const Spans& spans, std::int64_t first_position, Tensor& dpositions) {
    const std::int64_t cols = e.cols();
    dispatch_real("embedding_backward", e, [&]<class T>(TypeTag<T>) {
        const T* from = e.data<T>();
        T* to = dpositions.mutable_data<T>();
        parallel_for(spans.longest(), grain_for(spans.size() * cols), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p)
                for (const Span& span : spans) {
                    if (p >= span.length) continue;
                    const T* row = from + (span.start + p) * cols;
                    T* sum = to + (first_position + p) * cols;
                    for (std::int64_t c = 0; c < cols; ++c) sum[c] += row[c];
                }
        });
    });
}

}  // namespace

Tensor embedding_forward(const Tensor& table, const Tensor& tokens, const Spans& spans, const Tensor& positions,
                         const EmbeddingPlan& plan) {
    check_rank("embedding", "table", table, 2);
    check_defined("embedding", "table", table);
    check_tokens(tokens, spans, table.dim(0));
    if (positions.defined()) {
        check_dtype("embedding", "positions", positions, table.dtype());
        check_positions("positions", positions, table, spans, plan.first_position);
    }
    check_device("embedding", {{"table", table}, {"tokens", tokens}, {"positions", positions}});
    const std::int64_t cols = table.cols();
    Tensor y = Tensor::empty({spans.rows(), cols}, table.dtype(), table.device());
    if (table.device() == Device::cuda) {
        embedding_forward_cuda(table, tokens, spans, positions, plan, y);
        return y;
    }
    dispatch_real("embedding", table, [&]<class T>(TypeTag<T>) {
        const T* rows = table.data<T>();
        const T* place = positions.defined() ? positions.data<T>() : nullptr;
        const std::int32_t* token = tokens.data<std::int32_t>();
        T* to = y.mutable_data<T>();
        parallel_for(spans.rows(), grain_for(4 * cols), [&](std::int64_t begin, std::int64_t end) {
            SpanCursor cursor(spans, begin);
            for (std::int64_t i = begin; i < end; ++i) {
                const Span* span = cursor.find(i);
                if (span == nullptr) {
                    std::fill_n(to + i * cols, cols, T{0});
                    continue;
                }
                const T* position = place == nullptr ? nullptr : place + (plan.first_position + i - span->start) * cols;
                embed(rows + token[i] * cols, position, plan.scale, to + i * cols, i, cols, plan.dropout);
            }
        });
    });
    return y;
}

void embedding_backward(const Tensor& dy, const Tensor& tokens, const Spans& spans, const EmbeddingPlan& plan, Tensor* dtable,
                        Tensor* dpositions, const Tensor& order) {
    check_rank("embedding_backward", "dy", dy, 2);
    check_shape("embedding_backward", "dy", dy, {spans.rows(), dy.cols()});
    if (dtable == nullptr && dpositions == nullptr) return;
    if (dtable != nullptr) {
        check_rank("embedding_backward", "dtable", *dtable, 2);
        check_shape("embedding_backward", "dtable", *dtable, {dtable->dim(0), dy.cols()});
        check_gradient_dtype("dtable", *dtable, dy);
        check_tokens(tokens, spans, dtable->dim(0));
        check_device("embedding_backward", {{"dy", dy}, {"tokens", tokens}, {"dtable", *dtable}});
    }
    if (dpositions != nullptr) {
        check_gradient_dtype("dpositions", *dpositions, dy);
        check_positions("dpositions", *dpositions, dy, spans, plan.first_position);
        check_device("embedding_backward", {{"dy", dy}, {"dpositions", *dpositions}});
    }
    if (dy.device() == Device::cuda) {
        if (order.defined()) {
            check_shape("embedding_backward", "order", order, {2, spans.rows()});
            check_dtype("embedding_backward", "order", order, DType::i32);
            check_device("embedding_backward", {{"dy", dy}, {"order", order}});
        }
        if (dtable != nullptr) embedding_backward_table_cuda(dy, tokens, spans, plan, order, *dtable);
        if (dpositions != nullptr) embedding_backward_positions_cuda(dy, spans, plan, *dpositions);
        return;
    }
    const Tensor e = dropout_backward(dy, plan.dropout);  // once for both tables; dy itself without dropout
    if (dtable != nullptr) gather_backward(e, trained_tokens(tokens, spans, plan.untrained), *dtable, plan.scale);
    if (dpositions != nullptr) add_positions(e, spans, plan.first_position, *dpositions);
}

std::vector<std::int32_t> rows_by_token(std::span<const std::int32_t> tokens, const Spans& spans) {
    check(static_cast<std::int64_t>(tokens.size()) >= spans.rows() || spans.within_capacity(),
          "rows_by_token: {} tokens, but the spans describe {} rows", tokens.size(), spans.rows());
    const auto token = [&](std::int64_t row) { return tokens[static_cast<std::size_t>(row)]; };
    // A counting sort: next[t + 1] counts t, then next[t] is where the next row with t goes.
    std::vector<std::int32_t> next;
    for (const Span& span : spans)
        for (std::int64_t row = span.start; row < span.start + span.length; ++row) {
            check(token(row) >= 0, "rows_by_token: token {} of row {}", token(row), row);
            const auto at = static_cast<std::size_t>(token(row)) + 1;
            if (next.size() <= at) next.resize(at + 1, 0);
            ++next[at];
        }
    for (std::size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
    const auto rows = static_cast<std::size_t>(spans.rows());
    std::vector<std::int32_t> order(2 * rows);
    const auto place = [&](std::size_t at, std::int32_t of, std::int64_t row) {
        order[at] = of;
        order[rows + at] = static_cast<std::int32_t>(row);
    };
    auto after = static_cast<std::size_t>(spans.tokens());
    std::int64_t end = 0;
    const auto outside = [&](std::int64_t until) {
        for (; end < until; ++end) place(after++, -1, end);
    };
    for (const Span& span : spans) {
        outside(span.start);
        for (; end < span.start + span.length; ++end)
            place(static_cast<std::size_t>(next[static_cast<std::size_t>(token(end))]++), token(end), end);
    }
    outside(spans.rows());
    return order;
}

Tensor sinusoidal_positions(std::int64_t positions, std::int64_t d_model, DType dtype, Sines sines) {
    check(positions >= 0 && d_model >= 1, "sinusoidal_positions: {} positions of width {}, wanted at least 0 of at least 1",
          positions, d_model);
    check(sines == Sines::alternate || d_model % 2 == 0,
          "sinusoidal_positions: width {}, wanted an even one where sines and cosines have a half each", d_model);
    const std::int64_t half = d_model / 2;
    const auto is_sine = [&](std::int64_t c) { return sines == Sines::alternate ? c % 2 == 0 : c < half; };
    std::vector<double> wavelength(static_cast<std::size_t>(d_model));  // over 2 pi
    for (std::int64_t c = 0; c < d_model; ++c) {
        const std::int64_t pair = sines == Sines::alternate ? c / 2 : c % half;
        const double exponent = sines == Sines::first_to_the_end
                                    ? static_cast<double>(pair) / static_cast<double>(std::max<std::int64_t>(half - 1, 1))
                                    : static_cast<double>(2 * pair) / static_cast<double>(d_model);
        wavelength[static_cast<std::size_t>(c)] = std::pow(10000.0, exponent);
    }
    Tensor table = Tensor::empty({positions, d_model}, dtype);
    dispatch_real("sinusoidal_positions", dtype, [&]<class T>(TypeTag<T>) {
        T* at = table.mutable_data<T>();
        for (std::int64_t p = 0; p < positions; ++p)
            for (std::int64_t c = 0; c < d_model; ++c) {
                const double angle = static_cast<double>(p) / wavelength[static_cast<std::size_t>(c)];
                at[p * d_model + c] = static_cast<T>(is_sine(c) ? std::sin(angle) : std::cos(angle));
            }
    });
    return table;
}

}  // namespace heddle::kernels
