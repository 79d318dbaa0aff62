#include <cmath>

#include "apps/learn/grader/tape_attempt.h"
#include "softmax-gradient/exercise.h"

namespace heddle::learn::softmax_gradient_harness {

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

std::string run(const Answer& answer) {
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

const TapeExercise exercise("softmax-gradient", run);

}  // namespace heddle::learn::softmax_gradient_harness
