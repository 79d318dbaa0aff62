// The cases of adam.
#include <fmt/format.h>
#include <array>
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "kernels/adam/adam.h"

namespace heddle::adam_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- calls of the kernels

enum Method { kAdam, kAdamW, kSgd };

// p, m, v after a step from p, g, m, v, in plain loops.
Tensors plain_step(const Tensors& in, const Spans& active, Method method, const AdamStep& adam) {
    Tensors out = {in[0].clone(), in[2].clone(), in[3].clone()};
    for (const Span& range : active)
        for (std::int64_t i = range.start; i < range.start + range.length; ++i) {
            double &p = out[0].mutable_data<double>()[i], &m = out[1].mutable_data<double>()[i],
                   &v = out[2].mutable_data<double>()[i];
            const double before = p, t = static_cast<double>(adam.update);
            const double g = adam.gradient_factor * in[1].data<double>()[i] + (adam.decoupled ? 0 : adam.weight_decay * before);
            if (method == kSgd) {
                p -= 0.1 * (m = 0.9 * m + g);
                continue;
            }
            m = adam.beta1 * m + (1 - adam.beta1) * g;
            v = adam.beta2 * v + (1 - adam.beta2) * g * g;
            p -= adam.lr * (m / (1 - std::pow(adam.beta1, t))) / (std::sqrt(v / (1 - std::pow(adam.beta2, t))) + adam.eps);
            if (adam.decoupled) p -= adam.lr * adam.weight_decay * before;
        }
    return out;
}

// inputs: p, g, m, v. Results: p, m, v.
KernelCase update_case(const Spans& active, Method method) {
    const std::int64_t n = active.rows();
    const AdamStep adam{.lr = 0.1, .weight_decay = 0.01, .decoupled = method == kAdamW, .update = 3, .gradient_factor = 0.5};
    return {
        .what = "method " + std::to_string(method) + ", " + std::to_string(active.tokens()) + " active of " + std::to_string(n),
        .inputs = {numbers({n}, 1), numbers({n}, 2), numbers({n}, 3), numbers({n}, 4, 3, 0.3)},
        .run =
            [=](const Tensors& in) {
                Tensor p = in[0], m = in[2], v = in[3];
                if (method == kSgd)
                    sgd_step(p, in[1], m, active, {0.1, 0.9, 0.01, 0.5}, {});
                else
                    adam_step(p, in[1], m, v, active, adam, {});
                return Tensors{p, m, v};
            },
        .allowed = {.f64 = 1e-14, .f32 = 1e-6},
        .formula = [=](const Tensors& in) { return plain_step(in, active, method, adam); },
        .runs = n > 5000 ? RunsOn::on_the_cpu : RunsOn::everywhere,
        .in_bf16 = false};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const Method method : {kAdam, kAdamW, kSgd}) {
        for (const Spans& active : active_ranges()) cases.push_back(update_case(active, method));
        for (const std::int64_t n : {31, 33, 1025}) cases.push_back(update_case(Spans({{0, n}}, n), method));
        const std::int64_t n = 100003;
        cases.push_back(update_case(Spans({{0, 7}, {7, 40009}, {40016, n - 40016}}, n), method));
    }
    return cases;
}

// ---- what is timed: the optimizer keeps its numbers in f32

std::vector<BenchCase> bench(const BenchSetting& on) {
    if (on.dtype != DType::f32) return {};
    const Spans all = Spans::packed(std::vector<std::int64_t>{on.parameters});
    return {{.op = "adam",
             .what = fmt::format("[{}]", on.parameters),
             .make_run = [=]() -> Run {
                 return [=, values = flat(on), gradients = flat(on), first = flat(on), second = flat(on)]() mutable {
                     adam_step(values, gradients, first, second, all, {.lr = 1e-4});
                     return Variable();
                 };
             },
             .forward_bytes = on.bytes(7.0 * static_cast<double>(on.parameters))}};
}

// ---- what is explained

void explain_adam(Session& s, Extents d) {
    Tensor parameters = s.input("parameters", randn(d, 1)), first = s.input("m", Tensor::zeros(Shape(d)));
    Tensor second = s.input("v", Tensor::zeros(Shape(d)));
    const Tensor gradients = s.input("gradients", randn(d, 2));
    s.trace([&] { adam_step(parameters, gradients, first, second, Spans::packed(std::array{d[0]}), {.lr = 1e-3}); });
}

}  // namespace

OpCases table() {
    return {.name = "adam",
            .kernels = kernel_cases,
            .benches = {{.cases = bench, .place = 410}},
            .example_place = 15,
            .examples = {{"adam", "one step of Adam over one array", "elements", {1024}, explain_adam}}};
}

}  // namespace heddle::adam_cases
