// The CUDA side of attention: each call is handed to the kernels of its variant (attention_variant.h). Beside it two small
// kernels: which keys a mask shows, and the weights as a matrix.
#include "kernels/attention/detail/attention_device.h"
#include "kernels/cast/cast.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::lane, device::warp;

// seen[row] = whether the mask (and the causal rule) shows key row to any query of its sentence in any head: a thread a key. Only
// calls with a mask need it. Reads the mask once.
template <class T>
__global__ void __launch_bounds__(128)
    seen_keys_kernel(AttentionTask<T> task, int heads, std::uint8_t* seen, int tile_rows) {  // seen [rows']
    AttentionPlace at = attention_place(task, blockIdx.x);
    const int key = at.first + device::thread_in_block();
    if (key >= min(at.keys, at.first + tile_rows)) return;
    bool any = false;
    for (at.head = 0; at.head < heads; ++at.head)
        for (int i = 0; i < at.queries && !any; ++i) any = may_attend(task, at, i, key);
    seen[at.key_start + key] = any ? 1 : 0;
}

// P of one query row a warp, for pictures: once over the keys for the maximum and the sum, once more to write.
template <class T>
__global__ void __launch_bounds__(128)
    attention_weights_kernel(AttentionTask<T> task, T* weights,  // weights [sentences, heads, query_time, key_time]
                             std::int64_t query_time, std::int64_t key_time) {
    using A = device::Accumulator<T>;
    const AttentionPlace at = attention_place(task, blockIdx.x);
    const int i = at.first + warp();
    if (i >= at.queries) return;
    const T* const query = task.query.at(at.query_start + i, at.head);
    const A scale = task.scale_log2;
    const auto score = [&](int j) {
        if (!may_attend(task, at, i, j)) return device::lowest<A>();
        const T* const key = task.key.at(at.key_start + j, at.key_head);
        A sum = 0;
        for (int c = 0; c < task.query.width; ++c) sum += device::load(query[c]) * device::load(key[c]);
        return sum * scale + bias_in_twos(task, at, i, j);
    };
    A largest = device::lowest<A>(), sum = 0;  // of this lane's keys
    for (int j = lane(); j < at.keys; j += kWarp) {
        const A s = score(j), next = device::larger(largest, s);
        if (s == device::lowest<A>()) continue;
        sum = sum * device::power_of_two(largest - next) + device::power_of_two(s - next);
        largest = next;
    }
    const A all = device::warp_max(largest);
    const A total = device::warp_sum(largest == device::lowest<A>() ? A{0} : sum * device::power_of_two(largest - all));
    T* const to = weights + ((std::int64_t{at.sentence} * task.heads + at.head) * query_time + i) * key_time;
    for (int j = lane(); j < at.keys; j += kWarp) {
        const A s = score(j);
        if (s != device::lowest<A>()) to[j] = device::store<T>(device::power_of_two(s - all) / total);
    }
}

// [rows'], or undefined when there is no mask.
template <class T>
Tensor seen_keys(AttentionTask<T> task, const AttentionRules& rules) {
    if (!rules.mask.defined()) return {};
    constexpr int kKeys = 128;
    Tensor seen = Tensor::empty({rules.key_spans.rows()}, DType::u8, Device::cuda);
    const Tensor tiles = attention_tiles(rules.key_spans, kKeys);
    task.tiles = tiles.data<std::int32_t>();
    const int masks = task.mask_head == 0 ? 1 : task.heads;
    task.heads = task.group = 1;  // a block for each tile
    device::launch({.grid = device::blocks_for(tiles.dim(0), 1), .block = kKeys}, seen_keys_kernel<T>, task, masks,
                   seen.mutable_data<std::uint8_t>(), kKeys);
    return seen;
}

// In the type that the kernels add it in; the same handle when it has that type already.
template <class T>
Tensor bias_of(const AttentionRules& rules) {
    return rules.bias.defined() ? cast(rules.bias, dtype_of<device::Accumulator<T>>()) : Tensor();
}

// A task and the tensors that are made for it.
template <class T>
struct HeldTask {
    HeldTask(const Columns& query, const Columns& key, const Columns& value, const AttentionRules& rules)
        : bias(bias_of<T>(rules)), task(attention_task<T>(query, key, value, rules, bias)), seen(seen_keys(task, rules)) {
        if (seen.defined()) task.seen = seen.template data<std::uint8_t>();
    }
    Tensor bias;
    AttentionTask<T> task;
    Tensor seen;
};

}  // namespace

void attention_forward_cuda(AttentionVariant variant, const Columns& query, const Columns& key, const Columns& value,
                            const AttentionRules& rules, AttentionResult& result) {
    device::dispatch("attention", query.base.dtype(), [&]<class T>(TypeTag<T>) {
        using A = device::Accumulator<T>;
        HeldTask<T> held(query, key, value, rules);
        AttentionTask<T>& task = held.task;
        const auto output = mutable_device_rows<T>(result.output, rules.heads);
        A* const log_sum = result.log_sum.defined() ? result.log_sum.mutable_data<A>() : nullptr;
        task.gaps.add(task.gaps.outputs[0], output.data, output.pitch, result.output.cols(), rules.query_spans);
        task.gaps.add(task.gaps.log_sum, log_sum, rules.heads, rules.heads, rules.query_spans);
        if constexpr (std::is_same_v<T, bf16>)
            if (variant == AttentionVariant::mma) return attention_forward_mma(task, rules, output, log_sum);
        if constexpr (!std::is_same_v<T, double>)
            if (variant == AttentionVariant::short_sentences) return attention_forward_short(task, rules, output, log_sum);
        attention_forward_plain(task, rules, output, log_sum);
    });
}

void attention_backward_cuda(AttentionVariant variant, const Columns& query, const Columns& key, const Columns& value,
                             const AttentionRules& rules, const AttentionResult& forward, const Tensor& d_output,
                             AttentionGradients& gradients) {
    device::dispatch("attention", query.base.dtype(), [&]<class T>(TypeTag<T>) {
        using A = device::Accumulator<T>;
        HeldTask<T> held(query, key, value, rules);
        AttentionTask<T>& task = held.task;
        Tensor delta = Tensor::empty({query.rows(), rules.heads}, dtype_of<A>(), Device::cuda);
        AttentionBackwardTask<T> back;
        back.output = device_rows<T>(forward.output, rules.heads);
        back.d_output = device_rows<T>(d_output, rules.heads);
        back.log_sum = forward.log_sum.data<A>();
        back.delta = delta.template mutable_data<A>();
        back.d_query = mutable_device_rows<T>(gradients.query, rules.heads);
        back.d_key = mutable_device_rows<T>(gradients.key, rules.heads_of_keys());
        back.d_value = mutable_device_rows<T>(gradients.value, rules.heads_of_keys());
        const auto add_gaps = [&](int i, const DeviceRows<T>& to, std::int64_t heads, const Spans& spans) {
            task.gaps.add(task.gaps.outputs[i], to.data, to.pitch, to.width * heads, spans);
        };
        add_gaps(0, back.d_query, rules.heads, rules.query_spans);
        add_gaps(1, back.d_key, rules.heads_of_keys(), rules.key_spans);
        add_gaps(2, back.d_value, rules.heads_of_keys(), rules.key_spans);
        back.vectors = vectors_fit(back.output) && vectors_fit(back.d_output);
        back.store_vectors = vectors_fit(back.d_query) && vectors_fit(back.d_key) && vectors_fit(back.d_value);
        const bool biased = gradients.bias.defined();
        if (biased) {
            attention_delta(task, rules, back);
            attention_bias_gradient(task, rules, back, gradients.bias);
        }
        if constexpr (!std::is_same_v<T, double>)
            if (variant == AttentionVariant::short_sentences) return attention_backward_short(task, rules, back);
        if (!biased) attention_delta(task, rules, back);
        if constexpr (std::is_same_v<T, bf16>)
            if (variant == AttentionVariant::mma) return attention_backward_mma(task, rules, back);
        attention_backward_plain(task, rules, back);
    });
}

void attention_weights_cuda(const Columns& query, const Columns& key, const AttentionRules& rules, Tensor& weights) {
    device::dispatch("attention", query.base.dtype(), [&]<class T>(TypeTag<T>) {
        const Tensor bias = bias_of<T>(rules);
        AttentionTask<T> task = attention_task<T>(query, key, key, rules, bias);
        const Tensor tiles = attention_tiles(rules.query_spans, 4);
        task.tiles = tiles.data<std::int32_t>();
        device::launch({.grid = device::blocks_for(attention_items(tiles, rules.heads), 1), .block = 128},
                       attention_weights_kernel<T>, task, weights.mutable_data<T>(), weights.dim(2), weights.dim(3));
    });
}

}  // namespace heddle::kernels
