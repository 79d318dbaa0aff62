#include "kernels/attention/alibi.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"

namespace heddle::kernels {
namespace {

// B of the query rows [first, time).
Tensor bias_of_rows(std::int64_t heads, std::int64_t first, std::int64_t time, DType dtype) {
    check(time >= 0, "alibi_bias: {} tokens, wanted at least 0", time);
    const std::vector<double> slopes = alibi_slopes(heads);
    const std::int64_t rows = time - first;
    Tensor bias = Tensor::empty({heads, rows, time}, dtype);
    dispatch_real("alibi_bias", dtype, [&]<class T>(TypeTag<T>) {
        T* to = bias.mutable_data<T>();
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t i = first; i < time; ++i)
                for (std::int64_t j = 0; j < time; ++j)
                    *to++ = static_cast<T>(-slopes[static_cast<std::size_t>(h)] * static_cast<double>(std::abs(i - j)));
    });
    return bias;
}

}  // namespace

std::vector<double> alibi_slopes(std::int64_t heads) {
    check(heads >= 1, "alibi_slopes: {} heads, wanted at least 1", heads);
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
    std::vector<double> slopes;
    for (std::int64_t h = 1; h <= power; ++h)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(power)));
    for (std::int64_t h = 1; std::ssize(slopes) < heads; h += 2)
        slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(2 * power)));
    return slopes;
}

Tensor alibi_bias(std::int64_t heads, std::int64_t time, DType dtype) { return bias_of_rows(heads, 0, time, dtype); }

Tensor alibi_cached_bias(std::int64_t heads, std::int64_t time, DType dtype) {
    check(time >= 1, "alibi_cached_bias: {} keys, wanted at least 1", time);
    return bias_of_rows(heads, time - 1, time, dtype).reshape({heads, time});
}

}  // namespace heddle::kernels
