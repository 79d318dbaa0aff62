// An op of one's own, softplus, with its CPU loop, its CUDA kernel (custom_op.cu) and the proof of its gradient:
//
//     y  = log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)      the second form cannot overflow
//     dx = dy / (1 + e^-x)
//
// docs/install.md says how an installed Heddle builds it. docs/add-an-op.md describes each step of an op that becomes a part of
// Heddle.
#include "custom_op.h"

#include <heddle/core/dispatch.h>
#include <heddle/core/parallel.h>
#include <heddle/heddle.h>

#include <cmath>

namespace example {

using namespace heddle;

Tensor softplus_forward(const Tensor& x) {
    Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        softplus_forward_cuda(x, y);
        return y;
    }
    dispatch_float("softplus", x.dtype(), [&]<class T>(TypeTag<T>) {
        parallel_for(x.numel(), grain_for(40),
                     [from = x.data<T>(), to = y.mutable_data<T>()](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i)
                             to[i] = std::max(from[i], T(0)) + std::log1p(std::exp(-std::abs(from[i])));
                     });
    });
    return y;
}

Tensor softplus_backward(const Tensor& dy, const Tensor& x) {
    Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
    if (x.device() == Device::cuda) {
        softplus_backward_cuda(dy, x, dx);
        return dx;
    }
    dispatch_float("softplus_backward", x.dtype(), [&]<class T>(TypeTag<T>) {
        const T *gradient = dy.data<T>(), *from = x.data<T>();
        parallel_for(x.numel(), grain_for(20), [gradient, from, to = dx.mutable_data<T>()](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = gradient[i] / (1 + std::exp(-from[i]));
        });
    });
    return dx;
}

// On the tape: backward gets the gradient of y and the tensors in `saved`, and gives that of input 0.
Variable softplus(const Variable& x, Where where = Where::current()) {
    return record(softplus_forward(x.value()),
                  {.op = "softplus", .where = where, .inputs = {x}, .saved = {x.value()}, .backward = [](Gradients& g) {
                       g.give(0, softplus_backward(g.output(), g.saved(0)));
                   }});
}

// Compares the gradient with central differences; the sizes make threads work on whole vectors and on the rest of an array.
bool proven(Device device) {
    for (const std::int64_t cols : {1, 33, 129}) {
        const auto report =
            gradcheck([](auto in) { return example::softplus(in[0]); }, {random_input({3, cols}, 1, 3)}, {.device = device});
        if (!report.passed) {
            fmt::print("{}\n", report.message);
            return false;
        }
    }
    return true;
}

}  // namespace example

int main() {
    using namespace heddle;
    const Tensor x = Tensor::from<float>({-100, -1, 0, 1, 100}, {5});
    fmt::print("softplus of {}\nis          {}\n", x, example::softplus(x));
    if (!example::proven(Device::cpu)) return 1;
    fmt::print("proven on the CPU\n");
    if (!device::available()) return 0;
    if (!example::proven(Device::cuda)) return 1;
    fmt::print("proven on {}\n", device::description());
    // The kernel's own f32 arithmetic, against the loop above in f64.
    const Tensor sample = Tensor::randn({1000}, 1);
    const auto wanted = example::softplus_forward(sample.to(DType::f64)).to_vector();
    const auto computed = example::softplus_forward(sample.to(Device::cuda)).to_vector();
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) worst = std::max(worst, std::abs(computed[i] - wanted[i]));
    fmt::print("f32 kernel: largest error {:.1e}\n", worst);
    return worst <= 1e-6 ? 0 : 1;
}
