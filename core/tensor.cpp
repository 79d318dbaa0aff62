#include "core/tensor.h"

#include <algorithm>
#include <cstring>

#include "core/dispatch.h"
#include "core/format.h"

namespace heddle {

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
    Tensor result;
    result.shape_ = shape;
    result.numel_ = shape.numel();
    result.dtype_ = dtype;
    check(result.numel_ <= (std::int64_t{1} << 60) / 8, "tensor: shape {} is larger than any memory", shape);
    result.storage_ = std::make_shared<Storage>(result.numel_ * size_of(dtype), device);
    return result;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
    Tensor result = empty(shape, dtype, device);
    std::memset(result.bytes_data(), 0, static_cast<std::size_t>(result.bytes()));
    return result;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
    Tensor result = empty(shape, dtype, device);
    result.fill_(value);
    return result;
}

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
    check(static_cast<std::int64_t>(values.size()) == shape.numel(), "tensor: {} values given for shape {}, which holds {}",
          values.size(), shape, shape.numel());
    Tensor result = empty(shape, dtype_of<T>());
    std::copy(values.begin(), values.end(), result.data<T>());
    return result;
}

template <class T>
T* Tensor::data() const {
    check(defined(), "tensor: an undefined tensor has no elements");
    check(dtype_ == dtype_of<T>(), "tensor: the elements of {} are {}, but were asked for as {}", shape_, dtype_, dtype_of<T>());
    return reinterpret_cast<T*>(bytes_data());
}

double Tensor::item() const {
    check(numel_ == 1, "tensor: item() wants one element, but the shape is {}", shape_);
    return to_vector().front();
}

std::vector<double> Tensor::to_vector() const {
    std::vector<double> values(static_cast<std::size_t>(numel_));
    dispatch_any(dtype_, [&]<class T>(TypeTag<T>) {
        const T* from = data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_double(from[i]);
    });
    return values;
}

Tensor Tensor::reshape(const Shape& shape) const {
    check(shape.numel() == numel_, "reshape: {} has {} elements, but {} has {}", shape_, numel_, shape, shape.numel());
    Tensor result = *this;
    result.shape_ = shape;
    return result;
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
    check(rank() >= 1, "slice: a scalar has no rows");
    check(0 <= begin && begin <= end && end <= shape_[0], "slice: rows [{}, {}) of {}", begin, end, shape_);
    Tensor result = *this;
    const std::int64_t row = shape_[0] == 0 ? 0 : numel_ / shape_[0];
    result.offset_ += begin * row * size_of(dtype_);
    result.shape_.set(0, end - begin);
    result.numel_ = (end - begin) * row;
    return result;
}

Tensor Tensor::clone() const {
    if (!defined()) return {};
    Tensor result = empty(shape_, dtype_, device());
    std::memcpy(result.bytes_data(), bytes_data(), static_cast<std::size_t>(bytes()));
    return result;
}

Tensor Tensor::to(DType dtype) const {
    if (dtype == dtype_ || !defined()) return *this;
    Tensor result = empty(shape_, dtype, device());
    dispatch_any(dtype_, [&]<class From>(TypeTag<From>) {
        dispatch_any(dtype, [&]<class To>(TypeTag<To>) {
            const From* from = data<From>();
            To* to = result.data<To>();
            for (std::int64_t i = 0; i < numel_; ++i) to[i] = convert<To>(from[i]);
        });
    });
    return result;
}

void Tensor::fill_(double value, Where where) {
    dispatch_any(dtype_, [&]<class T>(TypeTag<T>) { std::fill_n(data<T>(), numel_, convert<T>(value)); });
    bump_version(where);
}

void Tensor::copy_(const Tensor& source, Where where) {
    check(defined() && source.defined(), "copy: {} is an undefined tensor", defined() ? "the source" : "the target");
    check(source.shape() == shape_ && source.dtype() == dtype_, "copy: the source is {} {}, but the target is {} {}",
          source.shape(), source.dtype(), shape_, dtype_);
    std::memmove(bytes_data(), source.bytes_data(), static_cast<std::size_t>(bytes()));
    bump_version(where);
}

#define HEDDLE_INSTANTIATE(T)                                          \
    template Tensor Tensor::from<T>(std::span<const T>, const Shape&); \
    template T* Tensor::data<T>() const;
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(float)
HEDDLE_INSTANTIATE(bf16)
HEDDLE_INSTANTIATE(std::int32_t)
HEDDLE_INSTANTIATE(std::uint8_t)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle
