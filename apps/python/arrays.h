// Arrays of Python as tensors, and tensors as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "core/tensor.h"

namespace heddle::python {

namespace nb = nanobind;

/// An argument that should be an array: of NumPy, PyTorch, JAX or anything else that speaks DLPack or the buffer protocol, or
/// nested lists of numbers. Any object is accepted here, so that tensor() can say what is wrong.
struct __attribute__((visibility("hidden"))) Array {
    nb::object object;

    /// The array as a tensor. f64, f32, bf16, i32 and u8 that lie contiguously, at any offset, are not copied: the tensor keeps
    /// the array alive and sees later changes. Strided and broadcast arrays are copied, i64 becomes i32, bool u8. Error that
    /// names `what` (the function and its argument) for other types, numbers beyond 32 bits, and arrays that do not lie in the
    /// host's memory.
    Tensor tensor(const std::string& what) const;
};

/// The tensor as a NumPy array over the same memory, which it keeps alive; bf16 is converted to f32.
nb::object numpy_array(const Tensor& tensor);

}  // namespace heddle::python

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<heddle::python::Array> {
    NB_TYPE_CASTER(heddle::python::Array, const_name("numpy.typing.ArrayLike"))

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        if (source.is_none()) return false;
        value.object = borrow(source);
        return true;
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
