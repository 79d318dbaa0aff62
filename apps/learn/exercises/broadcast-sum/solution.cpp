//: Exercise broadcast-sum: the gradient of a bias that is added to each row. The page is broadcast-sum.md.
#include "exercise.h"

Variable add_bias(const Variable& x, const Variable& b) {
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    for (int r = 0; r < x.rows(); ++r)
        for (int c = 0; c < x.cols(); ++c) {
            const int i = r * x.cols() + c;
            y.mutable_values<double>()[i] = x.value().values<double>()[i] + b.value().values<double>()[c];
        }
    return record(y, {.op = "add_bias", .where = Where::current(), .inputs = {x, b}, .backward = [](Gradients& g) {
#ifdef STARTER
                          g.give(0, g.output());
                          // The gradient of b.
#else
                          const Tensor dy = g.output();
                          g.give(0, dy);
                          if (!g.needs(1)) return;
                          Tensor db = g.accumulate_into(1);  // what other nodes gave is in it already
                          for (int r = 0; r < dy.rows(); ++r)
                              for (int c = 0; c < dy.cols(); ++c)
                                  db.mutable_values<double>()[c] += dy.values<double>()[r * dy.cols() + c];
#endif
                      }});
}
