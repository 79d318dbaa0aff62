// The cases of target_log_probability.
#include "autograd/cases/op_cases.h"
#include "kernels/target_log_probability/target_log_probability.h"

namespace heddle::target_log_probability_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- calls of the kernels

KernelCase target_case(const Tensor& logits, const Tensor& targets) {
    return {.what = std::to_string(logits.rows()) + " rows of " + std::to_string(logits.cols()),
            .inputs = {logits, targets},
            .run = [](const Tensors& in) { return Tensors{target_log_probability(in[0], in[1])}; },
            // f32: the sum of exponentials is right to about 2^-20, and so is its logarithm, absolutely.
            .allowed = {.f64 = 1e-12, .f32 = 1e-5, .absolute = true},
            .formula =
                [](const Tensors& in) {
                    Tensor result = Tensor::zeros({in[0].rows()}, DType::f64);
                    for (std::int64_t row = 0; row < result.numel(); ++row) {
                        const std::span<const double> x = row_of(in[0], row);
                        result.mutable_data<double>()[row] =
                            x[static_cast<std::size_t>(in[1].data<std::int32_t>()[row])] - log_total(x);
                    }
                    return Tensors{result};
                },
            .results = DType::f64,
            .by_row = 2};
}

Tensor targets_of(std::int64_t rows, std::int64_t vocabulary) {
    std::vector<std::int32_t> targets;
    for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>((7 * i + vocabulary - 1) % vocabulary));
    return Tensor::from(targets, {rows});
}

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> cases;
    for (const std::int64_t vocabulary : {1, 2, 31, 32, 33, 127, 1024, 1025, 3000})
        cases.push_back(target_case(numbers({5, vocabulary}, 4, 0, 3), targets_of(5, vocabulary)));
    Tensor extreme = numbers({3, 40}, 4);
    extreme.mutable_data<double>()[3] = 1e4;
    extreme.mutable_data<double>()[7] = -1e4;
    for (std::int64_t j = 40; j < 80; ++j)
        if (j != 52) extreme.mutable_data<double>()[j] = -kInfinity;
    for (const std::int32_t target : {3, 7, 12, 39})
        cases.push_back(target_case(extreme, Tensor::from(std::vector<std::int32_t>{target, 12, target}, {3})));
    cases.push_back(target_case(extreme, Tensor::from(std::vector<std::int32_t>{0, 13, 0}, {3})));  // -infinity
    cases.push_back(target_case(numbers({0, 5}, 1), targets_of(0, 5)));
    cases.push_back(target_case(numbers({2, 100001}, 4, 0, 3), targets_of(2, 100001)));
    cases.back().runs = RunsOn::unwatched;
    return cases;
}

}  // namespace

OpCases table() { return {.name = "target_log_probability", .kernels = kernel_cases, .large = true}; }

}  // namespace heddle::target_log_probability_cases
