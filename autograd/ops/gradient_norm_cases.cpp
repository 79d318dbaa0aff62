// The cases of gradient_norm.
#include <fmt/format.h>
#include <array>
#include <cmath>

#include "autograd/cases/op_cases.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::gradient_norm_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- calls of the kernels

// The norm of the active elements, the factor that clips it to `most`, and all elements scaled.
KernelCase norm_case(const Spans& active, double most) {
    return {
        .what = std::to_string(active.tokens()) + " active of " + std::to_string(active.rows()),
        .inputs = {numbers({active.rows()}, 2)},
        .run =
            [=](const Tensors& in) {
                const Tensor measured = measure_gradients(in[0], active, most, -0.5);
                const double norm = gradient_norm(in[0], active);
                return Tensors{measured.slice(0, 1), measured.slice(1, 2), Tensor::full({}, norm, DType::f64).to(in[0].device())};
            },
        .allowed = {.f64 = 1e-12, .f32 = 1e-12},
        .on_cpu = Allowed{1e-14, 1e-14},  // sums are f64
        .formula =
            [=](const Tensors& in) {
                long double total = 0;
                for (const Span& range : active)
                    for (std::int64_t i = range.start; i < range.start + range.length; ++i)
                        total += static_cast<long double>(in[0].data<double>()[i]) * in[0].data<double>()[i];
                const double norm = std::sqrt(static_cast<double>(total)) / 2;
                return Tensors{Tensor::full({1}, norm, DType::f64), Tensor::full({1}, -0.5 * clip_factor(norm, most), DType::f64),
                               Tensor::full({}, 2 * norm, DType::f64)};
            },
        .results = DType::f64,
        .runs = active.rows() > 200000   ? RunsOn::unwatched
                : active.rows() > 100000 ? RunsOn::on_the_cpu
                                         : RunsOn::everywhere};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    std::vector<Spans> ranges = active_ranges();
    for (const std::int64_t n : {15, 16, 17, 31, 32, 33, 127, 1025, 8191, 8192, 8193, 100003})
        ranges.push_back(Spans({{0, n}}, n));
    for (const Spans& active : ranges)
        for (const double most : {0.0, 1e-3, 1e9}) cases.push_back(norm_case(active, most));
    // 1.3 million elements: the device's first kernel has more blocks than its second one has threads.
    for (const Spans& active :
         {Spans({{0, 1200000}, {1200016, 99984}}, 1300000), Spans({{5, 9000}, {9005, 1}, {20000, 10000}}, 30000)})
        cases.push_back(norm_case(active, 1));
    for (const std::int64_t n : {1, 130, 4000})
        cases.push_back({.what = "scaled " + std::to_string(n),
                         .inputs = {numbers({n}, 2)},
                         .run =
                             [](const Tensors& in) {
                                 Tensor g = in[0];
                                 scale_gradients(g, 0.3);
                                 return Tensors{g};
                             },
                         .allowed = {.f64 = 1e-15, .f32 = 1e-7},
                         .nan = NanSpreads::nowhere});
    return cases;
}

// ---- what is timed: the optimizer keeps its numbers in f32

std::vector<BenchCase> bench(const BenchSetting& on) {
    if (on.dtype != DType::f32) return {};
    const Spans all = Spans::packed(std::vector<std::int64_t>{on.parameters});
    return {{.op = "gradient_norm",
             .what = fmt::format("[{}]", on.parameters),
             .make_run = [=]() -> Run {
                 return [=, gradients = flat(on)] {
                     measure_gradients(gradients, all, 1);
                     return Variable();
                 };
             },
             .forward_bytes = on.bytes(static_cast<double>(on.parameters))}};
}

// ---- what is explained

void explain_norm(Session& s, Extents d) {
    const Tensor gradients = s.input("gradients", randn(d, 1));
    traced(s, "measured", [&] { return measure_gradients(gradients, Spans::packed(std::array{d[0]}), 1); });
}

}  // namespace

OpCases table() {
    return {.name = "gradient_norm",
            .kernels = kernel_cases,
            .large = true,
            .benches = {{.cases = bench, .place = 400}},
            .example_place = 14,
            .examples = {{"gradient-norm", "the norm of all gradients in one array", "elements", {2048}, explain_norm}}};
}

}  // namespace heddle::gradient_norm_cases
