#include "autograd/exact_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/gradcheck_impl.h"
#include "core/dual.h"
#include "core/format.h"
#include "core/random.h"

namespace heddle {
namespace {

using Values = std::vector<double>;
using Inputs = std::vector<Tensor>;
using proof::largest;

// The terms of an inner product.
struct InnerProduct {
    double sum = 0;
    double absolute = 0;

    void add(const Values& a, const Values& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            sum += a[i] * b[i];
            absolute += std::abs(a[i] * b[i]);
        }
    }
};

// |a - b| over the absolute terms; 0 if there are none, NaN if a term is NaN.
double relative_gap(const InnerProduct& a, const InnerProduct& b) {
    const double scale = a.absolute + b.absolute;
    return scale == 0 ? 0 : std::abs(a.sum - b.sum) / scale;
}

// inputs + step * direction
Inputs moved(const Inputs& inputs, const Inputs& direction, double step) {
    Inputs result;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        result.push_back(inputs[i].clone());
        for (std::int64_t e = 0; e < inputs[i].numel(); ++e)
            result.back().mutable_data<double>()[e] += step * direction[i].data<double>()[e];
    }
    return result;
}

Inputs dual_inputs(const Inputs& inputs, const Inputs& direction) {
    check(inputs.size() == direction.size(), "exact_check: {} inputs, but {} directions", inputs.size(), direction.size());
    Inputs result;
    for (std::size_t i = 0; i < inputs.size(); ++i) result.push_back(make_dual(inputs[i], direction[i]));
    return result;
}

// c + w y in y's dtype and on its device: the gradient of <c, y> + <w, y y> / 2.
struct Cotangent {
    Values c, w;

    Tensor at(const Tensor& y) const {
        const Tensor on_cpu = y.to(Device::cpu);
        Tensor result = Tensor::empty(y.shape(), y.dtype());
        dispatch_real("exact_check", on_cpu, [&]<class T>(TypeTag<T>) {
            for (std::size_t i = 0; i < c.size(); ++i)
                result.mutable_data<T>()[i] = static_cast<T>(c[i] + w[i] * Accumulator<T>(on_cpu.data<T>()[i]));
        });
        return result.to(y.device());
    }
};

// Calls the function with the same random state each time.
class Calls {
  public:
    explicit Calls(const GradientFunction& function) : function_(function), generator_(generator()) {}

    Tensor value(const Inputs& inputs) const {
        const NoGrad no_grad;
        return call(std::vector<Variable>(inputs.begin(), inputs.end())).value();
    }

    // Gradients on the CPU, with zeros for inputs that none reached. All inputs require their gradient.
    template <class CotangentOf>
    std::vector<Tensor> gradients(const Inputs& inputs, const CotangentOf& cotangent) const {
        const FreshTape fresh;
        std::vector<Variable> leaves;
        for (const Tensor& input : inputs) leaves.emplace_back(input, true);
        const Variable output = call(leaves);
        if (output.requires_grad() && !output.is_leaf()) backward(output, cotangent(output.value()));
        std::vector<Tensor> result;
        for (const Variable& leaf : leaves)
            result.push_back(leaf.grad().defined() ? leaf.grad().to(Device::cpu) : Tensor::zeros(leaf.shape(), leaf.dtype()));
        return result;
    }

  private:
    Variable call(const std::vector<Variable>& inputs) const {
        const RandomState state(generator_);
        Variable output = function_(inputs);
        check(output.defined(), "exact_check: the function gave an undefined Variable");
        check(inputs.empty() || output.dtype() == inputs.front().dtype(),
              "exact_check: the function gave {} from {} inputs; it must pass the dtype of its inputs on", output.dtype(),
              inputs.empty() ? DType::f64 : inputs.front().dtype());
        return output;
    }

    const GradientFunction& function_;
    Generator generator_;
};

// Richardson's extrapolation of central differences with steps h, h / 2 and h / 4: an error of h^6. `at(h)` is the function along
// the direction.
template <class Function>
Values differences(const Function& at) {
    constexpr double kStep = 1e-3;  // gradient cases stay this far from kinks
    const auto central = [&](double h) {
        Values slope = at(h);
        const Values low = at(-h);
        for (std::size_t o = 0; o < slope.size(); ++o) slope[o] = (slope[o] - low[o]) / (2 * h);
        return slope;
    };
    const Values wide = central(kStep), half = central(kStep / 2);
    Values slope = central(kStep / 4);
    for (std::size_t o = 0; o < slope.size(); ++o) {
        const double coarse = (4 * half[o] - wide[o]) / 3, fine = (4 * slope[o] - half[o]) / 3;
        slope[o] = (16 * fine - coarse) / 15;
    }
    return slope;
}

Values all_values(const std::vector<Tensor>& tensors) {
    Values result;
    for (const Tensor& tensor : tensors) {
        const Values values = tensor.to_vector();
        result.insert(result.end(), values.begin(), values.end());
    }
    return result;
}

class ExactChecks {
  public:
    ExactChecks(const GradientFunction& function, const Inputs& inputs, const GradcheckOptions& options)
        : calls_(function), options_(options) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            check_dtype("exact_check", fmt::format("input {}", i).c_str(), inputs[i], DType::f64);
            inputs_.push_back(inputs[i].to(Device::cpu).clone());
        }
    }

    ExactReport run() {
        const auto checks = [this] {
            if (!has_value()) return false;
            // All three are run, so that the report has each result.
            const bool forward = forward_is_right(), adjoint = adjoint_is_right(), hessian = hessian_is_right();
            return forward && adjoint && hessian;
        };
        report_.passed = proof::passes(checks, [this](const char* error) { return failed("the function threw: {}", error); });
        return std::move(report_);
    }

  private:
    auto cotangent() const {
        return [this](const Tensor& y) { return cotangent_.at(y); };
    }

    template <class... Args>
    bool failed(fmt::format_string<Args...> format, Args&&... args) {
        report_.passed = false;
        if (!report_.message.empty()) report_.message += "\n";
        report_.message += fmt::format(format, std::forward<Args>(args)...);
        return false;
    }

    // Random numbers with a largest magnitude of 1, in the shapes of the inputs; only for input `only` unless that is -1.
    Inputs direction(std::uint64_t number, int only = -1) const {
        Inputs result;
        double most = 0;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const bool wanted = only < 0 || static_cast<int>(i) == only;
            result.push_back(wanted ? random_input(inputs_[i].shape(), options_.seed + 1000 * number + i)
                                    : Tensor::zeros(inputs_[i].shape(), DType::f64));
            most = std::max(most, largest(result.back().to_vector()));
        }
        for (Tensor& part : result)
            for (double& value : part.mutable_values<double>()) value = most > 0 ? value / most : 0;
        return result;
    }

    bool has_value() {
        value_ = calls_.value(inputs_).to_vector();
        if (value_.empty()) return failed("the output has no elements");
        for (std::size_t o = 0; o < value_.size(); ++o)
            if (!std::isfinite(value_[o]))
                return failed("the output holds {} at {}; a derivative needs finite values", value_[o], o);
        return true;
    }

    bool forward_is_right() {
        const Inputs along = direction(1);
        const Tensor dual = calls_.value(dual_inputs(inputs_, along));
        const Values again = dual.to_vector();
        for (std::size_t o = 0; o < again.size(); ++o)
            if (!(std::abs(again[o] - value_[o]) <= kExactBound * largest(value_)))
                return failed("on dual numbers output {} is {:.17g}, in f64 it is {:.17g}", o, again[o], value_[o]);
        const Values exact = derivative_of(dual).to_vector();
        const Values numeric = differences([&](double h) { return calls_.value(moved(inputs_, along, h)).to_vector(); });
        const std::size_t worst = compare(exact, numeric, largest(value_), report_.forward);
        return report_.forward <= kForwardBound || failed(
                                                       "the forward derivative of output {} along a random direction is {:.12g}, "
                                                       "but central differences give {:.12g}",
                                                       worst, exact[worst], numeric[worst]);
    }

    // Index of the worst element, and its error relative to the largest number. `size` is that of the differenced values, whose
    // rounding is 1e-12 of it.
    static std::size_t compare(const Values& exact, const Values& numeric, double size, double& error) {
        const double scale = largest(numeric) + 1e-3 + 1e-5 * size;
        std::size_t worst = 0;
        error = 0;
        for (std::size_t o = 0; o < exact.size(); ++o) {
            const double here = std::abs(exact[o] - numeric[o]) / scale;
            if (here <= error) continue;
            error = here;
            worst = o;
            if (std::isnan(here)) break;
        }
        return worst;
    }

    bool adjoint_is_right() {
        cotangent_.c = random_input({std::ssize(value_)}, options_.seed).to_vector();
        cotangent_.w = Values(value_.size(), 0.0);
        Inputs there;
        for (const Tensor& input : inputs_) there.push_back(input.to(options_.device));
        gradients_.clear();
        for (const Tensor& gradient : calls_.gradients(there, cotangent())) gradients_.push_back(gradient.to_vector());
        for (int only = -1; only < static_cast<int>(inputs_.size()); ++only)
            if (!adjoint_holds(only)) return false;
        return true;
    }

    // Along all inputs, or along one of them.
    bool adjoint_holds(int only) {
        const Inputs along = direction(2, only);
        InnerProduct forward, back;
        forward.add(cotangent_.c, derivative_of(calls_.value(dual_inputs(inputs_, along))).to_vector());
        for (std::size_t i = 0; i < inputs_.size(); ++i) back.add(gradients_[i], along[i].to_vector());
        if (only >= 0 &&
            proof::declares_zero(options_, static_cast<std::size_t>(only))) {  // both sides are rounding of the value
            forward.absolute += largest(value_);
            back.absolute += largest(value_);
        }
        const double gap = relative_gap(forward, back);
        if (!(gap <= report_.adjoint)) report_.adjoint = gap;
        if (gap <= kExactBound) return true;
        return failed(
            "the adjoint identity fails {}: <c, J x'> is {:.17g}, <J^T c, x'> is {:.17g} ({:.1e} of the sum of absolute terms)\n "
            " {}",
            only < 0 ? "along all inputs"
                     : fmt::format("along input {} {}", only, inputs_[static_cast<std::size_t>(only)].shape()),
            forward.sum, back.sum, gap, worst_element());
    }

    // Each element's derivative by a separate run, for the message.
    std::string worst_element() const {
        constexpr std::int64_t kMost = 4096;
        double error = -1;
        std::string text = "every element agrees by itself to rounding";
        std::int64_t left = kMost;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            for (std::int64_t e = 0; e < inputs_[i].numel() && left > 0; ++e, --left) {
                Inputs unit;
                for (const Tensor& input : inputs_) unit.push_back(Tensor::zeros(input.shape(), DType::f64));
                unit[i].mutable_data<double>()[e] = 1;
                InnerProduct exact;
                exact.add(cotangent_.c, derivative_of(calls_.value(dual_inputs(inputs_, unit))).to_vector());
                const double backward = gradients_[i][static_cast<std::size_t>(e)];
                const double here = std::abs(backward - exact.sum);
                if (here <= error || here <= kExactBound * exact.absolute) continue;
                error = here;
                text = fmt::format("worst at element {} of input {} {}: backward {:.17g}, forward derivative {:.17g}", e, i,
                                   inputs_[i].shape(), backward, exact.sum);
            }
        return text;
    }

    bool hessian_is_right() {
        cotangent_.w = random_input({std::ssize(value_)}, options_.seed + 1).to_vector();
        const Inputs u = direction(3), v = direction(4);
        const Values along_u = hessian_along(u), along_v = hessian_along(v);
        InnerProduct uv, vu;
        uv.add(all_values(u), along_v);
        vu.add(all_values(v), along_u);
        report_.hessian = relative_gap(uv, vu);
        if (!(report_.hessian <= kExactBound))
            return failed(
                "the Hessian is not symmetric: <u, H v> is {:.17g}, <v, H u> is {:.17g} ({:.1e} of the sum of absolute terms): "
                "backward is the gradient of no function",
                uv.sum, vu.sum, report_.hessian);
        const auto gradient = [&](double h) { return all_values(calls_.gradients(moved(inputs_, v, h), cotangent())); };
        const Values numeric = differences(gradient);
        double error = 0;
        const std::size_t worst = compare(along_v, numeric, largest(gradient(0)), error);
        return error <= kForwardBound ||
               failed(
                   "the derivative of the gradient along a random direction is {:.12g} at element {} of all inputs, but central "
                   "differences of the gradient give {:.12g}",
                   along_v[worst], worst, numeric[worst]);
    }

    Values hessian_along(const Inputs& along) const {
        Values result;
        for (const Tensor& gradient : calls_.gradients(dual_inputs(inputs_, along), cotangent())) {
            const Values part = derivative_of(gradient).to_vector();
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    }

    Calls calls_;
    const GradcheckOptions& options_;
    Inputs inputs_;  // on the CPU
    ExactReport report_;
    Values value_;
    Cotangent cotangent_;
    std::vector<Values> gradients_;  // J^T c for each input
};

}  // namespace

ExactReport exact_check(const GradientFunction& function, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    return ExactChecks(function, inputs, options).run();
}

ExactReport exact_check(const GradientCase& one) {
    ExactReport report = exact_check(one.function, one.inputs, one.options);
    if (!report.passed) report.message = fmt::format("{} ({}): {}", one.op, one.what, report.message);
    return report;
}

Tensor forward_derivative(const GradientFunction& function, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& direction) {
    return derivative_of(Calls(function).value(dual_inputs(inputs, direction)));
}

std::vector<Tensor> hessian_vector_product(const GradientFunction& function, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& direction) {
    std::vector<Tensor> products;
    for (const Tensor& gradient : Calls(function).gradients(
             dual_inputs(inputs, direction), [](const Tensor& y) { return Tensor::full(y.shape(), 1, y.dtype()); }))
        products.push_back(derivative_of(gradient));
    return products;
}

}  // namespace heddle
