#include "kernels/attention/cached/attention_cached.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"
#include "kernels/attention/detail/attention_fast.h"
#include "kernels/attention/detail/attention_pieces.h"
#include "kernels/attention/detail/attention_running.h"

namespace heddle::kernels {
namespace {

void check_table(const Columns& query, const CachedKeys& cache) {
    check_dtype("attention_cached", "table", cache.table, DType::i32);
    check_rank("attention_cached", "table", cache.table, 2);
    check(cache.table.dim(0) == query.rows() && std::ssize(cache.lengths) == query.rows(),
          "attention_cached: table {} and {} lengths, wanted one row and one length for each of {} query rows",
          cache.table.shape(), cache.lengths.size(), query.rows());
    const std::int64_t time = cache.table.dim(1);
    for (std::int64_t row = 0; row < query.rows(); ++row) {
        const std::int64_t length = cache.lengths[static_cast<std::size_t>(row)];
        check(length >= 0 && length <= time, "attention_cached: row {} has {} keys, but the table holds {}", row, length, time);
        if (cache.table.device() == Device::cuda) continue;  // the kernel looks for itself
        for (const std::int32_t slot :
             cache.table.values<std::int32_t>().subspan(static_cast<std::size_t>(row * time), static_cast<std::size_t>(length)))
            check(slot >= 0 && slot < cache.key.rows(), "attention_cached: row {} names cache row {}, but there are {}", row,
                  slot, cache.key.rows());
    }
}

void check_cached_bias(const Columns& query, const CachedKeys& cache, std::int64_t heads, std::int64_t longest) {
    const Tensor& bias = cache.bias;
    if (!bias.defined()) return;
    const DType dtype = query.base.dtype();
    check_dtype("attention_cached", "bias", bias, dtype == DType::bf16 ? DType::f32 : dtype);
    check(bias.rank() == 2 && (bias.dim(0) == heads || bias.dim(0) == 1) && bias.dim(1) >= longest,
          "attention_cached: bias has shape {}, wanted [{} or 1, keys] for at least {} keys", bias.shape(), heads, longest);
    check_device("attention_cached", {{"query", query.base}, {"bias", bias}});
}

// The reference: as attention.cpp's, with rows found through the table.
template <class T>
void attend_rows(const AttentionView<T>& view, const CachedKeys& cache, std::int64_t first, std::int64_t end,
                 HeadRows<T> output) {
    RunningSoftmax<T> running(view.dv());
    for (std::int64_t row = first; row < end; ++row) {
        const std::int32_t* slots = cache.table.data<std::int32_t>() + row * cache.table.dim(1);
        const std::int64_t length = cache.lengths[static_cast<std::size_t>(row)];
        for (std::int64_t head = 0; head < view.heads; ++head) {
            const T* const bias = view.newest_bias(head, length);
            running.start();
            for (std::int64_t j = 0; j < length; ++j) {
                const T* const key = view.key.at(slots[j], view.key_head(head));
                const Accumulator<T> added(bias == nullptr ? T{0} : bias[j]);
                running.add(view.scale * dot(view.query.at(row, head), key, view.dk()) + added, 1,
                            view.value.at(slots[j], view.key_head(head)));
            }
            running.finish(output.at(row, head));
        }
    }
}

}  // namespace

Tensor attention_cached(const Columns& query, const CachedKeys& cache, std::int64_t heads, std::optional<double> scale) {
    check_defined("attention_cached", "query", query.base);
    check_defined("attention_cached", "key", cache.key.base);
    // The same checks as for one sentence whose keys are the whole cache.
    const AttentionRules rules{.query_spans = Spans({}, query.rows()),
                               .key_spans = Spans({}, cache.key.rows()),
                               .heads = heads,
                               .key_heads = cache.key_heads,
                               .scale = scale};
    check_attention(query, cache.key, cache.value, rules);
    check_table(query, cache);
    check_device("attention_cached", {{"query", query.base}, {"table", cache.table}});
    const std::int64_t longest = cache.lengths.empty() ? 0 : *std::max_element(cache.lengths.begin(), cache.lengths.end());
    check_cached_bias(query, cache, heads, longest);
    const std::int64_t columns = cache.value.count / rules.heads_of_keys() * heads;
    Tensor result = Tensor::empty({query.rows(), columns}, query.base.dtype(), query.base.device());
    if (query.base.device() == Device::cuda) {
        const double head_width = static_cast<double>(query.count / heads);
        attention_cached_cuda(query, cache, heads, scale.value_or(1 / std::sqrt(head_width)), result);
        return result;
    }
    const std::int64_t work = (longest + 16) * (query.count + columns);
    dispatch_real("attention_cached", query.base, [&]<class T>(TypeTag<T>) {
        auto view = view_attention<T>(query, cache.key, cache.value, rules);
        if (cache.bias.defined()) {
            view.bias = cache.bias.data<T>();
            view.bias_pitch = cache.bias.dim(1);
            view.bias_head = cache.bias.dim(0) == 1 ? 0 : view.bias_pitch;
        }
        const auto output = mutable_head_rows<T>(result, heads);
        parallel_for(query.rows(), grain_for(work / 8), [&](std::int64_t first, std::int64_t end) {
            if constexpr (std::is_same_v<T, float>) {
                Tensor scratch = Tensor::empty({attention_cached_scratch(view.dk(), view.dv())}, DType::f32);
                by_level(v2::attention_cached_fast, v3::attention_cached_fast, v4::attention_cached_fast)(
                    view, cache.table.data<std::int32_t>(), cache.table.dim(1), cache.lengths.data(), first, end, output,
                    scratch.mutable_data<float>());
            } else {
                attend_rows(view, cache, first, end, output);
            }
        });
    });
    return result;
}

}  // namespace heddle::kernels
