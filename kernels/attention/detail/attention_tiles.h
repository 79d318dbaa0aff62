// The building blocks of the vectorised path: small products in registers, packing, and the lanes' arithmetic.
//
// A tile is kKeyTile keys by kQueryBlock queries, stored with one row per key: the queries stand in the lanes. So the softmax's
// maximum and sum run down the rows without ever crossing lanes, and one Philox call per lane decides on 8 keys of one query.
// For *_fast.cpp files only.
#pragma once

#include <utility>

#include "kernels/attention/detail/attention_fast.h"
#include "kernels/simd.h"

namespace heddle::kernels {

namespace HEDDLE_LEVEL {

using namespace ::heddle::HEDDLE_LEVEL;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Hands out scratch memory piece by piece.
class ScratchPieces {
  public:
    explicit ScratchPieces(float* start) : next_(start) {}
    float* operator()(std::int64_t floats) { return std::exchange(next_, next_ + floats); }

  private:
    float* next_;
};

/// The left factor of a product, read element by element: element (r, i) is data[r * row + i * depth].
struct Left {
    const float* data;
    std::int64_t row;
    std::int64_t depth;
};

/// c [H, V vectors] = or += a [H, depth] b [depth, V vectors]. All of c stays in registers; each loaded row of b serves H rows of
/// c. Every element is one chain of multiply-adds in the order of depth, whatever H and V.
template <int H, int V>
inline void product_tile(Left a, const float* b, std::int64_t b_pitch, std::int64_t depth, float* c, std::int64_t c_pitch,
                         bool add) {
    VecF sums[H][V];
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) sums[h][v] = add ? load(c + h * c_pitch + v * kFloats) : VecF{};
    for (std::int64_t i = 0; i < depth; ++i) {
        VecF right[V];
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) right[v] = load(b + i * b_pitch + v * kFloats);
#pragma GCC unroll 8
        for (int h = 0; h < H; ++h) {
            const VecF left = broadcast(a.data[h * a.row + i * a.depth]);
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) sums[h][v] += left * right[v];
        }
    }
#pragma GCC unroll 8
    for (int h = 0; h < H; ++h)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) store(c + h * c_pitch + v * kFloats, sums[h][v]);
}

template <int V>
inline void product_panel(Left a, const float* b, std::int64_t b_pitch, std::int64_t depth, std::int64_t rows, float* c,
                          std::int64_t c_pitch, bool add) {
    // 16 sums leave half of AVX-512's 32 registers; the 16 registers of the older levels hold 8 sums well.
    constexpr int height = kVectorBytes == 64 || V == 1 ? 8 : 4;
    for (std::int64_t r = 0; r < rows; r += height) {
        const Left from{a.data + r * a.row, a.row, a.depth};
        if (rows - r > height / 2)
            product_tile<height, V>(from, b, b_pitch, depth, c + r * c_pitch, c_pitch, add);
        else
            product_tile<height / 2, V>(from, b, b_pitch, depth, c + r * c_pitch, c_pitch, add);
    }
}

/// c [rows, vectors] = or += a [rows, depth] b [depth, vectors]. Reads and writes up to 7 rows of a and c past `rows`: they must
/// exist.
[[gnu::noinline]] inline void product(Left a, const float* b, std::int64_t b_pitch, std::int64_t depth, std::int64_t rows,
                                      std::int64_t vectors, float* c, std::int64_t c_pitch, bool add) {
    std::int64_t v = 0;
    for (; v + 2 <= vectors; v += 2) product_panel<2>(a, b + v * kFloats, b_pitch, depth, rows, c + v * kFloats, c_pitch, add);
    if (v < vectors) product_panel<1>(a, b + v * kFloats, b_pitch, depth, rows, c + v * kFloats, c_pitch, add);
}

/// Lanes a0 b0 a1 b1 ... of the lower or the higher halves.
inline VecF interleave(VecF a, VecF b, bool high) {
    constexpr int half = kFloats / 2;
    return high ? shuffle(a, b, [](int i) { return i % 2 * kFloats + half + i / 2; })
                : shuffle(a, b, [](int i) { return i % 2 * kFloats + i / 2; });
}

/// Lane j of vector i goes to lane i of vector j: log2(kFloats) perfect shuffles of the vectors.
inline void transpose_lanes(VecF (&rows)[kFloats]) {
#pragma GCC unroll 4
    for (int stage = 1; stage < kFloats; stage *= 2) {
        VecF next[kFloats];
#pragma GCC unroll 8
        for (int i = 0; i < kFloats / 2; ++i) {
            next[2 * i] = interleave(rows[i], rows[i + kFloats / 2], false);
            next[2 * i + 1] = interleave(rows[i], rows[i + kFloats / 2], true);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kFloats; ++i) rows[i] = next[i];
    }
}

/// Transposes a square of kFloats by kFloats.
inline void transpose_square(const float* from, std::int64_t from_pitch, float* to, std::int64_t to_pitch) {
    VecF rows[kFloats];
#pragma GCC unroll 16
    for (int i = 0; i < kFloats; ++i) rows[i] = load(from + i * from_pitch);
    transpose_lanes(rows);
#pragma GCC unroll 16
    for (int i = 0; i < kFloats; ++i) store(to + i * to_pitch, rows[i]);
}

/// to [columns, to_pitch] = from [rows, columns]^T; both extents are rounded up to vectors.
inline void transpose(const float* from, std::int64_t from_pitch, std::int64_t rows, std::int64_t columns, float* to,
                      std::int64_t to_pitch) {
    for (std::int64_t r = 0; r < rows; r += kFloats)
        for (std::int64_t c = 0; c < columns; c += kFloats)
            transpose_square(from + r * from_pitch + c, from_pitch, to + c * to_pitch + r, to_pitch);
}

/// to [padded(width)] = factor * from [width], zeros after it.
inline void pack_row(const float* from, std::int64_t width, float factor, float* to) {
    const std::int64_t pitch = padded(width), whole = width / kFloats * kFloats;
    for (std::int64_t c = 0; c < whole; c += kFloats) store(to + c, load(from + c) * factor);
    for (std::int64_t c = whole; c < pitch; c += kFloats)
        store(to + c, c < width ? load_part(from + c, static_cast<int>(width - c)) * factor : VecF{});
}

/// Zeros in the rows after the last of a packed [padded(rows), padded(width)].
inline void pack_end(std::int64_t rows, std::int64_t width, float* to) {
    const std::int64_t pitch = padded(width);
    for (std::int64_t i = rows * pitch; i < padded(rows) * pitch; i += kFloats) store(to + i, VecF{});
}

/// to [padded(rows), padded(width)] = factor * from, zeros around it.
[[gnu::noinline]] inline void pack(const float* from, std::int64_t from_pitch, std::int64_t rows, std::int64_t width,
                                   float factor, float* to) {
    for (std::int64_t r = 0; r < rows; ++r) pack_row(from + r * from_pitch, width, factor, to + r * padded(width));
    pack_end(rows, width, to);
}

/// to = factor * from for one row of `width` floats.
inline void unpack_row(const float* from, std::int64_t width, float factor, float* to) {
    const std::int64_t whole = width / kFloats * kFloats;
    for (std::int64_t c = 0; c < whole; c += kFloats) store(to + c, load(from + c) * factor);
    if (whole < width) store_part(to + whole, load(from + whole) * factor, static_cast<int>(width - whole));
}

/// One query block of one sentence and head against one key tile.
struct Tile {
    std::int64_t sentence;
    std::int64_t head;
    std::int64_t first_query;
    std::int64_t queries;
    std::int64_t first_key;
    std::int64_t keys;
    std::int64_t vectors() const { return (queries + kFloats - 1) / kFloats; }
    /// The keys and, up to a whole group of 8, rows of zeros after the last one.
    std::int64_t rows() const { return (keys + 7) / 8 * 8; }
};

/// The item's block of queries from `first` on.
inline Tile block_of(const AttentionItem& item, const Span& queries, std::int64_t first) {
    const std::int64_t rest = queries.length - first;
    return {item.sentence, item.head, first, rest < kQueryBlock ? rest : kQueryBlock, 0, 0};
}

/// Keys [0, end) are all that the block's queries could attend to, up to a whole group of 8: the products' tiles and the dropout
/// groups that end there never touch a real key after it.
inline std::int64_t visible_groups(const AttentionView<float>& view, const Tile& tile) {
    const std::int64_t time = view.keys(tile.sentence).length;
    const std::int64_t end = (view.visible(tile.sentence, tile.first_query + tile.queries - 1) + 7) / 8 * 8;
    return end < time ? end : time;
}

inline void zero(float* at, std::int64_t floats) {
    for (std::int64_t i = 0; i < floats; i += kFloats) store(at + i, VecF{});
}

/// Zeros for the packed keys and values that the mask hides from every query of the sentence in heads [head, head + heads): their
/// weights are 0, but the rows may hold a NaN, and 0 * NaN would reach every query.
inline void clear_hidden(const AttentionView<float>& view, std::int64_t sentence, std::int64_t head, std::int64_t heads,
                         float* key, float* value) {
    if (view.mask == nullptr) return;
    const auto seen = [&](std::int64_t k) {
        for (std::int64_t h = head; h < head + heads; ++h)
            for (std::int64_t q = 0; q < view.queries(sentence).length; ++q)
                if (view.mask_row(sentence, h, q)[k] != 0 && k < view.visible(sentence, q)) return true;
        return false;
    };
    for (std::int64_t k = 0; k < view.keys(sentence).length; ++k) {
        if (seen(k)) continue;
        zero(key + k * padded(view.dk()), padded(view.dk()));
        zero(value + k * padded(view.dv()), padded(view.dv()));
    }
}

/// scores [rows, kQueryBlock] += the bias, whose rows are queries: it is transposed in squares.
inline void add_bias(const AttentionView<float>& view, const Tile& tile, float* scores) {
    if (view.bias == nullptr) return;
    for (std::int64_t q = 0; q < tile.queries; q += kFloats)
        for (std::int64_t k = 0; k < tile.keys; k += kFloats) {
            VecF rows[kFloats];
            for (std::int64_t i = 0; i < kFloats; ++i) {
                const float* from = view.bias_row(tile.head, tile.first_query + q + i) + tile.first_key + k;
                const std::int64_t left = tile.keys - k;
                rows[i] = q + i >= tile.queries ? VecF{} : left >= kFloats ? load(from) : load_part(from, static_cast<int>(left));
            }
            transpose_lanes(rows);
            for (std::int64_t i = 0; i < kFloats && k + i < tile.keys; ++i) {
                float* const at = scores + (k + i) * kQueryBlock + q;
                store(at, load(at) + rows[i]);
            }
        }
}

/// scores [rows, kQueryBlock]: -inf where the query may not attend.
inline void mask_scores(const AttentionView<float>& view, const Tile& tile, float* scores) {
    for (std::int64_t k = tile.keys; k < tile.rows(); ++k)
        for (std::int64_t v = 0; v < tile.vectors(); ++v) store(scores + k * kQueryBlock + v * kFloats, broadcast(-kInfinity));
    if (view.causal) {
        // Lane q sees the keys up to q + shift, both counted within the tile.
        const std::int64_t shift =
            view.keys(tile.sentence).length - view.queries(tile.sentence).length + tile.first_query - tile.first_key;
        for (std::int64_t k = shift + 1 > 0 ? shift + 1 : 0; k < tile.keys; ++k)
            for (std::int64_t v = 0; v < tile.vectors(); ++v) {
                float* at = scores + k * kQueryBlock + v * kFloats;
                const VecI lane = iota<std::int32_t>();
                store(at, lane >= static_cast<std::int32_t>(k - shift - v * kFloats) ? load(at) : broadcast(-kInfinity));
            }
    }
    if (view.mask == nullptr) return;
    for (std::int64_t q = 0; q < tile.queries; ++q) {
        const std::uint8_t* row = view.mask_row(tile.sentence, tile.head, tile.first_query + q) + tile.first_key;
        for (std::int64_t k = 0; k < tile.keys; ++k)
            if (row[k] == 0) scores[k * kQueryBlock + q] = -kInfinity;
    }
}

/// The dropout factors of 8 keys for the queries in the lanes: the words of one Philox call per query.
struct KeyGroup {
    VecU words[4];
    std::uint32_t threshold;
    float scale;

    KeyGroup(const Dropout& dropout, const Tile& tile, std::int64_t v, std::int64_t key)
        : threshold(dropout.threshold), scale(static_cast<float>(dropout.scale())) {
        // The queries of the even lanes, and those of the odd ones, which end up in the upper halves.
        const VecL query = 2 * iota<std::uint64_t>() + static_cast<std::uint64_t>(tile.first_query + v * kFloats);
        const VecL group = broadcast(static_cast<std::uint64_t>((tile.first_key + key) / 8));
        const VecL head = broadcast(static_cast<std::uint64_t>(tile.head));
        const VecL sentence = broadcast(static_cast<std::uint64_t>(tile.sentence));
        VecL even[4] = {group, query, head, sentence};
        VecL odd[4] = {group, query + 1, head, sentence};
        philox(dropout.key, even[0], even[1], even[2], even[3]);
        philox(dropout.key, odd[0], odd[1], odd[2], odd[3]);
        for (int w = 0; w < 4; ++w) {
            const VecL both = (even[w] & 0xffffffffu) | (odd[w] << 32);
            std::memcpy(&words[w], &both, sizeof both);
        }
    }
    /// For key j of the group.
    VecF factor(int j) const {
        const VecU bits = j % 2 == 0 ? words[j / 2] & 0xffffu : words[j / 2] >> 16;
        return bits >= threshold ? broadcast(scale) : VecF{};
    }
};

/// log x for x >= 1: the exponent and mantissa of x as a first guess (error below 0.06), then two steps of Halley's method on e^y
/// = x, each of which cubes the error.
inline VecF log_above_one(VecF x) {
    VecI bits;
    std::memcpy(&bits, &x, sizeof bits);
    VecF y = (__builtin_convertvector(bits, VecF) * 0x1p-23f - 126.957f) * 0.693147181f;
    for (int step = 0; step < 2; ++step) {
        const VecF e = exp(y);
        y += 2 * (x - e) / (x + e);
    }
    return y;
}

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
