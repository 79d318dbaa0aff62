// Shared by the files that implement cublasLt.h and cublas_v2.h: the complete description of a product, and its numbers.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/emulator/include/cublasLt.h"
#include "kernels/emulator/runtime/streams.h"

namespace heddle::emulator {

/// The parts of an epilogue.
struct Epilogue {
    bool bias = false, gelu = false, aux_out = false, dgelu = false, bgrad_b = false;
    bool aux() const { return aux_out || dgelu; }
    bool vector() const { return bias || bgrad_b; }
};

/// One matrix of a batch, column-major: element (i, j) at data + (i + j leading) elements.
struct Matrix {
    std::byte* data;
    cudaDataType_t type;
    std::uint64_t rows, columns;
    std::int64_t leading;
    std::int64_t batch_stride;
};
struct Product {
    std::int64_t m, n, k;
    std::int32_t batch;
    bool transpose_a, transpose_b;
    Matrix a, b, c, d;
    double alpha, beta;
    Epilogue epilogue;
    Matrix vector;  ///< bias or bias gradient, one column
    Matrix aux;     ///< rows and columns of D
    std::int64_t split, terms;
};

std::size_t size_of(cudaDataType_t type);
/// The matrix's i-th one of a batch.
std::byte* data_of(const Matrix& matrix, std::int64_t i);
/// The bytes of the matrices of a batch: one piece each, or, if there are many, one piece for all and the gaps between them.
std::vector<Rows> bytes_of(const Matrix& matrix, std::int32_t batch);

/// A matrix that the product reads or writes, and its name in reports.
struct Part {
    const char* name;
    const Matrix* matrix;
    bool written;
};
std::vector<Part> parts_of(const Product& product);

/// The type of alpha and beta, or why there is no such product.
struct Scale {
    cudaDataType type = CUDA_R_32F;
    std::string why;
};
Scale scale_of(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c);

/// A status and why.
struct Answer {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    std::string why;
};
/// Remembers the reason for cublasLtGetStatusString.
cublasStatus_t refuse(const Answer& answer);
inline cublasStatus_t refuse_invalid(const std::string& why) { return refuse({CUBLAS_STATUS_INVALID_VALUE, why}); }

/// The handles of a library that live.
template <class T>
class Handles {
  public:
    cublasStatus_t create(const char* call, T** handle) {
        if (handle == nullptr) return refuse_invalid(std::string(call) + ": a null pointer for the result");
        *handle = new T;
        const std::lock_guard lock(mutex_);
        living_.insert(*handle);
        return CUBLAS_STATUS_SUCCESS;
    }
    cublasStatus_t destroy(const char* call, T* handle) {
        const std::lock_guard lock(mutex_);
        if (living_.erase(handle) == 0) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, std::string(call) + ": not a handle"});
        delete handle;
        return CUBLAS_STATUS_SUCCESS;
    }
    bool live(T* handle) {
        const std::lock_guard lock(mutex_);
        return living_.contains(handle);
    }

  private:
    std::mutex mutex_;
    std::set<T*> living_;
};

/// Why the product cannot be computed in this memory ("" if it can): every part must be allocated, aligned to its elements and to
/// these bytes (of A, B, C and D), and share no byte with anything that is written, except for C where it is D.
std::string memory_error(const Product& product, const std::uint64_t (&alignments)[4], const Rows& workspace);
/// Computes D, the aux matrix and the vector. Throws Violation for memory that was freed or never written.
void compute(const Product& product);

}  // namespace heddle::emulator
