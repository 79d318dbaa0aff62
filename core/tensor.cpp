#include "core/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/device.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 18;  // that one thread copies or sets at a time

/// Copies all bytes of `from` to `to` on any devices; they do not overlap.
void copy_bytes(Tensor& to, const Tensor& from) {
    if (to.bytes() == 0) return;
    if (to.device() == Device::cpu && from.device() == Device::cpu) {
        std::byte* target = to.mutable_bytes_data();
        const std::byte* source = from.bytes_data();
        parallel_for(to.bytes(), kPieceBytes, [=](std::int64_t begin, std::int64_t end) {
            std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
        });
    } else
        device::copy(to.mutable_bytes_data(), to.device(), from.bytes_data(), from.device(), to.bytes());
}

/// Sets all bytes to `byte`.
void fill_bytes(Tensor& tensor, int byte) {
    if (tensor.bytes() == 0) return;
    if (tensor.device() == Device::cpu)
        parallel_for(tensor.bytes(), kPieceBytes, [to = tensor.mutable_bytes_data(), byte](std::int64_t begin, std::int64_t end) {
            std::memset(to + begin, byte, static_cast<std::size_t>(end - begin));
        });
    else
        device::fill(tensor.mutable_bytes_data(), byte, tensor.bytes());
}

bool overlap(const Tensor& a, const Tensor& b) {
    return a.device() == b.device() && a.bytes_data() < b.bytes_data() + b.bytes() && b.bytes_data() < a.bytes_data() + a.bytes();
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
    check(dtype != DType::dual || device == Device::cpu, "tensor: dual numbers lie on the CPU only, not on {}", name(device));
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
    fill_bytes(result, 0);
    return result;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
    Tensor result = empty(shape, dtype, device);
    result.fill_(value);
    return result;
}

Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }

namespace {

std::size_t alignment_of(DType dtype) {
    std::size_t alignment = 1;
    dispatch_all(dtype, [&]<class T>(TypeTag<T>) { alignment = alignof(T); });
    return alignment;
}

// `value` as an element. Error when it is beyond an integer type or no number; a fraction is cut off.
template <class T, class Number>
T fitted(const char* op, Number value) {
    constexpr const char* kError = "{}: the number {} does not fit into {}, which holds {} to {}; give another dtype";
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T> && std::is_integral_v<Number>) {
        const auto number = static_cast<std::int64_t>(value);
        check(number >= Limits::min() && number <= Limits::max(), kError, op, number, dtype_of<T>(), Limits::min(),
              Limits::max());
    } else if constexpr (std::is_integral_v<T>) {
        const double number = std::trunc(to_double(value));
        check(number >= static_cast<double>(Limits::min()) && number <= static_cast<double>(Limits::max()), kError, op,
              to_double(value), dtype_of<T>(), Limits::min(), Limits::max());
    }
    return convert<T>(value);
}

// `number(i)` for i in [0, count), converted to `dtype`: rising or falling numbers, of which the ends are checked.
template <class Number>
Tensor numbers(const char* op, std::int64_t count, DType dtype, Device device, const Number& number) {
    Tensor result;
    dispatch_all(dtype, [&]<class T>(TypeTag<T>) {
        for (const std::int64_t end : {std::int64_t{0}, count - 1})
            if (count > 0) fitted<T>(op, number(end));
        result = Tensor::empty({count}, dtype);
        T* out = result.mutable_data<T>();
        for (std::int64_t i = 0; i < count; ++i) out[i] = convert<T>(number(i));
    });
    return result.to(device);
}

}  // namespace

Tensor Tensor::eye(std::int64_t n, std::int64_t m, DType dtype, Device device) {
    check(n >= 0 && m >= 0, "eye: {} rows and {} columns, wanted at least 0", n, m);
    return numbers("eye", n * m, dtype, device, [m](std::int64_t i) { return i / m == i % m ? 1.0 : 0.0; }).reshape({n, m});
}

Tensor Tensor::range(double begin, double end, double step, DType dtype, Device device) {
    check(step > 0 ? end >= begin : step < 0 && end <= begin, "arange: from {} to {} by {}", begin, end, step);
    const double count = std::ceil((end - begin) / step);
    check(count < 0x1p53, "arange: {} numbers are more than any memory holds", count);
    return numbers("arange", static_cast<std::int64_t>(count), dtype, device,
                   [=](std::int64_t i) { return begin + static_cast<double>(i) * step; });
}

Tensor Tensor::linspace(double begin, double end, std::int64_t count, DType dtype, Device device) {
    check(count >= 0, "linspace: {} numbers, wanted at least 0", count);
    const double step = count > 1 ? (end - begin) / static_cast<double>(count - 1) : 0;
    // From both ends, so that the last number is exactly `end`.
    return numbers("linspace", count, dtype, device, [=](std::int64_t i) {
        return i < (count + 1) / 2 ? begin + step * static_cast<double>(i) : end - step * static_cast<double>(count - 1 - i);
    });
}

Tensor Tensor::arange(std::int64_t count, DType dtype, Device device) {
    check(count >= 0, "arange: {} numbers, wanted at least 0", count);
    return numbers("arange", count, dtype, device, [](std::int64_t i) { return i; });
}

Tensor Tensor::over(void* elements, const Shape& shape, DType dtype, std::shared_ptr<const void> owner) {
    Tensor result;
    result.shape_ = shape;
    result.numel_ = shape.numel();
    result.dtype_ = dtype;
    check(result.numel_ <= (std::int64_t{1} << 60) / 8, "tensor: shape {} is larger than any memory", shape);
    check(elements != nullptr || result.numel_ == 0, "tensor: {} elements of shape {} at a null pointer", result.numel_, shape);
    check(reinterpret_cast<std::uintptr_t>(elements) % alignment_of(dtype) == 0,
          "tensor: the memory is not aligned to the {} bytes that {} needs", alignment_of(dtype), dtype);
    result.storage_ =
        std::make_shared<Storage>(static_cast<std::byte*>(elements), result.numel_ * size_of(dtype), std::move(owner));
    return result;
}

void Tensor::check_fits(std::uint64_t number) {
    check(number <= static_cast<std::uint64_t>(INT64_MAX), "tensor: the number {} does not fit into 63 bits", number);
}

template <class Element>
Tensor Tensor::copied(std::span<const Element> values, const Shape& shape, DType dtype) {
    check(static_cast<std::int64_t>(values.size()) == shape.numel(), "tensor: {} values given for shape {}, which holds {}",
          values.size(), shape, shape.numel());
    Tensor result = empty(shape, dtype);
    dispatch_all(dtype, [&]<class T>(TypeTag<T>) {
        T* out = result.mutable_data<T>();
        if constexpr (std::is_same_v<T, Element>)
            std::copy(values.begin(), values.end(), out);
        else
            for (const Element value : values) *out++ = fitted<T>("tensor", value);
    });
    return result;
}

template <class Element>
Element* Tensor::elements() const {
    check(defined(), "tensor: an undefined tensor has no elements");
    check(dtype_ == dtype_of<Element>(), "tensor: the elements of {} are {}, but were asked for as {}", shape_, dtype_,
          dtype_of<Element>());
    return reinterpret_cast<Element*>(first_byte());
}

void Tensor::check_on_host() const {
    check(device() == Device::cpu, "tensor: the elements of {} lie on cuda; copy them with to(Device::cpu)", shape_);
}

double Tensor::item() const {
    check(numel_ == 1, "tensor: item() wants one element, but the shape is {}", shape_);
    return to_vector().front();
}

std::vector<double> Tensor::to_vector() const {
    if (device() != Device::cpu) return to(Device::cpu).to_vector();
    std::vector<double> values(static_cast<std::size_t>(numel_));
    dispatch_all(dtype_, [&]<class T>(TypeTag<T>) {
        const T* from = data<T>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_double(from[i]);
    });
    return values;
}

const Tensor Tensor::reshape(const NewShape& shape) const {
    Tensor result = *this;
    result.shape_ = shape.holding(numel_, "reshape", shape_);
    return result;
}

const Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
    check(rank() >= 1, "slice: a scalar has no rows");
    const std::int64_t from = begin < 0 ? begin + shape_[0] : begin, to = end < 0 ? end + shape_[0] : end;
    check(0 <= from && from <= to && to <= shape_[0], "slice: rows [{}, {}) of {}", begin, end, shape_);
    begin = from;
    end = to;
    Tensor result = *this;
    const std::int64_t row = shape_[0] == 0 ? 0 : numel_ / shape_[0];
    result.offset_ += begin * row * size_of(dtype_);
    result.shape_.set(0, end - begin);
    result.numel_ = (end - begin) * row;
    return result;
}

Tensor Tensor::at(std::span<const PlaceArgument> places) const {
    check(static_cast<int>(places.size()) <= rank(), "index: {} places, but {} has {} axes", places.size(), shape_, rank());
    Tensor part = *this;
    for (const PlaceArgument& argument : places) {
        const std::int64_t extent = part.shape_[0], place = argument.place, from = place < 0 ? place + extent : place;
        check(0 <= from && from < extent, "index: no place {} in the axis of extent {} of {}", place, extent, shape_);
        part = part.slice(from, from + 1).reshape(Shape(std::span(part.shape_.begin() + 1, part.shape_.end())));
    }
    return part;
}

Tensor Tensor::view_as(DType dtype) const {
    check(bytes() % size_of(dtype) == 0 && offset_ % size_of(dtype) == 0,
          "view: {} bytes at byte {} are no whole number of {} elements", bytes(), offset_, dtype);
    Tensor view = *this;
    view.dtype_ = dtype;
    view.numel_ = bytes() / size_of(dtype);
    view.shape_ = {view.numel_};
    return view;
}

Tensor Tensor::clone() const {
    if (!defined()) return {};
    Tensor result = empty(shape_, dtype_, device());
    copy_bytes(result, *this);
    return result;
}

Tensor Tensor::to(Device device) const {
    if (device == this->device() || !defined()) return *this;
    Tensor result = empty(shape_, dtype_, device);
    copy_bytes(result, *this);
    return result;
}

Tensor Tensor::to(DType dtype) const {
    if (dtype == dtype_ || !defined()) return *this;
    if (device() != Device::cpu) return to(Device::cpu).to(dtype).to(device());
    Tensor result = empty(shape_, dtype, device());
    dispatch_all(dtype_, [&]<class From>(TypeTag<From>) {
        dispatch_all(dtype, [&]<class To>(TypeTag<To>) {
            const From* from = data<From>();
            To* to = result.mutable_data<To>();
            for (std::int64_t i = 0; i < numel_; ++i) to[i] = convert<To>(from[i]);
        });
    });
    return result;
}

// A number that would be rounded to 0 is true.
Tensor Tensor::as_mask() const {
    std::vector<std::uint8_t> mask;
    for (const double value : to_vector()) mask.push_back(value != 0);
    return from(mask, shape_).to(device());
}

void Tensor::fill_(double value, Where where) {
    if (value == 0 && !std::signbit(value))
        fill_bytes(*this, 0);
    else if (device() == Device::cpu)
        dispatch_all(dtype_, [&]<class T>(TypeTag<T>) { std::fill_n(mutable_data<T>(), numel_, fitted<T>("fill", value)); });
    else
        copy_bytes(*this, full(shape_, value, dtype_));
    bump_version(where);
}

void Tensor::copy_(const Tensor& source, Where where) {
    check(defined() && source.defined(), "copy: {} is an undefined tensor", defined() ? "the source" : "the target");
    check(source.shape() == shape_ && source.dtype() == dtype_, "copy: the source is {} {}, but the target is {} {}",
          source.shape(), source.dtype(), shape_, dtype_);
    if (bytes_data() != source.bytes_data() || device() != source.device())
        copy_bytes(*this, overlap(*this, source) ? source.clone() : source);
    bump_version(where);
}

Tensor copy_on_cpu(const Tensor& tensor) { return tensor.device() == Device::cpu ? tensor.clone() : tensor.to(Device::cpu); }

#define HEDDLE_INSTANTIATE(T)                                                   \
    template Tensor Tensor::copied<T>(std::span<const T>, const Shape&, DType); \
    template T* Tensor::elements<T>() const;
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(float)
HEDDLE_INSTANTIATE(bf16)
HEDDLE_INSTANTIATE(std::int32_t)
HEDDLE_INSTANTIATE(std::uint8_t)
HEDDLE_INSTANTIATE(Dual)
#undef HEDDLE_INSTANTIATE
template Tensor Tensor::copied<std::int64_t>(std::span<const std::int64_t>, const Shape&, DType);
template Tensor Tensor::copied<bool>(std::span<const bool>, const Shape&, DType);

}  // namespace heddle
