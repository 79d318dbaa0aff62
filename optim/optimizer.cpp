#include "optim/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/format.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::optim {

Method method(std::string_view text) {
    if (const auto found = value_of<Method>(text)) return *found;
    fail_with("optimizer: there is none called '{}'; wanted sgd, adam or adamw", text);
}

NotFinite NotFinite::of_gradient(double norm, std::int64_t updates) {
    return NotFinite(fmt::format("the norm of the gradient is {} at update {}; the parameters were left as they are",
                                 std::abs(norm), updates));
}

void check_rate(double lr) {
    check(lr >= 0 && std::isfinite(lr), "optimizer: a learning rate of {}, wanted a finite one of at least 0", lr);
}

namespace {

void check_options(const OptimizerOptions& options) {
    for (const auto& [name, value] :
         {std::pair{"momentum", options.momentum}, {"beta1", options.beta1}, {"beta2", options.beta2}})
        check(value >= 0 && value < 1, "optimizer: {} is {}, wanted at least 0 and below 1", name, value);
    for (const auto& [name, value] : {std::pair{"eps", options.eps}, {"the weight decay", options.weight_decay}})
        check(value >= 0 && std::isfinite(value), "optimizer: {} is {}, wanted a finite number of at least 0", name, value);
}

}  // namespace

Optimizer::Optimizer(Tensor parameters, Tensor gradients, const OptimizerOptions& options)
    : parameters_(std::move(parameters)), gradients_(std::move(gradients)), options_(options) {
    check_options(options);
    check_rank("optimizer", "parameters", parameters_, 1);
    check_shape("optimizer", "gradients", gradients_, parameters_.shape());
    check_dtype("optimizer", "gradients", gradients_, parameters_.dtype());
    first_ = Tensor::zeros(parameters_.shape(), parameters_.dtype(), parameters_.device());
    if (options_.method != Method::sgd) second_ = Tensor::zeros(parameters_.shape(), parameters_.dtype(), parameters_.device());
    set_active({{0, parameters_.numel()}});
}

void Optimizer::set_active(std::vector<Span> ranges) { active_ = Spans(std::move(ranges), parameters_.numel()); }

void Optimizer::round_to(Tensor copy) {
    check_shape("optimizer", "the rounded copy", copy, parameters_.shape());
    check_dtype("optimizer", "the rounded copy", copy, DType::bf16);
    bf16_copy_ = std::move(copy);
}

double Optimizer::step(const StepOptions& with, Where where) {
    check_rate(with.lr);
    const double norm = kernels::gradient_norm(gradients_, active_) * std::abs(with.gradient_scale);
    if (!std::isfinite(norm)) throw NotFinite::of_gradient(norm, updates_);
    apply(with.lr, with.gradient_scale * kernels::clip_factor(norm, with.clip), {.bf16_copy = bf16_copy_}, where);
    return norm;
}

Tensor Optimizer::measure(const StepOptions& with) const {
    return kernels::measure_gradients(gradients_, active_, with.clip, with.gradient_scale);
}

void Optimizer::step_measured(const StepOptions& with, const Tensor& measured, const Tensor& numbers, Where where) {
    check_rate(with.lr);
    apply(with.lr, 1, {.measured = measured, .numbers = numbers, .bf16_copy = bf16_copy_}, where);
}

std::array<double, 3> Optimizer::numbers(const StepOptions& with) const {
    check_rate(with.lr);
    return options_.method == Method::sgd ? kernels::step_numbers(sgd_step(with.lr, 1))
                                          : kernels::step_numbers(adam_step(with.lr, 1));
}

void Optimizer::count_replay(Where where) {
    parameters_.bump_version(where);
    first_.bump_version(where);
    second_.bump_version(where);
    bf16_copy_.bump_version(where);
    ++updates_;
}

kernels::SgdStep Optimizer::sgd_step(double lr, double factor) const {
    return {lr, options_.momentum, options_.weight_decay, factor};
}

kernels::AdamStep Optimizer::adam_step(double lr, double factor) const {
    return {.lr = lr,
            .beta1 = options_.beta1,
            .beta2 = options_.beta2,
            .eps = options_.eps,
            .weight_decay = options_.weight_decay,
            .decoupled = options_.method == Method::adamw,
            .update = updates_ + 1,
            .gradient_factor = factor};
}

// A factor measured into `memory` replaces `factor`.
void Optimizer::apply(double lr, double factor, const kernels::UpdateInMemory& memory, Where where) {
    if (options_.method == Method::sgd)
        kernels::sgd_step(parameters_, gradients_, first_, active_, sgd_step(lr, factor), memory, where);
    else
        kernels::adam_step(parameters_, gradients_, first_, second_, active_, adam_step(lr, factor), memory, where);
    ++updates_;
}

void Optimizer::zero_gradients(Where where) { gradients_.fill_(0, where); }

void Optimizer::set_updates(std::int64_t updates) {
    check(updates >= 0, "optimizer: {} updates made so far, wanted at least 0", updates);
    updates_ = updates;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
    if (options_.method == Method::sgd) return {{"momentum", first_}};
    return {{"first_moment", first_}, {"second_moment", second_}};
}

}  // namespace heddle::optim
