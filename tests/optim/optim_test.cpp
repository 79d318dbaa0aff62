#include <type_traits>

#include "autograd/ops.h"
#include "optim/optimizer.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::optim {
namespace {

// The largest error of any element, relative to that element.
double worst_element(const Tensor& a, const Tensor& b) {
    double worst = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
        const double error = std::abs(a.data<double>()[i] - b.data<double>()[i]);
        if (!(error >= 0)) return std::numeric_limits<double>::infinity();
        if (error > 0) worst = std::max(worst, error / std::abs(b.data<double>()[i]));
    }
    return worst;
}

// The papers' steps in plain loops. Gradients of very different sizes, one parameter without any, and one whose gradient stops.
TEST(Optimizer, TenStepsFollowTheFormulas) {
    struct Case {
        const char* name;
        OptimizerOptions options;
        double clip = 0;
    };
    for (const Case& one : {Case{"adam", {.method = Method::adam}},
                            {"adam with decay", {.method = Method::adam, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1}},
                            {"adamw", {.method = Method::adamw, .weight_decay = 0.1}},
                            {"sgd", {.method = Method::sgd, .momentum = 0.9, .weight_decay = 0.05}},
                            {"adam, clipped", {.method = Method::adam}, 2.5}}) {
        constexpr std::size_t n = 13;
        const OptimizerOptions& o = one.options;
        Tensor parameters = normal({n}, DType::f64, 1), gradients = Tensor::zeros({n}, DType::f64);
        std::vector<double> p = parameters.to_vector(), m(n, 0), v(n, 0);
        Optimizer optimizer(parameters, gradients, o);
        for (int t = 1; t <= 10; ++t) {
            const double lr = 0.01 * t;
            std::vector<double> g = normal({n}, DType::f64, static_cast<std::uint64_t>(t + 1)).to_vector();
            double squares = 0;
            for (std::size_t i = 0; i < n; ++i) {
                g[i] *= i == 4 || (i == 7 && t > 3) ? 0 : std::pow(10.0, -6 + 0.75 * static_cast<double>(i));
                squares += g[i] * g[i];
            }
            gradients.copy_(Tensor::from(g, {n}));
            EXPECT_NEAR(optimizer.step({.lr = lr, .clip = one.clip}), std::sqrt(squares), 1e-14 * std::sqrt(squares));
            const double factor = one.clip > 0 && std::sqrt(squares) > one.clip ? one.clip / (std::sqrt(squares) + 1e-6) : 1;
            for (std::size_t i = 0; i < n; ++i) {
                const double before = p[i], slope = factor * g[i] + (o.method == Method::adamw ? 0 : o.weight_decay * before);
                if (o.method == Method::sgd) {
                    m[i] = o.momentum * m[i] + slope;
                    p[i] -= lr * m[i];
                    continue;
                }
                m[i] = o.beta1 * m[i] + (1 - o.beta1) * slope;
                v[i] = o.beta2 * v[i] + (1 - o.beta2) * slope * slope;
                p[i] -= lr * (m[i] / (1 - std::pow(o.beta1, t))) / (std::sqrt(v[i] / (1 - std::pow(o.beta2, t))) + o.eps);
                if (o.method == Method::adamw) p[i] -= lr * o.weight_decay * before;
            }
            EXPECT_LT(worst_element(parameters, Tensor::from(p, {n})), 1e-12) << one.name << ", step " << t;
        }
        for (const auto& [array, values] : optimizer.state())
            EXPECT_LT(worst_element(values, Tensor::from(array == "second_moment" ? v : m, {n})), 1e-12) << one.name << array;
        EXPECT_EQ(optimizer.updates(), 10);
    }
}

TEST(Optimizer, FindsTheMinimumOfAParabola) {
    for (const Method method : {Method::sgd, Method::adam, Method::adamw}) {
        const Tensor goal = normal({33}, DType::f32, 1);
        Tensor values = Tensor::zeros({33}, DType::f32), gradients = Tensor::zeros({33}, DType::f32);
        Variable x(values.clone(), true);
        x.rebind(values, gradients);
        Optimizer optimizer(values, gradients, {.method = method});
        for (int update = 0; update < 400; ++update) {
            const Variable off = ops::sub(x, Variable(goal));
            backward(ops::sum(ops::mul(off, off)));
            optimizer.step({.lr = method == Method::sgd ? 0.02 : 0.1 * (400 - update) / 400});
            optimizer.zero_gradients();
        }
        EXPECT_LT(relative_error(values, goal), 1e-3) << word_of(method);
    }
}

TEST(Optimizer, ReturnsTheNormBeforeClippingAndClipsTheStep) {
    Tensor values = Tensor::zeros({100}, DType::f64), gradients = Tensor::full({100}, 3, DType::f64);
    Optimizer optimizer(values, gradients, {.method = Method::sgd, .momentum = 0});
    EXPECT_DOUBLE_EQ(optimizer.step({.lr = 1, .clip = 0.5, .gradient_scale = 0.1}), 3);
    double squares = 0;
    for (const double value : values.to_vector()) squares += value * value;
    EXPECT_NEAR(std::sqrt(squares), 0.5, 1e-6);
}

TEST(Optimizer, ScalesTheGradientsOfAccumulatedBatches) {
    Tensor a = normal({50}, DType::f64, 1), b = a.clone(), g = normal({50}, DType::f64, 2), four = g.clone();
    for (double& value : four.mutable_values<double>()) value *= 4;
    Optimizer one(a, g), other(b, four);
    one.step({.lr = 0.1, .clip = 1});
    other.step({.lr = 0.1, .clip = 1, .gradient_scale = 0.25});
    EXPECT_TRUE(same_bits(a, b));
}

TEST(Optimizer, AReplayedStepIsAChangeOfAllItsArrays) {
    Tensor parameters = normal({8}, DType::f32, 1), gradients = normal({8}, DType::f32, 2);
    Optimizer optimizer(parameters, gradients, {.method = Method::adam});
    std::vector<std::uint64_t> before;
    for (const auto& [array, values] : optimizer.state()) before.push_back(values.version());
    const std::uint64_t of_parameters = parameters.version();
    optimizer.count_replay();
    EXPECT_GT(parameters.version(), of_parameters);
    std::size_t i = 0;
    for (const auto& [array, values] : optimizer.state()) EXPECT_GT(values.version(), before[i++]) << array;
    EXPECT_EQ(optimizer.updates(), 1);
}

TEST(Optimizer, MakesTheSameStepInTwoHalves) {
    for (const Method method : {Method::sgd, Method::adam, Method::adamw})
        for (const double clip : {0.0, 0.5, 1e6}) {
            Tensor a = normal({70}, DType::f32, 1), b = a.clone(), gradients = normal({70}, DType::f32, 2);
            const OptimizerOptions options{.method = method, .weight_decay = 0.1};
            Optimizer whole(a, gradients, options), halves(b, gradients, options);
            whole.set_active({{3, 60}});
            halves.set_active({{3, 60}});
            const StepOptions with{.lr = 0.1, .clip = clip, .gradient_scale = 0.25};
            for (int update = 0; update < 2; ++update) {
                const Tensor measured = halves.measure(with);
                EXPECT_EQ(whole.step(with), measured.to_vector()[0]);
                // The numbers of a captured step lie in memory; those that it was recorded with count for nothing.
                const std::array<double, 3> numbers = halves.numbers(with);
                halves.step_measured({.lr = 7, .clip = 9}, measured,
                                     Tensor::from(std::vector<double>(numbers.begin(), numbers.end()), {3}));
            }
            EXPECT_TRUE(same_bits(a, b)) << word_of(method) << ", clip " << clip;
            EXPECT_EQ(halves.updates(), 2);
            gradients.fill_(std::numeric_limits<double>::infinity());
            halves.step_measured(with, halves.measure(with));
            EXPECT_TRUE(same_bits(a, b)) << "a norm that is not finite changes nothing";
        }
}

TEST(Optimizer, NeverMovesAFrozenParameter) {
    for (const Method method : {Method::sgd, Method::adam, Method::adamw}) {
        Tensor values = normal({1000}, DType::f32, 1), gradients = normal({1000}, DType::f32, 2);
        const Tensor before = values.clone();
        gradients.mutable_data<float>()[5] = std::nanf("");  // of a frozen parameter, which the norm must not include
        Optimizer optimizer(values, gradients, {.method = method, .weight_decay = 0.3});
        optimizer.set_active({{100, 50}, {300, 700}});
        for (int update = 0; update < 3; ++update) optimizer.step({.lr = 0.1, .clip = 1});
        for (std::int64_t i = 0; i < 1000; ++i) {
            const bool active = (i >= 100 && i < 150) || i >= 300;
            EXPECT_EQ(values.data<float>()[i] != before.data<float>()[i], active) << i;
        }
    }
}

TEST(Optimizer, ChangesNothingWhenTheGradientIsNotFinite) {
    Tensor values = normal({100}, DType::f32, 1), gradients = normal({100}, DType::f32, 2);
    Optimizer optimizer(values, gradients);
    optimizer.step({.lr = 0.1});
    const Tensor before = values.clone(), moment = optimizer.state()[0].second.clone();
    gradients.mutable_data<float>()[99] = std::numeric_limits<float>::infinity();
    expect_error([&] { optimizer.step({.lr = 0.1, .clip = 1}); }, "the norm of the gradient is inf at update 1");
    EXPECT_TRUE(same_bits(values, before));
    EXPECT_TRUE(same_bits(optimizer.state()[0].second, moment));
    EXPECT_EQ(optimizer.updates(), 1);
}

TEST(Optimizer, GoesOnFromASavedStateAsIfItHadNeverStopped) {
    for (const Method method : {Method::sgd, Method::adam, Method::adamw}) {
        Tensor values = normal({129}, DType::f32, 1), gradients = Tensor::zeros({129}, DType::f32);
        Optimizer whole(values, gradients, {.method = method, .weight_decay = 0.01});
        const auto advance = [&](Optimizer& optimizer, std::uint64_t update) {
            fill_normal(gradients, 0, 1, update);
            optimizer.step({.lr = 0.01});
        };
        for (std::uint64_t update = 0; update < 5; ++update) advance(whole, update);
        Tensor resumed_values = values.clone();
        Optimizer resumed(resumed_values, gradients, whole.options());
        resumed.set_updates(whole.updates());
        for (std::size_t i = 0; i < whole.state().size(); ++i) resumed.state()[i].second.copy_(whole.state()[i].second);
        for (std::uint64_t update = 5; update < 8; ++update) {
            advance(whole, update);
            advance(resumed, update);
        }
        EXPECT_TRUE(same_bits(values, resumed_values)) << word_of(method);
    }
}

TEST(Optimizer, NamesItsStateAndItself) {
    const Tensor values = Tensor::zeros({3}, DType::f32);
    EXPECT_EQ(Optimizer(values, values.clone(), {.method = Method::sgd}).state()[0].first, "momentum");
    const auto state = Optimizer(values, values.clone()).state();
    ASSERT_EQ(state.size(), 2u);
    EXPECT_EQ(state[0].first, "first_moment");
    EXPECT_EQ(state[1].first, "second_moment");
    for (const Method each : {Method::sgd, Method::adam, Method::adamw}) EXPECT_EQ(method(word_of(each)), each);
    expect_error([] { method("lion"); }, "optimizer: there is none called 'lion'; wanted sgd, adam or adamw");
}

template <class Options>
concept GoesWithoutARate = requires {
    Options{.clip = 1.0};
};
template <class Options>
concept TakesARate = requires {
    Options{.lr = 0.0, .clip = 1.0};
};

TEST(Optimizer, StepWithoutARateDoesNotCompile) {
    EXPECT_TRUE(TakesARate<StepOptions>) << "a schedule may end at 0";
    EXPECT_FALSE(GoesWithoutARate<StepOptions>);
    EXPECT_FALSE(std::is_default_constructible_v<StepOptions>);
}

TEST(Optimizer, NamesWhatDoesNotFit) {
    const Tensor values = Tensor::zeros({3}, DType::f32);
    expect_error([&] { Optimizer(values, Tensor::zeros({4}, DType::f32)); }, "optimizer: gradients has shape [4], wanted [3]");
    expect_error([&] { Optimizer(Tensor::zeros({3, 1}, DType::f32), values); }, "optimizer: parameters has shape [3, 1]");
    Optimizer optimizer(values, values.clone());
    expect_error([&] { optimizer.set_active({{0, 4}}); }, "4");
    expect_error([&] { optimizer.set_updates(-1); }, "optimizer: -1 updates");
    expect_error([&] { optimizer.step({.lr = 0.1, .clip = -1}); }, "clip: the greatest norm is -1");
}

}  // namespace
}  // namespace heddle::optim
