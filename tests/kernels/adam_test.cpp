#include "kernels/adam/adam.h"

#include "kernels/adam/detail/adam.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

Spans all_of(std::int64_t n) { return Spans({{0, n}}, n); }

struct State {
    Tensor p, g, m, v;

    explicit State(std::int64_t n, DType dtype)
        : p(normal({n}, DType::f32, 1).to(dtype)),
          g(normal({n}, DType::f32, 2).to(dtype)),
          m(normal({n}, DType::f32, 3).to(dtype)),
          v(Tensor::empty({n}, DType::f32)) {
        fill_uniform(v, 0, 1, 4);
        v = v.to(dtype);
    }
    State clone() const {
        State copy = *this;
        for (Tensor* each : {&copy.p, &copy.g, &copy.m, &copy.v}) *each = each->clone();
        return copy;
    }
};

TEST(Adam, FollowsItsFormula) {
    for (const bool decoupled : {false, true})
        for (const std::int64_t n : {0, 1, 31, 33, 1025}) {
            State s(n, DType::f64);
            const State before = s.clone();
            const AdamStep step = {.lr = 0.01,
                                   .beta1 = 0.8,
                                   .beta2 = 0.95,
                                   .eps = 1e-3,
                                   .weight_decay = 0.2,
                                   .decoupled = decoupled,
                                   .update = 7,
                                   .gradient_factor = 0.5};
            adam_step(s.p, s.g, s.m, s.v, all_of(n), step);
            for (std::int64_t i = 0; i < n; ++i) {
                const double p = before.p.data<double>()[i];
                const double g = 0.5 * before.g.data<double>()[i] + (decoupled ? 0 : 0.2 * p);
                const double m = 0.8 * before.m.data<double>()[i] + (1 - 0.8) * g,
                             v = 0.95 * before.v.data<double>()[i] + (1 - 0.95) * g * g;
                const double change = 0.01 * (m / (1 - std::pow(0.8, 7))) / (std::sqrt(v / (1 - std::pow(0.95, 7))) + 1e-3);
                EXPECT_NEAR(s.m.data<double>()[i], m, 1e-15);
                EXPECT_NEAR(s.v.data<double>()[i], v, 1e-15);
                EXPECT_NEAR(s.p.data<double>()[i], p - (decoupled ? 0.01 * 0.2 * p : 0) - change, 1e-15);
            }
        }
}

TEST(Sgd, FollowsItsFormula) {
    State s(1025, DType::f64);
    const State before = s.clone();
    sgd_step(s.p, s.g, s.m, all_of(1025), {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.2, .gradient_factor = 0.5});
    for (std::int64_t i = 0; i < 1025; ++i) {
        const double p = before.p.data<double>()[i];
        const double m = 0.9 * before.m.data<double>()[i] + 0.5 * before.g.data<double>()[i] + 0.2 * p;
        EXPECT_NEAR(s.m.data<double>()[i], m, 1e-15);
        EXPECT_NEAR(s.p.data<double>()[i], p - 0.1 * m, 1e-15);
    }
}

TEST(Adam, EveryLevelEqualsTheReferenceAndWritesNothingElse) {
    const AdamStep step = {.lr = 0.01, .weight_decay = 0.1, .decoupled = true, .update = 3, .gradient_factor = 0.7};
    const AdamCoefficients<float> c = {0.7f,
                                       0,
                                       1 - 0.001f,
                                       0.9f,
                                       0.1f,
                                       0.98f,
                                       static_cast<float>(1 - 0.98),
                                       static_cast<float>(0.01 / (1 - std::pow(0.9, 3))),
                                       static_cast<float>(1 / std::sqrt(1 - std::pow(0.98, 3))),
                                       1e-9f};
    for (const std::int64_t n : {1, 15, 16, 31, 32, 33, 127, 1025}) {
        State wide(n, DType::f64);
        const State start(n, DType::f32);
        adam_step(wide.p, wide.g, wide.m, wide.v, all_of(n), step);
        for (const auto values : HEDDLE_ALL_LEVELS(adam_values)) {
            Guarded<float> p(n), m(n), v(n);
            std::copy_n(start.p.data<float>(), n, p.data());
            std::copy_n(start.m.data<float>(), n, m.data());
            std::copy_n(start.v.data<float>(), n, v.data());
            values(p.data(), start.g.data<float>(), m.data(), v.data(), n, c);
            EXPECT_TRUE(p.intact() && m.intact() && v.intact());
            EXPECT_LT(relative_error(p.tensor({n}), wide.p), 1e-6) << n;
            EXPECT_LT(relative_error(m.tensor({n}), wide.m), 1e-6) << n;
            EXPECT_LT(relative_error(v.tensor({n}), wide.v), 1e-6) << n;
        }
    }
}

TEST(Sgd, EveryLevelEqualsTheReferenceAndWritesNothingElse) {
    for (const std::int64_t n : {1, 31, 33, 1025}) {
        State wide(n, DType::f64);
        const State start(n, DType::f32);
        sgd_step(wide.p, wide.g, wide.m, all_of(n), {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.2, .gradient_factor = 0.7});
        for (const auto values : HEDDLE_ALL_LEVELS(sgd_values)) {
            Guarded<float> p(n), m(n);
            std::copy_n(start.p.data<float>(), n, p.data());
            std::copy_n(start.m.data<float>(), n, m.data());
            values(p.data(), start.g.data<float>(), m.data(), n, {0.7f, 0.2f, 0.9f, 0.1f});
            EXPECT_TRUE(p.intact() && m.intact());
            EXPECT_LT(relative_error(p.tensor({n}), wide.p), 1e-6) << n;
            EXPECT_LT(relative_error(m.tensor({n}), wide.m), 1e-6) << n;
        }
    }
}

TEST(Adam, HasTheSameBitsForAnyNumberOfThreadsAndAnyPieces) {
    const std::int64_t n = 100003;
    const AdamStep step = {.lr = 0.01, .weight_decay = 0.1};
    State wanted(n, DType::f32);
    {
        const WithThreads one(1);
        adam_step(wanted.p, wanted.g, wanted.m, wanted.v, all_of(n), step);
    }
    for (const int count : {1, 2, 3}) {
        const WithThreads with(count);
        State s(n, DType::f32);
        adam_step(s.p, s.g, s.m, s.v, Spans({{0, 7}, {7, 40009}, {40016, n - 40016}}, n), step);
        EXPECT_TRUE(same_bits(s.p, wanted.p) && same_bits(s.m, wanted.m) && same_bits(s.v, wanted.v)) << count;
    }
}

TEST(Adam, KeepsTheBitsOfFrozenParameters) {
    for (const bool sgd : {false, true}) {
        State s(1025, DType::f32);
        const State before = s.clone();
        const Spans active({{3, 100}, {500, 1}}, 1025);
        if (sgd)
            sgd_step(s.p, s.g, s.m, active, {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.5});
        else
            adam_step(s.p, s.g, s.m, s.v, active, {.lr = 0.1, .weight_decay = 0.5, .decoupled = true});
        for (std::int64_t i = 0; i < 1025; ++i) {
            const bool moved = (i >= 3 && i < 103) || i == 500;
            EXPECT_EQ(s.p.data<float>()[i] != before.p.data<float>()[i], moved) << i;
            EXPECT_EQ(s.m.data<float>()[i] != before.m.data<float>()[i], moved) << i;
        }
    }
}

TEST(Adam, LeavesNoSubnormalMoments) {
    State s(64, DType::f32);
    s.g.fill_(0);
    s.m.fill_(2e-38);
    s.v.fill_(1.19e-38);
    for (int update = 1; update <= 20; ++update) adam_step(s.p, s.g, s.m, s.v, all_of(64), {.lr = 0.01, .update = update});
    for (std::int64_t i = 0; i < 64; ++i) {
        EXPECT_EQ(s.m.data<float>()[i], 0);
        EXPECT_EQ(s.v.data<float>()[i], 0);
    }
}

TEST(Adam, SaysThatItChangedTheParameters) {
    State s(4, DType::f32);
    const std::uint64_t p = s.p.version(), g = s.g.version();
    adam_step(s.p, s.g, s.m, s.v, all_of(4), {.lr = 0.1});
    EXPECT_GT(s.p.version(), p);
    EXPECT_EQ(s.g.version(), g);
}

TEST(Adam, NamesWhatDoesNotFit) {
    State s(4, DType::f32);
    Tensor wrong = Tensor::zeros({5}, DType::f32), wide = Tensor::zeros({4}, DType::f64),
           matrix = Tensor::zeros({2, 2}, DType::f32);
    expect_error([&] { adam_step(s.p, wrong, s.m, s.v, all_of(4), {}); }, "adam: gradients has shape [5], wanted [4]");
    expect_error([&] { adam_step(s.p, s.g, wide, s.v, all_of(4), {}); }, "adam: first_moment is f64, wanted f32");
    expect_error([&] { adam_step(matrix, s.g, s.m, s.v, all_of(4), {}); }, "adam: parameters has shape [2, 2], wanted 1 axes");
    expect_error([&] { adam_step(s.p, s.g, s.m, s.v, all_of(3), {}); }, "adam: the active ranges are those of 3 elements");
    expect_error([&] { adam_step(s.p, s.g, s.m, s.v, all_of(4), {.update = 0}); }, "adam: this is update 0");
    expect_error([&] { adam_step(s.p, s.g, s.m, s.v, all_of(4), {.beta2 = 1}); }, "adam: the betas are 0.9 and 1");
    for (const double eps : {0.0, -1.0, 1e-50, std::nan("")})  // 1e-50 is 0 in f32
        expect_error([&] { adam_step(s.p, s.g, s.m, s.v, all_of(4), {.eps = eps}); }, "wanted a number above 0 in f32");
    expect_error([&] { sgd_step(s.p, s.g, wrong, all_of(4), {}); }, "sgd: momentum has shape [5], wanted [4]");
}

}  // namespace
}  // namespace heddle::kernels
