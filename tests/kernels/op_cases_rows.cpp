// Cases of layer_norm and of what a search reads from rows of logits: top_k, mean_probability, target_log_probability.
#include <algorithm>
#include <numeric>

#include "kernels/layer_norm/layer_norm.h"
#include "kernels/mean_probability/mean_probability.h"
#include "kernels/target_log_probability/target_log_probability.h"
#include "kernels/top_k/top_k.h"
#include "tests/kernels/op_cases.h"

namespace heddle::kernels {
namespace {

constexpr double kEps = 1e-5, kInfinity = std::numeric_limits<double>::infinity();

struct Rows {
    std::int64_t rows, cols;
    bool shifted = false;  ///< a large mean
};

std::string text(const Rows& one) {
    return std::to_string(one.rows) + " x " + std::to_string(one.cols) + (one.shifted ? ", shifted" : "");
}

// y, mean and rstd in plain loops.
Tensors plain_layer_norm(const Tensors& in) {
    const Tensor &x = in[0], &gamma = in[1], &beta = in[2];
    const std::int64_t n = x.cols();
    Tensor y = x.clone(), means = Tensor::zeros({x.rows()}, DType::f64), rstds = means.clone();
    for (std::int64_t row = 0; row < x.rows(); ++row) {
        const double* from = x.data<double>() + row * n;
        double mean = 0, variance = 0;
        for (std::int64_t j = 0; j < n; ++j) mean += from[j] / static_cast<double>(n);
        for (std::int64_t j = 0; j < n; ++j) variance += (from[j] - mean) * (from[j] - mean) / static_cast<double>(n);
        means.mutable_data<double>()[row] = mean;
        rstds.mutable_data<double>()[row] = 1 / std::sqrt(variance + kEps);
        for (std::int64_t j = 0; j < n; ++j)
            y.mutable_data<double>()[row * n + j] =
                gamma.data<double>()[j] * (from[j] - mean) / std::sqrt(variance + kEps) + beta.data<double>()[j];
    }
    return {y, means, rstds};
}

OpCase layer_norm_forward_case(const Rows& one, const Allowed& allowed) {
    const auto run = [](const Tensors& in) {
        const LayerNormResult result = layer_norm_forward(in[0], in[1], in[2], kEps);
        return Tensors{result.y, result.mean, result.rstd};
    };
    return {.what = text(one),
            .inputs = {numbers({one.rows, one.cols}, 1, one.shifted ? 300 : 0.3, 2), numbers({one.cols}, 3, 1, 0.3),
                       numbers({one.cols}, 4)},
            .run = run,
            .allowed = allowed,
            .plain = run,
            // Rows of an odd number of elements are not aligned as they are.
            .offset = one.cols % 8 == 0 && one.rows < 40 ? OpCase::all_offset : OpCase::no_offset,
            .by_row = 1,
            .nan = NanSpreads::over_its_row};
}

// dx, dgamma and dbeta; the last two are added to what is there.
OpCase layer_norm_backward_case(const Rows& one, const Allowed& allowed) {
    const auto run = [](const Tensors& in) {
        const LayerNormResult forward = layer_norm_forward(in[0], in[1], in[2], kEps);
        const Tensor dx = layer_norm_backward(in[3], in[0], in[1], forward.mean, forward.rstd, true, in[4], in[5]);
        return Tensors{dx, in[4], in[5]};
    };
    OpCase made = layer_norm_forward_case(one, allowed);
    made.what += ", backward";
    made.inputs.insert(made.inputs.end(), {numbers({one.rows, one.cols}, 5), Tensor::full({one.cols}, 0.5, DType::f64),
                                           Tensor::full({one.cols}, -2, DType::f64)});
    made.run = made.plain = run;
    made.rounds_within = true;
    made.sums = 2;
    made.by_row = 0;
    made.nan = NanSpreads::unknown;
    return made;
}

// Of the form behind a residual connection: dx, d_sublayer, dgamma, dbeta.
OpCase residual_backward_case(const Rows& one, const Allowed& allowed, bool with_sum) {
    const auto run = [with_sum](const Tensors& in) {
        const LayerNormResult forward = layer_norm_forward(in[0], in[1], in[2], kEps);
        const auto [dx, d_sublayer] =
            residual_layer_norm_backward(with_sum ? in[6] : Tensor(), in[3], in[0], in[1], forward.mean, forward.rstd,
                                         Dropout(with_sum ? 0.3 : 0.0, 99), true, in[4], in[5]);
        return Tensors{dx, d_sublayer, in[4], in[5]};
    };
    OpCase made = layer_norm_backward_case(one, allowed);
    made.what += with_sum ? " behind dropout, with a gradient of the sum" : " behind a residual connection";
    made.inputs.push_back(numbers({one.rows, one.cols}, 6));
    made.run = made.plain = run;
    made.sums = 0;
    return made;
}

// dgamma and dbeta alone, of many rows with given means.
OpCase layer_norm_sums_case(const Rows& one) {
    OpCase made = layer_norm_backward_case(one, {.f64 = 1e-11, .f32 = 2e-5});
    const LayerNormResult forward = layer_norm_forward(made.inputs[0], made.inputs[1], made.inputs[2], kEps);
    made.what += ", sums alone";
    made.rounds_within = false;  // f32 sums beside bf16 rows are judged as f32
    made.run = made.plain = [forward](const Tensors& in) {
        const auto there = [&](const Tensor& tensor) {
            return tensor.to(in[0].dtype() == DType::f64 ? DType::f64 : DType::f32).to(in[0].device());
        };
        layer_norm_backward(in[3], in[0], in[1], there(forward.mean), there(forward.rstd), false, in[4], in[5]);
        return Tensors{in[4], in[5]};
    };
    made.offset = OpCase::no_offset;
    made.runs = Runs::unwatched;
    made.in_bf16 = one.cols != 257;
    return made;
}

double log_total(std::span<const double> x) {
    const double most = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double each : x) sum += std::exp(each - most);
    return most + std::log(sum);
}

std::span<const double> row_of(const Tensor& x, std::int64_t row) {
    return {x.data<double>() + row * x.cols(), static_cast<std::size_t>(x.cols())};
}

OpCase top_k_case(const Tensor& logits, std::int64_t k) {
    return {.what = std::to_string(k) + " of " + std::to_string(logits.cols()),
            .inputs = {logits},
            .run =
                [k](const Tensors& in) {
                    const TopK top = top_k_log_softmax(in[0], k);
                    return Tensors{top.values, top.ids};
                },
            .allowed = {.f64 = 1e-12, .f32 = 1e-5, .absolute = true},
            .formula =
                [k](const Tensors& in) {
                    const std::int64_t rows = in[0].rows();
                    Tensor values = Tensor::zeros({rows, k}, DType::f64), ids = Tensor::zeros({rows, k}, DType::i32);
                    for (std::int64_t row = 0; row < rows; ++row) {
                        const std::span<const double> x = row_of(in[0], row);
                        const double total = log_total(x);
                        std::vector<std::int32_t> order(x.size());
                        std::iota(order.begin(), order.end(), 0);
                        std::stable_sort(order.begin(), order.end(), [x](std::int32_t a, std::int32_t b) {
                            return x[static_cast<std::size_t>(a)] > x[static_cast<std::size_t>(b)];
                        });
                        for (std::int64_t i = 0; i < k; ++i) {
                            const std::int32_t best = order[static_cast<std::size_t>(i)];
                            ids.mutable_data<std::int32_t>()[row * k + i] = best;
                            values.mutable_data<double>()[row * k + i] = x[static_cast<std::size_t>(best)] - total;
                        }
                    }
                    return Tensors{values, ids};
                },
            .by_row = 1};
}

// The logarithm of the mean, on the scale of the first model's logits.
Tensors plain_mean(const Tensors& logits) {
    Tensor result = Tensor::zeros(logits[0].shape(), DType::f64);
    for (std::int64_t row = 0; row < result.rows(); ++row) {
        double* y = result.mutable_data<double>() + row * result.cols();
        for (const Tensor& each : logits) {
            const std::span<const double> x = row_of(each, row);
            const double total = log_total(x);
            for (std::size_t j = 0; j < x.size(); ++j) y[j] += std::exp(x[j] - total) / static_cast<double>(logits.size());
        }
        const double first = log_total(row_of(logits[0], row));
        for (std::int64_t j = 0; j < result.cols(); ++j) y[j] = std::log(y[j]) + first;
    }
    return {result};
}

OpCase target_case(const Tensor& logits, const Tensor& targets) {
    return {.what = std::to_string(logits.rows()) + " rows of " + std::to_string(logits.cols()),
            .inputs = {logits, targets},
            .run = [](const Tensors& in) { return Tensors{target_log_probability(in[0], in[1])}; },
            // f32: the sum of exponentials is right to about 2^-20, and so is its logarithm, absolutely.
            .allowed = {.f64 = 1e-12, .f32 = 1e-5, .absolute = true},
            .formula =
                [](const Tensors& in) {
                    Tensor result = Tensor::zeros({in[0].rows()}, DType::f64);
                    for (std::int64_t row = 0; row < result.numel(); ++row) {
                        const std::span<const double> x = row_of(in[0], row);
                        result.mutable_data<double>()[row] =
                            x[static_cast<std::size_t>(in[1].data<std::int32_t>()[row])] - log_total(x);
                    }
                    return Tensors{result};
                },
            .results = DType::f64,
            .by_row = 2};
}

Tensor targets_of(std::int64_t rows, std::int64_t vocabulary) {
    std::vector<std::int32_t> targets;
    for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>((7 * i + vocabulary - 1) % vocabulary));
    return Tensor::from(targets, {rows});
}

}  // namespace

std::vector<OpCase> layer_norm_cases() {
    std::vector<OpCase> cases;
    for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 128, 512, 1025}) {
        cases.push_back(layer_norm_forward_case({5, cols}, {.f64 = 1e-12, .f32 = 3e-6}));
        cases.back().on_cpu = Allowed{1e-13, 2e-6};
        cases.back().formula = plain_layer_norm;
    }
    // Narrow and wide rows of every vector width, and both ways through shared memory.
    for (const Rows& one : {Rows{1, 1},
                            {3, 32},
                            {33, 33},
                            {70, 127},
                            {2, 512, true},
                            {5, 129, true},
                            {37, 24, true},
                            {0, 8},
                            {3, 264},
                            {3, 1024},
                            {2, 1025, true},
                            {2, 1032},
                            {33, 520},
                            {3, 4096},
                            {2, 4104}}) {
        // f32: the deviations of a row around 300 carry the rounding of x itself in mean and sum.
        const Allowed allowed{.f64 = one.shifted ? 1e-11 : 1e-12, .f32 = one.shifted ? 6e-5 : 3e-6};
        cases.push_back(layer_norm_forward_case(one, allowed));
        if (one.cols == 1) continue;  // dx is 0 but for rounding, which has no scale to be compared with
        cases.push_back(layer_norm_backward_case(one, allowed));
        for (const bool with_sum : {false, true}) {
            cases.push_back(residual_backward_case(one, allowed, with_sum));
            cases.back().offset = OpCase::no_offset;
        }
    }
    // Runs of several chunks in the sums over chunks, and chunks of more rows than a block has warps.
    for (const Rows& one : {Rows{1100, 8}, {1030, 257}, {40000, 3}}) cases.push_back(layer_norm_sums_case(one));
    // dx of chunks that take a block several rounds, the last with fewer rows: of a warp a row, of two, of eight, of a block that
    // reads its rows twice, by vectors or not.
    for (const Rows& one : {Rows{1800, 24}, {870, 258}, {220, 514}, {217, 4104}, {220, 2051}}) {
        cases.push_back(layer_norm_backward_case(one, {.f64 = 1e-11, .f32 = 2e-5}));
        cases.back().offset = OpCase::no_offset;
        if (one.rows * one.cols > 150000) cases.back().runs = Runs::unwatched;
    }
    const auto behind_dropout = [](const Tensors& in) {
        return Tensors{residual_layer_norm_forward(in[0], in[3], in[1], in[2], kEps, Dropout(0.1, 5)).y};
    };
    OpCase residual = layer_norm_forward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5});
    residual.what += " behind dropout";
    residual.inputs.push_back(numbers({1, 24592}, 2));
    residual.run = residual.plain = behind_dropout;
    residual.by_row = 0;
    residual.offset = OpCase::no_offset;
    residual.runs = Runs::unwatched;
    cases.push_back(residual);
    cases.push_back(layer_norm_backward_case({1025, 48}, {.f64 = 1e-12, .f32 = 2e-6}));
    cases.back().offset = OpCase::no_offset;
    cases.back().runs = Runs::on_the_cpu;
    for (OpCase& one : std::vector{layer_norm_forward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5}),  // read again
                                   layer_norm_backward_case({1, 24592}, {.f64 = 1e-12, .f32 = 1e-5})}) {
        one.runs = Runs::unwatched;
        one.offset = OpCase::no_offset;
        cases.push_back(one);
    }
    return cases;
}

std::vector<OpCase> top_k_cases() {
    std::vector<OpCase> cases;
    for (const std::int64_t cols : {1, 2, 31, 32, 33, 127, 1025, 3000})
        for (const std::int64_t k : {1, 2, 10})
            if (k <= cols) cases.push_back(top_k_case(numbers({3, cols}, 4, 0, 3), k));
    for (const std::int64_t cols : {33, 2064}) {  // ties
        Tensor logits = Tensor::full({2, cols}, 1, DType::f64);
        for (std::int64_t j = 0; j < cols; j += 7) logits.mutable_data<double>()[cols + j] = 2;
        cases.push_back(top_k_case(logits, 9));
    }
    // One thread holds more of them than it keeps at once: it must look through its columns again.
    const std::int64_t wide = 8 * 2048;
    Tensor logits = numbers({1, wide}, 4);
    for (std::int64_t j = 3; j < wide; j += 2048) logits.mutable_data<double>()[j] = 20 + static_cast<double>(j % 5);
    for (std::int64_t j = 4096; j < 4104; ++j) logits.mutable_data<double>()[j] = 30 - static_cast<double>(j % 3);
    cases.push_back(top_k_case(logits, 16));
    // A whole row in order, with -infinity last.
    Tensor holes = numbers({2, 40}, 4);
    for (const std::int64_t j : {0, 7, 39, 45}) holes.mutable_data<double>()[j] = -kInfinity;
    cases.push_back(top_k_case(holes, 40));
    cases.push_back(top_k_case(numbers({0, 5}, 1), 2));
    cases.push_back(top_k_case(numbers({2, 100001}, 4, 0, 3), 20));
    cases.back().in_bf16 = false;  // so many columns hold no distinct bf16 numbers
    cases.back().offset = OpCase::no_offset;
    cases.back().runs = Runs::unwatched;
    cases.push_back(top_k_case(numbers({90, 1500}, 9, 0, 3), 10));
    cases.back().runs = Runs::on_the_cpu;
    return cases;
}

std::vector<OpCase> mean_probability_cases() {
    std::vector<OpCase> cases;
    const auto add = [&](std::uint64_t models, const Shape& shape) {
        OpCase one{.what = std::to_string(models) + " models, " + shape.str(),
                   .inputs = {},
                   .run = [](const Tensors& in) { return Tensors{mean_probability(in)}; },
                   .allowed = {.f64 = 1e-12, .f32 = 1e-6},
                   .formula = plain_mean,
                   .by_row = static_cast<int>(models)};
        for (std::uint64_t m = 0; m < models; ++m) one.inputs.push_back(numbers(shape, 7 + m, 0, 3));
        cases.push_back(one);
    };
    for (const std::int64_t vocabulary : {1, 31, 32, 33, 127, 1025, 2048})
        for (const std::uint64_t models : {2, 5}) add(models, {3, vocabulary});
    add(2, {0, 9});
    add(2, {2, 9});
    cases.back().inputs[0].mutable_data<double>()[3] = -kInfinity;  // one model forbids a word
    return cases;
}

std::vector<OpCase> target_log_probability_cases() {
    std::vector<OpCase> cases;
    for (const std::int64_t vocabulary : {1, 2, 31, 32, 33, 127, 1024, 1025, 3000})
        cases.push_back(target_case(numbers({5, vocabulary}, 4, 0, 3), targets_of(5, vocabulary)));
    Tensor extreme = numbers({3, 40}, 4);
    extreme.mutable_data<double>()[3] = 1e4;
    extreme.mutable_data<double>()[7] = -1e4;
    for (std::int64_t j = 40; j < 80; ++j)
        if (j != 52) extreme.mutable_data<double>()[j] = -kInfinity;
    for (const std::int32_t target : {3, 7, 12, 39})
        cases.push_back(target_case(extreme, Tensor::from(std::vector<std::int32_t>{target, 12, target}, {3})));
    cases.push_back(target_case(extreme, Tensor::from(std::vector<std::int32_t>{0, 13, 0}, {3})));  // -infinity
    cases.push_back(target_case(numbers({0, 5}, 1), targets_of(0, 5)));
    cases.push_back(target_case(numbers({2, 100001}, 4, 0, 3), targets_of(2, 100001)));
    cases.back().runs = Runs::unwatched;
    return cases;
}

}  // namespace heddle::kernels
