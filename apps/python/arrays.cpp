#include "apps/python/arrays.h"

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "core/format.h"

namespace heddle::python {
namespace {

using AnyArray = nb::ndarray<nb::ro>;

std::string python_type(nb::handle object) { return nb::cast<std::string>(nb::str(object.type().attr("__name__"))); }

AnyArray imported(const nb::object& object, const std::string& what) {
    AnyArray array;
    if (nb::try_cast(object, array)) return array;
    // Lists of numbers, and arrays that refuse: NumPy takes the former and says why for the latter.
    const nb::object converted = nb::module_::import_("numpy").attr("asarray")(object);
    if (nb::try_cast(converted, array)) return array;
    const nb::object dtype = converted.attr("dtype");
    const std::string named = nb::cast<std::string>(nb::str(dtype));
    if (!nb::cast<bool>(dtype.attr("isnative")))
        throw UsageError(
            fmt::format("{}: got elements of dtype {}, in the byte order of other machines; convert the array, with "
                        "x.astype(x.dtype.newbyteorder('=')) for example",
                        what, named));
    throw UsageError(fmt::format("{}: got {} of dtype {}, wanted an array of numbers", what, python_type(object), named));
}

// How the elements are stored, and what they become.
struct Elements {
    DType dtype;
    bool is_i64 = false;
};

std::optional<Elements> elements_of(const nb::dlpack::dtype& dtype) {
    using Code = nb::dlpack::dtype_code;
    const auto is = [&](Code code, int bits) {
        return dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits && dtype.lanes == 1;
    };
    if (is(Code::Float, 64)) return Elements{DType::f64};
    if (is(Code::Float, 32)) return Elements{DType::f32};
    if (is(Code::Bfloat, 16)) return Elements{DType::bf16};
    if (is(Code::Int, 32)) return Elements{DType::i32};
    if (is(Code::Int, 64)) return Elements{DType::i32, true};
    if (is(Code::UInt, 8) || is(Code::Bool, 8)) return Elements{DType::u8};
    return {};
}

bool contiguous(const AnyArray& array) {
    std::int64_t wanted = 1;
    for (std::size_t axis = array.ndim(); axis-- > 0;) {
        const auto extent = static_cast<std::int64_t>(array.shape(axis));
        if (extent != 1 && array.stride(axis) != wanted) return false;
        wanted *= extent;
    }
    return true;
}

// Copies the elements of a strided array, of `size` bytes each, to `to` in row-major order.
void copy_strided(const AnyArray& array, std::size_t size, std::byte* to) {
    const std::size_t axes = array.ndim();
    std::vector<std::size_t> at(axes, 0);
    const auto* const from = static_cast<const std::byte*>(array.data());
    for (std::size_t i = 0; i < array.size(); ++i) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < axes; ++axis) offset += static_cast<std::int64_t>(at[axis]) * array.stride(axis);
        std::memcpy(to + i * size, from + offset * static_cast<std::int64_t>(size), size);
        for (std::size_t axis = axes; axis-- > 0;) {
            if (++at[axis] < array.shape(axis)) break;
            at[axis] = 0;
        }
    }
}

Tensor narrowed(const AnyArray& array, const Shape& shape, const std::string& what) {
    std::vector<std::int64_t> wide(array.size());
    copy_strided(array, sizeof(std::int64_t), reinterpret_cast<std::byte*>(wide.data()));
    std::vector<std::int32_t> numbers;
    for (const std::int64_t number : wide) {
        check(number >= std::numeric_limits<std::int32_t>::min() && number <= std::numeric_limits<std::int32_t>::max(),
              "{}: the number {} needs more than 32 bits", what, number);
        numbers.push_back(static_cast<std::int32_t>(number));
    }
    return Tensor::from(numbers, shape);
}

}  // namespace

Tensor Array::tensor(const std::string& what) const {
    const AnyArray array = imported(object, what);
    check_usage(array.device_type() == nb::device::cpu::value,
                fmt::format("{}: the array lies on another device; copy it to the host, with .cpu() for example", what));
    const std::optional<Elements> elements = elements_of(array.dtype());
    const nb::dlpack::dtype type = array.dtype();
    if (!elements)
        throw UsageError(
            fmt::format("{}: got elements of {} bits (DLPack's type {}), wanted float64, float32, bfloat16, int32, "
                        "int64, uint8 or bool; convert the array",
                        what, type.bits, type.code));
    check_usage(array.ndim() <= Shape::kMaxRank,
                fmt::format("{}: got {} axes, at most {} are possible", what, array.ndim(), Shape::kMaxRank));
    Shape shape;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape.append(static_cast<std::int64_t>(array.shape(axis)));
    if (elements->is_i64) return narrowed(array, shape, what);
    const auto size = static_cast<std::size_t>(size_of(elements->dtype));
    const bool aligned = reinterpret_cast<std::uintptr_t>(array.data()) % size == 0;
    if (contiguous(array) && aligned && array.size() > 0)
        return Tensor::over(const_cast<void*>(array.data()), shape, elements->dtype, std::make_shared<AnyArray>(array));
    Tensor copy = Tensor::empty(shape, elements->dtype);
    copy_strided(array, size, copy.mutable_bytes_data());
    return copy;
}

nb::object numpy_array(const Tensor& tensor) {
    if (tensor.dtype() == DType::bf16) return numpy_array(tensor.to(DType::f32));
    const nb::dlpack::dtype type = tensor.dtype() == DType::f64   ? nb::dtype<double>()
                                   : tensor.dtype() == DType::f32 ? nb::dtype<float>()
                                   : tensor.dtype() == DType::i32 ? nb::dtype<std::int32_t>()
                                                                  : nb::dtype<std::uint8_t>();
    std::vector<std::size_t> shape;
    for (int axis = 0; axis < tensor.rank(); ++axis) shape.push_back(static_cast<std::size_t>(tensor.dim(axis)));
    auto* const kept = new Tensor(tensor);
    const nb::capsule owner(kept, [](void* held) noexcept { delete static_cast<Tensor*>(held); });
    return nb::cast(nb::ndarray<nb::numpy>(kept->mutable_bytes_data(), shape.size(), shape.data(), owner, nullptr, type));
}

}  // namespace heddle::python
