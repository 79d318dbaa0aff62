#include "kernels/cache_table/cache_table.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/format.h"

namespace heddle::kernels {

namespace {

// Returns the number of hypotheses.
std::int64_t check_extension(const Tensor& table, const Tensor& parents, std::int64_t position, std::int64_t first_row) {
    const char* op = "cache_table";
    check_rank(op, "table", table, 2);
    check_dtype(op, "table", table, DType::i32);
    const std::int64_t capacity = table.dim(1);
    if (parents.defined()) {
        check_dtype(op, "parents", parents, DType::i32);
        check_rank(op, "parents", parents, 1);
        check_device(op, {{"table", table}, {"parents", parents}});
    }
    const std::int64_t hypotheses = parents.defined() ? parents.numel() : table.dim(0);
    check(position >= 0 && position < capacity, "{}: a token at position {}, but table {} has {} columns", op, position,
          table.shape(), capacity);
    check(first_row >= 0 && first_row + hypotheses <= std::numeric_limits<std::int32_t>::max(),
          "{}: {} rows from row {}, more than an i32 can number", op, hypotheses, first_row);
    return hypotheses;
}

}  // namespace

Replays::Replays() : count_(Tensor::zeros({1}, DType::i32, Device::cuda)) {}
void Replays::reset() { count_.fill_(0); }
void Replays::add() { count_replay_cuda(count_.mutable_data<std::int32_t>()); }

void extend_cache_table(const Tensor& table, const Tensor& parents, std::int64_t position, const device::Growth& positions,
                        std::int64_t first_row, const device::Growth& rows, Tensor& result) {
    const std::int64_t hypotheses = check_extension(table, parents, position, first_row);
    check_device("cache_table", "table", table, Device::cuda);
    check_shape("cache_table", "result", result, {hypotheses, table.dim(1)});
    extended_cache_table_cuda(table, parents, position, positions, first_row, rows, result);
}

void store_in_cache(const Columns& columns, std::int64_t first_row, const device::Growth& rows, Tensor& cache) {
    check_dtype("cache_table", "cache", cache, columns.base.dtype());
    check_shape("cache_table", "cache", cache, {cache.dim(0), columns.count});
    check_device("cache_table", {{"keys", columns.base}, {"cache", cache}});
    check_device("cache_table", "cache", cache, Device::cuda);
    store_in_cache_cuda(columns, first_row, rows, cache);
}

Tensor extended_cache_table(const Tensor& table, const Tensor& parents, std::int64_t position, std::int64_t first_row) {
    const char* op = "cache_table";
    const std::int64_t hypotheses = check_extension(table, parents, position, first_row);
    const std::int64_t former = table.dim(0), capacity = table.dim(1);
    Tensor result = Tensor::empty({hypotheses, capacity}, DType::i32, table.device());
    if (table.device() == Device::cuda) {
        extended_cache_table_cuda(table, parents, position, {}, first_row, {}, result);
        return result;
    }
    for (std::int64_t i = 0; i < hypotheses; ++i) {
        const std::int64_t parent = parents.defined() ? parents.data<std::int32_t>()[i] : i;
        check(parent >= 0 && parent < former, "{}: hypothesis {} continues {}, but there are {}", op, i, parent, former);
        const std::int32_t* from = table.data<std::int32_t>() + parent * capacity;
        std::int32_t* to = result.mutable_data<std::int32_t>() + i * capacity;
        std::copy(from, from + position, to);
        to[position] = static_cast<std::int32_t>(first_row + i);
    }
    return result;
}

}  // namespace heddle::kernels
