#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "attention-backward/exercise.h"

namespace heddle::learn::attention_backward_harness {

// The sum over the features of row i of a and row k of b.
double dot(const std::vector<float>& a, std::size_t i, const std::vector<float>& b, std::size_t k) {
    double sum = 0;
    for (std::size_t d = 0; d < 32; ++d) sum += static_cast<double>(a[i * 32 + d]) * b[k * 32 + d];
    return sum;
}

void add_row(std::vector<double>& target, std::size_t to, double factor, const std::vector<float>& rows, std::size_t from) {
    for (std::size_t d = 0; d < 32; ++d) target[to * 32 + d] += factor * rows[from * 32 + d];
}

void run(Attempt& attempt, const Sizes& sizes) {
    const auto length = static_cast<std::size_t>(sizes[0]), blocks = (length + 7) / 8;
    const double scale = 1 / std::sqrt(32.0);
    const std::vector<float> queries = numbers(length * 32), keys = numbers(length * 32, 2), values = numbers(length * 32, 3),
                             dout = numbers(length * 32, 4);
    std::vector<float> logsum, delta;
    std::vector<double> dqueries(length * 32), dkeys(length * 32), dvalues(length * 32);
    for (std::size_t i = 0; i < length; ++i) {
        std::vector<double> weight;
        for (std::size_t k = 0; k <= i; ++k) weight.push_back(dot(queries, i, keys, k) * scale);
        const double largest = *std::max_element(weight.begin(), weight.end());
        double sum = 0, mean = 0;
        for (double& one : weight) sum += one = std::exp(one - largest);
        for (std::size_t k = 0; k <= i; ++k) mean += (weight[k] /= sum) * dot(dout, i, values, k);
        for (std::size_t k = 0; k <= i; ++k) {
            const double dscore = weight[k] * (dot(dout, i, values, k) - mean);
            add_row(dqueries, i, dscore * scale, keys, k);
            add_row(dkeys, k, dscore * scale, queries, i);
            add_row(dvalues, k, weight[k], dout, i);
        }
        logsum.push_back(static_cast<float>(largest + std::log(sum)));
        delta.push_back(static_cast<float>(mean));
    }
    const std::vector<int> extents = {sizes[0], 32};
    const float* const queries_device = attempt.input("queries", queries, extents);
    const float* const keys_device = attempt.input("keys", keys, extents);
    const float* const values_device = attempt.input("values", values, extents);
    const float* const dout_device = attempt.input("dout", dout, extents);
    const float* const logsum_device = attempt.input("logsum", logsum);
    const float* const delta_device = attempt.input("delta", delta);
    float* const dqueries_device = attempt.output<float>("dqueries", extents);
    float* const dkeys_device = attempt.output<float>("dkeys", extents);
    float* const dvalues_device = attempt.output<float>("dvalues", extents);
    attempt.launch<decltype(attention_backward)>("attention_backward",
                                                 {.grid = static_cast<unsigned>(blocks), .block = {32, 8}, .shared = 8448},
                                                 queries_device, keys_device, values_device, dout_device, logsum_device,
                                                 delta_device, dqueries_device, dkeys_device, dvalues_device, sizes[0]);
    attempt.expect(dqueries_device, dqueries, 1e-4);
    attempt.expect(dvalues_device, dvalues, 1e-4);
    attempt.expect(dkeys_device, dkeys, 1e-4);
    // A row of a tile has 2 * 4 sectors. As a query a row needs the tiles up to its block's last row, as a key those from its
    // block's first row on, with logsum and delta, which each of the 8 warps may read for itself.
    std::size_t sectors = length * (4 * 4 + 2 + 3 * 4);
    for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t begin = 0; begin < length; begin += 32) {
            const std::size_t rows = std::min<std::size_t>(32, length - begin);
            if (begin <= 8 * b + 7) sectors += rows * 8;
            if (begin + 32 > 8 * b) sectors += rows * 8 + 8 * 2 * ((rows + 7) / 8);
        }
    attempt.allow({.sectors = sectors});
}

const Exercise exercise("attention-backward", {"length"}, {{8}, {1}, {33}, {48}}, run);

}  // namespace heddle::learn::attention_backward_harness
