#include "nn/init.h"

#include <cmath>

#include "core/random.h"

namespace heddle::nn {

namespace {

void fill_normally(Tensor& tensor, double deviation, std::optional<std::uint64_t> key) {
    key ? fill_normal(tensor, 0, deviation, *key) : tensor.fill_(0);
}

}  // namespace

void fill_xavier_uniform(Tensor weight, std::optional<std::uint64_t> key) {
    const double bound = std::sqrt(6.0 / static_cast<double>(weight.dim(0) + weight.dim(1)));
    key ? fill_uniform(weight, -bound, bound, *key) : weight.fill_(0);
}

void fill_embedding(Tensor table, std::optional<std::uint64_t> key) {
    fill_normally(table, 1 / std::sqrt(static_cast<double>(table.cols())), key);
}

void fill_unit(Tensor table, std::optional<std::uint64_t> key) { fill_normally(table, 1, key); }

}  // namespace heddle::nn
