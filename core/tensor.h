// The tensor: a value-semantic handle on contiguous, row-major memory.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/members.h"
#include "core/shape.h"
#include "core/storage.h"

namespace heddle {

struct Generator;

/// Where random numbers come from: a seed, a generator, or by default the thread's generator, whose seed manual_seed() sets.
/// Numbers are a function of this and of the element's index, the same on every device.
class RandomSource {
  public:
    RandomSource();                      ///< the next key of generator()
    RandomSource(Generator& generator);  // NOLINT: its next key
    template <std::integral Number>
    RandomSource(Number seed) : key_(static_cast<std::uint64_t>(seed)) {}  // NOLINT: the seed is the key

    std::uint64_t key() const { return key_; }

  private:
    std::uint64_t key_;
};

class IndexedPart;

/// The right side of x[0] = y: a tensor or a number, with the line of the assignment, which version errors name.
class Assigned {
  public:
    Assigned(const Tensor& tensor, Where where = Where::current()) : tensor_(&tensor), where_(where) {}  // NOLINT
    template <class Number>
    requires std::is_arithmetic_v<Number> Assigned(Number number, Where where = Where::current())
        : number_(static_cast<double>(number)), where_(where) {}  // NOLINT

    /// Null for a number.
    const Tensor* tensor() const { return tensor_; }
    double number() const { return number_; }
    const Where& where() const { return where_; }

  private:
    const Tensor* tensor_ = nullptr;
    double number_ = 0;
    Where where_;
};

/// Contiguous, row-major, reference-counted. Copying a Tensor copies the handle; `clone` copies the elements. There are no
/// strides: a view is a reshape or a slice of leading axes and shares the storage. A const handle gives no write access, and its
/// views are const, too; a copy of the handle gives access. A default-constructed Tensor is undefined. The ops are members, too
/// (core/members.h).
class Tensor : public Members<Tensor> {
  public:
    Tensor() = default;
    Tensor(const Tensor&) = default;
    Tensor(Tensor&&) = default;
    ~Tensor() = default;
    Tensor& operator=(const Tensor&) & = default;
    Tensor& operator=(Tensor&&) & = default;
    /// x[0] = y and x[{i, j}] = 1 write into x: copy_() and fill_() of the view. A tensor y has the view's shape and dtype.
    void operator=(const Assigned& source) && {
        if (source.tensor() != nullptr)
            copy_(*source.tensor(), source.where());
        else
            fill_(source.number(), source.where());
    }

    /// Uninitialised elements.
    static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu);
    static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu);
    /// Every element `value`, converted to `dtype`. Error as fill_().
    static Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = Device::cpu);
    static Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu);
    /// Like `x` in shape, dtype and device.
    static Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }
    static Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype(), x.device()); }
    static Tensor full_like(const Tensor& x, double value) { return full(x.shape(), value, x.dtype(), x.device()); }
    /// [n, n], or [n, m]: 1 on the diagonal, 0 elsewhere.
    static Tensor eye(std::int64_t n, DType dtype = DType::f32, Device device = Device::cpu) { return eye(n, n, dtype, device); }
    static Tensor eye(std::int64_t n, std::int64_t m, DType dtype = DType::f32, Device device = Device::cpu);

    /// Standard normal numbers, and uniform ones in [0, 1). Drawn in f32, or f64 when that is `dtype`. Error for integer dtypes.
    static Tensor randn(const Shape& shape, const RandomSource& source = {}, DType dtype = DType::f32,
                        Device device = Device::cpu);
    static Tensor rand(const Shape& shape, const RandomSource& source = {}, DType dtype = DType::f32,
                       Device device = Device::cpu);
    static Tensor randn(const Shape& shape, DType dtype, Device device = Device::cpu) {
        return randn(shape, RandomSource(), dtype, device);
    }
    static Tensor rand(const Shape& shape, DType dtype, Device device = Device::cpu) {
        return rand(shape, RandomSource(), dtype, device);
    }
    /// i32, uniform in [low, high), or in [0, high). Error unless low < high, and both fit.
    static Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const RandomSource& source = {},
                          Device device = Device::cpu);
    static Tensor randint(std::int64_t high, const Shape& shape, const RandomSource& source = {}, Device device = Device::cpu) {
        return randint(0, high, shape, source, device);
    }
    /// i32: 0, 1, ..., n - 1 in random order.
    static Tensor randperm(std::int64_t n, const RandomSource& source = {}, Device device = Device::cpu);
    /// 1 with the probability that stands at its place, else 0, in the dtype of `probabilities`. Error when one is not in [0, 1].
    static Tensor bernoulli(const Tensor& probabilities, const RandomSource& source = {});

    /// 0, 1, ..., count - 1. Error when `count` is negative, or `dtype` is an integer type that cannot hold the last number.
    static Tensor arange(std::int64_t count, DType dtype = DType::i32, Device device = Device::cpu);
    /// 0, 1, ... before `end`: arange(2.5) is [0, 1, 2] in f32.
    template <std::floating_point End>
    static Tensor arange(End end, DType dtype = DType::f32, Device device = Device::cpu) {
        return range(0, static_cast<double>(end), 1, dtype, device);
    }
    /// begin, begin + step, ... before `end`; i32 when all three are integers, else f32. Error when the step is 0 or leads away,
    /// or an integer dtype cannot hold the numbers.
    template <class Begin, class End, class Step = int>
    requires(std::is_arithmetic_v<Begin>&& std::is_arithmetic_v<End>&& std::is_arithmetic_v<Step>) static Tensor
        arange(Begin begin, End end, Step step = 1, std::optional<DType> dtype = {}, Device device = Device::cpu) {
        constexpr bool whole = std::is_integral_v<Begin> && std::is_integral_v<End> && std::is_integral_v<Step>;
        return range(static_cast<double>(begin), static_cast<double>(end), static_cast<double>(step),
                     dtype.value_or(whole ? DType::i32 : DType::f32), device);
    }
    template <class Begin, class End>
    requires(std::is_arithmetic_v<Begin>&& std::is_arithmetic_v<End>) static Tensor
        arange(Begin begin, End end, DType dtype, Device device = Device::cpu) {
        return arange(begin, end, 1, dtype, device);
    }
    /// `count` numbers from begin to end, both included, at equal distances. Error when an integer dtype cannot hold them.
    static Tensor linspace(double begin, double end, std::int64_t count, DType dtype = DType::f32, Device device = Device::cpu);

    /// A tensor over memory of somebody else on the CPU, contiguous and row-major: nothing is copied. `elements` points to at
    /// least as many elements as `shape` has, which nothing can check, and `owner` keeps the memory alive; whoever changes it
    /// elsewhere calls bump_version(). Error when either is null, the memory is not aligned to the element type, or `shape` is
    /// larger than any memory.
    static Tensor over(void* elements, const Shape& shape, DType dtype, std::shared_ptr<const void> owner);
    /// A copy of `values`, on the CPU; without a shape in one row. `dtype` is by default that of T: u8 (0 or 1) for bool, and i32
    /// for integers that are no elements of tensors. Fractions are cut off for an integer dtype. Error if a number does not fit
    /// into it, or the number of values does not match the shape.
    template <class T>
    static Tensor from(std::span<const T> values, const Shape& shape, std::optional<DType> dtype = {}) {
        static_assert(is_element<T> || std::is_integral_v<T>,
                      "the elements of a tensor are double, float, bf16, integers or bool");
        if constexpr (is_element<T> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>)
            return copied(values, shape, dtype.value_or(stored_dtype<T>()));
        else
            return copied(std::span<const std::int64_t>(widened(values)), shape, dtype.value_or(stored_dtype<T>()));
    }
    template <class T>
    static Tensor from(const std::vector<T>& values, const Shape& shape, std::optional<DType> dtype = {}) {
        if constexpr (std::is_same_v<T, bool>)  // which is no array
            return from(std::vector<std::uint8_t>(values.begin(), values.end()), shape, dtype);
        else
            return from(std::span<const T>(values), shape, dtype);
    }
    template <class T>
    static Tensor from(std::initializer_list<T> values, const Shape& shape, std::optional<DType> dtype = {}) {
        return from(std::span<const T>(values), shape, dtype);
    }
    template <class T>
    static Tensor from(const std::vector<T>& values) {
        return from(values, {static_cast<std::int64_t>(values.size())});
    }
    template <class T>
    static Tensor from(std::initializer_list<T> values) {
        return from(values, {static_cast<std::int64_t>(values.size())});
    }

    bool defined() const { return storage_ != nullptr; }
    /// The tensor itself, for templates that take Variables, too.
    const Tensor& value() const { return *this; }
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
    template <class T>
    T item() const {
        return static_cast<T>(item());
    }
    /// The only element is not 0: `if (loss < 0.1)`, `if (any(mask))`. Error as item().
    explicit operator bool() const { return item() != 0; }
    /// All elements as double, whatever their type; for tests and printing. On CUDA the host waits for them.
    std::vector<double> to_vector() const;

    // The views of a const handle are const. Each name has an overload that gives a writable view of a handle that is not const.

    /// The same elements with another shape of equal size; one extent may be -1.
    const Tensor reshape(const NewShape& shape) const;  // NOLINT: not assignable
    Tensor reshape(const NewShape& shape) { return std::as_const(*this).reshape(shape); }
    template <std::integral... Rest>
    const Tensor reshape(const PlaceArgument& first, Rest... rest) const {  // NOLINT
        return reshape(NewShape{first.place, static_cast<std::int64_t>(rest)...});
    }
    template <std::integral... Rest>
    Tensor reshape(const PlaceArgument& first, Rest... rest) {
        return reshape(NewShape{first.place, static_cast<std::int64_t>(rest)...});
    }
    const Tensor view(const NewShape& shape) const { return reshape(shape); }  // NOLINT
    Tensor view(const NewShape& shape) { return reshape(shape); }
    template <std::integral... Rest>
    const Tensor view(const PlaceArgument& first, Rest... rest) const {  // NOLINT
        return reshape(first, rest...);
    }
    template <std::integral... Rest>
    Tensor view(const PlaceArgument& first, Rest... rest) {
        return reshape(first, rest...);
    }
    using Members::flatten;
    Tensor flatten(int first = 0, int last = -1) { return std::as_const(*this).flatten(first, last); }
    using Members::squeeze;
    Tensor squeeze(const std::optional<int>& axis = {}) { return std::as_const(*this).squeeze(axis); }
    using Members::unsqueeze;
    Tensor unsqueeze(int axis) { return std::as_const(*this).unsqueeze(axis); }
    /// Rows [begin, end) of the first axis, sharing the storage; negative bounds count from the end.
    const Tensor slice(std::int64_t begin, std::int64_t end) const;  // NOLINT
    Tensor slice(std::int64_t begin, std::int64_t end) { return std::as_const(*this).slice(begin, end); }
    const Tensor slice(std::int64_t begin) const { return slice(begin, dim(0)); }  // NOLINT
    Tensor slice(std::int64_t begin) { return slice(begin, dim(0)); }
    const Tensor slice(int axis, std::int64_t begin, std::int64_t end, Where where = Where::current()) const {  // NOLINT
        return Members::slice(axis, begin, end, where);
    }
    /// Row `place` without the first axis, or the part at these places of the first axes: views, which can be assigned to.
    /// Negative places count from the end. Error when there is no such place.
    Tensor operator[](const PlaceArgument& place) { return at({&place, 1}); }
    const Tensor operator[](const PlaceArgument& place) const { return at({&place, 1}); }  // NOLINT
    Tensor operator[](std::initializer_list<PlaceArgument> places) { return at({places.begin(), places.size()}); }
    const Tensor operator[](std::initializer_list<PlaceArgument> places) const {  // NOLINT
        return at({places.begin(), places.size()});
    }
    /// Copies of these elements (core/members.h). Those of a handle that is not const can be assigned to, which writes into it:
    /// x[mask] = 0, x.index({Slice(), 0}) = y, x[rows] += 1.
    using Members::operator[];
    const IndexedPart operator[](const TensorArgument& rows_or_mask);  // NOLINT
    using Members::index;
    const IndexedPart index(std::initializer_list<Index> places, Where where = Where::current());  // NOLINT
    /// The bytes as elements of another type, in one row: [bytes / size]. Error if their number is not divisible.
    Tensor view_as(DType dtype) const;
    Tensor clone() const;
    /// Converts to `dtype` (bf16 rounds to nearest even); returns the same handle if nothing changes. On CUDA through the host,
    /// which is slow: use kernels/cast there.
    Tensor to(DType dtype) const;
    /// i32 for every integer type, u8 with 0 and 1 for bool.
    template <class T>
    Tensor to() const {
        if constexpr (std::is_same_v<T, bool>)
            return as_mask();
        else
            return to(stored_dtype<T>());
    }
    /// Moves to `device`: the same handle if it is there already, else a copy in the current stream's order.
    Tensor to(Device device) const;

    /// Overwrites the elements in place and bumps the version. Error when an integer dtype cannot hold `value`; a fraction is cut
    /// off. On CUDA values other than 0 are copied from the host, which is slow.
    void fill_(double value, Where where = Where::current());
    void zero_(Where where = Where::current()) { fill_(0, where); }
    /// x.index(places) becomes `value`, a number or a tensor that broadcasts to it and is converted to the dtype of x. Where the
    /// places name an element several times, the last value stays. Bumps the version. Error as Members::index, when the value
    /// does not broadcast, or when x has 2^31 elements or more. On CUDA the elements go to the host and back, which is slow.
    void index_put_(std::initializer_list<Index> places, const Tensor& value, Where where = Where::current());
    void index_put_(std::initializer_list<Index> places, double value, Where where = Where::current());
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
    static Tensor range(double begin, double end, double step, DType dtype, Device device);
    template <class T>
    static Tensor copied(std::span<const T> values, const Shape& shape, DType dtype);
    template <class T>
    static std::vector<std::int64_t> widened(std::span<const T> values) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
            for (const T value : values) check_fits(value);
        return {values.begin(), values.end()};
    }
    static void check_fits(std::uint64_t number);  // into 63 bits
    Tensor at(std::span<const PlaceArgument> places) const;
    Tensor as_mask() const;
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

/// What x[rows], x[mask] and x.index({...}) give of a Tensor x: a copy of the elements that remembers its places in x. As long as
/// it has no name, an assignment to it writes into x, as index_put_(), and so do +=, -=, *= and /=. With a name it is a tensor of
/// its own.
class IndexedPart : public Tensor {
  public:
    IndexedPart(const Tensor& elements, const Tensor& whole, std::initializer_list<Index> places);

    using Tensor::operator=;
    void operator=(const Assigned& source) const&& { put_(source); }
    /// Writes the source into x. Error as index_put_().
    void put_(const Assigned& source) const;

  private:
    Tensor whole_;
    std::shared_ptr<const std::vector<Index>> places_;
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
