// The exercises of the track "tape", but own-gradcheck.
#include <cmath>

#include "apps/learn/grader/tape_attempt.h"
#include "broadcast-sum/exercise.h"
#include "layer-norm-gradient/exercise.h"
#include "product-rule/exercise.h"
#include "softmax-gradient/exercise.h"

namespace heddle::learn {
namespace {

// The products of two rows of numbers.
template <class A, class B>
Values times(const A& a, const B& b) {
    Values all;
    for (std::size_t i = 0; i < a.size(); ++i) all.push_back(a[i] * b[i]);
    return all;
}

std::string product_rule(const Answer& answer) {
    auto* const product = answer.function<decltype(::product)>("product", "_Z7productRKN6heddle8VariableES2_");
    const auto x = [](Inputs in) { return in[0].values<double>(); };
    const auto y = [](Inputs in) { return in[1].values<double>(); };
    const auto copy = [](auto values) { return Values(values.begin(), values.end()); };
    const char* const other = "that is dz times its own factor; the derivative of x y by x is y, and by y it is x";
    const char* const alone = "that is the derivative of z alone; the chain rule multiplies it by dz, g.output()";
    const TapeOp op = {.inputs = {"x", "y"},
                       .result = "z",
                       .function = [product](auto in) { return product(in[0], in[1]); },
                       .value = [=](Inputs in) { return times(x(in), y(in)); },
                       .gradients =
                           [=](Inputs in, const Values& dz) {
                               return std::vector<Values>{times(dz, y(in)), times(dz, x(in))};
                           },
                       .mistakes = {{0, [=](Inputs in, const Values& dz) { return times(dz, x(in)); }, other},
                                    {1, [=](Inputs in, const Values& dz) { return times(dz, y(in)); }, other},
                                    {0, [=](Inputs in, const Values&) { return copy(y(in)); }, alone},
                                    {1, [=](Inputs in, const Values&) { return copy(x(in)); }, alone},
                                    {0,
                                     [=](Inputs in, const Values& dz) {
                                         Values both = times(dz, y(in));
                                         for (std::size_t i = 0; i < both.size(); ++i) both[i] += dz[i] * x(in)[i];
                                         return both;
                                     },
                                     "that is the gradient of both factors; the second one belongs to input 1"}}};
    return prove(answer, op, {{tensor({5}, 1), tensor({5}, 2)}, {tensor({2, 3}, 3), tensor({2, 3}, 4)}});
}

const TapeExercise product_rule_exercise("product-rule", product_rule);

// The sum over the rows of term(row, column, index), for each column.
template <class Term>
Values sums_of_columns(Inputs in, Term term) {
    const std::int64_t rows = in[0].rows(), cols = in[0].cols();
    Values sums(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            sums[static_cast<std::size_t>(c)] += term(r, c, static_cast<std::size_t>(r * cols + c));
    return sums;
}

std::string broadcast_sum(const Answer& answer) {
    auto* const add_bias = answer.function<decltype(::add_bias)>("add_bias", "_Z8add_biasRKN6heddle8VariableES2_");
    const auto value = [](Inputs in) {
        Values y(in[0].values<double>().begin(), in[0].values<double>().end());
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += in[1].values<double>()[i % in[1].values<double>().size()];
        return y;
    };
    const auto sum = [](Inputs in, const Values& dy) {
        return sums_of_columns(in, [&](auto, auto, std::size_t i) { return dy[i]; });
    };
    // A gradient of b that is one row of dy, the first or the last.
    const auto one_row = [](bool first) {
        return [first](Inputs in, const Values& dy) {
            return sums_of_columns(
                in, [&](std::int64_t r, auto, std::size_t i) { return r == (first ? 0 : in[0].rows() - 1) ? dy[i] : 0.0; });
        };
    };
    const TapeOp op = {
        .inputs = {"x", "b"},
        .result = "y",
        .function = [add_bias](auto in) { return add_bias(in[0], in[1]); },
        .value = value,
        .gradients =
            [sum](Inputs in, const Values& dy) {
                return std::vector<Values>{dy, sum(in, dy)};
            },
        .mistakes = {{1, one_row(false),
                      "that is the last row of dy alone: with = each row forgets those before it, with += they add up"},
                     {1, one_row(true), "that is the first row of dy alone, but b was added to every row"},
                     {1,
                      [sum](Inputs in, const Values& dy) {
                          Values mean = sum(in, dy);
                          for (double& one : mean) one /= static_cast<double>(in[0].rows());
                          return mean;
                      },
                      "that is the mean over the rows; b changes every row of y, and what that does to the loss adds up"},
                     {1, [](Inputs in, const Values&) { return sums_of_columns(in, [](auto, auto, auto) { return 1.0; }); },
                      "that is the number of rows: the derivative of y alone; the chain rule multiplies it by dy, g.output()"},
                     {1,
                      [](Inputs in, const Values& dy) {
                          Values rows(static_cast<std::size_t>(in[0].cols()));
                          sums_of_columns(in, [&](std::int64_t r, auto, std::size_t i) {
                              return r < in[0].cols() ? rows[static_cast<std::size_t>(r)] += dy[i] : 0;
                          });
                          return rows;
                      },
                      "those are the sums of rows; b[c] was added to the column c"},
                     {1,
                      [sum](Inputs in, const Values& dy) {
                          Values twice = sum(in, dy);
                          for (double& one : twice) one *= 2;
                          return twice;
                      },
                      "that is twice the sum: what is added to accumulate_into() needs no give()"},
                     {1, [value, sum](Inputs in, const Values&) { return sum(in, value(in)); },
                      "that is the sum of y, not of its gradient dy, g.output()"}},
        .on_shape = "b was repeated for each row, so its gradient is the sum over the rows, of the shape of b"};
    return prove(answer, op,
                 {{tensor({3, 4}, 1), tensor({4}, 2)}, {tensor({1, 3}, 3), tensor({3}, 4)}, {tensor({5, 2}, 5), tensor({2}, 6)}});
}

const TapeExercise broadcast_sum_exercise("broadcast-sum", broadcast_sum);

Values softmax_of(Inputs in) {
    const auto x = in[0].values<double>();
    const auto cols = static_cast<std::size_t>(in[0].cols());
    Values y;
    for (std::size_t first = 0; first < x.size(); first += cols) {
        double sum = 0;
        for (std::size_t c = 0; c < cols; ++c) sum += std::exp(x[first + c] - x[first]);
        for (std::size_t c = 0; c < cols; ++c) y.push_back(std::exp(x[first + c] - x[first]) / sum);
    }
    return y;
}

// A gradient of x: element(y, dy, sum) for each element, where `sum` adds up term(y, dy) over its row.
template <class Term, class Element>
auto rows_of(Term term, Element element, bool sum_over_all = false, bool of_x = false) {
    return [=](Inputs in, const Values& dy) {
        const auto x = in[0].values<double>();
        const Values y = of_x ? Values(x.begin(), x.end()) : softmax_of(in);
        const std::size_t cols = sum_over_all ? y.size() : static_cast<std::size_t>(in[0].cols());
        Values dx;
        for (std::size_t first = 0; first < y.size(); first += cols) {
            double sum = 0;
            for (std::size_t i = first; i < first + cols; ++i) sum += term(y[i], dy[i]);
            for (std::size_t i = first; i < first + cols; ++i) dx.push_back(element(y[i], dy[i], sum));
        }
        return dx;
    };
}

std::string softmax_gradient(const Answer& answer) {
    auto* const softmax = answer.function<decltype(::softmax)>("softmax", "_Z7softmaxRKN6heddle8VariableE");
    const auto product = [](double y, double dy) { return dy * y; };
    const auto right = [](double y, double dy, double sum) { return y * (dy - sum); };
    const auto no_sum = [](double y, double dy, double) { return y * dy; };
    const auto wanted = rows_of(product, right);
    const TapeOp op = {
        .inputs = {"x"},
        .result = "y",
        .function = [softmax](auto in) { return softmax(in[0]); },
        .value = softmax_of,
        .gradients = [wanted](Inputs in, const Values& dy) { return std::vector<Values>{wanted(in, dy)}; },
        .mistakes = {{0, rows_of(product, no_sum),
                      "that is dy y alone. x[k] also stands in the sum below the fraction, and through it changes the whole row"},
                     {0, rows_of(product, [](double y, double dy, double) { return dy * y * (1 - y); }),
                      "that is what x[k] does to y[k] alone; it changes the other elements of its row, too"},
                     {0, rows_of([](double, double dy) { return dy; }, right), "the sum adds up dy where dy y is wanted"},
                     {0, rows_of([](double y, double) { return y; }, right),
                      "the sum adds up y, which gives 1, where dy y is wanted"},
                     {0, rows_of(product, right, true), "the sum runs over all rows, but each row has its own"},
                     {0, rows_of(product, right, false, true), "that is the formula with x in place of y: save the result"},
                     {0, rows_of(product, [](double, double dy, double sum) { return dy - sum; }), "the factor y is missing"},
                     {0, rows_of(product, [](double y, double dy, double sum) { return y * (dy + sum); }),
                      "the sum is added where it should be subtracted"},
                     {0,
                      rows_of([](double y, double) { return y * y; }, [](double y, double, double sum) { return y * (y - sum); }),
                      "that is the formula with y in place of dy, g.output()"},
                     {0, rows_of(product, [](double y, double, double) { return y * (1 - y); }),
                      "that is the derivative of y[k] by x[k] alone: it does not depend on dy, g.output()"}}};
    return prove(answer, op, {{tensor({2, 3}, 1)}, {tensor({3, 5}, 2)}, {tensor({1, 2}, 3)}});
}

const TapeExercise softmax_exercise("softmax-gradient", softmax_gradient);

struct Normalised {
    Values n;     // [rows, cols]
    Values rstd;  // [rows]
};

Normalised normalised(Inputs in) {
    const auto x = in[0].values<double>();
    const auto cols = static_cast<std::size_t>(in[0].cols());
    Normalised all;
    for (std::size_t first = 0; first < x.size(); first += cols) {
        double mean = 0, variance = 0;
        for (std::size_t i = first; i < first + cols; ++i) mean += x[i] / static_cast<double>(cols);
        for (std::size_t i = first; i < first + cols; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(cols);
        all.rstd.push_back(1 / std::sqrt(variance + 1e-5));
        for (std::size_t i = first; i < first + cols; ++i) all.n.push_back((x[i] - mean) * all.rstd.back());
    }
    return all;
}

Values layer_norm_of(Inputs in) {
    Values y = normalised(in).n;
    const auto gamma = in[1].values<double>(), beta = in[2].values<double>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = gamma[i % gamma.size()] * y[i] + beta[i % gamma.size()];
    return y;
}

// The parts of the gradient of x: all of them, or with a mistake.
struct Parts {
    double first_mean = 1, second_mean = 1;  // factors of the two means
    bool gamma = true, rstd = true, x_for_n = false, gamma_last = false, sums = false;
};

auto gradient_of_x(const Parts& parts) {
    return [parts](Inputs in, const Values& dy) {
        const Normalised all = normalised(in);
        const auto gamma = in[1].values<double>(), x = in[0].values<double>();
        const Values n = parts.x_for_n ? Values(x.begin(), x.end()) : all.n;
        const std::size_t cols = gamma.size();
        Values dx;
        for (std::size_t r = 0; r < all.rstd.size(); ++r) {
            double mean = 0, mean_n = 0;
            const auto count = static_cast<double>(parts.sums ? 1 : cols);
            const auto g = [&](std::size_t c) { return dy[r * cols + c] * (parts.gamma && !parts.gamma_last ? gamma[c] : 1); };
            for (std::size_t c = 0; c < cols; ++c) {
                mean += g(c) / count;
                mean_n += g(c) * n[r * cols + c] / count;
            }
            for (std::size_t c = 0; c < cols; ++c)
                dx.push_back((parts.rstd ? all.rstd[r] : 1) * (parts.gamma_last ? gamma[c] : 1) *
                             (g(c) - parts.first_mean * mean - parts.second_mean * n[r * cols + c] * mean_n));
        }
        return dx;
    };
}

// For each column the sum of dy, or of dy times the normalised row.
Values column_sums(Inputs in, const Values& dy, bool times_n, bool last_row = false) {
    const Values n = normalised(in).n;
    const auto cols = static_cast<std::size_t>(in[0].cols());
    Values sums(cols);
    for (std::size_t i = last_row ? dy.size() - cols : 0; i < dy.size(); ++i) sums[i % cols] += times_n ? dy[i] * n[i] : dy[i];
    return sums;
}

std::string layer_norm_gradient(const Answer& answer) {
    auto* const layer_norm = answer.function<decltype(::layer_norm)>("layer_norm", "_Z10layer_normRKN6heddle8VariableES2_S2_");
    const TapeOp op = {
        .inputs = {"x", "gamma", "beta"},
        .result = "y",
        .function = [layer_norm](auto in) { return layer_norm(in[0], in[1], in[2]); },
        .value = layer_norm_of,
        .gradients =
            [](Inputs in, const Values& dy) {
                return std::vector<Values>{gradient_of_x({})(in, dy), column_sums(in, dy, true), column_sums(in, dy, false)};
            },
        .mistakes =
            {{0, gradient_of_x({.first_mean = 0}),
              "the term mean(g) is missing: each element of x is a part of the mean that is subtracted from its row"},
             {0, gradient_of_x({.second_mean = 0}),
              "the term n mean(g n) is missing: each element of x is a part of the deviation by which its row is divided"},
             {0, gradient_of_x({.first_mean = 0, .second_mean = 0}),
              "that holds mean and deviation fixed; both depend on each element of the row"},
             {0, gradient_of_x({.gamma = false}), "gamma is missing: g = dy gamma"},
             {0, gradient_of_x({.sums = true}), "those are sums over the row where means are wanted: divide by cols"},
             {0, gradient_of_x({.rstd = false}), "the factor rstd is missing"},
             {0, gradient_of_x({.x_for_n = true}), "that is the formula with x in place of the normalised row n"},
             {0, gradient_of_x({.gamma_last = true}), "gamma belongs to dy, before the means are taken: g = dy gamma"},
             {0, gradient_of_x({.first_mean = -1}), "mean(g) is added where it should be subtracted"},
             {0, gradient_of_x({.second_mean = -1}), "n mean(g n) is added where it should be subtracted"},
             {1, [](Inputs in, const Values& dy) { return column_sums(in, dy, false); },
              "that is the gradient of beta; gamma was multiplied by n"},
             {1, [](Inputs in, const Values& dy) { return column_sums(in, dy, true, true); },
              "that is the last row alone: = forgets the rows before, += adds them up"},
             {2, [](Inputs in, const Values& dy) { return column_sums(in, dy, false, true); },
              "that is the last row alone: = forgets the rows before, += adds them up"}},
        .on_shape = "gamma and beta serve every row, so their gradients are sums over the rows"};
    return prove(answer, op,
                 {{tensor({3, 4}, 1), tensor({4}, 2), tensor({4}, 3)},
                  {tensor({1, 5}, 4), tensor({5}, 5), tensor({5}, 6)},
                  {tensor({5, 2}, 7), tensor({2}, 8), tensor({2}, 9)}});
}

const TapeExercise layer_norm_exercise("layer-norm-gradient", layer_norm_gradient);

}  // namespace
}  // namespace heddle::learn
