// Sums, means and maxima on the tape.
#include "kernels/reduce/reduce.h"

#include "autograd/bench_cases.h"
#include "autograd/ops.h"
#include "autograd/proofs.h"

namespace heddle::ops {

Variable sum(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::sum_forward(x.value(), axis, keep);
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_backward(g.output(), shape, axis));
                      }});
}

Variable mean(const Variable& x, int axis, bool keep, Where where) {
    Tensor y = kernels::mean_forward(x.value(), axis, keep);
    return record(y, {.op = "mean", .where = where, .inputs = {x}, .backward = [axis, shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::mean_backward(g.output(), shape, axis));
                      }});
}

Variable max(const Variable& x, int axis, bool keep, Where where) {
    kernels::Maximum result = kernels::max_forward(x.value(), axis, keep);
    return record(result.y, {.op = "max",
                             .where = where,
                             .inputs = {x},
                             .saved = {result.indices},
                             .backward = [axis, shape = x.shape()](Gradients& g) {
                                 g.give(0, kernels::max_backward(g.output(), g.saved(0), shape, axis));
                             }});
}

Variable sum(const Variable& x, Where where) {
    Tensor y = kernels::sum_all_forward(x.value());
    return record(y, {.op = "sum", .where = where, .inputs = {x}, .backward = [shape = x.shape()](Gradients& g) {
                          g.give(0, kernels::sum_all_backward(g.output(), shape));
                      }});
}

}  // namespace heddle::ops

namespace heddle::proofs {

std::vector<GradientCase> reduce() {
    // A permutation of well separated numbers: the maximum has a kink where two of them meet.
    Tensor distinct = Tensor::empty({3, 4, 5}, DType::f64);
    for (std::int64_t i = 0; i < 60; ++i) distinct.mutable_data<double>()[i] = 0.1 * static_cast<double>(i * 37 % 60) - 3;
    const Tensor x = random_input({3, 4, 5}, 1);
    const auto keep_of = [](int axis) {
        return axis == 1 ? "the middle axis, kept" : axis == 0 ? "the first axis" : "the last axis";
    };
    std::vector<GradientCase> cases;
    for (const int axis : {0, 1, -1}) {
        const bool keep = axis == 1;
        cases.push_back({"sum", keep_of(axis), [=](auto in) { return ops::sum(in[0], axis, keep); }, {x}});
        cases.push_back({"mean", keep_of(axis), [=](auto in) { return ops::mean(in[0], axis, keep); }, {x}});
        cases.push_back({"max", keep_of(axis), [=](auto in) { return ops::max(in[0], axis, keep); }, {distinct}});
    }
    cases.push_back({"sum", "all elements", [](auto in) { return ops::sum(in[0]); }, {x}});
    return cases;
}

}  // namespace heddle::proofs

namespace heddle::benches {

std::vector<OpCase> reduce(const Setting& on, std::int64_t rows, std::int64_t cols) {
    return {
        row_case(on, rows, cols, "sum", " over columns", 1, 1, [](const RowInputs& in) { return ops::sum(fresh(in.x), -1); }),
        row_case(on, rows, cols, "max", " over columns", 1, 1, [](const RowInputs& in) { return ops::max(fresh(in.x), -1); })};
}

}  // namespace heddle::benches
