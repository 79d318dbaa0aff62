// verdict: gradient line 17: the gradient of input 0, x
#include "exercise.h"

Variable add_bias(const Variable& x, const Variable& b) {
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    for (int r = 0; r < x.rows(); ++r)
        for (int c = 0; c < x.cols(); ++c) {
            const int i = r * x.cols() + c;
            y.mutable_values<double>()[i] = x.value().values<double>()[i] + b.value().values<double>()[c];
        }
    return record(y, {.op = "add_bias", .where = Where::current(), .inputs = {x, b}, .backward = [](Gradients& g) {
                          Tensor dy = g.output();
                          for (int r = 1; r < dy.rows(); ++r)
                              for (int c = 0; c < dy.cols(); ++c) dy.mutable_values<double>()[c] += dy.values<double>()[r * dy.cols() + c];
                          if (g.needs(1)) g.give(1, dy.slice(0, 1).reshape({dy.cols()}));

                          g.give(0, dy);
                      }});
}
