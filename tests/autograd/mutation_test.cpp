// Mutation test of every op's backward: the gradient check must catch each small error.
//
// A mutant computes an op's value and gradients with the op itself, and changes one input's gradient.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/tape.h"
#include "tests/autograd/proofs_support.h"

namespace heddle {
namespace {

enum class Mutation { none, sign_flipped, factor, element_dropped, row_dropped, row_doubled, transposed, shifted, element_added };

struct Named {
    Mutation mutation;
    const char* name;
    const char* cause;  // what the message must contain; "" if the same change may have several causes
};
constexpr Named kMutations[] = {
    {Mutation::sign_flipped, "sign flipped", "sign is flipped"},
    {Mutation::factor, "1.01 times", "1.01 times the true gradient"},
    {Mutation::element_dropped, "one element dropped", ""},
    {Mutation::row_dropped, "a row dropped", ""},
    {Mutation::row_doubled, "a row doubled", ""},
    {Mutation::transposed, "transposed", ""},
    {Mutation::shifted, "shifted by one index", ""},
    {Mutation::element_added, "something added to one element", ""},
};

// Changes `gradient` in place around `element`, its largest one.
void mutate(Tensor& gradient, Mutation mutation, std::size_t element, const Tensor& cotangent) {
    const std::span<double> values = gradient.mutable_values<double>();
    const auto cols = static_cast<std::size_t>(gradient.cols());
    const auto row = values.subspan(element / cols * cols, cols);
    switch (mutation) {
        case Mutation::none: return;
        case Mutation::sign_flipped:
            for (double& value : values) value = -value;
            return;
        case Mutation::factor:
            for (double& value : values) value *= 1.01;
            return;
        case Mutation::element_dropped: values[element] = 0; return;
        case Mutation::row_dropped: std::fill(row.begin(), row.end(), 0.0); return;
        case Mutation::row_doubled:
            for (double& value : row) value *= 2;
            return;
        case Mutation::transposed: {
            if (gradient.rank() < 2 || gradient.dim(-1) != gradient.dim(-2)) return;
            for (std::size_t start = 0; start < values.size(); start += cols * cols)
                for (std::size_t i = 0; i < cols; ++i)
                    for (std::size_t j = 0; j < i; ++j) std::swap(values[start + i * cols + j], values[start + j * cols + i]);
            return;
        }
        case Mutation::shifted: std::rotate(values.begin(), values.begin() + 1, values.end()); return;
        case Mutation::element_added: values[element] += 1e-3 * cotangent.data<double>()[0]; return;
    }
}

// The function with the gradient of input `target` changed.
GradientFunction mutant(const GradientFunction& function, std::size_t target, Mutation mutation, std::size_t element) {
    return with_wrong_gradient(function, target, [=](const Tensor& gradient, const Tensor& cotangent) {
        Tensor changed = gradient.clone();
        mutate(changed, mutation, element, cotangent);
        return changed;
    });
}

double largest_difference(const Tensor& a, const Tensor& b) {
    double most = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) most = std::max(most, std::abs(a.data<double>()[i] - b.data<double>()[i]));
    return most;
}

std::size_t largest_element(const Tensor& x) {
    const std::span<const double> values = x.values<double>();
    return static_cast<std::size_t>(
        std::max_element(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }) -
        values.begin());
}

class Mutant : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutant, IsCaughtIn) {
    const GradientCase& one = all_cases()[GetParam()];
    const Tensor cotangent = [&] {
        const NoGrad no_grad;
        std::vector<Variable> leaves;
        for (const Tensor& input : one.inputs) leaves.emplace_back(input);
        return random_input(one.function(leaves).shape(), one.options.seed);
    }();
    const std::vector<Tensor> right =
        gradients_of(one.function, one.inputs, std::vector<bool>(one.inputs.size(), true), cotangent);
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const std::size_t element = largest_element(right[i]);
        const double size = std::abs(right[i].data<double>()[element]);
        int tried = 0;
        for (const Named& each : kMutations) {
            Tensor changed = right[i].clone();
            mutate(changed, each.mutation, element, cotangent);
            // Negated zeros or a transposed symmetric matrix: the mutant equals the op.
            if (largest_difference(changed, right[i]) <= 1e-6 * (size + one.options.floor)) continue;
            ++tried;
            const GradcheckReport report = gradcheck(mutant(one.function, i, each.mutation, element), one.inputs, one.options);
            ASSERT_FALSE(report.passed) << one.op << ", " << one.what << ": input " << i << ", " << each.name
                                        << ", was not caught";
            if (right[i].numel() == 1) continue;
            EXPECT_NE(report.message.find(each.cause), std::string::npos) << each.name << " is explained as\n" << report.message;
        }
        EXPECT_GE(tried, size > 1e-9 ? 3 : 1) << one.op << ", " << one.what << ": input " << i;
    }
    const GradcheckReport twin = gradcheck(mutant(one.function, 0, Mutation::none, 0), one.inputs, one.options);
    EXPECT_TRUE(twin.passed) << twin.message;
}

INSTANTIATE_TEST_SUITE_P(Op, Mutant, testing::Range<std::size_t>(0, all_cases().size()), case_name);

}  // namespace
}  // namespace heddle
