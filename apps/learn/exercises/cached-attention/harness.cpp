#include <algorithm>
#include <cmath>

#include "apps/learn/grader/attempt.h"
#include "cached-attention/exercise.h"

namespace heddle::learn::cached_attention_harness {

void run(Attempt& attempt, const Sizes& sizes) {
    const auto heads = static_cast<unsigned>(sizes[0]), length = static_cast<unsigned>(sizes[1]),
               capacity = static_cast<unsigned>(sizes[2]);
    const std::vector<float> query = numbers(heads * 32), keys = numbers(heads * capacity * 32, 2),
                             values = numbers(heads * capacity * 32, 3);
    std::vector<double> wanted;
    for (unsigned h = 0; h < heads; ++h) {
        std::vector<double> weight(length);
        for (unsigned k = 0; k < length; ++k)
            for (unsigned d = 0; d < 32; ++d)
                weight[k] += static_cast<double>(query[h * 32 + d]) * keys[(h * capacity + k) * 32 + d] / std::sqrt(32.0);
        const double largest = *std::max_element(weight.begin(), weight.end());
        double sum = 0;
        for (double& one : weight) sum += one = std::exp(one - largest);
        for (unsigned d = 0; d < 32; ++d) {
            double mix = 0;
            for (unsigned k = 0; k < length; ++k) mix += weight[k] / sum * values[(h * capacity + k) * 32 + d];
            wanted.push_back(mix);
        }
    }
    const std::vector<int> rows = {sizes[0], 32}, cache = {sizes[0], sizes[2], 32};
    const float* const query_device = attempt.input("query", query, rows);
    const float* const keys_device = attempt.input("keys", keys, cache);
    const float* const values_device = attempt.input("values", values, cache);
    float* const out = attempt.output<float>("out", rows);
    attempt.launch<decltype(attend)>("attend", {.grid = heads, .block = 32}, query_device, keys_device, values_device, out,
                                     sizes[1], sizes[2]);
    attempt.expect(out, wanted, 1e-5);
    attempt.allow({.sectors = heads * 4 * (2 * length + 2)});  // everything once
}

const Exercise exercise("cached-attention", {"heads", "length", "capacity"}, {{1, 1, 4}, {2, 5, 8}, {3, 33, 40}, {4, 24, 24}},
                        run);

}  // namespace heddle::learn::cached_attention_harness
