// Each of the checks with dual numbers passes every case and rejects wrong backwards.
#include "autograd/exact_check.h"

#include <set>

#include "autograd/ops.h"
#include "core/device.h"
#include "core/dual.h"
#include "kernels/elementwise/elementwise.h"
#include "tests/autograd/proofs_support.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle {
namespace {

class Exact : public testing::TestWithParam<std::size_t> {};

TEST_P(Exact, ChecksPassFor) {
    const ExactReport report = exact_check(all_cases()[GetParam()]);
    EXPECT_TRUE(report.passed) << report.message;
    EXPECT_LE(report.forward, kForwardBound);
    EXPECT_LE(report.adjoint, kExactBound);
    EXPECT_LE(report.hessian, kExactBound);
}

INSTANTIATE_TEST_SUITE_P(Op, Exact, testing::Range<std::size_t>(0, all_cases().size()), case_name);

// The forward derivative is computed on the CPU, the backward on the device.
TEST(ExactCheck, TheDevicesBackwardIsTheTransposeOfTheReference) {
    if (!device::available()) GTEST_SKIP() << "there is no device";
    for (GradientCase one : all_cases()) {
        one.options.device = Device::cuda;
        const ExactReport report = exact_check(one);
        EXPECT_TRUE(report.passed) << report.message;
    }
}

// ---- wrong backwards

using Change = std::function<Tensor(const Tensor& gradient, const Tensor& x)>;

// f(x) = x x for each element, whose gradient goes through `change`. Runs on f64 and on dual numbers.
GradientFunction square(Change change) {
    return [change = std::move(change)](std::span<const Variable> in) {
        const Tensor x = in[0].value();
        return record(
            kernels::mul(x, x),
            {.op = "square", .where = Where::current(), .inputs = {in[0]}, .saved = {x}, .backward = [change](Gradients& g) {
                 const Tensor right = kernels::scale(kernels::mul(g.output(), g.saved(0)), 2);
                 g.give(0, change(right, g.saved(0)));
             }});
    };
}

ExactReport check_square(Change change) { return exact_check(square(std::move(change)), {random_input({3, 4}, 1)}); }

// A copy of an f64 or dual tensor with element `at` multiplied by `factor`.
Tensor element_times(const Tensor& x, std::int64_t at, double factor) {
    Tensor result = x.clone();
    dispatch_real("element_times", x,
                  [&]<class T>(TypeTag<T>) { result.mutable_data<T>()[at] = static_cast<T>(factor) * result.data<T>()[at]; });
    return result;
}

TEST(ExactCheck, TheAdjointIdentitySeesAFactorNextToOne) {
    const ExactReport report = check_square([](const Tensor& g, const Tensor&) { return kernels::scale(g, 1 + 1e-11); });
    EXPECT_FALSE(report.passed);
    EXPECT_GT(report.adjoint, kExactBound);
    EXPECT_NE(report.message.find("the adjoint identity fails along all inputs"), std::string::npos) << report.message;
}

TEST(ExactCheck, TheAdjointIdentityNamesTheWrongElement) {
    const ExactReport report = check_square([](const Tensor& g, const Tensor&) { return element_times(g, 7, 1 + 1e-9); });
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("worst at element 7 of input 0 [3, 4]"), std::string::npos) << report.message;
}

TEST(ExactCheck, ABackwardInF32IsRefused) {
    const ExactReport report = check_square(
        [](const Tensor& g, const Tensor&) { return g.dtype() == DType::f64 ? g.to(DType::f32).to(DType::f64) : g; });
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("adjoint identity"), std::string::npos) << report.message;
}

// A backward that is right in f64 and wrong for dual numbers: only the third check can find it.
TEST(ExactCheck, TheHessianRefusesTheGradientOfNoFunction) {
    const ExactReport report = check_square([](const Tensor& g, const Tensor& x) {
        if (x.dtype() != DType::dual) return g;
        // Adds a term of another element's input, whose derivative is not symmetric, without changing the value.
        Tensor result = g.clone();
        const double slope = 1e-6 * x.values<Dual>()[5].derivative;
        result.mutable_values<Dual>()[2].derivative += slope;
        return result;
    });
    EXPECT_FALSE(report.passed);
    EXPECT_LE(report.adjoint, kExactBound);
    EXPECT_GT(report.hessian, kExactBound);
    EXPECT_NE(report.message.find("the Hessian is not symmetric"), std::string::npos) << report.message;
}

// A wrong factor keeps the Hessian symmetric, but differs from the differences of the gradient.
TEST(ExactCheck, TheHessianEqualsDifferencesOfTheGradient) {
    const ExactReport report = check_square([](const Tensor& g, const Tensor& x) {
        return x.dtype() == DType::dual ? make_dual(g.to(DType::f64), kernels::scale(derivative_of(g), 1.001)) : g;
    });
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("central differences of the gradient"), std::string::npos) << report.message;
}

TEST(ExactCheck, AWrongForwardDerivativeIsRefused) {
    const GradientFunction wrong = [](std::span<const Variable> in) {
        const Tensor x = in[0].value();
        const Tensor y = kernels::exp(x);
        return Variable(x.dtype() == DType::dual ? make_dual(y.to(DType::f64), kernels::scale(derivative_of(y), 1 + 1e-5)) : y);
    };
    const ExactReport report = exact_check(wrong, {random_input({5}, 2)});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("the forward derivative of output"), std::string::npos) << report.message;
}

TEST(ExactCheck, AnotherValueOnDualNumbersIsRefused) {
    const GradientFunction wrong = [](std::span<const Variable> in) {
        return Variable(kernels::scale(in[0].value(), in[0].dtype() == DType::dual ? 1 + 1e-9 : 1));
    };
    const ExactReport report = exact_check(wrong, {random_input({5}, 2)});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("on dual numbers output"), std::string::npos) << report.message;
}

// ---- every op's backward with a small error

// The case's function with the gradient of input `target` times 1 + 1e-9, or one element of it dropped.
GradientFunction broken(const GradientFunction& function, std::size_t target, bool drop, std::int64_t element) {
    return with_wrong_gradient(function, target, [=](const Tensor& gradient, const Tensor&) {
        return drop ? element_times(gradient, element, 0) : kernels::scale(gradient, 1 + 1e-9);
    });
}

const std::set<std::string> kCoupled = {"softmax", "log_softmax",   "layer_norm",          "matmul", "linear", "mean",
                                        "sum",     "cross_entropy", "linear_cross_entropy"};

TEST_P(Exact, ChecksRefuseABrokenBackwardOf) {
    const GradientCase& one = all_cases()[GetParam()];
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const FreshTape fresh;
        std::vector<Variable> leaves;
        for (const Tensor& input : one.inputs) leaves.emplace_back(input, true);
        const Variable output = one.function(leaves);
        if (!output.requires_grad() || output.is_leaf()) continue;
        backward(output, random_input(output.shape(), one.options.seed));
        if (!leaves[i].grad().defined()) continue;
        const std::vector<double> gradient = leaves[i].grad().to_vector();
        const auto most =
            std::max_element(gradient.begin(), gradient.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
        if (most == gradient.end() || !(std::abs(*most) > 1e-9)) continue;  // the gradient is zero, so the change has no effect
        for (const bool drop : {false, true}) {
            const ExactReport report =
                exact_check(broken(one.function, i, drop, most - gradient.begin()), one.inputs, one.options);
            EXPECT_FALSE(report.passed) << one.op << ", " << one.what << ": input " << i << (drop ? ", dropped" : ", a factor");
            EXPECT_GT(report.adjoint, kExactBound) << one.op << ", " << one.what << ": input " << i;
            // The Hessian also finds it without the forward derivative if an element's gradient depends on other elements.
            if (drop && kCoupled.contains(one.op)) {
                EXPECT_GT(report.hessian, kExactBound) << one.op << ", " << one.what << ": input " << i;
            }
        }
    }
}

// ---- requirements on functions

TEST(ExactCheck, AnOpThatCannotTakeDualNumbersIsNamed) {
    const GradientFunction plain = [](std::span<const Variable> in) {
        const Tensor x = in[0].value();
        Tensor y = Tensor::empty(x.shape(), x.dtype());
        dispatch_float("softplus", x, [&]<class T>(TypeTag<T>) {
            for (std::int64_t i = 0; i < x.numel(); ++i) y.mutable_data<T>()[i] = std::log1p(std::exp(x.data<T>()[i]));
        });
        return Variable(y);
    };
    const ExactReport report = exact_check(plain, {random_input({3}, 1)});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("softplus: its loops do not take dual numbers"), std::string::npos) << report.message;
}

TEST(ExactCheck, AFunctionThatDropsTheDtypeIsRefused) {
    const GradientFunction converts = [](std::span<const Variable> in) { return Variable(in[0].value().to(DType::f64)); };
    const ExactReport report = exact_check(converts, {random_input({3}, 1)});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("the function gave f64 from dual inputs"), std::string::npos) << report.message;
}

TEST(ExactCheck, AnEmptyOutputProvesNothing) {
    const GradientFunction nothing = [](std::span<const Variable> in) { return ops::slice(in[0], 0, 2, 2); };
    const ExactReport report = exact_check(nothing, {random_input({3, 2}, 1)});
    EXPECT_FALSE(report.passed);
    EXPECT_NE(report.message.find("the output has no elements"), std::string::npos) << report.message;
}

TEST(ExactCheck, NaNFails) {
    const GradientFunction invalid = [](std::span<const Variable> in) { return ops::log(in[0]); };
    EXPECT_FALSE(exact_check(invalid, {Tensor::from({-1.0, 2.0}, {2})}).passed);
    const ExactReport report = check_square([](const Tensor& g, const Tensor&) { return element_times(g, 3, std::nan("")); });
    EXPECT_FALSE(report.passed);
    EXPECT_TRUE(std::isnan(report.adjoint));
}

TEST(ExactCheck, InputsMustBeF64) {
    expect_error([] { exact_check([](auto in) { return in[0]; }, {Tensor::zeros({2})}); }, "input 0 is f32, wanted f64");
}

// ---- the functions by themselves

TEST(ForwardDerivative, IsTheJacobianTimesTheDirection) {
    const Tensor x = Tensor::from({0.5, -1.0}, {2}), along = Tensor::from({2.0, 3.0}, {2});
    const Tensor given = forward_derivative([](auto in) { return ops::mul(in[0], in[0]); }, {x}, {along});
    EXPECT_EQ(given.to_vector(), (std::vector<double>{2.0, -6.0}));
}

// f = sum of exp(x_i y_i): d2f / dx2 = y^2 e, d2f / dx dy = (1 + x y) e, with e = exp(x y).
TEST(HessianVectorProduct, EqualsTheFormula) {
    const Tensor x = random_input({4}, 1), y = random_input({4}, 2), dx = random_input({4}, 3), dy = random_input({4}, 4);
    const auto function = [](std::span<const Variable> in) { return ops::sum(ops::exp(ops::mul(in[0], in[1]))); };
    const std::vector<Tensor> given = hessian_vector_product(function, {x, y}, {dx, dy});
    ASSERT_EQ(given.size(), 2u);
    for (std::size_t i = 0; i < 4; ++i) {
        const double a = x.values<double>()[i], b = y.values<double>()[i], e = std::exp(a * b);
        const double da = dx.values<double>()[i], db = dy.values<double>()[i];
        EXPECT_NEAR(given[0].values<double>()[i], e * (b * b * da + (1 + a * b) * db), 1e-13);
        EXPECT_NEAR(given[1].values<double>()[i], e * ((1 + a * b) * da + a * a * db), 1e-13);
    }
}

}  // namespace
}  // namespace heddle
