#include "heddle/optimizers.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "kernels/gradient_norm/gradient_norm.h"

namespace heddle::optim {
namespace {

template <class Options>
OptimizerOptions by_moments(Method method, const Options& options) {
    return {.method = method,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .eps = options.eps,
            .weight_decay = options.weight_decay};
}

OptimizerOptions of_sgd(const SGDOptions& options) {
    return {.method = Method::sgd, .momentum = options.momentum, .weight_decay = options.weight_decay};
}

// A module by itself keeps its arrays for a second optimizer.
nn::FlatParameters flat_parameters(const std::vector<ParameterGroup>& groups) {
    if (groups.size() == 1 && groups.front().parameters.module() != nullptr)
        return nn::flatten(*groups.front().parameters.module());
    std::vector<nn::Parameter> all;
    for (const ParameterGroup& group : groups) {
        const std::vector<nn::Parameter>& own = group.parameters.parameters();
        check(!own.empty(), "optimizer: a group has no parameters");
        all.insert(all.end(), own.begin(), own.end());
    }
    return nn::flatten(std::move(all));
}

// The parts of ascending ranges within [begin, end), counted from there.
std::vector<Span> ranges_within(const std::vector<Span>& ranges, std::int64_t begin, std::int64_t end) {
    std::vector<Span> parts;
    for (const Span& range : ranges) {
        const std::int64_t first = std::max(range.start, begin), last = std::min(range.start + range.length, end);
        if (first < last) parts.push_back({first - begin, last - first});
    }
    return parts;
}

}  // namespace

ModuleOptimizer::ModuleOptimizer(const std::vector<ParameterGroup>& groups, Rate lr, double clip, const OptimizerOptions& options)
    : parameters_(flat_parameters(groups)), lr_(lr), clip_(clip) {
    check_rate(lr);
    check(clip >= 0, "optimizer: the largest norm of the gradient is {}, wanted at least 0; 0 is for no limit", clip);
    std::size_t entry = 0;
    std::int64_t begin = 0;
    for (const ParameterGroup& group : groups) {
        OptimizerOptions own = options;
        if (group.weight_decay) own.weight_decay = *group.weight_decay;
        if (group.lr) check_rate(*group.lr);
        const std::size_t first = entry;
        entry += group.parameters.parameters().size();
        for (const nn::Parameter& parameter : group.parameters.parameters())
            check(parameters_.has(parameter.variable, first, entry),
                  "optimizer: the parameters of a group do not lie side by side where another optimizer has put them; give both "
                  "the same groups in the same order");
        const std::int64_t end =
            entry < parameters_.entries.size() ? parameters_.entries[entry].begin : parameters_.values.numel();
        groups_.push_back({Optimizer(parameters_.values.slice(begin, end), parameters_.gradients.slice(begin, end), own), begin,
                           end, group.lr.value_or(lr)});
        begin = end;
    }
}

void ModuleOptimizer::zero_grad(Where where) {
    for (Group& group : groups_) group.optimizer.zero_gradients(where);
}

double ModuleOptimizer::step(Where where) { return step_by(1, where); }

double ModuleOptimizer::step(Rate lr, Where where) {
    check_rate(lr);
    if (groups_.size() == 1 && groups_.front().lr == lr_) {
        groups_.front().optimizer.set_active(parameters_.active());
        return groups_.front().optimizer.step({.lr = lr, .clip = clip_}, where);
    }
    check(lr_ > 0, "optimizer: the options' rate is 0, so that no group's rate has a ratio to it; call set_lr()");
    return step_by(lr / lr_, where);
}

// One group is stepped as it is, with the factor 1 or another. Of several, the norm is measured over all of them first.
double ModuleOptimizer::step_by(double factor, Where where) {
    const std::vector<Span> active = parameters_.active();
    if (groups_.size() == 1) {
        groups_.front().optimizer.set_active(active);
        return groups_.front().optimizer.step({.lr = groups_.front().lr * factor, .clip = clip_}, where);
    }
    const Tensor measured =
        kernels::measure_gradients(parameters_.gradients, Spans(active, parameters_.gradients.numel()), clip_);
    const double norm = measured.to_vector()[0];
    if (!std::isfinite(norm)) throw NotFinite::of_gradient(norm, groups_.front().optimizer.updates());
    for (Group& group : groups_) {
        group.optimizer.set_active(ranges_within(active, group.begin, group.end));
        group.optimizer.step_measured({.lr = group.lr * factor}, measured, {}, where);
    }
    return norm;
}

void ModuleOptimizer::set_lr(Rate lr) {
    check_rate(lr);
    lr_ = lr;
    for (Group& group : groups_) group.lr = lr;
}

void ModuleOptimizer::set_lr(std::size_t group, Rate lr) {
    check_rate(lr);
    groups_.at(group).lr = lr;
}

Adam::Adam(const std::vector<ParameterGroup>& groups, const AdamOptions& options)
    : ModuleOptimizer(groups, options.lr, options.clip, by_moments(Method::adam, options)) {}
Adam::Adam(const Trained& trained, const AdamOptions& options)
    : Adam(std::vector<ParameterGroup>{{.parameters = trained}}, options) {}

AdamW::AdamW(const std::vector<ParameterGroup>& groups, const AdamWOptions& options)
    : ModuleOptimizer(groups, options.lr, options.clip, by_moments(Method::adamw, options)) {}
AdamW::AdamW(const Trained& trained, const AdamWOptions& options)
    : AdamW(std::vector<ParameterGroup>{{.parameters = trained}}, options) {}

SGD::SGD(const std::vector<ParameterGroup>& groups, const SGDOptions& options)
    : ModuleOptimizer(groups, options.lr, options.clip, of_sgd(options)) {}
SGD::SGD(const Trained& trained, const SGDOptions& options)
    : SGD(std::vector<ParameterGroup>{{.parameters = trained}}, options) {}

}  // namespace heddle::optim
