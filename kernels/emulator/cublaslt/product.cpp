// The numbers of a product: tiles of D, each summed over k in one fixed order, on all processors. An element's bits depend on k
// and on the algorithm's split of it, never on the tile it lies in or on the number of threads.
//
// These are plain loops, rounded to the nearest after each term. On a GPU cuBLASLt multiplies bf16 on tensor cores, which
// truncate (fused_sum.h), in an order that is not documented.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "kernels/emulator/cublaslt/cublas_lt.h"
#include "kernels/emulator/cublaslt/elements.h"
#include "kernels/emulator/runtime/access.h"

namespace heddle::emulator {
namespace {

constexpr std::int64_t kTileRows = 64, kTileColumns = 32, kTerms = 256;

using element::load;
using element::store;

/// The matrix of a batch.
std::byte* data_of(const Matrix& matrix, std::int64_t batch) {
    return matrix.data + batch * matrix.batch_stride * static_cast<std::int64_t>(size_of(matrix.type));
}

// GELU's tanh form (Hendrycks and Gimpel 2016): x (1 + tanh(u)) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr double kRoot = 0.7978845608028654, kCubic = 0.044715;
template <class T>
T gelu(T x) {
    const T u = static_cast<T>(kRoot) * (x + static_cast<T>(kCubic) * x * x * x);
    return x / 2 * (1 + std::tanh(u));
}
template <class T>
T gelu_slope(T x) {
    const T u = static_cast<T>(kRoot) * (x + static_cast<T>(kCubic) * x * x * x);
    const T t = std::tanh(u);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * static_cast<T>(kRoot) * (1 + 3 * static_cast<T>(kCubic) * x * x);
}

/// A tile of D: rows [row, row + rows), columns [column, column + columns) of one matrix of the batch.
struct Tile {
    std::int64_t batch, row, column, rows, columns;
};

/// Scratch of one thread. Panels are padded with zeros to whole tiles.
template <class T>
struct Panels {
    T a[kTerms][kTileRows];
    T b[kTerms][kTileColumns];
    T sum[kTileColumns][kTileRows];    // of one part of k
    T total[kTileColumns][kTileRows];  // of all parts
};

/// op(X) elements [outer, outer + count) x [k, k + terms) as panel[term][i].
template <class T, std::int64_t N>
void pack(T (&panel)[kTerms][N], const Matrix& matrix, const std::byte* data, bool term_is_row, std::int64_t outer,
          std::int64_t count, std::int64_t k, std::int64_t terms) {
    for (std::int64_t t = 0; t < terms; ++t) {
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t row = term_is_row ? k + t : outer + i, column = term_is_row ? outer + i : k + t;
            panel[t][i] = load<T>(data, matrix.type, row + column * matrix.leading);
        }
        for (std::int64_t i = count; i < N; ++i) panel[t][i] = 0;
    }
}

/// sum += a b over `terms` terms: blocks of 8 rows and 4 columns stay in registers.
template <class T>
void multiply(Panels<T>& p, std::int64_t terms, std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t R = 8, C = 4;
    for (std::int64_t j = 0; j < columns; j += C)
        for (std::int64_t i = 0; i < rows; i += R) {
            T block[C][R] = {};
            for (std::int64_t t = 0; t < terms; ++t)
                for (std::int64_t c = 0; c < C; ++c)
                    for (std::int64_t r = 0; r < R; ++r) block[c][r] += p.a[t][i + r] * p.b[t][j + c];
            for (std::int64_t c = 0; c < C; ++c)
                for (std::int64_t r = 0; r < R; ++r) p.sum[j + c][i + r] += block[c][r];
        }
}

template <class T>
void sum_tile(const Product& product, const Tile& tile, Panels<T>& p) {
    const std::byte* const a = data_of(product.a, tile.batch);
    const std::byte* const b = data_of(product.b, tile.batch);
    std::memset(p.total, 0, sizeof p.total);
    const std::int64_t part = (product.k + product.split - 1) / product.split;
    for (std::int64_t first = 0; first < product.k; first += part) {
        std::memset(p.sum, 0, sizeof p.sum);
        const std::int64_t last = std::min(first + part, product.k);
        for (std::int64_t k = first; k < last; k += product.terms) {
            const std::int64_t terms = std::min(product.terms, last - k);
            pack(p.a, product.a, a, product.transpose_a, tile.row, tile.rows, k, terms);
            pack(p.b, product.b, b, !product.transpose_b, tile.column, tile.columns, k, terms);
            multiply(p, terms, tile.rows, tile.columns);
        }
        for (std::int64_t j = 0; j < tile.columns; ++j)
            for (std::int64_t i = 0; i < tile.rows; ++i) p.total[j][i] += p.sum[j][i];
    }
}

/// Bit i of a ReLU's aux matrix: "the input was above zero". Tiles begin at multiples of 64 rows, so no two threads share a byte.
bool bit(const std::byte* bits, std::int64_t i) { return (static_cast<unsigned>(bits[i / 8]) >> (i % 8) & 1u) != 0; }
void set_bit(std::byte* bits, std::int64_t i, bool value) {
    const std::byte mask = std::byte{1} << (i % 8);
    bits[i / 8] = value ? bits[i / 8] | mask : bits[i / 8] & ~mask;
}

/// total = epilogue(alpha total + beta C), stored in D.
template <class T>
void finish_tile(const Product& product, const Tile& tile, Panels<T>& p) {
    const Epilogue& e = product.epilogue;
    const auto alpha = static_cast<T>(product.alpha), beta = static_cast<T>(product.beta);
    const std::byte* const c = beta != 0 ? data_of(product.c, tile.batch) : nullptr;
    const std::byte* const bias = e.bias ? data_of(product.vector, tile.batch) : nullptr;
    std::byte* const d = data_of(product.d, tile.batch);
    std::byte* const aux = !e.aux()   ? nullptr
                           : e.bits() ? product.aux.data + tile.batch * product.aux.batch_stride / 8
                                      : data_of(product.aux, tile.batch);
    for (std::int64_t j = 0; j < tile.columns; ++j)
        for (std::int64_t i = 0; i < tile.rows; ++i) {
            const std::int64_t row = tile.row + i, column = tile.column + j;
            const std::int64_t at_aux = row + column * product.aux.leading;
            T x = alpha * p.total[j][i];
            if (c != nullptr) x += beta * load<T>(c, product.c.type, row + column * product.c.leading);
            if (bias != nullptr) x += load<T>(bias, product.vector.type, row);
            if (e.aux_out && e.bits()) set_bit(aux, at_aux, x > 0);
            if (e.aux_out && !e.bits()) store(aux, product.aux.type, at_aux, x);
            if (e.relu) x = x < 0 ? 0 : x;  // NaN stays
            if (e.gelu) x = gelu(x);
            if (e.drelu) x = bit(aux, at_aux) ? x : 0;
            if (e.dgelu) x *= gelu_slope(load<T>(aux, product.aux.type, at_aux));
            store(d, product.d.type, row + column * product.d.leading, x);
            p.total[j][i] = x;
        }
}

/// For bias gradients, which sum the columns of D before they are rounded: D does not have these values, so a tile spans all
/// columns if a bias gradient is requested.
template <class T>
void add_columns(const Tile& tile, const Panels<T>& p, T (&sums)[kTileRows]) {
    for (std::int64_t j = 0; j < tile.columns; ++j)
        for (std::int64_t i = 0; i < tile.rows; ++i) sums[i] += p.total[j][i];
}

/// BGRADA, BGRADB: sums over k of op(A)'s rows or op(B)'s columns.
template <class T>
void sum_operand(const Product& product, std::int64_t batch) {
    const Matrix& matrix = product.epilogue.bgrad_a ? product.a : product.b;
    const bool term_is_row = product.epilogue.bgrad_a ? product.transpose_a : !product.transpose_b;
    const std::byte* const data = data_of(matrix, batch);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(product.vector.rows); ++i) {
        T sum = 0;
        for (std::int64_t t = 0; t < product.k; ++t)
            sum += load<T>(data, matrix.type, term_is_row ? t + i * matrix.leading : i + t * matrix.leading);
        store(data_of(product.vector, batch), product.vector.type, i, sum);
    }
}

/// All columns of D for the rows of one band of tiles.
template <class T>
void compute_band(const Product& product, std::int64_t batch, std::int64_t row, std::int64_t first_column,
                  std::int64_t last_column, Panels<T>& p) {
    T sums[kTileRows] = {};
    const std::int64_t rows = std::min(kTileRows, product.m - row);
    for (std::int64_t column = first_column; column < last_column; column += kTileColumns) {
        const Tile tile = {batch, row, column, rows, std::min(kTileColumns, last_column - column)};
        sum_tile(product, tile, p);
        finish_tile(product, tile, p);
        if (product.epilogue.bgrad) add_columns(tile, p, sums);
    }
    if (!product.epilogue.bgrad) return;
    for (std::int64_t i = 0; i < rows; ++i) store(data_of(product.vector, batch), product.vector.type, row + i, sums[i]);
}

/// Runs body(i) for i in [0, count) on as many threads as the work is worth. Rethrows the first exception.
template <class Body>
void in_parallel(std::int64_t count, double operations, const Body& body) {
    const auto most = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
    const std::int64_t threads = operations < 4e6 ? 1 : std::min(most, count);
    std::atomic<std::int64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
        try {
            for (std::int64_t i = next++; i < count; i = next++) body(i);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (error == nullptr) error = std::current_exception();
            next = count;  // no thread begins another one
        }
    };
    std::vector<std::thread> others;
    try {
        for (std::int64_t i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads can be created: the existing ones do the work
    }
    work();
    for (std::thread& other : others) other.join();
    if (error != nullptr) std::rethrow_exception(error);
}

template <class T>
void compute_in(const Product& product) {
    // A band is the unit of work. It spans all columns of D if sums over them are requested, else a part of them.
    const std::int64_t bands = (product.m + kTileRows - 1) / kTileRows;
    const std::int64_t share = product.epilogue.bgrad ? product.n : 4 * kTileColumns;
    const std::int64_t shares = (product.n + share - 1) / share;
    const double operations =
        2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k) * product.batch;
    in_parallel(product.batch * bands * shares, operations, [&](std::int64_t i) {
        static thread_local std::unique_ptr<Panels<T>> panels;
        if (panels == nullptr) panels = std::make_unique<Panels<T>>();
        const std::int64_t column = i % shares * share;
        compute_band(product, i / shares / bands, i / shares % bands * kTileRows, column, std::min(column + share, product.n),
                     *panels);
    });
    if (product.epilogue.bgrad_a || product.epilogue.bgrad_b)
        for (std::int64_t batch = 0; batch < product.batch; ++batch) sum_operand<T>(product, batch);
}

/// Calls body with the bytes of each matrix of the batch.
template <class Body>
void each(const Matrix& matrix, std::int32_t batch, bool bits, const Body& body) {
    Matrix one = matrix;
    for (std::int32_t i = 0; i < batch; ++i) {
        one.data = bits ? matrix.data + i * matrix.batch_stride / 8 : data_of(matrix, i);
        for (const Rows& rows : bytes_of(one, 1, bits)) body(rows);
        if (matrix.batch_stride == 0) return;
    }
}

}  // namespace

void compute(const Product& product) {
    const Epilogue& e = product.epilogue;
    const auto reads = [](const char* name) {
        return [name](const Rows& rows) {
            try {
                check_device(rows, false);
            } catch (const std::exception& error) {
                throw std::runtime_error(std::string(name) + ": " + error.what());
            }
        };
    };
    const auto writes = [](const Rows& rows) { check_device(rows, true); };
    const std::int32_t batch = product.batch;
    each(product.a, batch, false, reads("A"));
    each(product.b, batch, false, reads("B"));
    if (product.beta != 0) each(product.c, batch, false, reads("C"));
    if (e.bias) each(product.vector, batch, false, reads("the bias"));
    if (e.aux() && !e.aux_out) each(product.aux, batch, e.bits(), reads("the aux matrix"));
    each(product.d, batch, false, writes);
    if (e.vector_out()) each(product.vector, batch, false, writes);
    if (e.aux_out) each(product.aux, batch, e.bits(), writes);

    if (product.d.type == CUDA_R_64F || product.d.type == CUDA_R_32I)  // f64 holds sums of int8 products exactly
        compute_in<double>(product);
    else
        compute_in<float>(product);

    each(product.d, batch, false, wrote);
    if (e.vector_out()) each(product.vector, batch, false, wrote);
    if (e.aux_out) each(product.aux, batch, e.bits(), wrote);
}

}  // namespace heddle::emulator
