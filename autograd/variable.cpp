#include "autograd/variable.h"

#include "autograd/tape_impl.h"
#include "core/format.h"
#include "kernels/cast/cast.h"

namespace heddle {

Variable::Slot::~Slot() {
    if (tape) tape->release(node);
}

Variable::Variable(Tensor value) : Variable(std::move(value), false) {}

Variable::Variable(Tensor value, bool requires_grad, std::string name) : slot_(std::make_shared<Slot>()) {
    check(value.defined(), "variable: the value is an undefined tensor");
    slot_->value = std::move(value);
    slot_->requires_grad = requires_grad;
    slot_->name = std::move(name);
}

const Tensor& Variable::value() const {
    check(defined(), "variable: an undefined variable has no value");
    return slot_->value;
}

bool Variable::requires_grad() const { return defined() && (slot_->tape != nullptr || slot_->requires_grad); }
bool Variable::is_leaf() const { return defined() && slot_->tape == nullptr; }

const std::string& Variable::name() const {
    static const std::string none;
    return defined() ? slot_->name : none;
}

const Tensor& Variable::grad() const {
    check(is_leaf(), "variable: only a leaf keeps its gradient");
    return slot_->grad;
}

void Variable::zero_grad() {
    if (grad().defined()) slot_->grad.fill_(0);
}

void Variable::set_requires_grad(bool requires_grad) {
    check(is_leaf(), "variable: only a leaf can be frozen or unfrozen");
    slot_->requires_grad = requires_grad;
}

namespace {

void check_gradient(const Tensor& grad, const Tensor& value) {
    const bool wider = grad.dtype() == DType::f32 && value.dtype() == DType::bf16;
    check(!grad.defined() || (grad.shape() == value.shape() && (grad.dtype() == value.dtype() || wider)),
          "variable: the gradient's memory is {} {}, wanted {} {}", grad.shape(), grad.dtype(), value.shape(), value.dtype());
}

}  // namespace

void Variable::set_grad(Tensor gradient) {
    check(is_leaf(), "variable: only a leaf keeps its gradient");
    check_gradient(gradient, slot_->value);
    slot_->grad = std::move(gradient);
}

void Variable::rebind(const Tensor& value, const Tensor& grad) {
    check(is_leaf(), "variable: only a leaf can be laid on other memory");
    check_gradient(grad, value);
    Tensor target = value;
    target.copy_(kernels::cast(slot_->value, value.dtype()));
    slot_->value = value;
    slot_->grad = grad;
}

void Variable::backward(bool retain) const { heddle::backward(*this, retain); }

Variable Variable::detach() const { return Variable(value()); }

}  // namespace heddle
