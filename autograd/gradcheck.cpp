#include "autograd/gradcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"
#include "core/out_of_memory.h"

namespace heddle {
namespace proof {
namespace {

bool same_bits(const Values& a, const Values& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

Values to_values(const Tensor& tensor) { return tensor.to_vector(); }

Values random_values(std::int64_t count, std::uint64_t key) {
    Tensor values = Tensor::empty({count}, DType::f64);
    fill_normal(values, 0, 1, key);
    return to_values(values);
}

// The proof of one function, step by step; the first step that fails ends it and leaves its message.
class Proof {
  public:
    Proof(const GradientFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options)
        : subject_(function, inputs, options.device), options_(options) {}

    GradcheckReport run() {
        try {
            report_.passed = value_is_finite() && bits_repeat() && gradients_are_right() && zero_gives_zero() &&
                             jacobian_is_right() && combinations_are_right() && remainder_is_quadratic() && inputs_are_kept();
        } catch (const OutOfMemory&) {
            throw;  // says nothing of the gradient
        } catch (const std::exception& error) {
            failed("the function threw: {}", error.what());
        }
        return std::move(report_);
    }

  private:
    template <class... Args>
    bool failed(fmt::format_string<Args...> format, Args&&... args) {
        report_.passed = false;
        report_.message = fmt::format("{}: {}", subject_.ops(), fmt::format(format, std::forward<Args>(args)...));
        return false;
    }

    bool value_is_finite() {
        const Tensor value = subject_.value();
        output_ = value.shape();
        value_ = to_values(value);
        for (std::size_t o = 0; o < value_.size(); ++o)
            if (!std::isfinite(value_[o]))
                return failed("the output {} holds {} at {}; a derivative needs finite values", output_, value_[o],
                              index_text(output_, static_cast<std::int64_t>(o)));
        cotangent_ = Tensor::empty(output_, DType::f64);
        fill_normal(cotangent_, 0, 1, options_.seed);
        cotangent_values_ = to_values(cotangent_);
        return true;
    }

    // Two fresh runs, and a second walk over the tape of the second: nothing random, stale or consumed may enter.
    bool bits_repeat() {
        const std::vector<Tensor> once{cotangent_};
        const std::vector<Tensor> twice{cotangent_, cotangent_};
        Run first = subject_.run(all(), once).front();
        const std::vector<Run> runs = subject_.run(all(), twice);
        if (!same_bits(runs[0].value, first.value))
            return failed("two fresh runs give different values: the function is not deterministic");
        if (!same_bits(first.value, value_)) return failed("the value itself changes when gradients are wanted");
        gradients_ = std::move(first.gradients);
        for (std::size_t i = 0; i < subject_.inputs(); ++i) {
            if (!same_bits(runs[0].gradients[i], gradients_[i]))
                return failed("two fresh runs give input {} gradients with different bits: backward is not deterministic", i);
            // == and not the bits: the second walk adds to zeros, which turns -0 into 0. NaN is left to the comparison.
            for (std::size_t e = 0; e < gradients_[i].size(); ++e)
                if (runs[1].gradients[i][e] != gradients_[i][e] && !std::isnan(gradients_[i][e]))
                    return failed(
                        "a second backward over the same (retained) tape gives input {} another gradient: backward "
                        "changes or consumes what it saved",
                        i);
        }
        return true;
    }

    bool gradients_are_right() {
        for (std::size_t i = 0; i < subject_.inputs(); ++i) {
            numeric_.push_back(differentiate(subject_, i, probed_elements(subject_.input(i).numel(), options_), cotangent_values_,
                                             options_, has_full_jacobian(i)));
            if (!compare(i, gradients_[i], numeric_[i].contracted, "every input requires its gradient, random cotangent"))
                return false;
        }
        return true;
    }

    bool zero_gives_zero() {
        const std::vector<Tensor> zeros{Tensor::zeros(output_, DType::f64)};
        const Run run = subject_.run(all(), zeros).front();
        for (std::size_t i = 0; i < run.gradients.size(); ++i)
            if (!(largest(run.gradients[i]) == 0))
                return failed(
                    "a cotangent of zeros gives input {} {} a gradient of up to {}; backward adds something that does not "
                    "depend on the output's gradient, or reads memory that was never written",
                    i, subject_.input(i).shape(), largest(run.gradients[i]));
        return true;
    }

    // One walk per output element, with a unit cotangent.
    bool jacobian_is_right() {
        const auto outputs = static_cast<std::size_t>(output_.numel());
        std::vector<bool> wanted = all();
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = has_full_jacobian(i);
        if (outputs <= 1 || std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return true;
        std::vector<Tensor> units;
        for (std::size_t o = 0; o < outputs; ++o) {
            units.push_back(Tensor::zeros(output_, DType::f64));
            units.back().data<double>()[o] = 1;
        }
        const std::vector<Run> runs = subject_.run(wanted, units);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double scale = largest(numeric_[i].jacobian);
            Values row(wanted[i] ? numeric_[i].elements.size() : 0);
            for (std::size_t o = 0; o < outputs && wanted[i]; ++o) {
                for (std::size_t e = 0; e < row.size(); ++e) row[e] = numeric_[i].jacobian[e * outputs + o];
                const std::string when = fmt::format("{}, Jacobian of output {}", needs_text(wanted),
                                                     index_text(output_, static_cast<std::int64_t>(o)));
                if (!compare(i, runs[o].gradients[i], row, when, scale)) return false;
            }
        }
        return true;
    }

    bool combinations_are_right() {
        const std::vector<Tensor> once{cotangent_};
        for (const std::vector<bool>& needs : partial_combinations(subject_.inputs())) {
            const Run run = subject_.run(needs, once).front();
            if (!same_bits(run.value, value_)) return failed("the value itself changes when {}", needs_text(needs));
            for (std::size_t i = 0; i < needs.size(); ++i)
                if (needs[i] && !compare(i, run.gradients[i], numeric_[i].contracted, needs_text(needs) + ", random cotangent"))
                    return false;
        }
        return true;
    }

    // f(x + h d) - f(x) - h <g, d> shrinks with h^2 when g is the gradient along d, and with h when it is not.
    bool remainder_is_quadratic() {
        std::vector<Values> direction;
        double slope = 0;
        for (std::size_t i = 0; i < subject_.inputs(); ++i) {
            direction.push_back(random_values(subject_.input(i).numel(), options_.seed + 1 + i));
            const double most = std::max(1.0, largest(direction[i]));
            for (std::size_t e = 0; e < direction[i].size(); ++e) slope += gradients_[i][e] * (direction[i][e] /= most);
        }
        double size = 0;
        for (std::size_t o = 0; o < value_.size(); ++o) size += std::abs(cotangent_values_[o] * value_[o]);
        const double noise = 1e-15 * (size + std::abs(slope));
        double before = 0;
        for (const double h : {options_.step, options_.step / 8}) {
            const Values moved = subject_.value_along(direction, h);
            double remainder = -h * slope;
            for (std::size_t o = 0; o < moved.size(); ++o) remainder += cotangent_values_[o] * (moved[o] - value_[o]);
            remainder = std::abs(remainder);
            if (!std::isfinite(remainder)) return failed("the Taylor remainder along a random direction is {}", remainder);
            // A factor 64 for a smooth function, 8 for a wrong slope.
            if (before > 0 && remainder > 1e3 * noise && before / remainder < 16)
                return failed(
                    "the Taylor remainder along a random direction shrinks {:.3g}-fold when the step shrinks 8-fold, wanted "
                    "64-fold: some gradient is wrong, or the function has a kink nearby",
                    before / remainder);
            before = remainder;
        }
        return true;
    }

    bool inputs_are_kept() {
        return subject_.inputs_unchanged() || failed("the function or its backward changes its inputs in place");
    }

    // |analytic - numeric| <= tolerance * (scale + floor), where NaN fails. `scale` is max |numeric| unless given.
    bool compare(std::size_t i, const Values& gradient, const Values& numeric, const std::string& when, double scale = -1) {
        const std::vector<std::int64_t>& elements = numeric_[i].elements;
        Values analytic;
        for (const std::int64_t element : elements) analytic.push_back(gradient[static_cast<std::size_t>(element)]);
        if (scale < 0) scale = largest(numeric);
        if (declared_zero(i)) {
            if (!(scale <= options_.tolerance * (largest(value_) + 1)))
                return failed("input {} is declared zero by symmetry, but central differences give a derivative of {} ({})", i,
                              scale, when);
            scale = 0;
        }
        const double allowed = options_.tolerance * (scale + options_.floor);
        std::size_t worst = 0;
        std::size_t wrong = 0;
        double error = -1;
        for (std::size_t e = 0; e < elements.size(); ++e) {
            const double wanted = declared_zero(i) ? 0.0 : numeric[e];
            const double here = std::abs(analytic[e] - wanted);
            if (!(here <= allowed)) ++wrong;
            if (std::isnan(error) || here <= error) continue;
            error = here;
            worst = e;
        }
        report_.compared += static_cast<std::int64_t>(elements.size());
        const double relative = error / (scale + options_.floor);
        if (!elements.empty() && !(relative <= report_.worst)) report_.worst = relative;
        if (wrong == 0) return true;
        return failed(
            "the gradient of input {} {} is wrong at {}\n  backward {:.9g}, central differences {:.9g} (error {:.3g}, "
            "allowed {:.3g})\n  wrong: {} of {} derivatives, when {}\n  likely cause: {}",
            i, subject_.input(i).shape(), index_text(subject_.input(i).shape(), elements[worst]), analytic[worst], numeric[worst],
            error, allowed, wrong, elements.size(), when, cause(i, elements[worst], error, analytic, numeric, allowed));
    }

    std::string cause(std::size_t i, std::int64_t element, double error, const Values& analytic, const Values& numeric,
                      double allowed) const {
        if (declared_zero(i)) return "the gradient is declared zero by symmetry, but a term does not cancel";
        if (kink_explains(subject_, i, element, cotangent_values_, options_.step, error))
            return "the function has a kink or jump within a step of this input; move the input away from it";
        Evidence evidence{subject_.input(i).shape(), analytic, numeric, allowed, output_, nullptr, nullptr};
        if (static_cast<std::int64_t>(analytic.size()) != subject_.input(i).numel()) return "unknown (only a part was probed)";
        // The contribution of each output is known for the random cotangent only.
        if (!numeric_[i].jacobian.empty() && &numeric == &numeric_[i].contracted) {
            evidence.cotangent = &cotangent_values_;
            evidence.jacobian = &numeric_[i].jacobian;
        }
        return likely_cause(evidence);
    }

    bool declared_zero(std::size_t i) const {
        const std::vector<int>& declared = options_.zero_by_symmetry;
        return std::find(declared.begin(), declared.end(), static_cast<int>(i)) != declared.end();
    }

    bool has_full_jacobian(std::size_t i) const {
        const std::int64_t elements = subject_.input(i).numel();
        return elements > 0 && output_.numel() * elements <= options_.full_jacobian_up_to;
    }

    std::vector<bool> all() const { return std::vector<bool>(subject_.inputs(), true); }

    Subject subject_;
    const GradcheckOptions& options_;
    GradcheckReport report_;
    Shape output_;
    Values value_;
    Tensor cotangent_;
    Values cotangent_values_;
    std::vector<Values> gradients_;     // for the random cotangent, every input required
    std::vector<Derivatives> numeric_;  // per input
};

}  // namespace
}  // namespace proof

GradcheckReport gradcheck(const GradientFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    for (const int i : options.zero_by_symmetry)
        check(i >= 0 && i < static_cast<int>(inputs.size()), "gradcheck: input {} is declared zero by symmetry, but there are {}",
              i, inputs.size());
    return proof::Proof(function, inputs, options).run();
}

GradcheckReport gradcheck(const GradientCase& one) {
    GradcheckReport report = gradcheck(one.function, one.inputs, one.options);
    if (!report.passed) report.message = fmt::format("{} ({}): {}", one.op, one.what, report.message);
    return report;
}

}  // namespace heddle
