// Shared by the files that implement cublas_api.h.
#pragma once

#include <string>
#include <vector>

#include "kernels/emulator/cublaslt/cublas_lt.h"
#include "kernels/emulator/include/cublas_v2.h"
#include "kernels/emulator/runtime/streams.h"

/// A handle's settings.
struct cublasContext {
    cudaStream_t stream = nullptr;
    cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
};

namespace heddle::emulator::cublas {

/// A number that a call takes by pointer: on the host read at the call, on the device when the work runs.
class Scalar {
  public:
    /// None: the call has no such number.
    Scalar() = default;
    Scalar(const Call& call, const void* pointer, cudaDataType type);
    bool null() const { return !known_ && pointer_ == nullptr; }
    /// Whether it is known at the call to be this.
    bool is(double value) const { return known_ && value_ == value; }
    /// Lists what the operation reads for it.
    void list(Operation& operation) const;
    double value() const;

  private:
    const void* pointer_ = nullptr;
    cudaDataType type_ = CUDA_R_32F;
    bool known_ = false;
    double value_ = 0;
};

/// Why a call fails, with the call's name in front.
cublasStatus_t invalid(const Call& call, const std::string& why);
cublasStatus_t unsupported(const Call& call, const std::string& why);
/// Whether the call's handle is one; `status` is what it returns if not.
bool check_handle(const Call& call, cublasStatus_t& status);

bool is_real(cudaDataType type);
/// The bytes of a vector of n elements.
Rows rows_of(const VectorOf& vector, std::int64_t n);
/// The bytes of a matrix.
Rows rows_of(const MatrixOf& matrix, std::int64_t rows, std::int64_t columns);
/// "" if the memory is the device's or pinned and aligned to its elements, else why not. `name` is the argument's.
std::string memory_error(const Rows& rows, cudaDataType type, const char* name);
/// Throws what is wrong with memory that running work reads or writes.
void check_memory(const Rows& rows, const char* name, bool written);

/// Puts the work into the handle's stream. It throws what is wrong. With `waits` the host waits for it.
cublasStatus_t enqueue(const Call& call, std::vector<Rows> reads, std::vector<Rows> writes, std::vector<Scalar> scalars,
                       std::function<void()> work, bool waits = false);

}  // namespace heddle::emulator::cublas
