// cuBLAS's vectors: sums in f64 in the order of the elements, each result rounded once.
#include <cmath>
#include <utility>

#include "kernels/emulator/cublas/cublas.h"
#include "kernels/emulator/cublaslt/elements.h"
#include "kernels/emulator/include/cuda_runtime.h"
#include "kernels/emulator/run/memory.h"
#include "kernels/emulator/run/report.h"
#include "kernels/emulator/runtime/access.h"

namespace heddle::emulator::cublas {
namespace {

/// A vector while work runs.
class Elements {
  public:
    Elements(const VectorOf& v, std::int64_t n)
        : data_(static_cast<std::byte*>(const_cast<void*>(v.data))),
          type_(v.type),
          first_(v.step < 0 ? (1 - n) * v.step : 0),
          step_(v.step) {}
    double at(std::int64_t i) const { return element::load<double>(data_, type_, first_ + i * step_); }
    void set(std::int64_t i, double value) const { element::store(data_, type_, first_ + i * step_, value); }

  private:
    std::byte* data_;
    cudaDataType type_;
    std::int64_t first_, step_;
};

}  // namespace

cublasStatus_t gemv(const Call& call, cublasOperation_t transpose, std::int64_t m, std::int64_t n, const void* alpha,
                    const MatrixOf& a, const VectorOf& x, const void* beta, const VectorOf& y) {
    cublasStatus_t status;
    if (!check_handle(call, status)) return status;
    if (m < 0 || n < 0) return invalid(call, "m or n is negative");
    if (x.step == 0 || y.step == 0) return invalid(call, "incx or incy is 0");
    if (a.leading < std::max<std::int64_t>(1, m))
        return invalid(
            call, "A has the leading dimension " + std::to_string(a.leading) + ", less than its " + std::to_string(m) + " rows");
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar alpha_value(call, alpha, y.type), beta_value(call, beta, y.type);
    if (alpha_value.null() || beta_value.null()) return invalid(call, "alpha or beta is a null pointer");
    const bool transposed = transpose != CUBLAS_OP_N;
    const std::int64_t terms = transposed ? m : n, length = transposed ? n : m;
    const Rows as = rows_of(a, m, n), xs = rows_of(x, terms), ys = rows_of(y, length);
    for (const std::string& why : {memory_error(as, a.type, "A"), memory_error(xs, x.type, "x"), memory_error(ys, y.type, "y")})
        if (!why.empty()) return invalid(call, why);
    if (overlap(ys, as) || overlap(ys, xs)) return invalid(call, "y overlaps A or x");
    return enqueue(
        call, alpha_value.is(0) ? std::vector<Rows>{} : std::vector<Rows>{as, xs}, {ys}, {alpha_value, beta_value}, [=] {
            const double scale = alpha_value.value(), keep = beta_value.value();
            if (scale != 0) check_memory(as, "A", false);
            if (scale != 0) check_memory(xs, "x", false);
            check_memory(ys, "y", keep == 0);
            const Elements from(x, terms), to(y, length);
            const auto* const data = static_cast<const std::byte*>(a.data);
            for (std::int64_t i = 0; i < length; ++i) {
                double sum = 0;
                for (std::int64_t j = 0; scale != 0 && j < terms; ++j)
                    sum += element::load<double>(data, a.type, transposed ? j + i * a.leading : i + j * a.leading) * from.at(j);
                to.set(i, (scale == 0 ? 0 : scale * sum) + (keep == 0 ? 0 : keep * to.at(i)));
            }
        });
}

cublasStatus_t update(const Call& call, Update kind, std::int64_t n, const void* alpha, cudaDataType scale, const VectorOf& x,
                      const VectorOf& y) {
    cublasStatus_t status;
    if (!check_handle(call, status)) return status;
    if (n <= 0) return CUBLAS_STATUS_SUCCESS;
    const bool scales = kind == Update::axpy || kind == Update::scal, two = kind != Update::scal;
    if (!is_real(x.type) || !is_real(y.type)) return unsupported(call, "the emulator knows f64, f32, f16 and bf16 only");
    const Scalar factor = scales ? Scalar(call, alpha, scale) : Scalar();
    if (scales && factor.null()) return invalid(call, "alpha is a null pointer");
    if (kind == Update::scal && x.step <= 0) return CUBLAS_STATUS_SUCCESS;
    const Rows xs = rows_of(x, n), ys = two ? rows_of(y, n) : xs;
    for (const std::string& why : {memory_error(xs, x.type, "x"), memory_error(ys, y.type, "y")})
        if (!why.empty()) return invalid(call, why);
    std::vector<Rows> reads = {xs}, writes = {ys};
    if (kind == Update::axpy || kind == Update::swap) reads.push_back(ys);
    if (kind == Update::swap) writes.push_back(xs);
    return enqueue(call, reads, writes, {factor}, [=] {
        check_memory(xs, "x", false);
        check_memory(ys, "y", kind == Update::copy);
        const double by = factor.value();
        const Elements from(x, n), to(y, n);
        for (std::int64_t i = 0; i < n; ++i) {
            const double value = from.at(i), old = kind == Update::copy ? 0 : to.at(i);
            if (kind == Update::swap) from.set(i, old);
            to.set(i, kind == Update::axpy ? old + by * value : kind == Update::scal ? by * value : value);
        }
    });
}

cublasStatus_t measure(const Call& call, Measure kind, std::int64_t n, const VectorOf& x, const VectorOf& y, void* result,
                       cudaDataType type) {
    cublasStatus_t status;
    if (!check_handle(call, status)) return status;
    if (result == nullptr) return invalid(call, "a null pointer for the result");
    if (!is_real(x.type) || !is_real(y.type)) return unsupported(call, "the emulator knows f64, f32, f16 and bf16 only");
    const bool on_host = call.handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
    if (on_host == is_device_memory(result))
        return invalid(call, std::string("the pointer mode is ") + (on_host ? "host" : "device") +
                                 ", but the result lies on the " + (on_host ? "device" : "host"));
    const std::int64_t length = n <= 0 || (kind != Measure::dot && x.step <= 0) ? 0 : n;
    const Rows xs = rows_of(x, length), ys = kind == Measure::dot ? rows_of(y, length) : Rows{};
    const Rows to = Rows::of(result, size_of(type));
    for (const std::string& why :
         {memory_error(xs, x.type, "x"), memory_error(ys, y.type, "y"), on_host ? "" : memory_error(to, type, "the result")})
        if (!why.empty()) return invalid(call, why);
    auto work = [=] {
        check_memory(xs, "x", false);
        check_memory(ys, "y", false);
        if (!on_host) check_memory(to, "the result", true);
        const Elements left(x, length), right(y, length);
        double sum = 0;
        std::int64_t best = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            const double value = left.at(i);
            switch (kind) {
                case Measure::dot: sum += value * right.at(i); break;
                case Measure::nrm2: sum += value * value; break;
                case Measure::asum: sum += std::abs(value); break;
                case Measure::amax: best = std::abs(value) > std::abs(left.at(best)) ? i : best; break;
                case Measure::amin: best = std::abs(value) < std::abs(left.at(best)) ? i : best; break;
            }
        }
        const bool position = kind == Measure::amax || kind == Measure::amin;
        element::store(static_cast<std::byte*>(result), type, 0,
                       position                ? static_cast<double>(length == 0 ? 0 : best + 1)
                       : kind == Measure::nrm2 ? std::sqrt(sum)
                                               : sum);
    };
    return enqueue(call, {xs, ys}, on_host ? std::vector<Rows>{} : std::vector<Rows>{to}, {}, std::move(work), on_host);
}

}  // namespace heddle::emulator::cublas
