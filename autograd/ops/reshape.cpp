#include "autograd/ops.h"

namespace heddle::inline ops {

Variable reshape(const Variable& x, const NewShape& shape, Where where) {
    Tensor y = x.value().reshape(shape);
    return record(y, {.op = "reshape", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          // In two steps, so that the gradient's storage has one owner and is passed on without a copy.
                          Tensor gradient = g.take_output();
                          gradient = gradient.reshape(shape);
                          g.give(0, std::move(gradient));
                      }});
}

}  // namespace heddle::inline ops
