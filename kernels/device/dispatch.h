// From a run-time dtype to a kernel's template argument, for host code in .cu files.
#pragma once

#include <string>

#include "core/dispatch.h"

namespace heddle::device {

/// Calls `body` with the type tag of f32, f64 or bf16; an Error that names `op` for every other dtype.
template <class Body>
void dispatch(const char* op, DType dtype, Body&& body) {
    if (dtype == DType::f32) return body(TypeTag<float>{});
    if (dtype == DType::bf16) return body(TypeTag<bf16>{});
    if (dtype == DType::f64) return body(TypeTag<double>{});
    fail(std::string(op) + ": CUDA kernels compute in f32, bf16 or f64, but were given " + std::string(name(dtype)));
}

}  // namespace heddle::device
