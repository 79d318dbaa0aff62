#include <fstream>
#include <type_traits>

#include "autograd/ops.h"
#include "optim/optimizer.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::optim {
namespace {

// Reads the results of make_optimizers.py.
class Golden {
  public:
    Golden() : file_(HEDDLE_SOURCE_DIR "/tests/golden/optimizers.txt") {
        file_ >> n_ >> steps_;
        start = numbers();
        for (std::int64_t i = 0; i < steps_; ++i) gradients.push_back(numbers());
    }
    // Moves to the optimizer `name`.
    void find(const std::string& name) {
        std::string word;
        while (word != name && file_ >> word) {
        }
        if (word != name) fail("test: optimizers.txt has no " + name);
    }
    Tensor numbers() {
        Tensor values = Tensor::empty({n_}, DType::f64);
        for (double& value : values.mutable_values<double>())
            if (!(file_ >> value)) fail("test: optimizers.txt ends too early");
        return values;
    }

    Tensor start;
    std::vector<Tensor> gradients;

  private:
    std::ifstream file_;
    std::int64_t n_ = 0, steps_ = 0;
};

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

void expect_pytorchs_steps(const std::string& name, const OptimizerOptions& options, double clip = 0) {
    Golden golden;
    golden.find(name);
    Tensor parameters = golden.start.clone(), gradients = Tensor::zeros(parameters.shape(), DType::f64);
    Optimizer optimizer(parameters, gradients, options);
    for (std::size_t i = 0; i < golden.gradients.size(); ++i) {
        gradients.copy_(golden.gradients[i]);
        optimizer.step({.lr = 0.01 * static_cast<double>(i + 1), .clip = clip});
        EXPECT_LT(worst_element(parameters, golden.numbers()), 1e-12) << name << ", step " << i;
    }
    for (const auto& [array, values] : optimizer.state()) EXPECT_LT(worst_element(values, golden.numbers()), 1e-12) << array;
    EXPECT_EQ(optimizer.updates(), 10);
}

TEST(Optimizer, TenStepsOfAdamEqualPyTorchs) {
    expect_pytorchs_steps("adam", {.method = Method::adam});
    expect_pytorchs_steps("adam_l2", {.method = Method::adam, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1});
}

TEST(Optimizer, TenStepsOfAdamWEqualPyTorchs) { expect_pytorchs_steps("adamw", {.method = Method::adamw, .weight_decay = 0.1}); }

TEST(Optimizer, TenStepsOfSgdWithMomentumEqualPyTorchs) {
    expect_pytorchs_steps("sgd", {.method = Method::sgd, .momentum = 0.9, .weight_decay = 0.05});
}

TEST(Optimizer, TenClippedStepsEqualPyTorchs) { expect_pytorchs_steps("adam_clipped", {.method = Method::adam}, 2.5); }

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
