// Cases of softmax, log_softmax and cross_entropy: rows that are normalised.
#include <algorithm>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/log_softmax/log_softmax.h"
#include "kernels/softmax/softmax.h"
#include "tests/kernels/op_cases.h"
#include "tests/kernels/softmax_cases.h"

namespace heddle::kernels {
namespace {

// Narrow and wide rows, in vectors and one by one.
const std::int64_t kWidths[] = {1, 2, 24, 31, 32, 33, 127, 256, 257, 264, 1024, 1025, 1032, 2056};

// Over the places that attend, one flag for each element of x.
Tensor plain_softmax(const Tensor& x, const std::vector<bool>& attends) {
    const std::vector<double> values = x.to_vector();
    Tensor y = Tensor::zeros(x.shape(), DType::f64);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const auto begin = static_cast<std::size_t>(row * x.cols()), end = begin + static_cast<std::size_t>(x.cols());
        double largest = -kInfinity, total = 0;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) largest = std::max(largest, values[i]);
        if (largest == -kInfinity) continue;
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) total += std::exp(values[i] - largest);
        for (std::size_t i = begin; i < end; ++i)
            if (attends[i]) y.mutable_data<double>()[i] = std::exp(values[i] - largest) / total;
    }
    return y;
}

// inputs: x, mask, lengths; x [2, 3, cols].
std::vector<bool> attending(const Tensors& inputs, bool causal) {
    const Tensor &x = inputs[0], &mask = inputs[1], &lengths = inputs[2];
    const std::int64_t cols = x.cols();
    std::vector<bool> attends;
    for (std::int64_t i = 0; i < x.numel(); ++i)
        attends.push_back((!mask.defined() || mask.data<std::uint8_t>()[i % mask.numel()] != 0) &&
                          (!causal || i % cols <= i / cols % 3 + cols - 3) &&
                          (!lengths.defined() || i % cols < lengths.data<std::int32_t>()[i / (3 * cols)]));
    return attends;
}

OpCase softmax_case(const std::string& what, const Tensors& inputs, bool causal, const Allowed& allowed) {
    return {.what = what,
            .inputs = inputs,
            .run =
                [causal](const Tensors& in) {
                    return Tensors{softmax_forward(in[0], in[1], {in[2], causal})};
                },
            .allowed = allowed,
            .same_zeros = true,
            .offset = OpCase::each_offset};
}

// inputs: x, mask, the bias.
OpCase scored_softmax_case(const std::string& what, const Tensors& inputs, double scale, const Allowed& allowed) {
    return {.what = what,
            .inputs = inputs,
            .run =
                [scale](const Tensors& in) {
                    return Tensors{softmax_forward(in[0], in[1], {}, {scale, in[2]})};
                },
            .allowed = allowed,
            .formula =
                [scale](const Tensors& in) {
                    Tensor scores = in[0].clone();
                    for (std::int64_t i = 0; i < scores.numel(); ++i)
                        scores.mutable_data<double>()[i] =
                            scale * in[0].data<double>()[i] + in[2].data<double>()[i % in[2].numel()];
                    return Tensors{plain_softmax(scores, attending({in[0], in[1], {}}, false))};
                },
            .same_zeros = true};
}

OpCase softmax_gradient(const std::string& what, const Tensor& x, const Tensor& mask, const Allowed& allowed, double scale = 1) {
    return {.what = what + ", backward",
            .inputs = {numbers(x.shape(), 6), softmax_forward(x, mask)},
            .run = [scale](const Tensors& in) { return Tensors{softmax_backward(in[0], in[1], scale)}; },
            .allowed = allowed,
            .offset = OpCase::each_offset,
            .by_row = x.rank() == 2 ? 2 : 0};
}

// A pair of cases, forward and backward, for rows of this width.
void add_log_softmax(std::vector<OpCase>& cases, std::int64_t rows, std::int64_t cols, const Allowed& allowed,
                     Runs runs = Runs::everywhere) {
    const Tensor x = numbers({rows, cols}, 5, 0, 3);
    OpCase forward{.what = std::to_string(rows) + " x " + std::to_string(cols),
                   .inputs = {x},
                   .run = [](const Tensors& in) { return Tensors{log_softmax_forward(in[0])}; },
                   .allowed = allowed,
                   .runs = runs,
                   .by_row = 1,
                   .nan = NanSpreads::over_its_row};
    if (runs == Runs::everywhere && cols <= 1025) {
        forward.on_cpu = Allowed{1e-13, 1e-6};
        forward.formula = [](const Tensors& in) {
            Tensor y = in[0].clone();
            for (std::int64_t row = 0; row < y.rows(); ++row) {
                Tensor line = y.slice(row, row + 1);
                const auto values = line.mutable_values<double>();
                if (values.empty()) continue;
                const double largest = *std::max_element(values.begin(), values.end());
                double total = 0;
                for (const double value : values) total += std::exp(value - largest);
                for (double& value : values) value = value - largest - std::log(total);
            }
            return Tensors{y};
        };
    }
    cases.push_back(forward);
    cases.push_back({.what = forward.what + ", backward",
                     .inputs = {numbers({rows, cols}, 6), log_softmax_forward(x)},
                     .run = [](const Tensors& in) { return Tensors{log_softmax_backward(in[0], in[1])}; },
                     .allowed = allowed,
                     .offset = OpCase::each_offset,
                     .runs = runs,
                     .by_row = 2});
}

// Every fifth target is ignored, others are anywhere.
Tensor random_targets(std::int64_t rows, std::int64_t vocabulary, std::int64_t ignore) {
    Sequence random(11);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < rows; ++i)
        ids.push_back(static_cast<std::int32_t>(
            i % 5 == 4 ? ignore : static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary)))));
    return Tensor::from(ids, {rows});
}

// Logits with the largest one twice in each row, so that the first of them must win.
Tensor logits_with_ties(std::int64_t rows, std::int64_t vocabulary) {
    Tensor logits = numbers({rows, vocabulary}, 4, 1, 3);
    for (std::int64_t row = 0; row < rows; ++row) {
        double* x = logits.mutable_data<double>() + row * vocabulary;
        const std::int64_t at = std::max_element(x, x + vocabulary) - x;
        x[(at + vocabulary / 2) % vocabulary] = x[at];
    }
    return logits;
}

void add_cross_entropy(std::vector<OpCase>& cases, std::int64_t rows, std::int64_t vocabulary, const LossOptions& options,
                       const Allowed& allowed = {.f64 = 1e-13, .f32 = 3e-6}, Runs runs = Runs::everywhere) {
    const std::string what = std::to_string(rows) + " x " + std::to_string(vocabulary);
    const Tensor logits = logits_with_ties(rows, vocabulary), targets = random_targets(rows, vocabulary, options.ignore);
    const OpFunction backward = [options](const Tensors& in) {
        return Tensors{cross_entropy_backward(in[2], in[0], in[1], options)};
    };
    OpCase one{.what = what,
               .inputs = {logits, targets, Tensor::full({}, 1.75, DType::f64)},
               .run =
                   [options, backward](const Tensors& in) {
                       return Tensors{cross_entropy_forward(in[0], in[1], options).loss, backward(in)[0]};
                   },
               .allowed = allowed,
               .runs = runs};
    cases.push_back(one);
    // Apart: the loss is not compared with the number of targets. Logits out of place are tried above.
    one.what += ", statistics";
    one.run = [options](const Tensors& in) {
        const Tensor all = cross_entropy_forward(in[0], in[1], options).statistics;
        return Tensors{all.slice(0, 1), all.slice(1, 2), all.slice(2, 4)};
    };
    one.allowed.f32 = 1e-5;
    one.offset = OpCase::no_offset;
    one.results = DType::f64;
    cases.push_back(one);
    one.results.reset();
    if (options.divisor == 0) return;  // then each row's gradient depends on how many targets count
    one.what = what + ", row by row";
    one.run = backward;
    one.allowed = allowed;
    one.by_row = 2;
    one.nan = NanSpreads::over_its_row;
    cases.push_back(one);
}

}  // namespace

std::vector<OpCase> softmax_cases() {
    std::vector<OpCase> cases;
    const Allowed forward{.f64 = 1e-13, .f32 = 2e-6}, backward{.f64 = 1e-13, .f32 = 3e-6}, wide{.f64 = 1e-12, .f32 = 1e-5};
    for (const std::int64_t cols : kWidths) {
        const std::string what = std::to_string(cols) + " columns";
        const Shape shape{2, 3, cols};
        const Tensor x = numbers(shape, 5, 0, 3),
                     lengths = Tensor::from(
                         std::vector<std::int32_t>{static_cast<std::int32_t>(cols), static_cast<std::int32_t>(cols / 2)}, {2});
        for (const Tensor& mask : {Tensor(), random_mask(shape, 7), random_mask({3, cols}, 8)}) {
            for (const bool reaching : {false, true}) {
                if (reaching && mask.shape() == shape) continue;
                OpCase one = softmax_case(what, {x, mask, reaching ? lengths : Tensor()}, reaching, forward);
                one.on_cpu = Allowed{cols > 1025 ? 1e-13 : 1e-14, cols > 1025 ? 2e-6 : 1e-6};
                one.formula = [reaching](const Tensors& in) { return Tensors{plain_softmax(in[0], attending(in, reaching))}; };
                cases.push_back(one);
            }
            cases.push_back(softmax_gradient(what, x, mask, backward));
        }
    }
    for (const std::int64_t cols : {1, 24, 33, 257, 1024, 1025, 1032, 2056}) {
        const std::string what = std::to_string(cols) + " columns, scale and bias";
        const Tensor x = numbers({2, 3, cols}, 5, 0, 3), mask = random_mask({3, cols}, 8);
        for (const Shape& shape : {Shape({2, 3, cols}), Shape({3, cols}), Shape({cols})}) {
            Tensor bias = numbers(shape, 9, 0, 2);
            if (cols > 2) bias.mutable_data<double>()[1] = -kInfinity;
            cases.push_back(
                scored_softmax_case(what + " of " + shape.str(), {x, shape.rank() == 2 ? mask : Tensor(), bias}, 0.37, forward));
        }
        cases.push_back(softmax_gradient(what, x, mask, backward, -0.37));
    }
    // Among many rows, and alone.
    OpCase rows = softmax_case("700 rows", {numbers({700, 65}, 3, 0, 3), random_mask({700, 65}, 9), {}}, false, forward);
    rows.by_row = 2;
    rows.runs = Runs::on_the_cpu;
    cases.push_back(rows);
    cases.push_back(softmax_gradient("700 rows", rows.inputs[0], {}, backward));
    cases.back().runs = Runs::on_the_cpu;
    for (const std::int64_t cols : {8, 1032}) {
        OpCase with_nan = softmax_case("with a NaN", {numbers({3, cols}, 1), {}, {}}, false, forward);
        with_nan.nan = NanSpreads::over_its_row;
        cases.push_back(with_nan);
    }
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) {
        cases.push_back(softmax_case("of " + shape.str(), {numbers(shape, 1), {}, {}}, false, forward));
        cases.push_back(softmax_gradient("of " + shape.str(), numbers(shape, 1), {}, backward));
    }
    for (const std::int64_t cols : {32768, 65535}) {  // they are read again
        const Tensor x = numbers({2, cols}, 5, 0, 3), mask = random_mask({2, cols}, 8);
        cases.push_back(softmax_case(std::to_string(cols) + " columns", {x, mask, {}}, false, wide));
        cases.back().runs = Runs::unwatched;
        cases.push_back(softmax_gradient(cases.back().what, x, mask, wide));
        cases.back().runs = Runs::unwatched;
    }
    return cases;
}

std::vector<OpCase> log_softmax_cases() {
    std::vector<OpCase> cases;
    for (const std::int64_t cols : kWidths) add_log_softmax(cases, 5, cols, {.f64 = 1e-13, .f32 = 2e-6});
    for (const Shape& shape : {Shape({0, 5}), Shape({3, 0})}) add_log_softmax(cases, shape[0], shape[1], {});
    for (const std::int64_t cols : {32768, 65535}) add_log_softmax(cases, 2, cols, {.f64 = 1e-12, .f32 = 1e-5}, Runs::unwatched);
    add_log_softmax(cases, 700, 65, {.f64 = 1e-13, .f32 = 2e-6}, Runs::on_the_cpu);
    for (const std::int64_t cols : {8, 1032}) {  // a -infinity, nothing else, an infinity, a NaN
        Tensor x = numbers({4, cols}, 1);
        x.mutable_data<double>()[3] = -kInfinity;
        std::fill_n(x.mutable_data<double>() + cols, cols, -kInfinity);
        x.mutable_data<double>()[2 * cols + 1] = kInfinity;
        x.mutable_data<double>()[3 * cols + 1] = std::nan("");
        OpCase forward{.what = "infinities and a NaN",
                       .inputs = {x},
                       .run = [](const Tensors& in) { return Tensors{log_softmax_forward(in[0])}; },
                       .allowed = {.f64 = 1e-13, .f32 = 2e-6}};
        // By hand: the second row stays, those behind it have no distribution.
        forward.formula = [cols](const Tensors& in) {
            Tensor y = Tensor::full({4, cols}, std::nan(""), DType::f64);
            y.slice(0, 2).copy_(log_softmax_forward(in[0].slice(0, 2)));
            y.slice(1, 2).fill_(-kInfinity);
            y.mutable_data<double>()[3] = -kInfinity;
            return Tensors{y};
        };
        cases.push_back(forward);
        // A row of nothing but -infinity sends no gradient.
        cases.push_back({.what = "backward of a row of -infinity",
                         .inputs = {numbers({1, cols}, 2), Tensor::full({1, cols}, -kInfinity, DType::f64)},
                         .run = [](const Tensors& in) { return Tensors{log_softmax_backward(in[0], in[1])}; },
                         .formula =
                             [cols](const Tensors&) {
                                 return Tensors{Tensor::zeros({1, cols}, DType::f64)};
                             },
                         .exact = true});
    }
    return cases;
}

std::vector<OpCase> cross_entropy_cases() {
    std::vector<OpCase> cases;
    add_cross_entropy(cases, 1, 1, {});
    add_cross_entropy(cases, 0, 8, {.label_smoothing = 0.1});
    add_cross_entropy(cases, 33, 31, {.label_smoothing = 0.1, .divisor = 20});
    add_cross_entropy(cases, 5, 32, {.divisor = 7});
    add_cross_entropy(cases, 40, 127, {.label_smoothing = 0.2, .ignore = 3});
    for (const std::int64_t vocabulary : {33, 64, 1025, 1032}) add_cross_entropy(cases, 3, vocabulary, {.label_smoothing = 0.1});
    add_cross_entropy(cases, 4, 4096, {});
    add_cross_entropy(cases, 300, 513, {.label_smoothing = 0.1}, {.f64 = 1e-13, .f32 = 3e-6}, Runs::on_the_cpu);
    for (const std::int64_t vocabulary : {32768, 100001})  // they are read again
        add_cross_entropy(cases, 2, vocabulary, {.label_smoothing = 0.1}, {.f64 = 1e-12, .f32 = 1e-5}, Runs::unwatched);
    for (const double divisor : {0.0, 10.0}) {  // every target is ignored
        const LossOptions options{.label_smoothing = 0.1, .ignore = 2, .divisor = divisor};
        OpCase one{.what = "all ignored",
                   .inputs = {numbers({3, 40}, 1), Tensor::full({3}, 2, DType::i32), Tensor::full({}, 1, DType::f64)},
                   .run =
                       [options](const Tensors& in) {
                           return Tensors{cross_entropy_forward(in[0], in[1], options).loss,
                                          cross_entropy_backward(in[2], in[0], in[1], options)};
                       },
                   .formula =
                       [](const Tensors&) {
                           return Tensors{Tensor::zeros({}, DType::f64), Tensor::zeros({3, 40}, DType::f64)};
                       },
                   .exact = true};
        cases.push_back(one);
        one.what += ", statistics";
        one.run = [options](const Tensors& in) { return Tensors{cross_entropy_forward(in[0], in[1], options).statistics}; };
        one.formula = [](const Tensors&) { return Tensors{Tensor::zeros({4}, DType::f64)}; };
        one.results = DType::f64;
        cases.push_back(one);
    }
    return cases;
}

}  // namespace heddle::kernels
