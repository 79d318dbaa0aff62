#include "kernels/matmul/product.h"

#include <algorithm>

#include "core/dual.h"
#include "core/format.h"
#include "core/parallel.h"

namespace heddle::kernels {
namespace {

// Dual numbers have no tile kernel: their panels are columns, which the plain loops read.
template <class T>
constexpr bool is_plain = std::is_same_v<T, Dual>;

template <class T>
std::int64_t panel_width() {
    if constexpr (is_plain<T>)
        return 1;
    else
        return by_level<int(T)>(v2::panel_columns, v3::panel_columns, v4::panel_columns)(T());
}

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// How C is cut into jobs. Every cut gives the same bits; this one gives each thread several jobs of a few hundred thousand
// multiply-adds, and rows that share a panel while it is in the cache.
struct Cut {
    std::int64_t rows;     // per job, a multiple of the tile's rows
    std::int64_t columns;  // per job, a multiple of the panel's columns
};

// The size of the parts when `count` tiles are cut into equal parts: at most four for each thread, of at least `least` tiles
// where that leaves one for each.
std::int64_t part(std::int64_t count, std::int64_t least) {
    const std::int64_t parts = threads() * std::clamp<std::int64_t>(count / (least * threads()), 1, 4);
    return (count + parts - 1) / parts;
}

Cut cut(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t tile_rows, std::int64_t width, bool transposed) {
    if (transposed) {
        // A weight gradient: m outputs, n inputs, k tokens. A job packs its rows of A and copies its panels of B, so the longer
        // side is cut: the other one is then packed or copied once per job, and there are few jobs.
        const std::int64_t tiles = (m + tile_rows - 1) / tile_rows, panels = (n + width - 1) / width;
        if (m >= n) return {part(tiles, 8) * tile_rows, panels * width};
        return {tiles * tile_rows, part(panels, 4) * width};
    }
    // Otherwise 8 tiles share each panel.
    constexpr std::int64_t kWork = 1 << 21;  // multiply-adds per job
    const std::int64_t rows = std::min(rounded_up(m, tile_rows), 8 * tile_rows);
    const std::int64_t columns = std::max<std::int64_t>(1, kWork / std::max<std::int64_t>(1, rows * k));
    return {rows, std::min(rounded_up(columns, width), rounded_up(n, width))};
}

}  // namespace

template <class T>
Tensor make_panels(MatrixRef<const T> b, std::int64_t k, std::int64_t n) {
    const std::int64_t width = panel_width<T>();
    const std::int64_t panels = (n + width - 1) / width;
    Tensor result = Tensor::empty({panels * width * k}, dtype_of<T>());
    T* out = result.mutable_data<T>();
    if constexpr (is_plain<T>) {
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t p = 0; p < k; ++p) out[j * k + p] = b.data[p * b.row + j * b.col];
    } else {
        using Pack = void(MatrixRef<const T>, std::int64_t, std::int64_t, std::int64_t, std::int64_t, T*);
        Pack* const pack = by_level<Pack>(v2::pack_panels, v3::pack_panels, v4::pack_panels);
        parallel_for(panels, grain_for(width * k),
                     [&](std::int64_t first, std::int64_t last) { pack(b, k, n, first, last, out); });
    }
    return result;
}

namespace {

// A B of so many elements is read in place: it stays in the first-level cache.
constexpr std::int64_t kSmall = 2048;

// B as panels, packed or read in place.
template <class T>
struct PanelRef {
    const T* data;
    std::int64_t row;
    std::int64_t next;
};

void run_jobs(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const Dual> a, PanelRef<Dual> b, MatrixRef<Dual> c,
              const Epilogue<Dual>& epilogue) {
    reference_product<Dual>(m, n, k, a, {b.data, b.row, b.next}, c, epilogue);
}

template <class T>
void run_jobs(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, PanelRef<T> b, MatrixRef<T> c,
              const Epilogue<T>& epilogue) {
    if (m == 0 || n == 0) return;
    check(c.col == 1, "product: the rows of C have a stride of {} elements, wanted contiguous rows", c.col);
    const std::int64_t width = panel_width<T>();
    const Cut piece = cut(m, n, k, by_level(v2::tile_rows, v3::tile_rows, v4::tile_rows)(), width, a.col != 1);
    const std::int64_t row_jobs = (m + piece.rows - 1) / piece.rows;
    const std::int64_t column_jobs = (n + piece.columns - 1) / piece.columns;
    const std::int64_t work = piece.rows * piece.columns * std::max<std::int64_t>(k, 1);
    parallel_for(row_jobs * column_jobs, std::max<std::int64_t>(1, (1 << 18) / work), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t row = at / column_jobs * piece.rows;
            const std::int64_t column = at % column_jobs * piece.columns;
            TileJob<T> job;
            job.m = std::min(piece.rows, m - row);
            job.n = std::min(piece.columns, n - column);
            job.k = k;
            job.a = {a.data + row * a.row, a.row, a.col};
            job.panels = b.data + column / width * b.next;
            job.panel_row = b.row;
            job.panel_next = b.next;
            job.c = {c.data + row * c.row + column, c.row, 1};
            job.bias = epilogue.bias == nullptr ? nullptr : epilogue.bias + column;
            job.accumulate = epilogue.accumulate;
            job.relu = epilogue.relu;
            by_level<void(const TileJob<T>&)>(v2::run_tiles, v3::run_tiles, v4::run_tiles)(job);
        }
    });
}

}  // namespace

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, const T* panels, MatrixRef<T> c,
             const Epilogue<T>& epilogue) {
    const std::int64_t width = panel_width<T>();
    run_jobs(m, n, k, a, PanelRef<T>{panels, width, width * k}, c, epilogue);
}

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
             const Epilogue<T>& epilogue) {
    // For a weight gradient B is the layer's whole input, read once per stretch of tokens: packing it would cost more than it
    // saves. The same holds for a small B. The last panel may have one vector of columns instead of two.
    const std::int64_t width = panel_width<T>();
    const bool vectors = n % std::max<std::int64_t>(1, width / 2) == 0;
    if (b.col == 1 && vectors && (a.col != 1 || k * n <= kSmall))
        return run_jobs(m, n, k, a, PanelRef<T>{b.data, b.row, width}, c, epilogue);
    const Tensor panels = make_panels(b, k, n);
    product<T>(m, n, k, a, panels.data<T>(), c, epilogue);
}

template <class T>
void reference_product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixRef<const T> a, MatrixRef<const T> b, MatrixRef<T> c,
                       const Epilogue<T>& epilogue) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            T& out = c.data[i * c.row + j * c.col];
            T value = epilogue.accumulate ? out : epilogue.bias != nullptr ? epilogue.bias[j] : T(0);
            for (std::int64_t p = 0; p < k; ++p) value += a.data[i * a.row + p * a.col] * b.data[p * b.row + j * b.col];
            out = epilogue.relu ? std::max(value, T(0)) : value;
        }
}

bool PackedWeight::Kept::are_of(const Tensor& weight) const {
    return dtype == weight.dtype() && storage == weight.storage_id() && version == weight.version() &&
           data == weight.bytes_data() && shape == weight.shape();
}

template <class T>
const T* PackedWeight::panels(const Tensor& weight) {
    const Kept* kept = newest_.load(std::memory_order_acquire);
    if (kept == nullptr || !kept->are_of(weight)) kept = &pack<T>(weight);
    return kept->panels.data<T>();
}

template <class T>
const PackedWeight::Kept& PackedWeight::pack(const Tensor& weight) {
    const std::lock_guard lock(packing_);
    const Kept* before = newest_.load(std::memory_order_relaxed);
    if (before != nullptr && before->are_of(weight)) return *before;  // another thread was faster
    const MatrixRef<const T> rows{weight.data<T>(), weight.cols(), 1};
    const std::size_t turn = before == &kept_[0] ? 1 : 0;
    Kept& next = kept_[turn];
    next = {.storage = weight.storage_id(),
            .version = weight.version(),
            .data = weight.bytes_data(),
            .shape = weight.shape(),
            .dtype = weight.dtype(),
            .panels = make_panels(rows.transposed(), weight.cols(), weight.rows())};
    newest_.store(&next, std::memory_order_release);
    kept_[1 - turn].panels = Tensor();  // no thread reads these any more
    return next;
}

#define HEDDLE_INSTANTIATE(T)                                                                                                \
    template Tensor make_panels<T>(MatrixRef<const T>, std::int64_t, std::int64_t);                                          \
    template void product<T>(std::int64_t, std::int64_t, std::int64_t, MatrixRef<const T>, const T*, MatrixRef<T>,           \
                             const Epilogue<T>&);                                                                            \
    template void product<T>(std::int64_t, std::int64_t, std::int64_t, MatrixRef<const T>, MatrixRef<const T>, MatrixRef<T>, \
                             const Epilogue<T>&);                                                                            \
    template void reference_product<T>(std::int64_t, std::int64_t, std::int64_t, MatrixRef<const T>, MatrixRef<const T>,     \
                                       MatrixRef<T>, const Epilogue<T>&);                                                    \
    template const T* PackedWeight::panels<T>(const Tensor&);
HEDDLE_INSTANTIATE(float)
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(Dual)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::kernels
