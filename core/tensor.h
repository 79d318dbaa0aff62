// The tensor: a value-semantic handle on contiguous, row-major memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "core/storage.h"

namespace heddle {

/// Contiguous, row-major, reference-counted. Copying a Tensor copies the handle; `clone` copies the elements. There are no
/// strides: a view is a reshape or a leading slice and shares the storage. A const handle gives no write access, but its copies
/// and views do. A default-constructed Tensor is undefined.
class Tensor {
  public:
    Tensor() = default;

    /// Uninitialised elements.
    static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu);
    static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu);
    /// Every element `value`, converted to `dtype`.
    static Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = Device::cpu);
    /// Standard normal numbers, and uniform ones in [0, 1): a function of `seed` and the element's index, the same on every
    /// device. Drawn in f32, or f64 when that is `dtype`.
    static Tensor randn(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32, Device device = Device::cpu);
    static Tensor rand(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32, Device device = Device::cpu);
    /// 0, 1, ..., count - 1. Error when `count` is negative.
    static Tensor arange(std::int64_t count, DType dtype = DType::i32, Device device = Device::cpu);
    /// A copy of `values`, on the CPU. Error if their number does not match the shape.
    template <class T>
    static Tensor from(std::span<const T> values, const Shape& shape);
    template <class T>
    static Tensor from(const std::vector<T>& values, const Shape& shape) {
        return from(std::span<const T>(values), shape);
    }
    template <class T>
    static Tensor from(std::initializer_list<T> values, const Shape& shape) {
        return from(std::span<const T>(values), shape);
    }

    bool defined() const { return storage_ != nullptr; }
    const Shape& shape() const { return shape_; }
    /// The extent of `axis`; negative axes count from the end.
    std::int64_t dim(int axis) const { return shape_[axis]; }
    int rank() const { return shape_.rank(); }
    std::int64_t numel() const { return numel_; }
    /// The last extent, and the product of all others.
    std::int64_t cols() const { return shape_.cols(); }
    std::int64_t rows() const { return shape_.rows(); }
    std::int64_t bytes() const { return numel_ * size_of(dtype_); }
    DType dtype() const { return dtype_; }
    Device device() const { return storage_ ? storage_->device() : Device::cpu; }

    /// Read access to the elements of a tensor on the CPU. Error if T is not the element type or the tensor is on CUDA.
    template <class T>
    std::span<const T> values() const {
        return host_span<T>();
    }
    /// Write access. Bumps the version, so that backward detects a saved tensor that was changed.
    template <class T>
    std::span<T> mutable_values(Where where = Where::current()) {
        bump_version(where);
        return host_span<T>();
    }

    /// For kernels: pointers to the first element and to the bytes, in the device's memory. Error if T is not the element type
    /// or the tensor is undefined; the bytes of an undefined tensor are nullptr.
    template <class T>
    const T* data() const {
        return elements<T>();
    }
    const std::byte* bytes_data() const { return first_byte(); }
    /// Write access for kernels, which take results as `Tensor&` or `Tensor`. Does not bump the version, because loops ask for
    /// the pointer in every piece and thread: whoever overwrites a tensor in place calls bump_version() once.
    template <class T>
    T* mutable_data() {
        return elements<T>();
    }
    std::byte* mutable_bytes_data() { return first_byte(); }

    /// The element of a one-element tensor as double, whatever its type. On CUDA the host waits for it.
    double item() const;
    /// All elements as double, whatever their type; for tests and printing. On CUDA the host waits for them.
    std::vector<double> to_vector() const;

    /// The same elements with another shape of equal size.
    Tensor reshape(const Shape& shape) const;
    /// Rows [begin, end) of the first axis, sharing the storage.
    Tensor slice(std::int64_t begin, std::int64_t end) const;
    /// The bytes as elements of another type, in one row: [bytes / size]. Error if their number is not divisible.
    Tensor view_as(DType dtype) const;
    Tensor clone() const;
    /// Converts to `dtype` (bf16 rounds to nearest even); returns the same handle if nothing changes. On CUDA through the host,
    /// which is slow: use kernels/cast there.
    Tensor to(DType dtype) const;
    /// Moves to `device`: the same handle if it is there already, else a copy in the current stream's order.
    Tensor to(Device device) const;

    /// Overwrites the elements in place and bumps the version. On CUDA values other than 0 are copied from the host, which is
    /// slow.
    void fill_(double value, Where where = Where::current());
    /// The source may be on another device and may overlap the target.
    void copy_(const Tensor& source, Where where = Where::current());

    std::uint64_t version() const { return storage_ ? storage_->version() : 0; }
    /// Records that the elements were changed in place, at `where`.
    void bump_version(Where where = Where::current()) const {
        if (storage_) storage_->bump_version(where);
    }
    /// Where the last in-place change was made.
    Where changed_at() const { return storage_ ? storage_->changed_at() : Where(); }
    std::uint64_t storage_id() const { return storage_ ? storage_->id() : 0; }
    bool shares_storage(const Tensor& other) const { return storage_ && storage_ == other.storage_; }
    /// True when no other tensor shares the storage, so its memory may be reused.
    bool unique() const { return storage_.use_count() == 1; }

  private:
    std::byte* first_byte() const { return storage_ ? storage_->data() + offset_ : nullptr; }
    template <class T>
    T* elements() const;
    template <class T>
    std::span<T> host_span() const {
        check_on_host();
        return {elements<T>(), static_cast<std::size_t>(numel_)};
    }
    void check_on_host() const;

    std::shared_ptr<Storage> storage_;
    std::int64_t offset_ = 0;  // bytes
    std::int64_t numel_ = 0;
    Shape shape_;
    DType dtype_ = DType::f32;
};

/// A copy of the elements on the CPU, independent of `tensor`.
Tensor copy_on_cpu(const Tensor& tensor);

/// Columns [begin, begin + count) of a [rows, pitch] tensor: the only strided form. Matrix product and attention accept it, so
/// that q, k and v are read in place from one [tokens, 3 d_model] projection.
struct Columns {
    Tensor base;
    std::int64_t begin = 0;
    std::int64_t count = 0;

    Columns() = default;
    /// All columns of `whole`.
    Columns(const Tensor& whole) : base(whole), count(whole.cols()) {}  // NOLINT: a tensor is its own full slice
    Columns(const Tensor& tensor, std::int64_t first, std::int64_t number) : base(tensor), begin(first), count(number) {}

    std::int64_t rows() const { return base.rows(); }
    std::int64_t pitch() const { return base.cols(); }
    template <class T>
    const T* data() const {
        return base.data<T>() + begin;
    }
    template <class T>
    T* mutable_data() {
        return base.mutable_data<T>() + begin;
    }
};

}  // namespace heddle
