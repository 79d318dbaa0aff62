// cuBLAS's products, by the emulated cuBLASLt.
#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/emulator/cublas/cublas.h"
#include "kernels/emulator/cublaslt/elements.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"

namespace heddle::emulator::cublas {
namespace {

bool transposed(cublasOperation_t operation) { return operation != CUBLAS_OP_N; }
std::byte* bytes_at(const void* data) { return static_cast<std::byte*>(const_cast<void*>(data)); }

Matrix matrix_of(const MatrixOf& m, std::int64_t rows, std::int64_t columns) {
    return {bytes_at(m.data), m.type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), m.leading, m.stride};
}

std::string sizes_error(const MatrixOf& m, const char* name, std::int64_t rows) {
    if (m.leading >= std::max<std::int64_t>(1, rows)) return "";
    return std::string(name) + " has the leading dimension " + std::to_string(m.leading) + ", less than its " +
           std::to_string(rows) + " rows";
}

/// The bytes of all matrices of a batch; for matrices given by pointers, the pointers.
std::vector<Rows> batch_of(const MatrixOf& m, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
    if (m.each) return {Rows::of(m.data, sizeof(void*) * static_cast<std::size_t>(batch))};
    return bytes_of(matrix_of(m, rows, columns), static_cast<std::int32_t>(batch));
}
std::string batch_error(const MatrixOf& m, const std::vector<Rows>& pieces, const char* name) {
    if (m.each && m.data != nullptr && !is_device_memory(m.data))
        return std::string("the array of pointers to ") + name + " is not in device memory";
    for (const Rows& rows : pieces)
        if (std::string why = memory_error(rows, m.type, name); !why.empty()) return why;
    return "";
}

/// The i-th matrix of a batch given by pointers, which are read now.
std::byte* one_of(const MatrixOf& m, std::int64_t i) {
    const auto* const pointers = static_cast<void* const*>(m.data);
    check_memory(Rows::of(pointers + i, sizeof(void*)), "the array of pointers", false);
    return static_cast<std::byte*>(pointers[i]);
}

/// C = beta C, as for a product without terms.
void scale(const Matrix& c, double beta, std::int64_t batch) {
    for (std::int64_t i = 0; i < batch; ++i) {
        std::byte* const data = data_of(c, i);
        for (std::size_t j = 0; j < c.columns; ++j)
            for (std::size_t r = 0; r < c.rows; ++r) {
                const std::int64_t at = static_cast<std::int64_t>(r) + static_cast<std::int64_t>(j) * c.leading;
                element::store(data, c.type, at, beta == 0 ? 0.0 : beta * element::load<double>(data, c.type, at));
            }
    }
}

void run_product(Product product) {
    product.d = product.c;
    const bool empty = product.k == 0 || product.alpha == 0;
    if (!empty) return compute(product);
    const std::vector<Rows> pieces = bytes_of(product.c, product.batch);
    for (const Rows& rows : pieces) {
        if (product.beta != 0) check_memory(rows, "C", false);
        check_memory(rows, "C", true);
    }
    scale(product.c, product.beta, product.batch);
    for (const Rows& rows : pieces) wrote(rows);
}

}  // namespace

cublasStatus_t gemm(const Call& call, const ProductOf& p, const void* alpha, const MatrixOf& a, const MatrixOf& b,
                    const void* beta, const MatrixOf& c) {
    cublasStatus_t status;
    if (!check_handle(call, status)) return status;
    const bool ta = transposed(p.transpose_a), tb = transposed(p.transpose_b);
    if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return invalid(call, "m, n, k or the batch count is negative");
    const Scale scale = scale_of(p.compute, a.type, b.type, c.type);
    if (!scale.why.empty()) return unsupported(call, scale.why);
    const std::int64_t a_rows = ta ? p.k : p.m, a_columns = ta ? p.m : p.k, b_rows = tb ? p.n : p.k, b_columns = tb ? p.k : p.n;
    for (const std::string& why : {sizes_error(a, "A", a_rows), sizes_error(b, "B", b_rows), sizes_error(c, "C", p.m)})
        if (!why.empty()) return invalid(call, why);
    if (p.batch > 1 && !c.each && c.stride == 0) return invalid(call, "all of C's batch is one matrix");
    if (p.m == 0 || p.n == 0 || p.batch == 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar alpha_value(call, alpha, scale.type), beta_value(call, beta, scale.type);
    if (alpha_value.null() || beta_value.null()) return invalid(call, "alpha or beta is a null pointer");

    const bool terms = p.k > 0 && !alpha_value.is(0);
    std::vector<Rows> reads, writes = batch_of(c, p.m, p.n, p.batch);
    if (terms) {
        const std::vector<Rows> as = batch_of(a, a_rows, a_columns, p.batch), bs = batch_of(b, b_rows, b_columns, p.batch);
        for (const std::string& why : {batch_error(a, as, "A"), batch_error(b, bs, "B")})
            if (!why.empty()) return invalid(call, why);
        reads = as;
        reads.insert(reads.end(), bs.begin(), bs.end());
    }
    if (const std::string why = batch_error(c, writes, "C"); !why.empty()) return invalid(call, why);
    if (c.each) {
        reads.insert(reads.end(), writes.begin(), writes.end());
        writes.clear();
    }
    if (!beta_value.is(0)) reads.insert(reads.end(), writes.begin(), writes.end());
    for (const auto& [matrix, rows, columns, name] : {std::tuple{&a, a_rows, a_columns, "A"}, {&b, b_rows, b_columns, "B"}})
        for (const Rows& read : terms && !matrix->each ? batch_of(*matrix, rows, columns, p.batch) : std::vector<Rows>{})
            for (const Rows& written : writes)
                if (overlap(written, read)) return invalid(call, std::string("C overlaps ") + name);

    Product product = {};
    product.m = p.m, product.n = p.n, product.k = p.k;
    product.transpose_a = ta, product.transpose_b = tb;
    product.a = matrix_of(a, a_rows, a_columns), product.b = matrix_of(b, b_rows, b_columns), product.c = matrix_of(c, p.m, p.n);
    product.split = 1, product.terms = 256;
    const std::int64_t batch = p.batch;
    auto work = [=]() mutable {
        product.alpha = alpha_value.value();
        product.beta = beta_value.value();
        if (!a.each && !b.each && !c.each) {
            product.batch = static_cast<std::int32_t>(batch);
            return run_product(product);
        }
        product.batch = 1;
        for (std::int64_t i = 0; i < batch; ++i) {
            product.a.data = one_of(a, i), product.b.data = one_of(b, i), product.c.data = one_of(c, i);
            run_product(product);
        }
    };
    return enqueue(call, std::move(reads), std::move(writes), {alpha_value, beta_value}, std::move(work));
}

}  // namespace heddle::emulator::cublas
