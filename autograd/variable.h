// A tensor that can take part in autograd.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/tensor.h"

namespace heddle {

class Tape;

/// A value-semantic handle on a value and, if required, its gradient. A *leaf* is created by the constructor (a parameter, an
/// input); every other Variable is the output of a differentiable op and refers to its node on the thread's tape.
class Variable : public Members<Variable> {
  public:
    Variable() = default;
    Variable(const Variable&) = default;
    Variable(Variable&&) = default;
    ~Variable() = default;
    /// Not for a temporary: v[0] = w would change nothing. ops::where and ops::masked_fill make a Variable with other elements.
    Variable& operator=(const Variable&) & = default;
    Variable& operator=(Variable&&) & = default;
    /// A leaf without a gradient, so that a tensor can be passed as a Variable. Error when `value` is undefined.
    Variable(Tensor value);  // NOLINT: implicit on purpose
    /// A leaf. With `requires_grad`, backward adds its gradient to `grad()`.
    explicit Variable(Tensor value, bool requires_grad, std::string name = "");

    bool defined() const { return slot_ != nullptr; }
    /// Error if undefined.
    const Tensor& value() const;
    const Shape& shape() const { return value().shape(); }
    std::int64_t dim(int axis) const { return value().dim(axis); }
    std::int64_t rows() const { return value().rows(); }
    std::int64_t cols() const { return value().cols(); }
    DType dtype() const { return value().dtype(); }
    Device device() const { return value().device(); }
    /// The only element; see Tensor::item().
    double item() const { return value().item(); }
    template <class T>
    T item() const {
        return value().item<T>();
    }
    int rank() const { return value().rank(); }
    std::int64_t numel() const { return value().numel(); }
    std::vector<double> to_vector() const { return value().to_vector(); }
    using Members::to;
    /// Converts as Tensor::to<T>(). Integer types and bool have no gradients: the result is then a constant.
    template <class T>
    Variable to(Where where = Where::current()) const {
        if constexpr (std::is_floating_point_v<T>)
            return to(stored_dtype<T>(), where);
        else
            return value().to<T>();
    }

    /// Computes the gradients of all leaves on which this one-element Variable, a loss, depends: heddle::backward(*this,
    /// retain), described in autograd/tape.h.
    void backward(bool retain = false) const;

    /// For a leaf: true if backward fills `grad()`. Otherwise: true if the tape recorded the op that made it.
    bool requires_grad() const;
    bool is_leaf() const;
    /// True if both are handles on the same value and gradient.
    bool is(const Variable& other) const { return slot_ == other.slot_; }
    const std::string& name() const;

    /// The gradient accumulated by backward so far; undefined before the first backward. Leaves only.
    const Tensor& grad() const;
    void zero_grad();
    /// Makes backward add to `gradient`; if undefined, removes the gradient. Leaves only. Error as rebind().
    void set_grad(Tensor gradient);
    /// Freezes or unfreezes a leaf.
    void set_requires_grad(bool requires_grad);
    Variable& requires_grad_(bool on = true) {
        set_requires_grad(on);
        return *this;
    }
    /// Moves the leaf's value and gradient to given memory (views of the flat parameter and gradient arrays); the value's
    /// elements are copied there, converted to the memory's dtype. Error when the shapes differ, or the gradient is neither of
    /// the value's dtype nor f32 beside bf16.
    void rebind(const Tensor& value, const Tensor& grad);
    /// A new leaf with the same value, without a gradient.
    Variable detach() const;

  private:
    friend class Tape;
    friend struct TapeNode;
    struct Slot;
    explicit Variable(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}

    std::shared_ptr<Slot> slot_;
};

}  // namespace heddle
