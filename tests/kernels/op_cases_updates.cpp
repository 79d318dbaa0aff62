// Cases of what works on all parameters at once: adam (with sgd), gradient_norm.
#include "kernels/adam/adam.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "tests/kernels/op_cases.h"

namespace heddle::kernels {
namespace {

// The last one has ranges inside one vector, and every number of elements before and behind the whole vectors of up to eight.
std::vector<Spans> active_ranges() {
    return {Spans({{0, 4000}}, 4000),
            Spans({{4, 100}, {120, 3000}}, 4000),
            Spans({{1, 3}, {33, 1}, {1001, 2999}}, 4000),
            Spans({}, 4000),
            Spans({{0, 1}}, 1),
            Spans({}, 0),
            Spans({{1, 1}, {5, 2}, {11, 13}, {25, 16}, {42, 22}, {67, 9}, {77, 18}, {100, 27}}, 130)};
}

enum Method { kAdam, kAdamW, kSgd };

// inputs: p, g, m, v. Results: p, m, v.
OpCase update_case(const Spans& active, Method method) {
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
        .runs = n > 5000 ? Runs::on_the_cpu : Runs::everywhere,
        .in_bf16 = false};
}

// The norm of the active elements, the factor that clips it to `most`, and all elements scaled.
OpCase norm_case(const Spans& active, double most) {
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
        .runs = active.rows() > 200000   ? Runs::unwatched
                : active.rows() > 100000 ? Runs::on_the_cpu
                                         : Runs::everywhere};
}

}  // namespace

std::vector<OpCase> adam_cases() {
    std::vector<OpCase> cases;
    for (const Method method : {kAdam, kAdamW, kSgd}) {
        for (const Spans& active : active_ranges()) cases.push_back(update_case(active, method));
        for (const std::int64_t n : {31, 33, 1025}) cases.push_back(update_case(Spans({{0, n}}, n), method));
        const std::int64_t n = 100003;
        cases.push_back(update_case(Spans({{0, 7}, {7, 40009}, {40016, n - 40016}}, n), method));
    }
    return cases;
}

std::vector<OpCase> gradient_norm_cases() {
    std::vector<OpCase> cases;
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

}  // namespace heddle::kernels
