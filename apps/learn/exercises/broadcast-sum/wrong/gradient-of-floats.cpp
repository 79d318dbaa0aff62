// verdict: gradient line 11: gave input 1 a gradient [4] f32, wanted [4] f64; Tensor::empty(shape, DType::f64) makes f64
#include "exercise.h"

Variable add_bias(const Variable& x, const Variable& b) {
    Tensor y = Tensor::empty(x.shape(), DType::f64);
    for (int r = 0; r < x.rows(); ++r)
        for (int c = 0; c < x.cols(); ++c) {
            const int i = r * x.cols() + c;
            y.mutable_values<double>()[i] = x.value().values<double>()[i] + b.value().values<double>()[c];
        }
    return record(y, {.op = "add_bias", .where = Where::current(), .inputs = {x, b}, .backward = [](Gradients& g) {
                          const Tensor dy = g.output();
                          g.give(0, dy);
                          if (!g.needs(1)) return;
                          Tensor db = Tensor::zeros({dy.cols()});
                          for (int r = 0; r < dy.rows(); ++r)
                              for (int c = 0; c < dy.cols(); ++c)
                                  db.mutable_values<float>()[c] += dy.values<double>()[r * dy.cols() + c];
                          g.give(1, db);
                      }});
}
