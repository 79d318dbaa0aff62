#include "nn/sequential.h"

namespace heddle::nn {

Variable Sequential::forward(const Variable& x, Where where) const {
    Variable value = x;
    for (const auto& layer : layers_) value = layer(value, where);
    return value;
}

}  // namespace heddle::nn
