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

/// total = epilogue(alpha total + beta C), stored in D.
template <class T>
void finish_tile(const Product& product, const Tile& tile, Panels<T>& p) {
    const Epilogue& e = product.epilogue;
    const auto alpha = static_cast<T>(product.alpha), beta = static_cast<T>(product.beta);
    const std::byte* const c = beta != 0 ? data_of(product.c, tile.batch) : nullptr;
    const std::byte* const bias = e.bias ? data_of(product.vector, tile.batch) : nullptr;
    std::byte* const d = data_of(product.d, tile.batch);
    std::byte* const aux = product.aux.data;
    for (std::int64_t j = 0; j < tile.columns; ++j)
        for (std::int64_t i = 0; i < tile.rows; ++i) {
            const std::int64_t row = tile.row + i, column = tile.column + j;
            const std::int64_t at_aux = row + column * product.aux.leading;
            T x = alpha * p.total[j][i];
            if (c != nullptr) x += beta * load<T>(c, product.c.type, row + column * product.c.leading);
            if (bias != nullptr) x += load<T>(bias, product.vector.type, row);
            if (e.aux_out) store(aux, product.aux.type, at_aux, x);
            if (e.gelu) x = gelu(x);
            if (e.dgelu) x *= gelu_slope(load<T>(aux, product.aux.type, at_aux));
            store(d, product.d.type, row + column * product.d.leading, x);
        }
}

/// BGRADB: sums over k of op(B)'s columns.
template <class T>
void sum_operand(const Product& product) {
    for (std::int64_t i = 0; i < product.n; ++i) {
        T sum = 0;
        for (std::int64_t t = 0; t < product.k; ++t)
            sum += load<T>(product.b.data, product.b.type,
                           product.transpose_b ? i + t * product.b.leading : t + i * product.b.leading);
        store(product.vector.data, product.vector.type, i, sum);
    }
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
    const std::int64_t bands = (product.m + kTileRows - 1) / kTileRows;
    const std::int64_t columns = (product.n + kTileColumns - 1) / kTileColumns;
    const double operations =
        2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k) * product.batch;
    in_parallel(product.batch * bands * columns, operations, [&](std::int64_t i) {
        static thread_local std::unique_ptr<Panels<T>> panels;
        if (panels == nullptr) panels = std::make_unique<Panels<T>>();
        const std::int64_t row = i / columns % bands * kTileRows, column = i % columns * kTileColumns;
        const Tile tile = {i / columns / bands, row, column, std::min(kTileRows, product.m - row),
                           std::min(kTileColumns, product.n - column)};
        sum_tile(product, tile, *panels);
        finish_tile(product, tile, *panels);
    });
    if (product.epilogue.bgrad_b) sum_operand<T>(product);
}

/// Calls body with the bytes of each matrix of the batch.
template <class Body>
void each(const Matrix& matrix, std::int32_t batch, const Body& body) {
    Matrix one = matrix;
    for (std::int32_t i = 0; i < (matrix.batch_stride == 0 ? 1 : batch); ++i) {
        one.data = data_of(matrix, i);
        body(bytes_of(one, 1).front());
    }
}

}  // namespace

std::size_t size_of(cudaDataType_t type) {
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : type == CUDA_R_8I ? 1 : 2;
}

std::byte* data_of(const Matrix& matrix, std::int64_t i) {
    return matrix.data + i * matrix.batch_stride * static_cast<std::int64_t>(size_of(matrix.type));
}

std::vector<Rows> bytes_of(const Matrix& matrix, std::int32_t batch) {
    constexpr std::int32_t few = 16;
    const std::size_t size = size_of(matrix.type);
    Rows rows = {matrix.data, static_cast<std::size_t>(matrix.leading) * size, static_cast<std::size_t>(matrix.rows) * size,
                 matrix.columns};
    if (batch == 1 || matrix.batch_stride == 0) return {rows};
    if (batch > few) {
        const std::byte *const first = data_of(matrix, 0), *const last = data_of(matrix, batch - 1);
        return {Rows::of(std::min(first, last), static_cast<std::size_t>(std::abs(last - first)) + rows.extent())};
    }
    std::vector<Rows> all;
    for (std::int32_t i = 0; i < batch; ++i) {
        rows.start = data_of(matrix, i);
        all.push_back(rows);
    }
    return all;
}

std::vector<Part> parts_of(const Product& product) {
    const Epilogue& e = product.epilogue;
    std::vector<Part> parts = {{"A", &product.a, false}, {"B", &product.b, false}};
    if (product.beta != 0) parts.push_back({"C", &product.c, false});
    parts.push_back({"D", &product.d, true});
    if (e.vector()) parts.push_back({e.bias ? "the bias" : "the bias gradient", &product.vector, !e.bias});
    if (e.aux()) parts.push_back({"the aux matrix", &product.aux, e.aux_out});
    return parts;
}

Scale scale_of(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
    if (a != b) return {CUDA_R_32F, "A and B have different types"};
    switch (compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
            return {CUDA_R_64F, a == CUDA_R_64F && c == CUDA_R_64F ? "" : "CUBLAS_COMPUTE_64F wants matrices of CUDA_R_64F"};
        case CUBLAS_COMPUTE_16F:
        case CUBLAS_COMPUTE_16F_PEDANTIC:
            return {CUDA_R_16F, a == CUDA_R_16F && c == CUDA_R_16F ? "" : "CUBLAS_COMPUTE_16F wants matrices of CUDA_R_16F"};
        case CUBLAS_COMPUTE_32I:
        case CUBLAS_COMPUTE_32I_PEDANTIC:
            return {CUDA_R_32I,
                    a == CUDA_R_8I && c == CUDA_R_32I ? "" : "CUBLAS_COMPUTE_32I wants A and B of CUDA_R_8I and C of CUDA_R_32I"};
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC:
        case CUBLAS_COMPUTE_32F_FAST_16F:
        case CUBLAS_COMPUTE_32F_FAST_16BF:
        case CUBLAS_COMPUTE_32F_FAST_TF32: break;
        default: return {CUDA_R_32F, "the emulator has no compute type " + std::to_string(compute)};
    }
    const bool half = a == CUDA_R_16F || a == CUDA_R_16BF;
    if (!half && a != CUDA_R_32F)
        return {CUDA_R_32F, "CUBLAS_COMPUTE_32F takes f32, f16 and bf16, not type " + std::to_string(a)};
    if (c != CUDA_R_32F && !(half && c == a)) return {CUDA_R_32F, "C has neither A's type nor CUDA_R_32F"};
    return {CUDA_R_32F, ""};
}

std::string memory_error(const Product& product, const std::uint64_t (&alignments)[4], const Rows& workspace) {
    struct Piece {
        std::string name;
        const Matrix* matrix;
        std::vector<Rows> rows;
        std::size_t alignment;
        bool written;
    };
    std::vector<Piece> pieces;
    for (const Part& part : parts_of(product)) {
        // cuBLASLt reads the vector and the aux matrix 16 bytes at a time: on a GPU less can end in cudaErrorMisalignedAddress.
        std::size_t alignment = 16;
        for (const auto& [matrix, asked] : {std::pair{&product.a, alignments[0]},
                                            {&product.b, alignments[1]},
                                            {&product.c, alignments[2]},
                                            {&product.d, alignments[3]}})
            if (part.matrix == matrix) alignment = std::max<std::size_t>(asked, size_of(matrix->type));
        pieces.push_back({part.name, part.matrix, bytes_of(*part.matrix, product.batch), alignment, part.written});
    }
    // cudaMalloc's alignment, which every release of cuBLASLt accepts. They differ in which smaller ones they accept.
    if (!workspace.empty()) pieces.push_back({"the workspace", nullptr, {workspace}, 256, true});
    for (const Piece& piece : pieces) {
        const std::byte* const start = piece.rows.front().start;
        if (start == nullptr) return piece.name + " is a null pointer";
        for (const Rows& rows : piece.rows)
            if (const std::string why = device_error(rows, piece.name + " has"); !why.empty()) return why;
        if (reinterpret_cast<std::uintptr_t>(start) % piece.alignment != 0)
            return piece.name + " is not aligned to " + std::to_string(piece.alignment) +
                   " bytes, as its elements or the algorithm want it (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT)";
    }
    // D may be the same matrix as C.
    const bool in_place = product.c.data == product.d.data && product.c.leading == product.d.leading &&
                          product.c.batch_stride == product.d.batch_stride;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const Piece &x = pieces[i], &y = pieces[j];
            if ((!x.written && !y.written) || (in_place && x.matrix == &product.d && y.matrix == &product.c)) continue;
            for (const Rows& one : x.rows)
                for (const Rows& other : y.rows)
                    if (overlap(one, other)) return x.name + " overlaps " + y.name;
        }
    if (product.batch > 1 && product.d.batch_stride == 0) return "all of D's batch is one matrix";
    return "";
}

void compute(const Product& product) {
    const std::vector<Part> parts = parts_of(product);
    for (const Part& part : parts)
        each(*part.matrix, product.batch, [&part](const Rows& rows) {
            try {
                check_device(rows, part.written);
            } catch (const std::exception& error) {
                throw std::runtime_error(std::string(part.name) + ": " + error.what());
            }
        });
    if (product.d.type == CUDA_R_64F || product.d.type == CUDA_R_32I)  // f64 holds sums of int8 products exactly
        compute_in<double>(product);
    else
        compute_in<float>(product);
    for (const Part& part : parts)
        if (part.written) each(*part.matrix, product.batch, wrote);
}

}  // namespace heddle::emulator
