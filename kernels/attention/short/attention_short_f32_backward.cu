// Attention backward in f32 for sentences of up to 64 tokens and heads of up to 64 columns: all gradients of one sentence and
// head by one block.
//
// Q, K, V and dO of a short sentence fit into shared memory together, and so do P and dS. So they are read once, S and dP are
// computed once (5 products, where the two passes of attention_plain_backward.cu make 7), and D needs no kernel of its own:
//
// clang-format off
//     all warps   bring Q, K, V, dO
//     barrier     all of it is there
//     warp w      D, P and dS of the queries [8 w, 8 w + 8), with a key in each lane; P F and dS go to shared memory; dQ
//     barrier     P F and dS of all queries are there
//     warp w      dV += (P F)^T dO and dK += dS^T Q of the keys [8 w, 8 w + 8), with a column in each lane
// clang-format on
//
// When several heads of queries share the keys, they take turns in one block: K and V stay, and dK and dV grow from head to head.
// Every sum has the terms and the order of the plain kernels', so a sentence has the same bits here and in a batch that goes
// there.
//
// Owns     block: a sentence and a head of keys, with a warp for every 8 rows that the batch's longest sentence has.
// Traffic  each of Q, K, V, O, dO, dQ, dK, dV once. dO comes to shared memory once, and D reads it there.
// Limits   64 rows of 64 columns take 98 KB, which leaves an A100 one block of 8 warps, and a larger head nothing.
#include "kernels/attention/plain/attention_plain.h"

namespace heddle::kernels {
namespace {

using device::kWarp, device::lane, device::warp;

constexpr int kRows = 8;  // of a warp

// D of the warp's queries [own, own + kRows): dO . O, dO in shared memory [kRows, D]. As attention_delta_kernel adds: 4 columns
// in a lane, then the lanes by halves.
template <int D>
struct Deltas {
    static constexpr int kLanes = D / 4, kTogether = kWarp / kLanes;  // lanes of a row, rows at a time
    device::Vector<float, 4> outputs[kRows / kTogether];
    float sums[kRows / kTogether];

    // O comes from memory while the copies of dO are under way.
    __device__ __forceinline__ void load_outputs(const AttentionTask<float>& task, const AttentionPlace& at,
                                                 const AttentionBackwardTask<float>& back, int own) {
        const int c = lane() % kLanes * 4;
#pragma unroll
        for (int n = 0; n < kRows / kTogether; ++n) {
            const int row = own + n * kTogether + lane() / kLanes;
            outputs[n] = {};
            if (query_takes_part(task, at, row, back.log_sum))
                outputs[n] = load_columns<4>(back.output.at(at.query_start + row, at.head), c, task.value.width, back.vectors);
        }
    }
    __device__ __forceinline__ void add(const float* d_outputs) {
#pragma unroll
        for (int n = 0; n < kRows / kTogether; ++n) {
            const auto piece = device::load_vector<4>(d_outputs + (n * kTogether + lane() / kLanes) * D + lane() % kLanes * 4);
            sums[n] = device::warp_sum<kLanes>(dot(outputs[n], piece));
        }
    }
    // D of row r, in every lane.
    __device__ __forceinline__ float of(int r) const {
        return __shfl_sync(device::kAllLanes, sums[r / kTogether], r % kTogether * kLanes);
    }
};

// sum[r][c] += sum over j < count of weights[j][r] tile[j][32 c + lane], for weights [count, pitch], whose columns r < kRows are
// the warp's, and tile [count, D]; from j = begin on. Not unrolled: the loads of two rounds would take registers that then spill.
template <int D>
__device__ __forceinline__ void update_transposed(float (&sum)[kRows][D / kWarp], const float* weights, int pitch,
                                                  const float* tile, int begin, int count) {
#pragma unroll 1
    for (int j = begin; j < count; ++j) {
        const auto low = device::load_vector<4>(weights + j * pitch), high = device::load_vector<4>(weights + j * pitch + 4);
#pragma unroll
        for (int c = 0; c < D / kWarp; ++c) {
            const float b = tile[j * D + c * kWarp + lane()];
#pragma unroll
            for (int r = 0; r < kRows; ++r) sum[r][c] += (r < 4 ? low[r % 4] : high[r % 4]) * b;
        }
    }
}

template <int D>
__global__ void __launch_bounds__(kShortSentence / kRows * kWarp)
    attention_backward_short_f32_kernel(AttentionTask<float> task, AttentionBackwardTask<float> back, int query_room,
                                        int key_room) {  // for how many queries and keys there is memory
    using Sizes = PlainSizes<float, D>;
    if (zero_gaps(task.gaps)) return;
    const auto key_heads = static_cast<unsigned>(task.heads / task.group);
    AttentionPlace at =
        attention_place(task, static_cast<int>(blockIdx.x / key_heads), static_cast<int>(blockIdx.x % key_heads) * task.group, 0);

    device::SharedArena arena;
    float* const queries = arena.take<float>(query_room * D);           // [query_room, D]
    float* const d_outputs = arena.take<float>(query_room * D);         // [query_room, D]
    float* const keys = arena.take<float>(key_room * Sizes::kPitch);    // [key_room, kPitch]
    float* const values = arena.take<float>(key_room * Sizes::kPitch);  // [key_room, kPitch]
    float* const weights = arena.take<float>(query_room * key_room);    // P F [query_room, key_room]
    float* const d_scores = arena.take<float>(query_room * key_room);   // dS [query_room, key_room]

    const int thread = device::thread_in_block(), threads = static_cast<int>(blockDim.x);
    const int query_count = tile_rows<kShortSentence>(at.queries), key_count = tile_rows<kShortSentence>(at.keys);
    const int own = warp() * kRows;  // this warp's first query, and its first key
    const auto query_there = [&](int r) { return query_takes_part(task, at, r, back.log_sum); };
    const auto key_there = [&](int r) { return key_takes_part(task, at, r); };
    device::Pipeline<1> pipeline;
    begin_rows<D, Sizes::kPitch>(keys, task.key, at.key_start, at.key_head, task.vectors, thread, threads, key_count, key_there);
    begin_rows<D, Sizes::kPitch>(values, task.value, at.key_start, at.key_head, task.vectors, thread, threads, key_count,
                                 key_there);
    float d_key[kRows][Sizes::kColumns] = {}, d_value[kRows][Sizes::kColumns] = {};
    for (const int heads_end = at.head + task.group;;) {
        begin_rows<D, D>(queries, task.query, at.query_start, at.head, task.vectors, thread, threads, query_count, query_there);
        begin_rows<D, D>(d_outputs, back.d_output, at.query_start, at.head, back.vectors, thread, threads, query_count,
                         query_there);
        pipeline.commit();
        Deltas<D> deltas;
        deltas.load_outputs(task, at, back, own);
        pipeline.wait();
        __syncthreads();  // the copies of all threads are there

        if (own < at.queries) {
            deltas.add(d_outputs + own * D);
            // L of row r as an exponent of 2, in lane r.
            const float levels = lane() < kRows && own + lane() < at.queries
                                     ? in_twos(back.log_sum[(at.query_start + own + lane()) * task.heads + at.head])
                                     : 0.0f;
#pragma unroll 1
            for (int key = 0; key < key_count; key += kWarp) {
                const int count = tile_rows<kWarp>(at.keys - key);
                float score[kRows], d_weight[kRows];
                products<float, D, 1>(score, queries + own * D, keys + key * Sizes::kPitch, task.query.width, count, D);
                products<float, D, 1>(d_weight, d_outputs + own * D, values + key * Sizes::kPitch, task.value.width, count, D);
                const KeptKeys<kRows> kept(task, at, own, key);
                const unsigned open = open_rows<kRows>(task, at, own, key + lane());
#pragma unroll
                for (int r = 0; r < kRows; ++r) {
                    const BackwardWeight<float> of_key(task, at, own + r, key + lane(), (open >> r & 1) != 0, kept(r), score[r],
                                                       d_weight[r], __shfl_sync(device::kAllLanes, levels, r), deltas.of(r));
                    if (lane() < count) {
                        weights[(own + r) * key_room + key + lane()] = of_key.weight;
                        d_scores[(own + r) * key_room + key + lane()] = of_key.d_score;
                    }
                }
            }
            __syncwarp();  // all lanes' dS are there
            if (back.d_query.data != nullptr) {
                float d_query[kRows][Sizes::kColumns] = {};
                update<float, D>(d_query, d_scores + own * key_room, keys, key_count, key_room);
#pragma unroll
                for (int r = 0; r < kRows; ++r)
                    if (own + r < at.queries)
                        write_row(back.d_query.at(at.query_start + own + r, at.head), d_query[r], task.scale, task.query.width);
            }
        }
        __syncthreads();  // P F and dS of all queries are there

        if (own < at.keys) {
            // When causal, the warp's first key is seen from this query on.
            const int begin = task.causal ? max(0, own - at.offset()) : 0;
            if (back.d_value.data != nullptr)
                update_transposed<D>(d_value, weights + own, key_room, d_outputs, begin, query_count);
            if (back.d_key.data != nullptr) update_transposed<D>(d_key, d_scores + own, key_room, queries, begin, query_count);
        }
        if (++at.head == heads_end) break;
        __syncthreads();  // no thread reads this head's rows any more: the next head's overwrite them
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        if (own + r >= at.keys) continue;
        const std::int64_t row = at.key_start + own + r;
        if (back.d_key.data != nullptr) write_row(back.d_key.at(row, at.key_head), d_key[r], task.scale, task.query.width);
        if (back.d_value.data != nullptr) write_row(back.d_value.at(row, at.key_head), d_value[r], 1.0f, task.value.width);
    }
}

}  // namespace

void attention_backward_short(AttentionTask<float> task, const AttentionRules& rules, const AttentionBackwardTask<float>& back) {
    const auto launch = [&](auto width) {
        constexpr int D = width;
        constexpr int kPitch = PlainSizes<float, D>::kPitch;
        const int query_room = kRows * short_warps(rules.query_spans.longest());
        const int key_room = kRows * short_warps(rules.key_spans.longest());
        device::SharedSize shared;
        shared.take<float>(query_room * D).template take<float>(query_room * D);
        shared.take<float>(key_room * kPitch).template take<float>(key_room * kPitch);
        shared.take<float>(query_room * key_room).template take<float>(query_room * key_room);
        device::launch({.grid = task.gaps.grid(device::blocks_for(rules.query_spans.size() * rules.heads_of_keys(), 1)),
                        .block = static_cast<unsigned>(std::max(query_room, key_room) / kRows * kWarp),
                        .shared = shared.bytes()},
                       attention_backward_short_f32_kernel<D>, task, back, query_room, key_room);
    };
    if (std::max(task.query.width, task.value.width) <= 32) return launch(std::integral_constant<int, 32>{});
    return launch(std::integral_constant<int, kShortHead>{});
}

}  // namespace heddle::kernels
