// The function under test and its numeric derivatives.
#include <cmath>
#include <cstring>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle::proof {
namespace {

// Each op's name once, as the tape tells them.
std::string ops_on_tape() {
    std::string names;
    for (const SavedMemory& entry : saved_memory()) names += (names.empty() ? "" : ", ") + entry.op;
    return names.empty() ? "function" : names;
}

double dot(const Values& a, const Values& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// (f(x + h) - f(x - h)) / (2 h), the divisor being the step that the rounded arguments really make.
Values central_difference(const Subject& subject, std::size_t input, std::int64_t element, double x, double h) {
    const double above = x + h;
    const double below = x - h;
    Values slope = subject.value_at(input, element, above);
    const Values low = subject.value_at(input, element, below);
    for (std::size_t o = 0; o < slope.size(); ++o) slope[o] = (slope[o] - low[o]) / (above - below);
    return slope;
}

double one_sided(const Subject& subject, std::size_t input, std::int64_t element, const Values& cotangent, double h) {
    const double x = subject.input(input).data<double>()[element];
    const double moved = x + h;
    const double there = dot(cotangent, subject.value_at(input, element, moved));
    return (there - dot(cotangent, subject.value_at(input, element, x))) / (moved - x);
}

}  // namespace

Subject::Subject(const GradientFunction& function, const std::vector<Tensor>& inputs, Device device)
    : function_(function), device_(device), generator_(generator()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        check(inputs[i].defined() && inputs[i].dtype() == DType::f64, "gradcheck: input {} is {}, wanted f64; convert with to()",
              i, inputs[i].defined() ? name(inputs[i].dtype()) : "undefined");
        inputs_.push_back(inputs[i].to(Device::cpu).clone());
        given_.push_back(inputs_[i].to(device));
        original_.push_back(inputs_[i].clone());
    }
}

Variable Subject::call(std::span<const Variable> leaves) const {
    const RandomState state(generator_);
    Variable output = function_(leaves);
    check(output.defined() && output.dtype() == DType::f64, "gradcheck: the function gave {}, wanted an f64 Variable",
          output.defined() ? name(output.dtype()) : "an undefined Variable");
    return output;
}

Tensor Subject::value() const {
    const NoGrad no_grad;
    std::vector<Variable> leaves;
    for (const Tensor& input : given_) leaves.emplace_back(input);
    return call(leaves).value();
}

std::vector<Run> Subject::run(const std::vector<bool>& needs, std::span<const Tensor> cotangents) {
    const FreshTape fresh;
    std::vector<Variable> leaves;
    for (std::size_t i = 0; i < inputs_.size(); ++i) leaves.emplace_back(given_[i], needs[i]);
    const Variable output = call(leaves);
    if (output.requires_grad() && ops_ == "function") ops_ = ops_on_tape();
    const Values value = output.value().to_vector();  // before backward could overwrite it
    std::vector<Run> runs;
    for (std::size_t r = 0; r < cotangents.size(); ++r) {
        for (Variable& leaf : leaves) leaf.zero_grad();
        if (output.requires_grad() && !output.is_leaf()) backward(output, cotangents[r].to(device_), r + 1 < cotangents.size());
        Run run{value, {}};
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            // An input that no gradient came to (the function does not depend on it) has gradient zero.
            const bool arrived = leaves[i].grad().defined();
            if (needs[i])
                run.gradients.push_back(arrived ? leaves[i].grad().to_vector()
                                                : Values(static_cast<std::size_t>(inputs_[i].numel()), 0.0));
            else
                run.gradients.emplace_back();
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

bool Subject::inputs_unchanged() const {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (const Tensor now = given_[i].to(Device::cpu);
            std::memcmp(now.bytes_data(), original_[i].bytes_data(), static_cast<std::size_t>(original_[i].bytes())) != 0)
            return false;
    return true;
}

// The value is copied before the element is put back: an op that only reshapes shares its input's memory.
Values Subject::value_at(std::size_t input, std::int64_t element, double x) const {
    const double before = inputs_[input].data<double>()[element];
    set(input, element, x);
    Values result = value().to_vector();
    set(input, element, before);
    return result;
}

// Nothing but the element is written, on the device too: what the function changed in place stays to be found.
void Subject::set(std::size_t input, std::int64_t element, double x) const {
    inputs_[input].data<double>()[element] = x;
    if (device_ == Device::cpu) return;
    const Shape flat{inputs_[input].numel()};
    Tensor there = given_[input].reshape(flat).slice(element, element + 1);
    there.copy_(inputs_[input].reshape(flat).slice(element, element + 1));
}

Values Subject::value_along(const std::vector<Values>& direction, double step) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        for (std::int64_t e = 0; e < inputs_[i].numel(); ++e)
            inputs_[i].data<double>()[e] += step * direction[i][static_cast<std::size_t>(e)];
        if (device_ != Device::cpu) Tensor(given_[i]).copy_(inputs_[i]);
    }
    Values result = value().to_vector();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        std::memcpy(inputs_[i].bytes_data(), original_[i].bytes_data(), static_cast<std::size_t>(original_[i].bytes()));
        if (device_ != Device::cpu) Tensor(given_[i]).copy_(original_[i]);
    }
    return result;
}

// Richardson: the error of a central difference is c h^2 + O(h^4), so (4 D(h/2) - D(h)) / 3 leaves O(h^4), which lies below the
// rounding error for h = 1e-3.
Derivatives differentiate(const Subject& subject, std::size_t input, std::vector<std::int64_t> elements, const Values& cotangent,
                          const GradcheckOptions& options, bool keep_jacobian) {
    Derivatives result;
    for (const std::int64_t element : elements) {
        const double x = subject.input(input).data<double>()[element];
        const double h = options.step * std::max(1.0, std::abs(x));
        const Values coarse = central_difference(subject, input, element, x, h);
        Values slope = central_difference(subject, input, element, x, h / 2);
        for (std::size_t o = 0; o < slope.size(); ++o) slope[o] = (4 * slope[o] - coarse[o]) / 3;
        result.contracted.push_back(dot(cotangent, slope));
        if (keep_jacobian) result.jacobian.insert(result.jacobian.end(), slope.begin(), slope.end());
    }
    result.elements = std::move(elements);
    return result;
}

// Where the function is smooth, the gap between the one-sided derivatives is proportional to the step. Three widths, so that no
// distance of the kink mimics that.
bool kink_explains(const Subject& subject, std::size_t input, std::int64_t element, const Values& cotangent, double step,
                   double error) {
    const double h = step * std::max(1.0, std::abs(subject.input(input).data<double>()[element]));
    const auto gap = [&](double width) {
        return std::abs(one_sided(subject, input, element, cotangent, width) -
                        one_sided(subject, input, element, cotangent, -width));
    };
    const double wide = gap(h);
    const double half = gap(h / 2);
    const bool smooth = std::abs(half - wide / 2) <= wide / 8 && std::abs(gap(h / 4) - half / 2) <= half / 8;
    return !smooth && wide > error / 8;
}

double largest(std::span<const double> values) {
    double most = 0;
    for (const double value : values) {
        if (std::isnan(value)) return value;
        most = std::max(most, std::abs(value));
    }
    return most;
}

std::string index_text(const Shape& shape, std::int64_t element) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index.set(axis, element % shape[axis]);
        element /= shape[axis];
    }
    return index.str();
}

}  // namespace heddle::proof
