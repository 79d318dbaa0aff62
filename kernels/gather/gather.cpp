#include "kernels/gather/gather.h"

#include <cstring>
#include <limits>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

std::int64_t row_size(const Tensor& x) { return x.dim(0) == 0 ? 0 : x.numel() / x.dim(0); }

Shape with_rows(Shape shape, std::int64_t rows) {
    shape.set(0, rows);
    return shape;
}

void check_indices(const char* op, const Tensor& indices, std::int64_t rows, std::int64_t least) {
    const std::int32_t* at = indices.data<std::int32_t>();
    for (std::int64_t i = 0; i < indices.numel(); ++i)
        check(at[i] >= least && at[i] < rows, "{}: indices[{}] is {}, but x has {} rows", op, i, at[i], rows);
}

}  // namespace

Tensor gather_forward(const Tensor& x, const Tensor& indices) {
    check_defined("gather", "x", x);
    check(x.rank() >= 1, "gather: x is a scalar, wanted at least one axis");
    check_dtype("gather", "indices", indices, DType::i32);
    check_rank("gather", "indices", indices, 1);
    check_device("gather", {{"x", x}, {"indices", indices}});
    Tensor y = Tensor::empty(with_rows(x.shape(), indices.dim(0)), x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        gather_forward_cuda(x, indices, y);
        return y;
    }
    check_indices("gather", indices, x.dim(0), 0);
    const std::int64_t bytes = row_size(x) * size_of(x.dtype());
    const std::byte* from = x.bytes_data();
    std::byte* to = y.mutable_bytes_data();
    const std::int32_t* at = indices.data<std::int32_t>();
    parallel_for(indices.numel(), grain_for(bytes / 4), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            std::memcpy(to + i * bytes, from + at[i] * bytes, static_cast<std::size_t>(bytes));
    });
    return y;
}

PlacesOfIndices places_of_indices(const std::int32_t* indices, std::int64_t n, std::int64_t bound) {
    // First the number of places of each index, then where the next one goes.
    std::vector<std::int64_t> next(static_cast<std::size_t>(bound), 0);
    for (std::int64_t i = 0; i < n; ++i)
        if (indices[i] >= 0) ++next[static_cast<std::size_t>(indices[i])];
    PlacesOfIndices result;
    std::int64_t total = 0;
    for (std::size_t k = 0; k < next.size(); ++k) {
        if (next[k] == 0) continue;
        result.indices.push_back(static_cast<std::int32_t>(k));
        result.begin.push_back(total);
        const std::int64_t count = next[k];
        next[k] = total;
        total += count;
    }
    result.begin.push_back(total);
    result.places.resize(static_cast<std::size_t>(total));
    for (std::int64_t i = 0; i < n; ++i)
        if (indices[i] >= 0) result.places[static_cast<std::size_t>(next[static_cast<std::size_t>(indices[i])]++)] = i;
    return result;
}

void gather_backward(const Tensor& dy, const Tensor& indices, Tensor& dx, double factor) {
    check_defined("gather_backward", "dx", dx);
    check(dx.rank() >= 1, "gather_backward: dx is a scalar, wanted at least one axis");
    check_dtype("gather_backward", "indices", indices, DType::i32);
    check_rank("gather_backward", "indices", indices, 1);
    check_shape("gather_backward", "dy", dy, with_rows(dx.shape(), indices.dim(0)));
    check_dtype("gather_backward", "dy", dy, dx.dtype());
    check_device("gather_backward", {{"dx", dx}, {"indices", indices}, {"dy", dy}});
    if (dx.device() == Device::cuda) return gather_backward_cuda(dy, indices, dx, factor);
    check_indices("gather_backward", indices, dx.dim(0), std::numeric_limits<std::int32_t>::min());
    const PlacesOfIndices sorted = places_of_indices(indices.data<std::int32_t>(), indices.numel(), dx.dim(0));
    const std::int64_t cols = row_size(dx);
    dispatch_real("gather_backward", dx, [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        T* to = dx.mutable_data<T>();
        const T scale = static_cast<T>(factor);
        const auto distinct = static_cast<std::int64_t>(sorted.indices.size());
        parallel_for(distinct, grain_for(2 * cols), [&](std::int64_t begin, std::int64_t end) {
            for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
                T* sum = to + sorted.indices[k] * cols;
                for (auto p = static_cast<std::size_t>(sorted.begin[k]); p < static_cast<std::size_t>(sorted.begin[k + 1]); ++p) {
                    const T* row = from + sorted.places[p] * cols;
                    for (std::int64_t c = 0; c < cols; ++c) sum[c] += scale * row[c];
                }
            }
        });
    });
}

}  // namespace heddle::kernels
