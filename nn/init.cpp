#include "nn/init.h"

#include <cmath>

#include "core/random.h"

namespace heddle::nn {

void fill_xavier_uniform(Tensor weight, std::uint64_t key) {
    const double bound = std::sqrt(6.0 / static_cast<double>(weight.dim(0) + weight.dim(1)));
    fill_uniform(weight, -bound, bound, key);
}

void fill_embedding(Tensor table, std::uint64_t key) {
    fill_normal(table, 0, 1 / std::sqrt(static_cast<double>(table.cols())), key);
}

}  // namespace heddle::nn
