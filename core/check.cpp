#include "core/check.h"

#include "core/format.h"

namespace heddle {

void fail(const std::string& message) { throw Error(message); }

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
}

void check_rank(const char* op, const char* argument, const Tensor& tensor, int rank) {
    check_defined(op, argument, tensor);
    check(tensor.rank() == rank, "{}: {} has shape {}, wanted {} axes", op, argument, tensor.shape(), rank);
}

void check_device(const char* op, const char* argument, const Tensor& tensor, Device wanted) {
    check(!tensor.defined() || tensor.device() == wanted, "{}: {} lies on {}, wanted on {}; move it with to()", op, argument,
          name(tensor.device()), name(wanted));
}

void check_device(const char* op, std::initializer_list<Argument> arguments) {
    const Argument* first = nullptr;
    for (const Argument& argument : arguments) {
        if (!argument.tensor.defined()) continue;
        if (first == nullptr) first = &argument;
        check(argument.tensor.device() == first->tensor.device(), "{}: {} lies on {}, but {} on {}; move it with to()", op,
              argument.name, name(argument.tensor.device()), first->name, name(first->tensor.device()));
    }
}

}  // namespace heddle
