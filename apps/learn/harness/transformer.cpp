// The exercises of the track "Transformer kernels".
#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "attention-backward/exercise.h"
#include "attention/exercise.h"
#include "cached-attention/exercise.h"
#include "cross-entropy/exercise.h"
#include "layer-norm-backward/exercise.h"
#include "layer-norm/exercise.h"
#include "linear-gelu/exercise.h"
#include "softmax/exercise.h"

namespace heddle::learn {
namespace {

using Floats = std::vector<float>;

// The largest of the numbers, and the sum of their exponentials after it was subtracted.
struct Exponentials {
    double largest = -INFINITY, sum = 0;

    template <class Numbers>
    Exponentials(const Numbers& numbers, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, static_cast<double>(numbers[i]));
        for (std::size_t i = begin; i < end; ++i) sum += std::exp(numbers[i] - largest);
    }
    double share(double number) const { return std::exp(number - largest) / sum; }
};

// The sum over the 32 features of row i of a and row k of b.
double dot(const Floats& a, std::size_t i, const Floats& b, std::size_t k) {
    double sum = 0;
    for (std::size_t d = 0; d < 32; ++d) sum += static_cast<double>(a[i * 32 + d]) * b[k * 32 + d];
    return sum;
}
void add_row(std::vector<double>& target, std::size_t to, double factor, const Floats& rows, std::size_t from) {
    for (std::size_t d = 0; d < 32; ++d) target[to * 32 + d] += factor * rows[from * 32 + d];
}
const double attention_scale = 1 / std::sqrt(32.0);

// The scores of query i with `count` keys, from row `first` on.
std::vector<double> scores(const Floats& queries, std::size_t i, const Floats& keys, std::size_t first, std::size_t count) {
    std::vector<double> all;
    for (std::size_t k = 0; k < count; ++k) all.push_back(dot(queries, i, keys, first + k) * attention_scale);
    return all;
}
// Adds attention's output of query i.
void add_output(std::vector<double>& out, const Floats& queries, std::size_t i, const Floats& keys, const Floats& values,
                std::size_t first, std::size_t count) {
    const std::vector<double> all = scores(queries, i, keys, first, count);
    const Exponentials of_all(all, 0, count);
    for (std::size_t k = 0; k < count; ++k) add_row(out, i, of_all.share(all[k]), values, first + k);
}

void masked_softmax_of_rows(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    Floats x = numbers(rows * cols);
    std::vector<int> lengths;
    std::vector<double> wanted(rows * cols);
    std::uint64_t sectors = 0;  // of x, read twice, y, and the lengths
    for (unsigned r = 0; r < rows; ++r) {
        const unsigned length = r == 1 ? 0 : cols - r % 2 * (cols / 3), begin = r * cols;  // row 1 has no key
        lengths.push_back(static_cast<int>(length));
        sectors += 2 * ((length + 7) / 8) + cols / 8 + 2;
        for (unsigned i = begin; i < begin + cols; ++i) x[i] = x[i] * 2 + 200 * static_cast<float>(r % 3);
        const Exponentials row(x, begin, begin + length);
        for (unsigned i = begin; i < begin + length; ++i) wanted[i] = row.share(x[i]);
    }
    const auto* const x_device = attempt.input("x", x, sizes);
    const auto* const lengths_device = attempt.input("lengths", lengths);
    auto* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(masked_softmax)>("masked_softmax", {.grid = rows, .block = 32}, x_device, lengths_device, y,
                                             sizes[1]);
    attempt.expect(y, wanted, 1e-6);
    attempt.allow({.sectors = sectors});
}
const Exercise softmax_exercise("softmax", {"rows", "cols"}, {{1, 32}, {3, 5}, {4, 100}, {8, 128}}, masked_softmax_of_rows);

const std::vector<Sizes> norm_sizes = {{1, 32}, {3, 100}, {4, 7}, {8, 128}};

struct Moments {
    double mean = 0, variance = 0;

    Moments(const Floats& x, std::size_t begin, std::size_t count) {
        for (std::size_t i = begin; i < begin + count; ++i) mean += x[i] / static_cast<double>(count);
        for (std::size_t i = begin; i < begin + count; ++i)
            variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(count);
    }
};

void layer_norm_of_rows(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    Floats x = numbers(rows * cols);
    const Floats gamma = numbers(cols, 2), beta = numbers(cols, 3);
    const float eps = 1e-2f;
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        // Row 1 is constant, row 2 far from 0.
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) x[i] = r == 1 ? 3 : x[i] + (r == 2 ? 4000.0f : 1.0f);
        const Moments row(x, r * cols, cols);
        for (unsigned c = 0; c < cols; ++c)
            wanted.push_back((x[r * cols + c] - row.mean) / std::sqrt(row.variance + static_cast<double>(eps)) * gamma[c] +
                             beta[c]);
    }
    const auto* const x_device = attempt.input("x", x, sizes);
    const auto* const gamma_device = attempt.input("gamma", gamma);
    const auto* const beta_device = attempt.input("beta", beta);
    auto* const y = attempt.output<float>("y", sizes);
    attempt.launch<decltype(layer_norm)>("layer_norm", {.grid = rows, .block = 32}, x_device, gamma_device, beta_device, y,
                                         sizes[1], eps);
    attempt.expect(y, wanted, 5e-4);
    attempt.allow({.sectors = 4 * rows * cols / 8});  // everything once
}
const Exercise layer_norm_exercise("layer-norm", {"rows", "cols"}, norm_sizes, layer_norm_of_rows);

void layer_norm_backward_of_rows(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    const Floats x = numbers(rows * cols), dy = numbers(rows * cols, 2), gamma = numbers(cols, 3);
    Floats means, rstds;
    std::vector<double> wanted;
    for (unsigned r = 0; r < rows; ++r) {
        const Moments row(x, r * cols, cols);
        means.push_back(static_cast<float>(row.mean));
        rstds.push_back(static_cast<float>(1 / std::sqrt(row.variance + 1e-5)));
        const double rstd = rstds.back();
        double mean_g = 0, mean_gn = 0;
        std::vector<double> g, n;
        for (unsigned c = 0; c < cols; ++c) {
            g.push_back(static_cast<double>(dy[r * cols + c]) * gamma[c]);
            n.push_back((x[r * cols + c] - row.mean) * rstd);
            mean_g += g[c] / cols;
            mean_gn += g[c] * n[c] / cols;
        }
        for (unsigned c = 0; c < cols; ++c) wanted.push_back(rstd * (g[c] - mean_g - n[c] * mean_gn));
    }
    const auto* const x_device = attempt.input("x", x, sizes);
    const auto* const gamma_device = attempt.input("gamma", gamma);
    const auto* const mean_device = attempt.input("mean", means);
    const auto* const rstd_device = attempt.input("rstd", rstds);
    const auto* const dy_device = attempt.input("dy", dy, sizes);
    auto* const dx = attempt.output<float>("dx", sizes);
    attempt.launch<decltype(layer_norm_backward)>("layer_norm_backward", {.grid = rows, .block = 32}, x_device, gamma_device,
                                                  mean_device, rstd_device, dy_device, dx, sizes[1]);
    attempt.expect(dx, wanted, 1e-5);
    attempt.allow({.sectors = rows * (4 * cols / 8 + 2)});  // everything once
}
const Exercise layer_norm_backward_exercise("layer-norm-backward", {"rows", "cols"}, norm_sizes, layer_norm_backward_of_rows);

void linear_and_gelu(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols, depth] = extents<3>(sizes);
    Floats x = numbers(rows * depth), weight = numbers(cols * depth, 2);
    const Floats bias = numbers(cols, 3);
    for (float& value : x) value /= 8;
    for (float& value : weight) value /= 4;
    std::vector<double> wanted;
    for (unsigned i = 0; i < rows * cols; ++i) {
        double sum = bias[i % cols];
        for (unsigned k = 0; k < depth; ++k) sum += static_cast<double>(x[i / cols * depth + k]) * weight[i % cols * depth + k];
        wanted.push_back(sum / 2 * (1 + std::erf(sum / std::sqrt(2.0))));
    }
    const auto* const x_device = attempt.input("x", x, {sizes[0], sizes[2]});
    const auto* const weight_device = attempt.input("weight", weight, {sizes[1], sizes[2]});
    const auto* const bias_device = attempt.input("bias", bias);
    auto* const y = attempt.output<float>("y", {sizes[0], sizes[1]});
    const unsigned across = (cols + 15) / 16, down = (rows + 15) / 16, steps = (depth + 15) / 16;
    attempt.launch<decltype(linear_gelu)>("linear_gelu", {.grid = {across, down}, .block = {16, 16}, .shared = 4096}, x_device,
                                          weight_device, bias_device, y, sizes[0], sizes[1], sizes[2]);
    attempt.expect(y, wanted, 1e-5);
    // The tiled product's traffic and the bias. A step fills two tiles, which may take twice the least for rows of 17, and each
    // of the 8 warps reads 32 times.
    attempt.allow(
        {.sectors = across * down * (2 * 32 * steps + 32 + 16), .shared_cycles = across * down * steps * (2 * 16 + 8 * 40)});
}
const Exercise linear_gelu_exercise("linear-gelu", {"rows", "cols", "depth"}, {{16, 16, 16}, {20, 17, 33}, {32, 48, 64}},
                                    linear_and_gelu);

void cross_entropy_of_rows(Attempt& attempt, const Sizes& sizes) {
    const auto [rows, cols] = extents<2>(sizes);
    Floats x = numbers(rows * cols);
    std::vector<int> targets;
    std::vector<double> losses, gradient;
    for (unsigned r = 0; r < rows; ++r) {
        const int target = r == 1 ? -1 : static_cast<int>((r * 37 + 4) % cols);  // row 1 is ignored
        targets.push_back(target);
        for (unsigned i = r * cols; i < (r + 1) * cols; ++i) x[i] = x[i] * 2 + (r == 2 ? 300.0f : -3.0f);
        const Exponentials row(x, r * cols, (r + 1) * cols);
        losses.push_back(target < 0 ? 0 : std::log(row.sum) + row.largest - x[r * cols + static_cast<unsigned>(target)]);
        for (unsigned c = 0; c < cols; ++c)
            gradient.push_back(target < 0 ? 0 : row.share(x[r * cols + c]) - (static_cast<int>(c) == target ? 1 : 0));
    }
    const auto* const x_device = attempt.input("x", x, sizes);
    const auto* const targets_device = attempt.input("targets", targets);
    auto* const losses_device = attempt.output<float>("losses", {sizes[0]});
    auto* const dx = attempt.output<float>("dx", sizes);
    attempt.launch<decltype(cross_entropy)>("cross_entropy", {.grid = rows, .block = 32}, x_device, targets_device, losses_device,
                                            dx, sizes[1]);
    attempt.expect(losses_device, losses, 1e-5);
    attempt.expect(dx, gradient, 1e-6);
    // x may be read three times; each row reads its target, one element of x more, and writes its loss.
    attempt.allow({.sectors = rows * (4 * cols / 8 + 4)});
}
const Exercise cross_entropy_exercise("cross-entropy", {"rows", "cols"}, {{1, 32}, {3, 50}, {4, 7}, {6, 128}},
                                      cross_entropy_of_rows);

void causal_attention(Attempt& attempt, const Sizes& sizes) {
    const unsigned length = extents<1>(sizes)[0], blocks = (length + 7) / 8;
    const Floats queries = numbers(length * 32), keys = numbers(length * 32, 2), values = numbers(length * 32, 3);
    std::vector<double> wanted(length * 32);
    for (unsigned i = 0; i < length; ++i) add_output(wanted, queries, i, keys, values, 0, i + 1);
    const std::vector<int> shape = {sizes[0], 32};
    const auto* const queries_device = attempt.input("queries", queries, shape);
    const auto* const keys_device = attempt.input("keys", keys, shape);
    const auto* const values_device = attempt.input("values", values, shape);
    auto* const out = attempt.output<float>("out", shape);
    attempt.launch<decltype(attention)>("attention", {.grid = blocks, .block = {32, 8}, .shared = 8192}, queries_device,
                                        keys_device, values_device, out, sizes[0]);
    attempt.expect(out, wanted, 1e-5);
    // A tile of 32 keys and values has 2 * 32 rows of 4 sectors. A block needs those up to its last query.
    std::uint64_t tiles = 0;
    for (unsigned b = 0; b < blocks; ++b) tiles += (std::min(8 * b + 7, length - 1)) / 32 + 1;
    attempt.allow({.sectors = tiles * 2 * 32 * 4 + length * 2 * 4});
}
const Exercise attention_exercise("attention", {"length"}, {{8}, {1}, {45}, {64}}, causal_attention);

void cached_attention(Attempt& attempt, const Sizes& sizes) {
    const auto [heads, length, capacity] = extents<3>(sizes);
    const Floats query = numbers(heads * 32), keys = numbers(heads * capacity * 32, 2),
                 values = numbers(heads * capacity * 32, 3);
    std::vector<double> wanted(heads * 32);
    for (unsigned h = 0; h < heads; ++h) add_output(wanted, query, h, keys, values, h * capacity, length);
    const std::vector<int> rows = {sizes[0], 32}, cache = {sizes[0], sizes[2], 32};
    const auto* const query_device = attempt.input("query", query, rows);
    const auto* const keys_device = attempt.input("keys", keys, cache);
    const auto* const values_device = attempt.input("values", values, cache);
    auto* const out = attempt.output<float>("out", rows);
    attempt.launch<decltype(attend)>("attend", {.grid = heads, .block = 32}, query_device, keys_device, values_device, out,
                                     sizes[1], sizes[2]);
    attempt.expect(out, wanted, 1e-5);
    attempt.allow({.sectors = heads * 4 * (2 * length + 2)});  // everything once
}
const Exercise cached_attention_exercise("cached-attention", {"heads", "length", "capacity"},
                                         {{1, 1, 4}, {2, 5, 8}, {3, 33, 40}, {4, 24, 24}}, cached_attention);

void gradients_of_attention(Attempt& attempt, const Sizes& sizes) {
    const unsigned length = extents<1>(sizes)[0], blocks = (length + 7) / 8;
    const Floats queries = numbers(length * 32), keys = numbers(length * 32, 2), values = numbers(length * 32, 3),
                 dout = numbers(length * 32, 4);
    Floats logsum, delta;
    std::vector<double> dqueries(length * 32), dkeys(length * 32), dvalues(length * 32);
    for (unsigned i = 0; i < length; ++i) {
        const std::vector<double> row = scores(queries, i, keys, 0, i + 1);
        const Exponentials of_row(row, 0, i + 1);
        double mean = 0;
        for (unsigned k = 0; k <= i; ++k) mean += of_row.share(row[k]) * dot(dout, i, values, k);
        for (unsigned k = 0; k <= i; ++k) {
            const double weight = of_row.share(row[k]), dscore = weight * (dot(dout, i, values, k) - mean) * attention_scale;
            add_row(dqueries, i, dscore, keys, k);
            add_row(dkeys, k, dscore, queries, i);
            add_row(dvalues, k, weight, dout, i);
        }
        logsum.push_back(static_cast<float>(of_row.largest + std::log(of_row.sum)));
        delta.push_back(static_cast<float>(mean));
    }
    const std::vector<int> shape = {sizes[0], 32};
    const auto* const queries_device = attempt.input("queries", queries, shape);
    const auto* const keys_device = attempt.input("keys", keys, shape);
    const auto* const values_device = attempt.input("values", values, shape);
    const auto* const dout_device = attempt.input("dout", dout, shape);
    const auto* const logsum_device = attempt.input("logsum", logsum);
    const auto* const delta_device = attempt.input("delta", delta);
    auto* const dqueries_device = attempt.output<float>("dqueries", shape);
    auto* const dkeys_device = attempt.output<float>("dkeys", shape);
    auto* const dvalues_device = attempt.output<float>("dvalues", shape);
    attempt.launch<decltype(attention_backward)>("attention_backward", {.grid = blocks, .block = {32, 8}, .shared = 8448},
                                                 queries_device, keys_device, values_device, dout_device, logsum_device,
                                                 delta_device, dqueries_device, dkeys_device, dvalues_device, sizes[0]);
    attempt.expect(dqueries_device, dqueries, 1e-4);
    attempt.expect(dvalues_device, dvalues, 1e-4);
    attempt.expect(dkeys_device, dkeys, 1e-4);
    // A row of a tile has 2 * 4 sectors. As a query a row needs the tiles up to its block's last row, as a key those from its
    // block's first row on, with logsum and delta, which each of the 8 warps may read for itself.
    std::uint64_t sectors = length * (4 * 4 + 2 + 3 * 4);
    for (unsigned b = 0; b < blocks; ++b)
        for (unsigned begin = 0; begin < length; begin += 32) {
            const unsigned rows = std::min(32u, length - begin);
            if (begin <= 8 * b + 7) sectors += rows * 8;
            if (begin + 32 > 8 * b) sectors += rows * 8 + 8 * 2 * ((rows + 7) / 8);
        }
    attempt.allow({.sectors = sectors});
}
const Exercise attention_backward_exercise("attention-backward", {"length"}, {{8}, {1}, {33}, {48}}, gradients_of_attention);

}  // namespace
}  // namespace heddle::learn
