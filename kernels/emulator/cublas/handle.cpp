// cuBLAS's handles, and how its calls become work of a stream.
#include <utility>

#include "kernels/emulator/cublas/cublas.h"
#include "kernels/emulator/cublaslt/elements.h"
#include "kernels/emulator/include/cublasLt.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"
#include "kernels/emulator/runtime/pinned.h"
#include "kernels/emulator/runtime/runtime.h"

using namespace heddle::emulator;

namespace {

Handles<cublasContext>& handles() {
    static auto* const handles = new Handles<cublasContext>;
    return *handles;
}
bool is_handle(cublasHandle_t handle) { return handles().live(handle); }

/// Sets or reads a member of the handle.
template <class T>
cublasStatus_t set_member(const char* call, cublasHandle_t handle, T cublasContext::*member, T value) {
    if (!is_handle(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, std::string(call) + ": not a handle"});
    handle->*member = value;
    return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t get_member(const char* call, cublasHandle_t handle, T cublasContext::*member, T* value) {
    if (!is_handle(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, std::string(call) + ": not a handle"});
    if (value == nullptr) return refuse_invalid(std::string(call) + ": a null pointer for the result");
    *value = handle->*member;
    return CUBLAS_STATUS_SUCCESS;
}

// Copies of rows of `width` bytes: those of a vector with gaps, or of a matrix.
cublasStatus_t copy_rows(const char* call, std::int64_t width, std::int64_t height, std::int64_t size, const void* from,
                         std::int64_t from_pitch, void* to, std::int64_t to_pitch, cudaMemcpyKind kind, Place place) {
    if (width < 0 || height < 0 || size <= 0 || from_pitch < width || to_pitch < width || from_pitch <= 0 || to_pitch <= 0)
        return refuse_invalid(std::string(call) + ": a negative size, or a step or leading dimension that is too small");
    if (height == 0 || width == 0) return CUBLAS_STATUS_SUCCESS;
    const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n * size); };
    const cudaError_t error =
        cudaMemcpy2D(to, bytes(to_pitch), from, bytes(from_pitch), bytes(width), static_cast<std::size_t>(height), kind, place);
    if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
    return refuse({CUBLAS_STATUS_MAPPING_ERROR, std::string(call) + ": " + cudaGetErrorString(error)});
}

}  // namespace

namespace heddle::emulator::cublas {

Scalar::Scalar(const Call& call, const void* pointer, cudaDataType type) : pointer_(pointer), type_(type) {
    if (pointer == nullptr || call.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return;
    known_ = true;
    value_ = element::load<double>(static_cast<const std::byte*>(pointer), type, 0);
}
void Scalar::list(Operation& operation) const {
    if (!known_ && pointer_ != nullptr && is_device_memory(pointer_))
        operation.reads.push_back(Rows::of(pointer_, size_of(type_)));
}
double Scalar::value() const {
    if (known_ || pointer_ == nullptr) return value_;
    check_memory(Rows::of(pointer_, size_of(type_)), "alpha or beta", false);
    return element::load<double>(static_cast<const std::byte*>(pointer_), type_, 0);
}

cublasStatus_t invalid(const Call& call, const std::string& why) {
    return refuse({CUBLAS_STATUS_INVALID_VALUE, std::string(call.name) + " at " + text_of(call.place) + ": " + why});
}
cublasStatus_t unsupported(const Call& call, const std::string& why) {
    return refuse({CUBLAS_STATUS_NOT_SUPPORTED, std::string(call.name) + " at " + text_of(call.place) + ": " + why});
}
bool check_handle(const Call& call, cublasStatus_t& status) {
    if (is_handle(call.handle)) return true;
    status = refuse({CUBLAS_STATUS_NOT_INITIALIZED, std::string(call.name) + " at " + text_of(call.place) + ": not a handle"});
    return false;
}

bool is_real(cudaDataType type) { return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_R_16F || type == CUDA_R_16BF; }

Rows rows_of(const VectorOf& vector, std::int64_t n) {
    const std::size_t size = size_of(vector.type);
    const auto step = static_cast<std::size_t>(std::abs(vector.step));
    if (n <= 0) return {};
    if (step == 1) return Rows::of(vector.data, size * static_cast<std::size_t>(n));
    return {static_cast<std::byte*>(const_cast<void*>(vector.data)), size * step, size,
            step == 0 ? 1 : static_cast<std::size_t>(n)};
}
Rows rows_of(const MatrixOf& matrix, std::int64_t rows, std::int64_t columns) {
    if (rows <= 0 || columns <= 0) return {};
    const std::size_t size = size_of(matrix.type);
    return {static_cast<std::byte*>(const_cast<void*>(matrix.data)), size * static_cast<std::size_t>(matrix.leading),
            size * static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)};
}

std::string memory_error(const Rows& rows, cudaDataType type, const char* name) {
    if (rows.empty()) return "";
    if (rows.start == nullptr) return std::string(name) + " is a null pointer";
    if (reinterpret_cast<std::uintptr_t>(rows.start) % size_of(type) != 0)
        return std::string(name) + " is not aligned to its elements";
    if (!is_device_memory(rows.start) && is_pinned(rows.start)) return "";
    return device_error(rows, std::string(name) + " has");
}
void check_memory(const Rows& rows, const char* name, bool written) {
    if (rows.empty() || !is_device_memory(rows.start)) return;
    try {
        check_device(rows, written);
    } catch (const std::exception& error) {
        throw Violation(std::string(name) + ": " + error.what());
    }
}

cublasStatus_t enqueue(const Call& call, std::vector<Rows> reads, std::vector<Rows> writes, std::vector<Scalar> scalars,
                       std::function<void()> work, bool waits) {
    const auto on_device = [](const Rows& rows) { return !rows.empty() && is_device_memory(rows.start); };
    Operation operation;
    operation.what = call.name;
    operation.place = call.place;
    for (const Rows& rows : reads)
        if (on_device(rows)) operation.reads.push_back(rows);
    for (const Rows& rows : writes)
        if (on_device(rows)) operation.writes.push_back(rows);
    for (const Scalar& scalar : scalars) scalar.list(operation);
    operation.work = [work = std::move(work), written = operation.writes, name = title(operation)] {
        try {
            work();
        } catch (const std::exception& error) {
            throw Violation(name + ": " + error.what());
        }
        for (const Rows& rows : written) wrote(rows);
    };
    cudaError_t error = submit(call.handle->stream, std::move(operation));
    if (error == cudaSuccess && waits) error = wait_in(call.handle->stream, call.name);
    if (error == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
    return refuse({CUBLAS_STATUS_EXECUTION_FAILED, cudaGetErrorString(error)});
}

}  // namespace heddle::emulator::cublas

cublasStatus_t cublasCreate(cublasHandle_t* handle) { return handles().create("cublasCreate", handle); }
cublasStatus_t cublasDestroy(cublasHandle_t handle) { return handles().destroy("cublasDestroy", handle); }
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
    if (version == nullptr) return refuse_invalid("cublasGetVersion: a null pointer for the result");
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    return set_member("cublasSetStream", handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
    return get_member("cublasGetStream", handle, &cublasContext::stream, stream);
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
    if (!is_handle(handle)) return refuse({CUBLAS_STATUS_NOT_INITIALIZED, "cublasSetWorkspace: not a handle"});
    if (workspace == nullptr || bytes == 0) return CUBLAS_STATUS_SUCCESS;
    if (const std::string why = device_error(Rows::of(workspace, bytes), "the workspace has"); !why.empty())
        return refuse_invalid("cublasSetWorkspace: " + why);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return refuse_invalid("cublasSetPointerMode: no such mode");
    return set_member("cublasSetPointerMode", handle, &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasGetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
    return get_member("cublasGetPointerMode", handle, &cublasContext::pointer_mode, mode);
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
    return set_member("cublasSetMathMode", handle, &cublasContext::math_mode, mode);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
    return get_member("cublasGetMathMode", handle, &cublasContext::math_mode, mode);
}
const char* cublasGetStatusName(cublasStatus_t status) { return cublasLtGetStatusName(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return cublasLtGetStatusString(status); }

cublasStatus_t cublasSetVector(int n, int size, const void* x, int incx, void* y, int incy, Place place) {
    return copy_rows("cublasSetVector", 1, n, size, x, incx, y, incy, cudaMemcpyHostToDevice, place);
}
cublasStatus_t cublasGetVector(int n, int size, const void* x, int incx, void* y, int incy, Place place) {
    return copy_rows("cublasGetVector", 1, n, size, x, incx, y, incy, cudaMemcpyDeviceToHost, place);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void* a, int lda, void* b, int ldb, Place place) {
    return copy_rows("cublasSetMatrix", rows, columns, size, a, lda, b, ldb, cudaMemcpyHostToDevice, place);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void* a, int lda, void* b, int ldb, Place place) {
    return copy_rows("cublasGetMatrix", rows, columns, size, a, lda, b, ldb, cudaMemcpyDeviceToHost, place);
}
