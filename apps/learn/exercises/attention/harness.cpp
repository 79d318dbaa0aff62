#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "attention/exercise.h"

namespace heddle::learn::attention_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto length = static_cast<unsigned>(sizes[0]), blocks = (length + 7) / 8;
    const std::vector<float> queries = numbers(length * 32), keys = numbers(length * 32, 2), values = numbers(length * 32, 3);
    std::vector<double> wanted;
    for (unsigned i = 0; i < length; ++i) {
        std::vector<double> weight(i + 1);
        for (unsigned k = 0; k <= i; ++k)
            for (unsigned d = 0; d < 32; ++d)
                weight[k] += static_cast<double>(queries[i * 32 + d]) * keys[k * 32 + d] / std::sqrt(32.0);
        const double largest = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& one : weight) sum += one = std::exp(one - largest);
        for (unsigned d = 0; d < 32; ++d) {
            double mix = 0;
            for (unsigned k = 0; k <= i; ++k) mix += weight[k] / sum * values[k * 32 + d];
            wanted.push_back(mix);
        }
    }
    const std::vector<int> extents = {sizes[0], 32};
    const float* const queries_device = attempt.input("queries", queries, extents);
    const float* const keys_device = attempt.input("keys", keys, extents);
    const float* const values_device = attempt.input("values", values, extents);
    float* const out = attempt.output<float>("out", extents);
    attempt.launch<decltype(attention)>("attention", {.grid = blocks, .block = {32, 8}, .shared = 8192}, queries_device,
                                        keys_device, values_device, out, sizes[0]);
    attempt.expect(out, wanted, 1e-5);
    // A tile of 32 keys and values has 2 * 32 rows of 4 sectors. A block needs those up to its last query.
    std::uint64_t tiles = 0;
    for (unsigned b = 0; b < blocks; ++b) tiles += (std::min(8 * b + 7, length - 1)) / 32 + 1;
    attempt.allow({.sectors = tiles * 2 * 32 * 4 + length * 2 * 4});
}

const Exercise exercise("attention", {"length"}, {{8}, {1}, {45}, {64}}, run);

}  // namespace heddle::learn::attention_harness
