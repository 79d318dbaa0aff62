// The cases of top_k.
#include <fmt/format.h>
#include <algorithm>
#include <numeric>

#include "autograd/cases/op_cases.h"
#include "kernels/top_k/top_k.h"

namespace heddle::top_k_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- calls of the kernels

KernelCase top_k_case(const Tensor& logits, std::int64_t k) {
    return {.what = std::to_string(k) + " of " + std::to_string(logits.cols()),
            .inputs = {logits},
            .run =
                [k](const Tensors& in) {
                    const TopK top = top_k_log_softmax(in[0], k);
                    return Tensors{top.values, top.ids};
                },
            .allowed = {.f64 = 1e-12, .f32 = 1e-5, .absolute = true},
            .formula =
                [k](const Tensors& in) {
                    const std::int64_t rows = in[0].rows();
                    Tensor values = Tensor::zeros({rows, k}, DType::f64), ids = Tensor::zeros({rows, k}, DType::i32);
                    for (std::int64_t row = 0; row < rows; ++row) {
                        const std::span<const double> x = row_of(in[0], row);
                        const double total = log_total(x);
                        std::vector<std::int32_t> order(x.size());
                        std::iota(order.begin(), order.end(), 0);
                        std::stable_sort(order.begin(), order.end(), [x](std::int32_t a, std::int32_t b) {
                            return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
                        });
                        for (std::int64_t i = 0; i < k; ++i) {
                            const std::int32_t best = order[static_cast<std::size_t>(i)];
                            ids.mutable_data<std::int32_t>()[row * k + i] = best;
                            values.mutable_data<double>()[row * k + i] = x[static_cast<std::size_t>(best)] - total;
                        }
                    }
                    return Tensors{values, ids};
                },
            .by_row = 1};
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 1025, 3000})
        for (const std::int64_t k : {1, 2, 10})
            if (k <= cols) cases.push_back(top_k_case(numbers({3, cols}, 4, 0, 3), k));
    for (const std::int64_t cols : {33, 2064}) {  // ties
        Tensor logits = Tensor::full({2, cols}, 1, DType::f64);
        for (std::int64_t j = 0; j < cols; j += 7) logits.mutable_data<double>()[cols + j] = 2;
        cases.push_back(top_k_case(logits, 9));
    }
    // One thread holds more of them than it keeps at once: it must look through its columns again.
    const std::int64_t wide = 8 * 2048;
    Tensor logits = numbers({1, wide}, 4);
    for (std::int64_t j = 3; j < wide; j += 2048) logits.mutable_data<double>()[j] = 20 + static_cast<double>(j % 5);
    for (std::int64_t j = 4096; j < 4104; ++j) logits.mutable_data<double>()[j] = 30 - static_cast<double>(j % 3);
    cases.push_back(top_k_case(logits, 16));
    // A whole row in order, with -infinity last.
    Tensor holes = numbers({2, 40}, 4);
    for (const std::int64_t j : {0, 7, 39, 45}) holes.mutable_data<double>()[j] = -kInfinity;
    cases.push_back(top_k_case(holes, 40));
    cases.push_back(top_k_case(numbers({0, 5}, 1), 2));
    cases.push_back(top_k_case(numbers({2, 100001}, 4, 0, 3), 20));
    cases.back().in_bf16 = false;  // so many columns hold no distinct bf16 numbers
    cases.back().offset = KernelCase::no_offset;
    cases.back().runs = RunsOn::unwatched;
    cases.push_back(top_k_case(numbers({90, 1500}, 9, 0, 3), 10));
    cases.back().runs = RunsOn::on_the_cpu;
    return cases;
}

// ---- what is timed: the choice of the next token

std::vector<BenchCase> bench(const BenchSetting& on) {
    const std::int64_t some_rows = on.some_rows, vocabulary = on.vocabulary;
    return {{.op = "top_k",
             .what = fmt::format("[{}, {}], the best 10", some_rows, vocabulary),
             .make_run = [=]() -> Run {
                 return [logits = cases::numbers({some_rows, vocabulary}, on)] {
                     top_k_log_softmax(logits, 10);
                     return Variable();
                 };
             },
             .forward_bytes = on.bytes(static_cast<double>(some_rows * vocabulary))}};
}

// ---- what is explained

void explain_top_k(Session& s, Extents d) {
    const Tensor logits = s.input("logits", randn(d, 1));
    TopK result;
    s.trace([&] { result = top_k_log_softmax(logits, std::min<std::int64_t>(4, d[1])); });
    s.name("values", result.values);
    s.name("ids", result.ids);
}

}  // namespace

OpCases table() {
    return {.name = "top_k",
            .kernels = kernel_cases,
            .large = true,
            .benches = {{.cases = bench, .place = 420}},
            .example_place = 24,
            .examples = {{"top-k", "the four most probable columns of each row", "rows, vocabulary", {2, 256}, explain_top_k}}};
}

}  // namespace heddle::top_k_cases
