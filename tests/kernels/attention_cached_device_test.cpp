#include <fmt/format.h>

#include "kernels/attention/attention.h"
#include "kernels/attention/cached/attention_cached.h"
#include "tests/devices.h"
#include "tests/numbers.h"
#include "tests/support.h"

namespace heddle::kernels {
namespace {

// Rows over scattered keys of a cache, against one sentence each without a cache.
TEST(AttentionCachedDevice, FollowsTheFormulaThroughTheTable) {
    constexpr std::int64_t kHeads = 2, kSlots = 211, kTime = 200;
    // Rows that lie at every alignment, and at last one head of keys for both heads of the query.
    const std::vector<std::int64_t> mixed{1, 0, 33, 64, 65, 200, 130}, equal(3, 40);
    for (const auto& [dk, dv, first, key_heads] : {std::tuple{16, 16, 0, 2},
                                                   {5, 7, 1, 2},
                                                   {48, 64, 0, 2},
                                                   {160, 256, 0, 2},
                                                   {16, 37, 1, 2},
                                                   {16, 71, 1, 2},
                                                   {16, 24, 0, 1}})
        for (const std::vector<std::int64_t>& lengths : {mixed, equal}) {
            const auto rows = static_cast<std::int64_t>(lengths.size());
            const Tensor queries = normal({rows, kHeads * dk}, DType::f32, 1);
            const Tensor slots = normal({kSlots, first + key_heads * (dk + dv)}, DType::f32, 2);
            const Spans keys = Spans::packed(lengths);
            Tensor table = Tensor::full({rows, kTime}, -1, DType::i32);
            Tensor gathered = Tensor::empty({keys.rows(), slots.cols()}, DType::f32);
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t j = 0; j < lengths[static_cast<std::size_t>(r)]; ++j) {
                    const std::int64_t slot = ((r + j) * 37 + 5) % kSlots;
                    table.mutable_data<std::int32_t>()[r * kTime + j] = static_cast<std::int32_t>(slot);
                    gathered.slice(keys[r].start + j, keys[r].start + j + 1).copy_(slots.slice(slot, slot + 1));
                }
            const Spans one_each = Spans::equal(static_cast<std::int64_t>(lengths.size()), 1);
            for (const Numbers& numbers : all_numbers()) {
                const auto exact = [&](const Tensor& tensor) { return rounded(numbers, tensor); };
                const AttentionRules rules{.query_spans = one_each, .key_spans = keys, .heads = kHeads, .key_heads = key_heads};
                const Tensor want = attention_forward(exact(queries), {exact(gathered), first, key_heads * dk},
                                                      {exact(gathered), first + key_heads * dk, key_heads * dv}, rules)
                                        .output;
                const Tensor cache = in(numbers, slots), query = in(numbers, queries), device_table = in(numbers, table);
                const CachedKeys cached{{cache, first, key_heads * dk},
                                        {cache, first + key_heads * dk, key_heads * dv},
                                        device_table,
                                        lengths,
                                        key_heads};
                expect_close(attention_cached(query, cached, kHeads), want, numbers, fmt::format("dk {}, dv {}", dk, dv),
                             {.f64 = 1e-13, .f32 = 2e-6});
                expect_same_bits_again([&] { return std::vector<Tensor>{attention_cached(query, cached, kHeads)}; },
                                       "attention_cached");
                const Tensor bias = normal({kHeads, kTime + 3}, DType::f32, 3);
                Tensor of_newest = Tensor::zeros({kHeads, 1, keys.longest()}, DType::f32);
                CachedKeys biased = cached;
                biased.bias = in(numbers.dtype == DType::bf16 ? Numbers{numbers.device, DType::f32} : numbers, bias);
                for (std::int64_t r = 0; r < rows; ++r) {
                    const std::int64_t length = lengths[static_cast<std::size_t>(r)];
                    if (length == 0) continue;
                    for (std::int64_t h = 0; h < kHeads; ++h)
                        for (std::int64_t j = 0; j < length; ++j)
                            of_newest.mutable_data<float>()[h * keys.longest() + j] =
                                bias.data<float>()[h * (kTime + 3) + kTime + 3 - length + j];
                    AttentionRules alone = rules;
                    alone.query_spans = Spans::equal(1, 1);
                    alone.key_spans = Spans::equal(1, length);
                    alone.bias = of_newest.to(DType::f64);
                    const Tensor own = exact(gathered).slice(keys[r].start, keys[r].start + length);
                    expect_close(attention_cached(query, biased, kHeads).slice(r, r + 1),
                                 attention_forward(exact(queries).slice(r, r + 1), {own, first, key_heads * dk},
                                                   {own, first + key_heads * dk, key_heads * dv}, alone)
                                     .output,
                                 numbers, fmt::format("biased, dk {}, dv {}, row {}", dk, dv, r), {.f64 = 1e-13, .f32 = 2e-6});
                }
                if (lengths.size() < 3 || lengths[2] != 33) continue;
                // A row of 33 keys by itself, in one piece, and beside rows of four pieces.
                const std::vector<std::int64_t> one{33};
                const CachedKeys alone{cached.key, cached.value, in(numbers, table.slice(2, 3).clone()), one, key_heads};
                EXPECT_TRUE(same_bits(attention_cached(query.slice(2, 3), alone, kHeads).to(Device::cpu),
                                      attention_cached(query, cached, kHeads).slice(2, 3).to(Device::cpu)))
                    << to_string(numbers) << ", dk " << dk;
            }
        }
}

}  // namespace
}  // namespace heddle::kernels
