#include "autograd/gradcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle {
namespace proof {
namespace {

// Proves one function's gradient step by step; the first failing step ends the proof and leaves its message.
class Proof {
  public:
    Proof(const GradientFunctions& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options)
        : function_(function), subject_(function, inputs, options.device), options_(options) {}

    GradcheckReport run() {
        const auto steps = [this] {
            return value_can_be_derived() && bits_repeat() && gradients_are_right() && zero_gives_zero() &&
                   outputs_alone_are_right() && jacobian_is_right() && combinations_are_right() && points_are_right();
        };
        report_.passed = passes(steps, [this](const char* error) { return failed("the function threw: {}", error); });
        return std::move(report_);
    }

  private:
    template <class... Args>
    bool failed(fmt::format_string<Args...> format, Args&&... args) {
        report_.passed = false;
        report_.message = fmt::format("{}: {}", subject_.ops(), fmt::format(format, std::forward<Args>(args)...));
        return false;
    }

    bool value_can_be_derived() {
        for (const Tensor& output : subject_.outputs()) {
            shapes_.push_back(output.shape());
            const Values values = output.to_vector();
            value_.insert(value_.end(), values.begin(), values.end());
        }
        for (std::size_t o = 0; o < value_.size(); ++o)
            if (!std::isfinite(value_[o]))
                return failed("{}; a derivative needs finite values", not_finite_text(shapes_, o, value_[o]));
        for (const Shape& shape : shapes_)
            if (shape.numel() == 0) return failed("the output {} has no elements, so nothing can be proven", shape);
        if (shapes_.empty() || subject_.inputs() == 0)
            return failed("no {}, so nothing can be proven", shapes_.empty() ? "output" : "input");
        for (std::size_t i = 0; i < subject_.inputs(); ++i)
            if (subject_.input(i).numel() == 0 && !declared_zero(i))
                return failed("input {} {} has no elements, so nothing can be proven", i, subject_.input(i).shape());
        if (!inputs_are_kept("the function")) return false;
        sums_ = {random_values(std::ssize(value_), options_.seed)};
        std::size_t begin = 0;
        for (const Shape& shape : shapes_) {
            const auto count = static_cast<std::size_t>(shape.numel());
            if (shapes_.size() > 1) {
                sums_.emplace_back(value_.size(), 0.0);
                std::copy_n(sums_[0].begin() + static_cast<std::ptrdiff_t>(begin), count,
                            sums_.back().begin() + static_cast<std::ptrdiff_t>(begin));
            }
            begin += count;
        }
        cotangents_ = cotangents_of(sums_[0], shapes_);
        return true;
    }

    bool inputs_are_kept(const char* what) {
        const std::optional<std::size_t> changed = subject_.changed_input();
        return !changed || failed("{} changes input {} in place; change a clone()", what, *changed);
    }

    // Checks that a second walk over the tape of `pass`, whose first one gave `gradients`, gives the same bits.
    bool walk_repeats(Forward& pass, const std::vector<Values>& gradients, const std::string& when) {
        std::vector<Values> retained;
        try {
            retained = subject_.back(pass, cotangents_);
        } catch (const Error& error) {
            return failed(
                "a second backward over the same (retained) tape fails{}: backward changes or consumes what it saved\n  {}", when,
                error.what());
        }
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (!same_bits(retained[i], gradients[i]))
                return failed(
                    "a second backward over the same (retained) tape gives {} another gradient{}: backward changes or consumes "
                    "what it saved",
                    input_text(subject_, i), when);
        return inputs_are_kept("backward");
    }

    // Checks that two fresh runs, and a second walk over the second tape, give the same bits: nothing random, stale or consumed.
    bool bits_repeat() {
        const FreshTape fresh;
        Forward first = subject_.forward(all());
        if (!inputs_are_kept("the function")) return false;
        gradients_ = subject_.back(first, cotangents_);
        if (!inputs_are_kept("backward")) return false;
        Forward second = subject_.forward(all());
        if (!same_bits(first.value, second.value))
            return failed("two fresh runs give different values: the function is not deterministic");
        if (!same_bits(first.value, value_)) return failed("the value itself changes when gradients are wanted");
        const std::vector<Values> again = subject_.back(second, cotangents_, true);
        for (std::size_t i = 0; i < again.size(); ++i)
            if (!same_bits(again[i], gradients_[i]))
                return failed("two fresh runs give input {} gradients with different bits: backward is not deterministic", i);
        return walk_repeats(second, gradients_, "");
    }

    bool gradients_are_right() {
        noise_ = noise_of(subject_, sums_, options_.seed);
        for (std::size_t i = 0; i < subject_.inputs(); ++i) {
            const Wanted wanted{value_, sums_, noise_, options_.tolerance, options_.floor, options_.step, has_full_jacobian(i)};
            numeric_.push_back(derivatives(subject_, i, probed_elements(gradients_[i], options_), wanted));
            if (!compare(i, gradients_[i], of_sum(i, 0), "every input requires its gradient, random cotangent") ||
                !has_no_kink(i) || !is_known(i, wanted) || !is_not_zero(i))
                return false;
        }
        return true;
    }

    bool zero_gives_zero() {
        const FreshTape fresh;
        Forward pass = subject_.forward(all());
        const std::vector<Values> gradients = subject_.back(pass, cotangents_of(Values(value_.size(), 0.0), shapes_));
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (!(largest(gradients[i]) == 0))
                return failed(
                    "a cotangent of zeros gives {} a gradient of up to {}; backward adds something that does not depend on the "
                    "output's gradient, or reads memory that was never written",
                    input_text(subject_, i), number_text(largest(gradients[i])));
        return true;
    }

    // Checks backward from each of several outputs by itself; the others receive no gradient.
    bool outputs_alone_are_right() {
        for (std::size_t k = 0; k + 1 < sums_.size(); ++k) {
            const FreshTape fresh;
            Forward pass = subject_.forward(all());
            Cotangents alone(shapes_.size());
            alone[k] = cotangents_[k];
            const std::vector<Values> gradients = subject_.back(pass, alone);
            for (std::size_t i = 0; i < gradients.size(); ++i)
                if (!compare(i, gradients[i], of_sum(i, k + 1), fmt::format("backward starts from output {} alone", k)))
                    return false;
        }
        return true;
    }

    // Checks the Jacobian by one walk per output element, with unit cotangents.
    bool jacobian_is_right() {
        const std::size_t outputs = value_.size();
        std::vector<bool> wanted = all();
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = has_full_jacobian(i);
        if (outputs <= 1 || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return true;
        const FreshTape fresh;
        Forward pass = subject_.forward(wanted);
        std::size_t o = 0;
        for (std::size_t k = 0; k < shapes_.size(); ++k)
            for (std::int64_t element = 0; element < shapes_[k].numel(); ++element, ++o) {
                Cotangents unit(shapes_.size());
                unit[k] = Tensor::zeros(shapes_[k], DType::f64);
                unit[k].mutable_data<double>()[element] = 1;
                const std::vector<Values> rows = subject_.back(pass, unit, true);
                for (std::size_t i = 0; i < wanted.size(); ++i)
                    if (wanted[i] &&
                        !compare(i, rows[i], of_output(i, o),
                                 fmt::format("{}, Jacobian of output {}", needs_text(wanted), output_text(shapes_, o))))
                        return false;
            }
        return true;
    }

    bool combinations_are_right() {
        for (const std::vector<bool>& needs : partial_combinations(subject_.inputs())) {
            const FreshTape fresh;
            Forward pass = subject_.forward(needs);
            if (!same_bits(pass.value, value_)) return failed("the value itself changes when {}", needs_text(needs));
            const std::vector<Values> gradients = subject_.back(pass, cotangents_, true);
            for (std::size_t i = 0; i < needs.size(); ++i)
                if (needs[i] && !compare(i, gradients[i], of_sum(i, 0), needs_text(needs) + ", random cotangent")) return false;
            if (!walk_repeats(pass, gradients, " when " + needs_text(needs))) return false;
        }
        return true;
    }

    // The direction also covers the elements of large inputs that were not probed one by one.
    bool points_are_right() {
        const bool all_probed =
            std::all_of(numeric_.begin(), numeric_.end(), [&, i = std::size_t{0}](const Derivatives& each) mutable {
                return std::ssize(each.elements) == subject_.input(i++).numel();
            });
        const Points points{subject_, function_, options_, cotangents_, sums_[0], value_, gradients_};
        std::optional<std::string> wrong = wrong_for_held_gradients(points);
        if (!wrong) wrong = wrong_for_scaled_cotangents(points);
        if (!wrong) wrong = wrong_after_changes(points);
        if (!wrong && !all_probed) wrong = wrong_along_a_direction(points);
        if (!wrong) wrong = wrong_at_other_points(points);
        if (!wrong) wrong = wrong_for_one_variable_twice(points);
        if (!wrong) wrong = wrong_when_repeated(points);
        return !wrong || failed("{}", *wrong);
    }

    // Numeric derivatives that a gradient is compared with.
    struct Reference {
        std::span<const double> derivative, bound;
        Values scale;
        bool contracted;  // sum over all outputs with the random cotangent
        bool known;       // is_known() has checked its bounds
    };

    Reference of_sum(std::size_t i, std::size_t s) const {
        const Contracted& sum = numeric_[i].sums[s];
        Values scale = sum.scale;
        const double least = declared_zero(i) ? largest(value_) + 1 : sum.least_scale;
        for (double& each : scale) each = std::max(each, least);
        return {sum.derivative, sum.bound, std::move(scale), s == 0, true};
    }

    Reference of_output(std::size_t i, std::size_t o) {
        const std::size_t outputs = value_.size();
        const Derivatives& all = numeric_[i];
        row_.clear(), row_bound_.clear();
        for (std::size_t e = 0; e < all.elements.size(); ++e) {
            row_.push_back(all.jacobian[e * outputs + o]);
            row_bound_.push_back(all.jacobian_bound[e * outputs + o]);
        }
        const double least = declared_zero(i) ? largest(value_) + 1 : options_.floor * largest(all.jacobian);
        Values scale = row_;
        for (double& each : scale) each = std::max(std::abs(each), least);
        return {row_, row_bound_, std::move(scale), false, false};
    }

    // |analytic - numeric| <= bound, where NaN fails.
    bool compare(std::size_t i, const Values& gradient, const Reference& wanted, const std::string& when) {
        const std::vector<std::int64_t>& elements = numeric_[i].elements;
        const Shape& shape = subject_.input(i).shape();
        if (report_.compared == 0 && !elements.empty()) report_.worst = 0;
        Values analytic;
        std::size_t worst = 0, wrong = 0;
        double most = -1;
        for (std::size_t e = 0; e < elements.size(); ++e) {
            analytic.push_back(gradient[static_cast<std::size_t>(elements[e])]);
            if (std::isinf(wanted.bound[e]) && std::isfinite(analytic[e])) {
                if (wanted.known) continue;  // rejected by is_known()
                return failed("{} cannot be proven{}: no step gives a finite difference, when {}", input_text(subject_, i),
                              at_text(shape, elements[e]), when);
            }
            if (declared_zero(i) && !(std::abs(wanted.derivative[e]) <= wanted.bound[e]))
                return failed("input {} is declared zero by symmetry, but central differences give a derivative of {}{} ({})", i,
                              wanted.derivative[e], at_text(shape, elements[e]), when);
            const double error = std::abs(analytic[e] - wanted.derivative[e]);
            const double relative = error == 0 ? 0 : error / wanted.scale[e];
            if (!std::isnan(report_.worst) && !(relative <= report_.worst)) report_.worst = relative;
            // The terms of a gradient of zero cancel; their rounding errors do not.
            if (declared_zero(i) ? std::abs(analytic[e]) <= wanted.bound[e] + 1e-12 * (largest(value_) + 1)
                                 : error <= wanted.bound[e])
                continue;
            ++wrong;
            if (!std::isnan(most) && !(relative <= (1 + 1e-6) * most)) {  // the first of equal ones
                most = relative;
                worst = e;
            }
        }
        report_.compared += std::ssize(elements);
        if (wrong == 0) return true;
        const double error = std::abs(analytic[worst] - wanted.derivative[worst]);
        const int digits = error < 1e-6 * std::abs(wanted.derivative[worst]) ? 15 : 9;
        const std::string numbers =
            fmt::format("  backward {}, central differences {} (error {}, allowed {:.3g})", number_text(analytic[worst], digits),
                        number_text(wanted.derivative[worst], digits), number_text(error, 3), wanted.bound[worst]);
        const std::string input = input_text(subject_, i), at = at_text(shape, elements[worst]);
        if (!std::isnan(error) && !declared_zero(i) &&
            (error <= numeric_[i].sums[0].jump[worst] ||
             kink_explains(subject_, i, elements[worst], sums_[0], noise_[value_.size()], error)))
            return failed(
                "{} cannot be proven{}: the function has a kink or jump within a step of this input; move the input away from "
                "it\n{}",
                input, at, numbers);
        return failed("the gradient of {} is wrong{}\n{}\n  wrong: {} of {} derivatives, when {}\n  likely cause: {}", input, at,
                      numbers, wrong, elements.size(), when, cause(i, analytic, wanted));
    }

    std::string cause(std::size_t i, const Values& analytic, const Reference& wanted) const {
        if (declared_zero(i)) return "the gradient is declared zero by symmetry, but a term does not cancel";
        if (std::ssize(analytic) != subject_.input(i).numel()) return "unknown (only a part was probed)";
        const Shape output = shapes_.size() == 1 ? shapes_[0] : Shape{std::ssize(value_)};
        Evidence evidence{subject_.input(i).shape(), analytic, wanted.derivative, wanted.bound, output, nullptr, nullptr};
        // The contribution of each output is only known for the random cotangent.
        if (!numeric_[i].jacobian.empty() && wanted.contracted) {
            evidence.cotangent = &sums_[0];
            evidence.jacobian = &numeric_[i].jacobian;
        }
        return likely_cause(evidence);
    }

    // A bound so wide that it could hide a mistake proves nothing. Each of several outputs is checked, because the bound of a
    // large one would hide that a small one's is too wide.
    bool is_known(std::size_t i, const Wanted& wanted) {
        for (std::size_t s = 0; s < wanted.sums.size(); ++s)
            if (!is_known(i, s, wanted)) return false;
        return true;
    }

    bool is_known(std::size_t i, std::size_t s, const Wanted& wanted) {
        const double noise = wanted.noise[value_.size() + s];
        const Reference sum = of_sum(i, s);
        for (std::size_t e = 0; e < sum.bound.size(); ++e) {
            const double part = sum.bound[e] == 0 ? 0 : sum.bound[e] / sum.scale[e];
            report_.resolution = std::max(report_.resolution, part);
            if (part <= options_.tolerance) continue;
            const std::int64_t element = numeric_[i].elements[e];
            const double first = options_.step * std::max(1.0, std::abs(subject_.input(i).data<double>()[element]));
            const bool hidden = is_rounding(wanted) && sum.bound[e] <= 1e3 * noise / first;
            const std::string backward = s == 0 ? "backward " + number_text(gradients_[i][static_cast<std::size_t>(element)], 9)
                                                : fmt::format("of output {} alone", s - 1);
            const std::string why =
                std::isinf(sum.bound[e]) ? "no step gives a finite difference"
                : hidden && moves_like_float(wanted)
                    ? fmt::format(
                          "the value moves in steps as coarse as those of float rounding, of about {:.2g}: the function "
                          "computes in float somewhere, or takes the difference of large numbers",
                          noise)
                : hidden ? fmt::format(
                               "the value is so large beside this derivative that its rounding error of {:.2g} hides the "
                               "change",
                               noise)
                         : fmt::format(
                               "every step from {:.2g} to {:.2g} is too large here, or the function has a kink or jump, or "
                               "is not smooth",
                               first, numeric_[i].smallest_step);
            return failed(
                "{} cannot be proven{}: central differences are too inexact there, which says nothing about backward\n  {}, "
                "central differences {} within {:.2g}, wanted within {:.2g}\n  likely cause: {}",
                input_text(subject_, i), at_text(subject_.input(i).shape(), element), backward, number_text(sum.derivative[e], 9),
                sum.bound[e], options_.tolerance * sum.scale[e], why);
        }
        return true;
    }

    bool has_no_kink(std::size_t i) {
        const Values& jump = numeric_[i].sums[0].jump;
        const auto most = std::max_element(jump.begin(), jump.end());
        if (most == jump.end() || *most == 0) return true;
        return failed(
            "the function has a kink{} of {}: its one-sided derivatives differ by {:.3g}, so there is none to compare with; move "
            "the input away from it",
            at_text(subject_.input(i).shape(), numeric_[i].elements[static_cast<std::size_t>(most - jump.begin())]),
            input_text(subject_, i), *most);
    }

    // Without this check, a backward that gives nothing, or any multiple of a zero, would pass.
    bool is_not_zero(std::size_t i) {
        const Reference sum = of_sum(i, 0);
        for (std::size_t e = 0; e < sum.bound.size(); ++e)
            if (declared_zero(i) || std::abs(sum.derivative[e]) > sum.bound[e]) return true;
        return sum.bound.empty() || failed(
                                        "every derivative by {} is zero within {:.2g}, so nothing can be proven; if it is zero "
                                        "for all values, declare it in zero_by_symmetry",
                                        input_text(subject_, i), largest(sum.bound));
    }

    bool declared_zero(std::size_t i) const { return declares_zero(options_, i); }

    bool has_full_jacobian(std::size_t i) const {
        const std::int64_t elements = subject_.input(i).numel();
        return elements > 0 && std::ssize(value_) * elements <= options_.full_jacobian_up_to;
    }

    std::vector<bool> all() const { return std::vector<bool>(subject_.inputs(), true); }

    const GradientFunctions& function_;
    Subject subject_;
    const GradcheckOptions& options_;
    GradcheckReport report_;
    std::vector<Shape> shapes_;         // of all outputs
    Values value_;                      // of all output elements
    std::vector<Values> sums_;          // with the random cotangent; for several outputs, then with its part for each
    Cotangents cotangents_;             // for the first of sums_
    Values noise_;                      // of value_, then of sums_
    std::vector<Values> gradients_;     // for the random cotangent, every input required
    std::vector<Derivatives> numeric_;  // per input
    Values row_, row_bound_;            // one row of the Jacobian
};

}  // namespace
}  // namespace proof

GradcheckReport gradcheck(const GradientFunctions& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    GradcheckReport report;
    const auto proof = [&] {
        for (const int i : options.zero_by_symmetry)
            check(i >= 0 && i < static_cast<int>(inputs.size()),
                  "gradcheck: input {} is declared zero by symmetry, but there are {}", i, inputs.size());
        report = proof::Proof(function, inputs, options).run();
        return true;
    };
    proof::passes(proof, [&](const char* error) {
        report.message = error;
        return false;
    });
    return report;
}

GradcheckReport gradcheck(const GradientFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    return gradcheck(GradientFunctions([&](std::span<const Variable> in) { return std::vector<Variable>{function(in)}; }), inputs,
                     options);
}

}  // namespace heddle
