#include "apps/learn/grader/tape_attempt.h"
#include "broadcast-sum/exercise.h"

namespace heddle::learn::broadcast_sum_harness {

// The sum over the rows of term(row, column, index), for each column.
template <class Term>
Values column_sums(Inputs in, Term term) {
    const std::int64_t rows = in[0].rows(), cols = in[0].cols();
    Values sums(static_cast<std::size_t>(cols));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            sums[static_cast<std::size_t>(c)] += term(r, c, static_cast<std::size_t>(r * cols + c));
    return sums;
}

std::string run(const Answer& answer) {
    auto* const add_bias = answer.function<decltype(::add_bias)>("add_bias", "_Z8add_biasRKN6heddle8VariableES2_");
    const auto value = [](Inputs in) {
        Values y(in[0].values<double>().begin(), in[0].values<double>().end());
        for (std::size_t i = 0; i < y.size(); ++i) y[i] += in[1].values<double>()[i % in[1].values<double>().size()];
        return y;
    };
    const auto sum = [](Inputs in, const Values& dy) {
        return column_sums(in, [&](auto, auto, std::size_t i) { return dy[i]; });
    };
    // A gradient of b that is one row of dy, the first or the last.
    const auto one_row = [](bool first) {
        return [first](Inputs in, const Values& dy) {
            return column_sums(
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
                     {1, [](Inputs in, const Values&) { return column_sums(in, [](auto, auto, auto) { return 1.0; }); },
                      "that is the number of rows: the derivative of y alone; the chain rule multiplies it by dy, g.output()"},
                     {1,
                      [](Inputs in, const Values& dy) {
                          Values rows(static_cast<std::size_t>(in[0].cols()));
                          column_sums(in, [&](std::int64_t r, auto, std::size_t i) {
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

const TapeExercise exercise("broadcast-sum", run);

}  // namespace heddle::learn::broadcast_sum_harness
