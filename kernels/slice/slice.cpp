#include "kernels/slice/slice.h"

#include <cstring>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

SliceRuns runs_of(const char* op, const Shape& whole, int axis, std::int64_t begin, std::int64_t end) {
    check(0 <= begin && begin <= end && end <= whole[axis], "{}: [{}, {}) of axis {} of {}", op, begin, end, axis, whole);
    std::int64_t inner = 1;
    SliceRuns runs;
    for (int i = 0; i < whole.rank(); ++i) {
        if (i < axis) runs.outer *= whole[i];
        if (i > axis) inner *= whole[i];
    }
    runs.part = (end - begin) * inner;
    runs.whole = whole[axis] * inner;
    runs.offset = begin * inner;
    return runs;
}

// The runs of `part` in `whole`, after checking that they agree in dtype and all other axes.
SliceRuns runs_of_part(const char* op, const char* argument, const Tensor& part, int axis, std::int64_t begin,
                       const Tensor& whole) {
    check_defined(op, argument, part);
    check_dtype(op, argument, part, whole.dtype());
    check_device(op, argument, part, whole.device());
    const int at = counted_axis(op, whole.shape(), axis);
    Shape wanted = whole.shape();
    if (part.rank() == whole.rank()) wanted.set(at, part.dim(at));
    check_shape(op, argument, part, wanted);
    return runs_of(op, whole.shape(), at, begin, begin + part.dim(at));
}

}  // namespace

Tensor slice_forward(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
    check_defined("slice", "x", x);
    const int at = counted_axis("slice", x.shape(), axis);
    runs_of("slice", x.shape(), at, begin, end);  // before there is a shape with a negative extent
    Shape shape = x.shape();
    shape.set(at, end - begin);
    Tensor y = Tensor::empty(shape, x.dtype(), x.device());
    slice_into(x, at, begin, end, y);
    return y;
}

void slice_into(const Tensor& x, int axis, std::int64_t begin, std::int64_t end, Tensor y) {
    check_defined("slice", "x", x);
    const int at = counted_axis("slice", x.shape(), axis);
    const SliceRuns runs = runs_of("slice", x.shape(), at, begin, end);
    Shape shape = x.shape();
    shape.set(at, end - begin);
    check_shape("slice", "y", y, shape);
    check_dtype("slice", "y", y, x.dtype());
    check_device("slice", "y", y, x.device());
    if (y.device() == Device::cuda) return take_runs_cuda(x, runs, y);
    const std::int64_t size = size_of(x.dtype());
    const std::byte* from = x.bytes_data();
    std::byte* to = y.mutable_bytes_data();
    parallel_for(runs.outer, grain_for(runs.part), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            std::memcpy(to + i * runs.part * size, from + (i * runs.whole + runs.offset) * size,
                        static_cast<std::size_t>(runs.part * size));
    });
}

void slice_backward(const Tensor& dy, int axis, std::int64_t begin, Tensor& dx) {
    const SliceRuns runs = runs_of_part("slice_backward", "dy", dy, axis, begin, dx);
    if (dx.device() == Device::cuda) return add_runs_cuda(dy, runs, dx);
    dispatch_real("slice_backward", dx, [&]<class T>(TypeTag<T>) {
        const T* from = dy.data<T>();
        T* to = dx.mutable_data<T>();
        parallel_for(runs.outer, grain_for(runs.part), [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i)
                for (std::int64_t c = 0; c < runs.part; ++c) to[i * runs.whole + runs.offset + c] += from[i * runs.part + c];
        });
    });
}

void place_slice(const Tensor& part, int axis, std::int64_t begin, Tensor& y) {
    check_defined("place_slice", "y", y);
    const SliceRuns runs = runs_of_part("place_slice", "part", part, axis, begin, y);
    if (y.device() == Device::cuda) return place_runs_cuda(part, runs, y);
    const std::int64_t size = size_of(y.dtype());
    const std::byte* from = part.bytes_data();
    std::byte* to = y.mutable_bytes_data();
    parallel_for(runs.outer, grain_for(runs.part), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            std::memcpy(to + (i * runs.whole + runs.offset) * size, from + i * runs.part * size,
                        static_cast<std::size_t>(runs.part * size));
    });
}

}  // namespace heddle::kernels
