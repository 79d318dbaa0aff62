#include "kernels/permute/permute.h"

#include <array>
#include <cstring>

#include "core/check.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// `axes` counted from the front, each checked to come once.
std::vector<int> ordered(const char* op, const Shape& shape, std::span<const int> axes) {
    const int rank = shape.rank();
    check(static_cast<int>(axes.size()) == rank, "{}: {} axes given for shape {}, which has {}", op, axes.size(), shape, rank);
    std::vector<int> order;
    std::vector<bool> seen(axes.size(), false);
    for (const int axis : axes) {
        const int at = axis < 0 ? axis + rank : axis;
        check(at >= 0 && at < rank, "{}: shape {} has no axis {}", op, shape, axis);
        check(!seen[static_cast<std::size_t>(at)], "{}: axis {} is named twice", op, axis);
        seen[static_cast<std::size_t>(at)] = true;
        order.push_back(at);
    }
    return order;
}

// Copies one row of y: `cols` elements that lie `step` elements apart in x.
template <class Element>
void copy_row(const std::byte* x, std::byte* y, std::int64_t cols, std::int64_t step) {
    const auto size = static_cast<std::int64_t>(sizeof(Element));
    for (std::int64_t c = 0; c < cols; ++c) std::memcpy(y + c * size, x + c * step * size, sizeof(Element));
}

void copy_row(const std::byte* x, std::byte* y, std::int64_t cols, std::int64_t step, std::int64_t size) {
    if (step == 1)
        std::memcpy(y, x, static_cast<std::size_t>(cols * size));
    else if (size == 8)
        copy_row<std::uint64_t>(x, y, cols, step);
    else if (size == 4)
        copy_row<std::uint32_t>(x, y, cols, step);
    else if (size == 16)
        copy_row<std::array<std::uint64_t, 2>>(x, y, cols, step);
    else if (size == 2)
        copy_row<std::uint16_t>(x, y, cols, step);
    else
        copy_row<std::uint8_t>(x, y, cols, step);
}

}  // namespace

Tensor permute_forward(const Tensor& x, std::span<const int> axes) {
    check_defined("permute", "x", x);
    const std::vector<int> order = ordered("permute", x.shape(), axes);
    if (order.empty()) return x.clone();
    std::vector<std::int64_t> stride(order.size(), 1);
    for (std::size_t i = order.size() - 1; i > 0; --i) stride[i - 1] = stride[i] * x.dim(static_cast<int>(i));
    Shape shape;
    for (const int axis : order) shape.append(x.dim(axis));
    Tensor y = Tensor::empty(shape, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        permute_cuda(x, order, y);
        return y;
    }
    const std::int64_t size = size_of(x.dtype()), cols = y.cols();
    const std::int64_t step = stride[static_cast<std::size_t>(order.back())];
    const std::byte* from = x.bytes_data();
    std::byte* to = y.mutable_bytes_data();
    parallel_for(y.numel() == 0 ? 0 : y.rows(), grain_for(2 * cols), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            std::int64_t offset = 0, rest = row;
            for (int k = shape.rank() - 2; k >= 0; --k) {
                offset += rest % shape[k] * stride[static_cast<std::size_t>(order[static_cast<std::size_t>(k)])];
                rest /= shape[k];
            }
            copy_row(from + offset * size, to + row * cols * size, cols, step, size);
        }
    });
    return y;
}

Tensor permute_backward(const Tensor& dy, std::span<const int> axes) {
    check_defined("permute_backward", "dy", dy);
    const std::vector<int> order = ordered("permute_backward", dy.shape(), axes);
    std::vector<int> inverse(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) inverse[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
    return permute_forward(dy, inverse);
}

}  // namespace heddle::kernels
