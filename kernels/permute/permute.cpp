#include "kernels/permute/permute.h"

#include <algorithm>
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
        const int at = counted_axis(op, shape, axis);
        check(!seen[static_cast<std::size_t>(at)], "{}: axis {} is named twice", op, axis);
        seen[static_cast<std::size_t>(at)] = true;
        order.push_back(at);
    }
    return order;
}

// y's axes, and how far apart in x the neighbours along each lie. Those of extent 1 are left out, and those that stay neighbours
// are one: the way to copy depends on what moves.
struct Merged {
    Shape shape;
    std::vector<std::int64_t> steps;
};

Merged merged(const Shape& from, const std::vector<int>& order) {
    std::vector<std::int64_t> strides(order.size(), 1);
    for (std::size_t i = order.size(); i-- > 1;) strides[i - 1] = strides[i] * from[static_cast<int>(i)];
    Merged y;
    for (const int axis : order) {
        const std::int64_t extent = from[axis], step = strides[static_cast<std::size_t>(axis)];
        if (extent == 1) continue;
        if (!y.steps.empty() && y.steps.back() == extent * step) {
            y.shape.set(-1, y.shape.cols() * extent);
            y.steps.back() = step;
        } else {
            y.shape.append(extent);
            y.steps.push_back(step);
        }
    }
    return y;
}

constexpr std::int64_t kTile = 64;  // four cache lines of f32 each way

// y[r * pitch + c] = x[c * step + r] for r < rows, c < cols, a tile at a time: its elements share cache lines on both sides.
template <class Element>
void transpose(const std::byte* from, std::byte* to, std::int64_t rows, std::int64_t cols, std::int64_t step,
               std::int64_t pitch) {
    const auto copy = [&](std::int64_t r, std::int64_t c) {
        std::memcpy(to + (r * pitch + c) * std::int64_t{sizeof(Element)}, from + (c * step + r) * std::int64_t{sizeof(Element)},
                    sizeof(Element));
    };
    for (std::int64_t column = 0; column < cols; column += kTile)
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = column; c < std::min(cols, column + kTile); ++c) copy(r, c);
}

void transpose(const std::byte* from, std::byte* to, std::int64_t rows, std::int64_t cols, std::int64_t step, std::int64_t pitch,
               std::int64_t size) {
    if (size == 8)
        transpose<std::uint64_t>(from, to, rows, cols, step, pitch);
    else if (size == 4)
        transpose<std::uint32_t>(from, to, rows, cols, step, pitch);
    else if (size == 16)
        transpose<std::array<std::uint64_t, 2>>(from, to, rows, cols, step, pitch);
    else if (size == 2)
        transpose<std::uint16_t>(from, to, rows, cols, step, pitch);
    else
        transpose<std::uint8_t>(from, to, rows, cols, step, pitch);
}

}  // namespace

Tensor permute_forward(const Tensor& x, std::span<const int> axes) {
    check_defined("permute", "x", x);
    const std::vector<int> order = ordered("permute", x.shape(), axes);
    Shape permuted;
    for (const int axis : order) permuted.append(x.dim(axis));
    Tensor y = Tensor::empty(permuted, x.dtype(), x.device());
    if (y.device() == Device::cuda) {
        permute_cuda(x, order, y);
        return y;
    }
    if (y.numel() == 0) return y;
    const Merged axes_of_y = merged(x.shape(), order);
    const Shape& shape = axes_of_y.shape;
    const std::vector<std::int64_t>& steps = axes_of_y.steps;
    const std::int64_t size = size_of(x.dtype()), cols = shape.cols();
    const std::byte* from = x.bytes_data();
    std::byte* to = y.mutable_bytes_data();
    if (shape.rank() < 2) {  // nothing moves
        std::memcpy(to, from, static_cast<std::size_t>(cols * size));
        return y;
    }
    const std::int64_t step = steps.back();
    // Where x's last axis went; the others but y's last one are walked in y's order.
    const auto turned = static_cast<int>(std::find(steps.begin(), steps.end(), 1) - steps.begin());
    const bool in_place = turned == shape.rank() - 1;
    const std::int64_t along = in_place ? 1 : shape[turned], blocks = (along + kTile - 1) / kTile;
    std::int64_t pitch = 1;  // from one element of that axis to the next, in y
    for (int k = turned + 1; k < shape.rank(); ++k) pitch *= shape[k];
    const std::int64_t others = y.numel() / cols / along;
    parallel_for(others * blocks, grain_for(2 * cols * std::min(along, kTile)), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
            const std::int64_t first = piece % blocks * kTile;
            std::int64_t source = in_place ? 0 : first, target = in_place ? 0 : first * pitch, rest = piece / blocks;
            std::int64_t places = cols;
            for (int k = shape.rank() - 2; k >= 0; places *= shape[k], --k) {
                if (k == turned) continue;
                source += rest % shape[k] * steps[static_cast<std::size_t>(k)];
                target += rest % shape[k] * places;
                rest /= shape[k];
            }
            if (in_place)
                std::memcpy(to + target * size, from + source * size, static_cast<std::size_t>(cols * size));
            else
                transpose(from + source * size, to + target * size, std::min(kTile, along - first), cols, step, pitch, size);
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
