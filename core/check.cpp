#include "core/check.h"

#include "core/format.h"

namespace heddle {

void check_defined(const char* op, const char* argument, const Tensor& tensor) {
    check(tensor.defined(), "{}: {} is an undefined tensor", op, argument);
}

void check_shape(const char* op, const char* argument, const Tensor& tensor, const Shape& wanted) {
    check_defined(op, argument, tensor);
    check(tensor.shape() == wanted, "{}: {} has shape {}, wanted {}", op, argument, tensor.shape(), wanted);
}

void check_dtype(const char* op, const char* argument, const Tensor& tensor, DType wanted) {
    check_defined(op, argument, tensor);
    check(tensor.dtype() == wanted, "{}: {} is {}, wanted {}", op, argument, tensor.dtype(), wanted);
    check(tensor.device() == Device::cpu, "{}: {} lies on a CUDA device, but this build computes on the CPU only", op, argument);
}

void check_rank(const char* op, const char* argument, const Tensor& tensor, int rank) {
    check_defined(op, argument, tensor);
    check(tensor.rank() == rank, "{}: {} has shape {}, wanted {} axes", op, argument, tensor.shape(), rank);
}

}  // namespace heddle
