#include "heddle/batches.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/format.h"
#include "core/random.h"

namespace heddle {
namespace {

// Rows order[begin, end) of `tensor`, which may have any element type.
Tensor rows_of(const Tensor& tensor, const std::vector<std::int64_t>& order, std::int64_t begin, std::int64_t end) {
    Shape shape = tensor.shape();
    shape.set(0, end - begin);
    Tensor rows = Tensor::empty(shape, tensor.dtype(), tensor.device());
    for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = order[static_cast<std::size_t>(i)];
        rows.slice(i - begin, i - begin + 1).copy_(tensor.slice(row, row + 1));
    }
    return rows;
}

Tensor stacked(const std::vector<std::pair<Tensor, Tensor>>& examples, Tensor std::pair<Tensor, Tensor>::*part) {
    const Tensor& first = examples.front().*part;
    Shape shape{static_cast<std::int64_t>(examples.size())};
    for (int axis = 0; axis < first.rank(); ++axis) shape.append(first.dim(axis));
    Tensor all = Tensor::empty(shape, first.dtype(), first.device());
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const Tensor& example = examples[i].*part;
        check(example.shape() == first.shape() && example.dtype() == first.dtype() && example.device() == first.device(),
              "batches: example {} is {} {} on {}, but the first one is {} {} on {}", i, example.shape(), example.dtype(),
              name(example.device()), first.shape(), first.dtype(), name(first.device()));
        const auto row = static_cast<std::int64_t>(i);
        all.slice(row, row + 1).reshape(first.shape()).copy_(example);
    }
    return all;
}

}  // namespace

Batches::Batches(Tensor x, Tensor y, std::int64_t batch_size, const BatchOptions& options)
    : x_(std::move(x)), y_(std::move(y)), batch_size_(batch_size) {
    check(batch_size > 0, "batches: the batch size is {}, wanted at least 1", batch_size);
    check_defined("batches", "x", x_);
    check_defined("batches", "y", y_);
    check(x_.rank() > 0 && y_.rank() > 0 && x_.dim(0) == y_.dim(0), "batches: x is {} and y is {}; wanted one first extent",
          x_.shape(), y_.shape());
    const std::int64_t examples = x_.dim(0);
    size_ = examples / batch_size + (!options.drop_last && examples % batch_size != 0);
    if (!options.shuffle) return;
    order_.resize(static_cast<std::size_t>(examples));
    std::iota(order_.begin(), order_.end(), std::int64_t{0});
    Sequence(options.shuffle->value).shuffle(order_);
}

Batch Batches::batch(std::int64_t number) const {
    check(number >= 0 && number < size_, "batches: there is no batch {}, only {}", number, size_);
    const std::int64_t begin = number * batch_size_;
    const std::int64_t end = std::min(begin + batch_size_, x_.dim(0));
    if (order_.empty()) return {x_.slice(begin, end), y_.slice(begin, end)};
    return {rows_of(x_, order_, begin, end), rows_of(y_, order_, begin, end)};
}

Batches batches(const Tensor& x, const Tensor& y, std::int64_t batch_size, const BatchOptions& options) {
    return {x, y, batch_size, options};
}

Batches batches(const std::pair<Tensor, Tensor>& examples, std::int64_t batch_size, const BatchOptions& options) {
    return {examples.first, examples.second, batch_size, options};
}

Batches batches(const std::vector<std::pair<Tensor, Tensor>>& examples, std::int64_t batch_size, const BatchOptions& options) {
    check(!examples.empty(), "batches: there is no example");
    return {stacked(examples, &std::pair<Tensor, Tensor>::first), stacked(examples, &std::pair<Tensor, Tensor>::second),
            batch_size, options};
}

}  // namespace heddle
