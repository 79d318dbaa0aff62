// Exercise softmax-gradient: the node of a softmax over rows. The page is softmax-gradient.md.
#include <algorithm>
#include <cmath>

#include "exercise.h"

Variable softmax(const Variable& x) {
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    for (int r = 0; r < x.rows(); ++r) {
        const auto from = x.value().values<double>().subspan(r * x.cols(), x.cols());
        const auto to = y.mutable_values<double>().subspan(r * x.cols(), x.cols());
        const double largest = *std::max_element(from.begin(), from.end());
        double sum = 0;
        for (int c = 0; c < x.cols(); ++c) sum += to[c] = std::exp(from[c] - largest);
        for (int c = 0; c < x.cols(); ++c) to[c] /= sum;
    }
    // This node has no backward yet, and saves nothing for it.
    return record(y, {.op = "softmax", .where = Where::current(), .inputs = {x}});
}
