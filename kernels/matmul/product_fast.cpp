// The tile kernel, once per x86-64 level.
//
// A tile of C has kRows x (kVectors vectors) accumulators: 12 x 2 = 24 of AVX-512's 32 registers, 6 x 2 = 12 of AVX2's and
// SSE's 16. One step of k loads kVectors vectors of the panel and multiplies each with one broadcast element per row: on AVX-512
// 14 loads for 24 multiply-adds, which keeps both multiply-add units busy.
#include <algorithm>

#include "kernels/matmul/product.h"
#include "kernels/simd.h"

namespace heddle::kernels {
namespace HEDDLE_LEVEL {

using heddle::HEDDLE_LEVEL::kLanes;
using heddle::HEDDLE_LEVEL::load;
using heddle::HEDDLE_LEVEL::maximum;
using heddle::HEDDLE_LEVEL::store;
using heddle::HEDDLE_LEVEL::Vec;

namespace {

constexpr int kVectors = 2;
constexpr int kRows = heddle::HEDDLE_LEVEL::kVectorBytes == 64 ? 12 : 6;
// Steps of k between two visits of a tile of C: a panel of that height (float, AVX-512: 32 KB) stays in the second-level cache,
// and so does the block of A that is read again for each panel.
constexpr std::int64_t kDepth = 256;

template <class T>
constexpr int kWidth = kVectors* kLanes<T>;

// How the kernel reads A: rows at a stride (contiguous in k), or a packed tile of kRows elements per step of k.
enum class ReadA { rows, packed };

template <class T, int Rows, int Vectors, ReadA read>
inline void multiply(std::int64_t k, const T* a, std::int64_t stride, const T* panel, std::int64_t panel_row,
                     Vec<T> (&acc)[Rows][Vectors]) {
    // Rows are addressed from every fourth one, so that the addresses need few registers.
    const T* group[(Rows + 3) / 4];
    for (int g = 0; g < (Rows + 3) / 4; ++g) group[g] = a + 4 * g * stride;
    const std::int64_t stride3 = 3 * stride;
    for (std::int64_t p = 0; p < k; ++p) {
        Vec<T> b[Vectors];
        for (int v = 0; v < Vectors; ++v) b[v] = load(panel + v * kLanes<T>);
        panel += panel_row;
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
            T value;
            if constexpr (read == ReadA::packed)
                value = a[i];
            else {
                const T* base = group[i / 4];
                value = i % 4 == 0 ? base[0] : i % 4 == 1 ? base[stride] : i % 4 == 2 ? base[2 * stride] : base[stride3];
            }
            for (int v = 0; v < Vectors; ++v) acc[i][v] = value * b[v] + acc[i][v];
        }
        if constexpr (read == ReadA::packed)
            a += kRows;
        else
            for (auto& pointer : group) ++pointer;
    }
}

// Initial value of a tile.
enum class Start { zero, bias, c };

// One panel and one stretch of k: what all its tiles share.
template <class T>
struct Stretch {
    const T* panel;       // the panel's rows from k0 on
    std::int64_t row;     // from one of them to the next
    std::int64_t k0;      // first step of k
    std::int64_t k;       // steps
    std::int64_t column;  // first column of C
    std::int64_t n;       // columns that are real, at most kWidth
    Start start;
    bool relu;
};

// Rows [i, i + Rows) of C. One vector is enough for a panel of at most as many columns.
template <class T, int Rows, int Vectors, ReadA read>
[[gnu::noinline]] void tile(const TileJob<T>& job, const Stretch<T>& at, const T* a, std::int64_t i0) {
    constexpr int lanes = kLanes<T>;
    T* c = job.c.data + i0 * job.c.row + at.column;
    const bool whole = at.n == Vectors * lanes;
    T edge[Vectors * lanes] = {};
    Vec<T> acc[Rows][Vectors];
    // The next tile's lines of C are fetched while k runs.
    for (int i = 0; i < Rows; ++i)
        for (int v = 0; v < Vectors; ++v) __builtin_prefetch(c + (i + Rows) * job.c.row + v * lanes, 1);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
        if (at.start == Start::zero) {
            for (int v = 0; v < Vectors; ++v) acc[i][v] = Vec<T>{};
            continue;
        }
        const T* from = at.start == Start::c ? c + i * job.c.row : job.bias + at.column;
        if (!whole) {
            for (std::int64_t j = 0; j < at.n; ++j) edge[j] = from[j];
            from = edge;
        }
        for (int v = 0; v < Vectors; ++v) acc[i][v] = load(from + v * lanes);
    }
    multiply<T, Rows, Vectors, read>(at.k, a, read == ReadA::rows ? job.a.row : 0, at.panel, at.row, acc);
    // maximum(0, NaN) is NaN, maximum(NaN, 0) would be 0.
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
        T* to = whole ? c + i * job.c.row : edge;
        for (int v = 0; v < Vectors; ++v) store(to + v * lanes, at.relu ? maximum<T>(Vec<T>{}, acc[i][v]) : acc[i][v]);
        if (!whole)
            for (std::int64_t j = 0; j < at.n; ++j) c[i * job.c.row + j] = edge[j];
    }
}

// Rows [first, last) of one panel and one stretch of k: full tiles first, then 8, 4, 2, 1 rows. `packed` holds A's rows from
// `first` on.
template <class T, int Vectors, ReadA read>
void rows_of_panel(const TileJob<T>& job, const Stretch<T>& at, std::int64_t first, std::int64_t last, const T* packed) {
    std::int64_t i = first;
    const auto run = [&]<int Rows>() {
        for (; i + Rows <= last; i += Rows)
            tile<T, Rows, Vectors, read>(job, at,
                                         read == ReadA::packed ? packed + (i - first) : job.a.data + i * job.a.row + at.k0, i);
    };
    run.template operator()<kRows>();
    if constexpr (kRows > 8) run.template operator()<8>();
    run.template operator()<4>();
    run.template operator()<2>();
    run.template operator()<1>();
}

template <class T, ReadA read>
void rows_of_panel(const TileJob<T>& job, const Stretch<T>& at, std::int64_t first, std::int64_t last, const T* packed) {
    if (at.n <= kLanes<T>)
        rows_of_panel<T, 1, read>(job, at, first, last, packed);
    else
        rows_of_panel<T, kVectors, read>(job, at, first, last, packed);
}

// Tiles of a transposed A (row == 1) that are packed together: rows of memory are read in stretches of kBlock elements.
constexpr int kBlock = 16 * kRows;
// Steps of k of such a block: with a panel of the same height it stays in the first-level cache, tile by tile.
constexpr std::int64_t kPackedDepth = 128;

// Element (i, p) of the block lies at data[i + p * col]; afterwards tile t holds it at packed[(t * k + p) * kRows + i - t *
// kRows].
template <class T>
void pack_block(const TileJob<T>& job, std::int64_t first, std::int64_t rows, std::int64_t k0, std::int64_t k, T* packed) {
    for (std::int64_t p = 0; p < k; ++p) {
        const T* from = job.a.data + first + (k0 + p) * job.a.col;
        T* to = packed + p * kRows;
        std::int64_t i = 0;
        for (; i + kRows <= rows; i += kRows, to += k * kRows) std::memcpy(to, from + i, kRows * sizeof(T));
        for (std::int64_t r = i; r < rows; ++r) to[r - i] = from[r];
    }
}

// A stretch of a B that is read in place, copied row after row: with a pitch of 2 or 4 KB its rows would fall into the same few
// sets of the first-level cache and throw each other out before the second tile reads them.
template <class T>
void copy_panel(Stretch<T>& at, T* to) {
    const int vectors = at.n <= kLanes<T> ? 1 : kVectors;
    for (std::int64_t p = 0; p < at.k; ++p)
        for (int v = 0; v < vectors; ++v) store(to + p * kWidth<T> + v * kLanes<T>, load(at.panel + p * at.row + v * kLanes<T>));
    at.panel = to;
    at.row = kWidth<T>;
}

// The stretches of k in ascending order, and for each the panels. k == 0 still makes one: C becomes what it starts from.
template <class T, class Body>
void each_stretch(const TileJob<T>& job, std::int64_t depth, const Body& body) {
    for (std::int64_t k0 = 0; k0 == 0 || k0 < job.k; k0 += depth) {
        Stretch<T> at;
        at.k0 = k0;
        at.k = std::min(depth, job.k - k0);
        at.start = k0 > 0 || job.accumulate ? Start::c : job.bias != nullptr ? Start::bias : Start::zero;
        at.relu = job.relu && k0 + at.k == job.k;
        body(at);
    }
}

template <class T, class Body>
void each_panel(const TileJob<T>& job, Stretch<T> at, const Body& body) {
    for (at.column = 0; at.column < job.n; at.column += kWidth<T>) {
        at.panel = job.panels + at.column / kWidth<T> * job.panel_next + at.k0 * job.panel_row;
        at.row = job.panel_row;
        at.n = std::min<std::int64_t>(kWidth<T>, job.n - at.column);
        body(at);
    }
}

template <class T>
void run(const TileJob<T>& job) {
    if (job.a.col == 1) {
        each_stretch(job, kDepth, [&](const Stretch<T>& stretch) {
            each_panel(job, stretch, [&](const Stretch<T>& at) { rows_of_panel<T, ReadA::rows>(job, at, 0, job.m, nullptr); });
        });
        return;
    }
    alignas(64) thread_local T packed[kPackedDepth * kBlock];
    alignas(64) thread_local T panel[kPackedDepth * kWidth<T>];
    each_stretch(job, kPackedDepth, [&](const Stretch<T>& stretch) {
        for (std::int64_t first = 0; first < job.m; first += kBlock) {
            const std::int64_t rows = std::min<std::int64_t>(kBlock, job.m - first);
            pack_block(job, first, rows, stretch.k0, stretch.k, packed);
            each_panel(job, stretch, [&](Stretch<T> at) {
                if (job.panel_row != kWidth<T>) copy_panel(at, panel);
                for (std::int64_t i = 0; i < rows; i += kRows)
                    rows_of_panel<T, ReadA::packed>(job, at, first + i, first + std::min<std::int64_t>(rows, i + kRows),
                                                    packed + i * stretch.k);
            });
        }
    });
}

template <class T>
void pack(MatrixRef<const T> b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t last, T* panels) {
    constexpr std::int64_t width = kWidth<T>;
    for (std::int64_t panel = first; panel < last; ++panel) {
        T* out = panels + panel * width * k;
        const std::int64_t column = panel * width;
        const std::int64_t columns = std::min(width, n - column);
        const T* from = b.data + column * b.col;
        if (columns < width) std::fill(out, out + width * k, T(0));
        if (b.col == 1) {
            for (std::int64_t p = 0; p < k; ++p)
                for (std::int64_t j = 0; j < columns; ++j) out[p * width + j] = from[p * b.row + j];
            continue;
        }
        for (std::int64_t p0 = 0; p0 < k; p0 += 16)  // a block of 16 steps of k stays in the first-level cache
            for (std::int64_t j = 0; j < columns; ++j)
                for (std::int64_t p = p0; p < std::min(k, p0 + 16); ++p) out[p * width + j] = from[j * b.col + p * b.row];
    }
}

}  // namespace

void run_tiles(const TileJob<float>& job) { run(job); }
void run_tiles(const TileJob<double>& job) { run(job); }
void pack_panels(MatrixRef<const float> b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t last, float* panels) {
    pack(b, k, n, first, last, panels);
}
void pack_panels(MatrixRef<const double> b, std::int64_t k, std::int64_t n, std::int64_t first, std::int64_t last,
                 double* panels) {
    pack(b, k, n, first, last, panels);
}
int tile_rows() { return kRows; }
int panel_columns(float) { return kWidth<float>; }
int panel_columns(double) { return kWidth<double>; }

}  // namespace HEDDLE_LEVEL
}  // namespace heddle::kernels
