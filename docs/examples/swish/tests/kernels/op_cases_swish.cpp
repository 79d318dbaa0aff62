#include "kernels/swish/swish.h"

#include "tests/kernels/op_cases.h"

namespace heddle::kernels {

std::vector<OpCase> swish_cases() {
    std::vector<OpCase> cases;
    for (const Shape& shape : {Shape{0, 3}, {3, 0}, {1, 1}, {31, 7}, {32, 8}, {33, 127}, {257, 1025}}) {
        // Exponential and division in f32: some units in the last place of the largest result.
        OpCase one{.what = shape.str(),
                   .inputs = {numbers(shape, 1, 0, 3), numbers({shape.cols()}, 2, 1, 2)},
                   .run = [](const Tensors& in) { return Tensors{swish_forward(in[0], in[1])}; },
                   .allowed = {.f64 = 1e-13, .f32 = 2e-6},
                   .by_row = 1,
                   .nan = NanSpreads::nowhere};
        cases.push_back(one);
        one.what += ", backward";
        one.inputs.insert(one.inputs.end(), {numbers(shape, 3), Tensor::full({shape.cols()}, 0.5, DType::f64)});
        one.run = [](const Tensors& in) { return Tensors{swish_backward(in[2], in[0], in[1], in[3]), in[3]}; };
        one.sums = 1;
        one.by_row = 0;
        one.nan = NanSpreads::unknown;
        cases.push_back(one);
    }
    return cases;
}

}  // namespace heddle::kernels
