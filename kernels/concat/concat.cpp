#include "kernels/concat/concat.h"

#include "core/check.h"
#include "core/format.h"
#include "kernels/slice/slice.h"

namespace heddle::kernels {

Tensor concat_forward(std::span<const Tensor> parts, int axis) {
    check(!parts.empty(), "concat: no parts given, wanted at least one");
    const Tensor& first = parts.front();
    check_defined("concat", "parts[0]", first);
    const int at = counted_axis("concat", first.shape(), axis);
    std::int64_t extent = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        check(parts[i].defined(), "concat: parts[{}] is an undefined tensor", i);
        Shape wanted = first.shape();
        if (parts[i].rank() == first.rank()) wanted.set(at, parts[i].dim(at));
        check(parts[i].shape() == wanted, "concat: parts[{}] has shape {}, which does not continue {} along axis {}", i,
              parts[i].shape(), first.shape(), axis);
        check(parts[i].dtype() == first.dtype(), "concat: parts[{}] is {}, but parts[0] is {}", i, parts[i].dtype(),
              first.dtype());
        check_device("concat", {{"parts[0]", first}, {"a part", parts[i]}});
        extent += wanted[at];
    }
    Shape shape = first.shape();
    shape.set(at, extent);
    Tensor y = Tensor::empty(shape, first.dtype(), first.device());
    if (y.device() == Device::cuda) {
        concat_forward_cuda(parts, at, y);
        return y;
    }
    std::int64_t begin = 0;
    for (const Tensor& part : parts) {
        place_slice(part, at, begin, y);
        begin += part.dim(at);
    }
    return y;
}

Tensor concat_backward(const Tensor& dy, int axis, std::int64_t begin, std::int64_t extent) {
    return slice_forward(dy, axis, begin, begin + extent);
}

}  // namespace heddle::kernels
