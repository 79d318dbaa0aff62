// Argument checks shared by all ops, so that their errors have the same wording.
#pragma once

#include <initializer_list>

#include "core/dispatch.h"
#include "core/tensor.h"

namespace heddle {

/// Error "op: argument has shape [..], wanted [..]" unless the shapes agree.
void check_shape(const char* op, const char* argument, const Tensor& tensor, const Shape& wanted);
/// Error unless `tensor` is defined and has the wanted dtype.
void check_dtype(const char* op, const char* argument, const Tensor& tensor, DType wanted);
/// Error unless `tensor` has `rank` axes.
void check_rank(const char* op, const char* argument, const Tensor& tensor, int rank);
/// Error unless `tensor` is defined.
void check_defined(const char* op, const char* argument, const Tensor& tensor);
/// Error "op: argument lies on cpu, wanted on cuda; move it with to()" unless `tensor` is on `wanted`. Undefined tensors pass.
void check_device(const char* op, const char* argument, const Tensor& tensor, Device wanted);

/// An argument of an op and its name.
struct Argument {
    const char* name;
    const Tensor& tensor;
};
/// Error "op: mask lies on cpu, but x on cuda; move it with to()" unless all are on the device of the first. Undefined tensors
/// pass.
void check_device(const char* op, std::initializer_list<Argument> arguments);

/// dispatch_float for an op's CPU path. Error that names `op` when `tensor` is on CUDA: the op then has no CUDA path.
template <class Body>
void dispatch_float(const char* op, const Tensor& tensor, Body&& body) {
    if (tensor.device() != Device::cpu) fail(std::string(op) + ": has no CUDA kernel; move its arguments to the CPU with to()");
    dispatch_float(op, tensor.dtype(), std::forward<Body>(body));
}

}  // namespace heddle
