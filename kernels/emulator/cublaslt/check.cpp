// Refuses what cuBLASLt refuses. NOT_SUPPORTED: no algorithm can do it. INVALID_VALUE: the arguments contradict each other.
#include <algorithm>

#include "kernels/emulator/cublaslt/cublas_lt.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/runtime/access.h"

namespace heddle::emulator {
namespace {

Answer invalid(std::string why) { return {CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul: " + std::move(why)}; }
Answer unsupported(std::string why) { return {CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul: " + std::move(why)}; }
bool fine(const Answer& answer) { return answer.status == CUBLAS_STATUS_SUCCESS; }

std::string shape(const Layout& l) { return "[" + std::to_string(l.rows) + ", " + std::to_string(l.columns) + "]"; }

bool is_number(cudaDataType_t type) {
    return type == CUDA_R_64F || type == CUDA_R_32F || type == CUDA_R_16BF || type == CUDA_R_16F;
}

Answer check_types(const Description& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    for (const Layout* l : {&a, &b, &c, &d})
        if (!is_number(l->type))
            return unsupported("the emulator multiplies f64, f32, f16 and bf16, not type " + std::to_string(l->type));
    if (a.type != b.type) return unsupported("A and B have different types");
    if (c.type != d.type) return unsupported("C and D have different types");
    switch (p.compute) {
        case CUBLAS_COMPUTE_64F:
        case CUBLAS_COMPUTE_64F_PEDANTIC:
            if (a.type != CUDA_R_64F || d.type != CUDA_R_64F)
                return unsupported("CUBLAS_COMPUTE_64F wants matrices of CUDA_R_64F");
            if (p.scale != CUDA_R_64F) return unsupported("CUBLAS_COMPUTE_64F wants alpha and beta as CUDA_R_64F");
            return {};
        case CUBLAS_COMPUTE_32F:
        case CUBLAS_COMPUTE_32F_PEDANTIC:
            if (a.type == CUDA_R_64F || d.type == CUDA_R_64F)
                return unsupported("CUBLAS_COMPUTE_32F takes no matrices of CUDA_R_64F");
            if (a.type == CUDA_R_32F && d.type != CUDA_R_32F) return unsupported("f32 operands have an f32 result");
            if (d.type != a.type && d.type != CUDA_R_32F) return unsupported("D has neither A's type nor CUDA_R_32F");
            break;
        case CUBLAS_COMPUTE_32F_FAST_16F:
        case CUBLAS_COMPUTE_32F_FAST_TF32:
        case CUBLAS_COMPUTE_32F_FAST_16BF:
            if (a.type != CUDA_R_32F || d.type != CUDA_R_32F)
                return unsupported("the FAST forms of CUBLAS_COMPUTE_32F want matrices of CUDA_R_32F");
            break;
        default: return unsupported("the emulator has no compute type " + std::to_string(p.compute));
    }
    if (p.scale != CUDA_R_32F) return unsupported("CUBLAS_COMPUTE_32F wants alpha and beta as CUDA_R_32F");
    return {};
}

Answer check_layout(const Layout& l, const char* name) {
    if (l.order != CUBLASLT_ORDER_COL) return unsupported(std::string(name) + ": the emulator knows column order only");
    if (l.rows == 0 || l.columns == 0) return invalid(std::string(name) + " " + shape(l) + " is empty");
    if (l.leading < 0 || static_cast<std::uint64_t>(l.leading) < l.rows)
        return invalid(std::string(name) + " " + shape(l) + " has the leading dimension " + std::to_string(l.leading) +
                       ", less than its rows");
    if (l.batch < 1) return invalid(std::string(name) + ": a batch of " + std::to_string(l.batch));
    return {};
}

Answer check_epilogue(const Description& p, const Layout& d) {
    constexpr std::uint32_t known[] = {CUBLASLT_EPILOGUE_DEFAULT,  CUBLASLT_EPILOGUE_RELU,        CUBLASLT_EPILOGUE_RELU_AUX,
                                       CUBLASLT_EPILOGUE_BIAS,     CUBLASLT_EPILOGUE_RELU_BIAS,   CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
                                       CUBLASLT_EPILOGUE_DRELU,    CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_GELU,
                                       CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_BIAS,   CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
                                       CUBLASLT_EPILOGUE_DGELU,    CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
                                       CUBLASLT_EPILOGUE_BGRADB};
    if (std::find(std::begin(known), std::end(known), p.epilogue) == std::end(known))
        return invalid("there is no epilogue " + std::to_string(p.epilogue));
    const Epilogue e = epilogue_of(p.epilogue);
    if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT && d.type == CUDA_R_64F) return unsupported("there is no epilogue in f64");
    if (e.vector() && p.bias_type != -1 && p.bias_type != d.type) return unsupported("the bias must have D's type");
    if (!e.aux()) return {};
    if (!e.bits() && p.aux_type != -1 && p.aux_type != d.type) return unsupported("the aux matrix must have D's type");
    const std::int64_t unit = e.bits() ? 128 : 8;
    if (p.aux_leading < static_cast<std::int64_t>(d.rows) || p.aux_leading % unit != 0)
        return invalid("the aux matrix has the leading dimension " + std::to_string(p.aux_leading) + ": wanted a multiple of " +
                       std::to_string(unit) + " not below D's " + std::to_string(d.rows) + " rows");
    if (d.batch > 1 && p.aux_batch_stride % unit != 0)
        return invalid("the aux matrix's batch stride is no multiple of " + std::to_string(unit));
    return {};
}

/// The first and last byte of a whole batch.
struct Extent {
    const std::byte *first, *last;
};
Extent extent_of(const Matrix& matrix, std::int32_t batch) {
    const auto size = static_cast<std::int64_t>(size_of(matrix.type));
    const std::int64_t one =
        (static_cast<std::int64_t>(matrix.columns) - 1) * matrix.leading + static_cast<std::int64_t>(matrix.rows);
    const std::int64_t step = (batch - 1) * matrix.batch_stride;
    return {matrix.data + std::min<std::int64_t>(0, step) * size, matrix.data + (std::max<std::int64_t>(0, step) + one) * size};
}
bool meet(const Matrix& a, const Matrix& b, std::int32_t batch) {
    const Extent x = extent_of(a, batch), y = extent_of(b, batch);
    if (x.last <= y.first || y.last <= x.first) return false;
    // The ranges overlap, but column slices of one matrix may interleave without sharing a byte.
    const std::vector<Rows> xs = bytes_of(a, batch, false), ys = bytes_of(b, batch, false);
    return std::any_of(xs.begin(), xs.end(), [&](const Rows& p) {
        return std::any_of(ys.begin(), ys.end(), [&](const Rows& q) { return overlap(p, q); });
    });
}

/// Checks that bias, aux matrix, bias gradient and workspace share no byte with anything that the product writes.
Answer check_others_apart(const Product& product, const Algorithm& algorithm, const void* workspace) {
    struct Part {
        const char* name;
        std::vector<Rows> rows;
        bool written;
    };
    const Epilogue& e = product.epilogue;
    const std::int32_t batch = product.batch;
    std::vector<Part> parts = {{"A", bytes_of(product.a, batch, false), false},
                               {"B", bytes_of(product.b, batch, false), false},
                               {"D", bytes_of(product.d, batch, false), true}};
    if (product.beta != 0 && product.c.data != product.d.data) parts.push_back({"C", bytes_of(product.c, batch, false), false});
    const std::size_t matrices = parts.size();  // compared with each other elsewhere
    if (e.vector()) parts.push_back({e.bias ? "the bias" : "the bias gradient", bytes_of(product.vector, batch, false), !e.bias});
    if (e.aux()) parts.push_back({"the aux matrix", bytes_of(product.aux, batch, e.bits()), e.aux_out});
    if (algorithm.workspace > 0) parts.push_back({"the workspace", {Rows::of(workspace, algorithm.workspace)}, true});
    for (std::size_t i = matrices; i < parts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            if (!parts[i].written && !parts[j].written) continue;
            for (const Rows& x : parts[i].rows)
                for (const Rows& y : parts[j].rows)
                    if (overlap(x, y)) return invalid(std::string(parts[i].name) + " overlaps " + parts[j].name);
        }
    return {};
}

Answer check_memory(const Matrix& matrix, std::int32_t batch, bool bits, const char* name) {
    if (matrix.data == nullptr) return invalid(std::string(name) + " is a null pointer");
    const std::size_t unit = bits ? 1 : size_of(matrix.type);
    if (reinterpret_cast<std::uintptr_t>(matrix.data) % unit != 0)
        return invalid(std::string(name) + " is not aligned to its elements");
    for (const Rows& rows : bytes_of(matrix, batch, bits))
        if (const std::string why = device_error(rows, std::string(name) + " has"); !why.empty()) return invalid(why);
    return {};
}

}  // namespace

Epilogue epilogue_of(std::uint32_t code) {
    const bool aux = (code & 128) != 0;
    return {.bias = (code & 4) != 0,
            .relu = (code & 2) != 0,
            .gelu = (code & 32) != 0,
            .aux_out = aux && (code & (2 | 32)) != 0,
            .drelu = (code & 8) != 0,
            .dgelu = (code & 64) != 0,
            .bgrad = (code & 16) != 0,
            .bgrad_a = code == CUBLASLT_EPILOGUE_BGRADA,
            .bgrad_b = code == CUBLASLT_EPILOGUE_BGRADB};
}

std::size_t size_of(cudaDataType_t type) {
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : type == CUDA_R_8I ? 1 : 2;
}

std::vector<Rows> bytes_of(const Matrix& matrix, std::int32_t batch, bool bits) {
    constexpr std::int32_t few = 16;
    const auto bytes = [&](std::int64_t elements) {
        return bits ? elements / 8 : elements * static_cast<std::int64_t>(size_of(matrix.type));
    };
    Rows rows = {matrix.data, static_cast<std::size_t>(bytes(matrix.leading)),
                 static_cast<std::size_t>(bits ? (matrix.rows + 7) / 8 : matrix.rows * size_of(matrix.type)), matrix.columns};
    if (batch == 1 || matrix.batch_stride == 0) return {rows};
    std::vector<Rows> all;
    if (batch > few) {
        const std::int64_t step = bytes((batch - 1) * matrix.batch_stride);
        return {
            Rows::of(matrix.data + std::min<std::int64_t>(0, step), static_cast<std::size_t>(std::abs(step)) + rows.extent())};
    }
    for (std::int32_t i = 0; i < batch; ++i) {
        all.push_back(rows);
        rows.start += bytes(matrix.batch_stride);
    }
    return all;
}

Answer check_shapes(const Description& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
    if (p.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return unsupported("the emulator reads alpha and beta from the host only");
    for (const std::int32_t t : {p.transpose_a, p.transpose_b})
        if (t != CUBLAS_OP_N && t != CUBLAS_OP_T && t != CUBLAS_OP_C)
            return invalid("there is no transposition " + std::to_string(t));
    if (const Answer answer = check_types(p, a, b, c, d); !fine(answer)) return answer;
    const std::pair<const Layout*, const char*> all[] = {{&a, "A"}, {&b, "B"}, {&c, "C"}, {&d, "D"}};
    for (const auto& [layout, name] : all)
        if (const Answer answer = check_layout(*layout, name); !fine(answer)) return answer;
    const bool ta = p.transpose_a != CUBLAS_OP_N, tb = p.transpose_b != CUBLAS_OP_N;
    const bool fits = (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
                      (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && c.rows == d.rows && c.columns == d.columns;
    if (!fits)
        return invalid("the shapes do not fit: A " + shape(a) + (ta ? " transposed" : "") + ", B " + shape(b) +
                       (tb ? " transposed" : "") + ", C " + shape(c) + ", D " + shape(d));
    for (const auto& [layout, name] : all)
        if (layout->batch != d.batch)
            return invalid(std::string(name) + " has a batch of " + std::to_string(layout->batch) + ", D of " +
                           std::to_string(d.batch));
    return check_epilogue(p, d);
}

Answer check_algorithm(const Algorithm& algorithm, const Layout& result) {
    constexpr std::uint64_t kGroup = 8, kLeast = 4;
    if (algorithm.made != Algorithm::kMade) return invalid("the algorithm does not come from cublasLtMatmulAlgoGetHeuristic");
    const std::uint64_t last = result.columns % kGroup;
    if (algorithm.eights != 0 && last != 0 && last < kLeast)
        return unsupported("the algorithm was found for columns in groups of 8, and D " + shape(result) + " ends with " +
                           std::to_string(last));
    return {};
}

Answer check_pointers(const Product& product, const Algorithm& algorithm, const void* workspace, std::size_t workspace_bytes) {
    if (algorithm.workspace > workspace_bytes)
        return invalid("the algorithm wants a workspace of " + std::to_string(algorithm.workspace) + " bytes, not " +
                       std::to_string(workspace_bytes));
    if (algorithm.workspace > 0)
        if (const std::string why = device_error(Rows::of(workspace, algorithm.workspace), "the workspace has");
            workspace == nullptr || !why.empty())
            return invalid(workspace == nullptr ? "the workspace is a null pointer" : why);
    // cudaMalloc's alignment, which every release of cuBLASLt accepts. They differ in which smaller ones they accept.
    if (algorithm.workspace > 0 && reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0)
        return invalid("the workspace is not aligned to 256 bytes");
    const Epilogue& e = product.epilogue;
    const std::int32_t batch = product.batch;
    if (const Answer answer = check_memory(product.a, batch, false, "A"); !fine(answer)) return answer;
    if (const Answer answer = check_memory(product.b, batch, false, "B"); !fine(answer)) return answer;
    if (product.beta != 0)
        if (const Answer answer = check_memory(product.c, batch, false, "C"); !fine(answer)) return answer;
    if (const Answer answer = check_memory(product.d, batch, false, "D"); !fine(answer)) return answer;
    if (e.vector())
        if (const Answer answer = check_memory(product.vector, batch, false, e.bias ? "the bias" : "the bias gradient");
            !fine(answer))
            return answer;
    if (e.aux())
        if (const Answer answer = check_memory(product.aux, batch, e.bits(), "the aux matrix"); !fine(answer)) return answer;
    // The aux matrix is read and written in vectors of 16 bytes.
    if (e.aux() && reinterpret_cast<std::uintptr_t>(product.aux.data) % 16 != 0)
        return invalid("the aux matrix is not aligned to 16 bytes");

    const std::byte* const pointers[] = {product.a.data, product.b.data, product.beta != 0 ? product.c.data : nullptr,
                                         product.d.data};
    for (std::size_t i = 0; i < 4; ++i)
        if (algorithm.alignment[i] > 1 && reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm.alignment[i] != 0)
            return invalid(std::string(1, "ABCD"[i]) + " is not aligned to the " + std::to_string(algorithm.alignment[i]) +
                           " bytes that the algorithm was chosen for (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT)");
    // cuBLASLt reads the vector 16 bytes at a time: on a GPU a less aligned one can end in cudaErrorMisalignedAddress.
    if (e.vector() && reinterpret_cast<std::uintptr_t>(product.vector.data) % 16 != 0)
        return invalid(std::string(e.bias ? "the bias" : "the bias gradient") + " is not aligned to 16 bytes");

    // D may be the same matrix as C. Otherwise the product may not read or write any byte of D elsewhere.
    const bool in_place = product.c.data == product.d.data && product.c.leading == product.d.leading &&
                          product.c.batch_stride == product.d.batch_stride;
    if (product.beta != 0 && !in_place && meet(product.c, product.d, batch))
        return invalid("C and D overlap and are not the same matrix");
    if (meet(product.a, product.d, batch) || meet(product.b, product.d, batch)) return invalid("D overlaps A or B");
    if (const Answer answer = check_others_apart(product, algorithm, workspace); !fine(answer)) return answer;
    if (batch > 1 && product.d.batch_stride == 0) return invalid("all of D's batch is one matrix");
    return {};
}

}  // namespace heddle::emulator
