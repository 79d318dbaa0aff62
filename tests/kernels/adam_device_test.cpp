// Updates on every device: the bf16 copy, what stays frozen, what is measured or lies in memory.
#include "kernels/adam/adam.h"
#include "kernels/gradient_norm/gradient_norm.h"
#include "tests/devices.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

std::vector<Numbers> parameter_numbers() {  // master weights are never bf16
    std::vector<Numbers> all = all_numbers();
    std::erase_if(all, [](const Numbers& numbers) { return numbers.dtype == DType::bf16; });
    return all;
}

// Ranges that begin at whole vectors and not; the last ones lie inside one vector, or have every number of elements around it.
const Spans kActive[] = {Spans({{4, 100}, {120, 3000}}, 4000), Spans({}, 4000),
                         Spans({{1, 1}, {5, 2}, {11, 13}, {25, 16}, {42, 22}, {67, 9}, {77, 18}, {100, 27}}, 130)};

struct State {
    Tensor p, g, m, v;
    State(std::int64_t n, const Numbers& numbers)
        : p(in(numbers, normal({n}, DType::f32, 1))),
          g(in(numbers, normal({n}, DType::f32, 2))),
          m(in(numbers, normal({n}, DType::f32, 3))),
          v(in(numbers, normal({n}, DType::f32, 4, 3, 0.3))) {}
    void offset_each_by_one() {
        for (Tensor* each : {&p, &g, &m, &v}) *each = offset_by_one(*each);
    }
    std::vector<Tensor> results() const { return {p, m, v}; }
};
constexpr Numbers kExact{Device::cpu, DType::f64};

// An output bias of -1e9 forbids a token; without a gradient nothing may move it.
TEST(AdamDevice, AForbiddingBiasDoesNotDecay) {
    const std::vector<float> values = {-1e9f, -1e8f, -99999992.0f, -1.0f, 1e9f, 0.0f};
    for (const Numbers& numbers : parameter_numbers())
        for (const int method : {0, 1, 2}) {
            Tensor p = Tensor::from(values, {6}).to(numbers.dtype).to(numbers.device),
                   g = Tensor::zeros(p.shape(), p.dtype(), p.device()), m = g.clone(), v = g.clone();
            const Spans active({{0, 6}}, 6);
            for (std::int64_t update = 1; update <= 50; ++update)
                if (method == 2)
                    sgd_step(p, g, m, active, {.lr = 0.1, .weight_decay = 0.1, .gradient_factor = 1});
                else
                    adam_step(p, g, m, v, active, {.lr = 0.1, .weight_decay = 0.1, .decoupled = method == 1, .update = update});
            const std::vector<double> now = p.to(Device::cpu).to_vector();
            for (const std::size_t kept : {0, 1, 5})
                EXPECT_EQ(now[kept], values[kept]) << to_string(numbers) << ", method " << method;
            EXPECT_GT(now[3], -0.9) << "others decay";
            if (method == 0) continue;  // Adam moves by the rate, which a large number swallows
            for (const std::size_t moved : {2, 4})
                EXPECT_LT(std::abs(now[moved]), 0.7 * std::abs(values[moved])) << to_string(numbers) << ", method " << method;
        }
}

TEST(AdamDevice, WritesTheBf16CopyAndLeavesFrozenElementsAlone) {
    for (const Numbers& numbers : parameter_numbers())
        for (const Spans& active : kActive)
            for (const int method : {0, 1, 2}) {
                State got(active.rows(), numbers);
                const State before(active.rows(), numbers);
                if (&active == &kActive[0]) got.offset_each_by_one();
                const Tensor copy = Tensor::zeros({active.rows()}, DType::bf16, numbers.device);
                if (method == 2)
                    sgd_step(got.p, got.g, got.m, active, {0.1, 0.9, 0.01, 0.5}, {.bf16_copy = copy});
                else
                    adam_step(got.p, got.g, got.m, got.v, active,
                              {.lr = 0.1, .weight_decay = 0.01, .decoupled = method == 1, .update = 3, .gradient_factor = 0.5},
                              {.bf16_copy = copy});
                const std::string what = "method " + std::to_string(method) + ", " + std::to_string(active.tokens()) + " active";
                std::vector<bool> moves(static_cast<std::size_t>(active.rows()), false);
                for (const Span& range : active) std::fill_n(moves.begin() + range.start, range.length, true);
                const std::vector<double> now = got.p.to(Device::cpu).to_vector(), then = before.p.to(Device::cpu).to_vector();
                const std::vector<double> rounded = got.p.to(Device::cpu).to(DType::f32).to(DType::bf16).to_vector();
                const std::vector<double> copied = copy.to(Device::cpu).to_vector();
                for (std::size_t i = 0; i < moves.size(); ++i) {
                    ASSERT_EQ(now[i] != then[i], moves[i]) << what << ", element " << i;
                    ASSERT_EQ(copied[i], moves[i] ? rounded[i] : 0) << what << ", element " << i;
                }
            }
}

TEST(AdamDevice, TakesTheMeasuredFactorAndLeavesABrokenGradientAlone) {
    for (const Numbers& numbers : parameter_numbers())
        for (const int method : {0, 1}) {
            const Spans active = kActive[0];
            const AdamStep adam{.lr = 0.1, .update = 1};
            const SgdStep sgd{.lr = 0.1, .momentum = 0.9};
            const auto step = [&](State& state, double factor, const UpdateInMemory& memory) {
                AdamStep one = adam;
                SgdStep other = sgd;
                one.gradient_factor = other.gradient_factor = factor;
                if (method == 0)
                    adam_step(state.p, state.g, state.m, state.v, active, one, memory);
                else
                    sgd_step(state.p, state.g, state.m, active, other, memory);
            };
            State got(4000, numbers), want(4000, numbers);
            const Tensor measured = measure_gradients(got.g, active, 2.5, 0.25);
            step(got, 99, {.measured = measured});
            step(want, measured.to_vector()[1], {});
            for (std::size_t i = 0; i < 3; ++i)
                EXPECT_TRUE(same_bits(got.results()[i].to(Device::cpu), want.results()[i].to(Device::cpu)));

            // An infinite norm, too: its factor is 0, and infinity times 0 would be NaN.
            for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
                State broken(4000, numbers);
                const State before(4000, numbers);
                Tensor g = broken.g.to(Device::cpu).clone();
                g.slice(50, 51).fill_(bad);
                broken.g = g.to(numbers.device);
                step(broken, 1, {.measured = measure_gradients(broken.g, active, 2.5)});
                for (std::size_t i = 0; i < 3; ++i)
                    EXPECT_TRUE(same_bits(broken.results()[i].to(Device::cpu), before.results()[i].to(Device::cpu)))
                        << bad << " on " << to_string(numbers);
            }
        }
}

// A step whose rate and bias corrections lie in memory has the bits of one that was told them: whatever it was told instead.
TEST(AdamDevice, TakesTheNumbersOfAStepFromMemory) {
    for (const Numbers& numbers : parameter_numbers())
        for (const int method : {0, 1, 2}) {
            const AdamStep adam{.lr = 0.1, .weight_decay = 0.5, .decoupled = method == 1, .update = 3};
            const SgdStep sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5};
            AdamStep other_adam = adam;
            other_adam.lr = 7;
            other_adam.update = 50;
            SgdStep other_sgd = sgd;
            other_sgd.lr = 7;
            const StepNumbers told = method == 2 ? step_numbers(sgd) : step_numbers(adam);
            const Tensor in_memory = Tensor::from(std::vector<double>(told.begin(), told.end()), {3}).to(numbers.device);
            const auto results = [&](const AdamStep& a, const SgdStep& g, const UpdateInMemory& memory) {
                State state(100, numbers);
                const Spans active({{0, 100}}, 100);
                if (method == 2)
                    sgd_step(state.p, state.g, state.m, active, g, memory);
                else
                    adam_step(state.p, state.g, state.m, state.v, active, a, memory);
                return state.results();
            };
            const std::vector<Tensor> want = results(adam, sgd, {}), got = results(other_adam, other_sgd, {.numbers = in_memory}),
                                      other = results(other_adam, other_sgd, {});
            for (std::size_t i = 0; i < 3; ++i)
                EXPECT_TRUE(same_bits(got[i].to(Device::cpu), want[i].to(Device::cpu)))
                    << to_string(numbers) << ", method " << method;
            EXPECT_FALSE(same_bits(got[0].to(Device::cpu), other[0].to(Device::cpu)));
        }
}

TEST(GradientSquares, AreRefusedForAGradientOnADevice) {
    for (const Numbers& numbers : parameter_numbers()) {
        const Tensor g = in(numbers, normal({4}, DType::f32, 1));
        const Spans all({{0, 4}}, 4);
        EXPECT_GT(gradient_norm(g, all), 0);
        if (numbers.device == Device::cuda)
            expect_error([&] { gradient_squares(g, all); }, "gradient_squares: gradients lies on cuda, wanted on cpu");
        else
            EXPECT_EQ(gradient_squares(g, all).size(), 1u);
    }
}

// Moments below the smallest normal number become 0 on every device.
TEST(AdamDevice, MomentsBelowTheNormalNumbersBecomeZero) {
    for (const Numbers& numbers : parameter_numbers()) {
        const double tiny = numbers.dtype == DType::f64 ? 1e-308 : 1e-38;
        State state(64, numbers);
        for (Tensor* each : {&state.g, &state.m, &state.v})
            *each = Tensor::full({64}, each == &state.g ? 0 : tiny, numbers.dtype, numbers.device);
        adam_step(state.p, state.g, state.m, state.v, Spans({{0, 64}}, 64), {.lr = 0.1, .beta1 = 0.5, .beta2 = 0.5, .update = 2});
        for (const Tensor& moment : {state.m, state.v})
            EXPECT_EQ(moment.to(Device::cpu).to_vector(), std::vector<double>(64, 0)) << to_string(numbers);
    }
}

// More elements than the grid has threads: of vectors, and one by one where the arrays do not begin at a whole vector.
TEST(AdamDevice, LargeArraysTakeSeveralRounds) {
    if (!device::available()) GTEST_SKIP() << device::why_unavailable();
    for (const int round : {0, 1, 2}) {
        const bool aligned = round == 0, adam = round < 2;
        const Numbers numbers{Device::cuda, aligned ? DType::f64 : DType::f32};
        const std::int64_t n = aligned ? 1100000 : 600000;
        const Spans active({{1, n - 1}}, n);
        const auto step = [&](State& state) {
            if (adam)
                adam_step(state.p, state.g, state.m, state.v, active, {.lr = 0.1, .update = 2});
            else
                sgd_step(state.p, state.g, state.m, active, {0.1, 0.9, 0.01, 0.5});
        };
        State got(n, numbers), want(n, kExact);
        if (!aligned) got.offset_each_by_one();
        step(got);
        step(want);
        for (std::size_t i = 0; i < 3; ++i)
            expect_close(got.results()[i], want.results()[i], numbers, adam ? "adam" : "sgd", {.f64 = 1e-14, .f32 = 1e-6});
    }
}

TEST(Adam, SaysThatItChangedTheParameters) {
    State s(4, {Device::cpu, DType::f32});
    const std::uint64_t p = s.p.version(), g = s.g.version();
    adam_step(s.p, s.g, s.m, s.v, Spans({{0, 4}}, 4), {.lr = 0.1});
    EXPECT_GT(s.p.version(), p);
    EXPECT_EQ(s.g.version(), g);
}

TEST(Adam, NamesWhatDoesNotFit) {
    State s(4, {Device::cpu, DType::f32});
    Tensor wrong = Tensor::zeros({5}, DType::f32), wide = Tensor::zeros({4}, DType::f64),
           matrix = Tensor::zeros({2, 2}, DType::f32);
    expect_error([&] { adam_step(s.p, wrong, s.m, s.v, Spans({{0, 4}}, 4), {}); }, "adam: gradients has shape [5], wanted [4]");
    expect_error([&] { adam_step(s.p, s.g, wide, s.v, Spans({{0, 4}}, 4), {}); }, "adam: first_moment is f64, wanted f32");
    expect_error(
        [&] {
            adam_step(matrix, s.g, s.m, s.v, Spans({{0, 4}}, 4), {});
        },
        "adam: parameters has shape [2, 2], wanted 1 axes");
    expect_error(
        [&] {
            adam_step(s.p, s.g, s.m, s.v, Spans({{0, 3}}, 3), {});
        },
        "adam: the active ranges are those of 3 elements");
    expect_error([&] { adam_step(s.p, s.g, s.m, s.v, Spans({{0, 4}}, 4), {.update = 0}); }, "adam: this is update 0");
    expect_error([&] { adam_step(s.p, s.g, s.m, s.v, Spans({{0, 4}}, 4), {.beta2 = 1}); }, "adam: the betas are 0.9 and 1");
    for (const double eps : {0.0, -1.0, 1e-50, std::nan("")})  // 1e-50 is 0 in f32
        expect_error([&] { adam_step(s.p, s.g, s.m, s.v, Spans({{0, 4}}, 4), {.eps = eps}); }, "wanted a number above 0 in f32");
    expect_error([&] { sgd_step(s.p, s.g, wrong, Spans({{0, 4}}, 4), {}); }, "sgd: momentum has shape [5], wanted [4]");
}

}  // namespace
}  // namespace heddle::kernels
