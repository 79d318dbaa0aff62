// Selects what gradcheck tries: elements to probe, and sets of inputs that require gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "autograd/gradcheck_impl.h"
#include "core/format.h"

namespace heddle::proof {

std::string needs_text(const std::vector<bool>& needs) {
    if (std::find(needs.begin(), needs.end(), false) == needs.end()) return "every input requires its gradient";
    std::string list;
    for (std::size_t i = 0; i < needs.size(); ++i)
        if (needs[i]) list += fmt::format("{}{}", list.empty() ? "" : ", ", i);
    return fmt::format("only these inputs need a gradient: {}", list.empty() ? "none" : list);
}

std::vector<std::int64_t> probed_elements(const Values& gradient, const GradcheckOptions& options) {
    const std::int64_t count = std::ssize(gradient);
    std::vector<std::int64_t> elements(static_cast<std::size_t>(count));
    std::iota(elements.begin(), elements.end(), 0);
    if (count <= options.elements_up_to) return elements;
    Sequence(options.seed).shuffle(elements);
    elements.resize(static_cast<std::size_t>(options.elements_up_to));
    const auto largest =
        std::max_element(gradient.begin(), gradient.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    const std::int64_t at = largest - gradient.begin();
    if (!elements.empty() && std::find(elements.begin(), elements.end(), at) == elements.end()) elements.back() = at;
    std::sort(elements.begin(), elements.end());
    return elements;
}

std::vector<std::vector<bool>> partial_combinations(std::size_t inputs) {
    std::vector<std::vector<bool>> result;
    if (inputs <= 4) {
        for (std::size_t bits = 0; bits + 1 < (std::size_t{1} << inputs); ++bits) {
            result.emplace_back(inputs);
            for (std::size_t i = 0; i < inputs; ++i) result.back()[i] = ((bits >> i) & 1) != 0;
        }
        return result;
    }
    result.emplace_back(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
        result.emplace_back(inputs);
        result.back()[i] = true;
    }
    return result;
}

std::vector<Tensor> nearby_inputs(const Subject& subject, std::uint64_t seed) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < subject.inputs(); ++i) {
        inputs.push_back(Tensor::rand(subject.input(i).shape(), seed + i, DType::f64));
        const std::span<double> values = inputs.back().mutable_values<double>();
        for (std::size_t e = 0; e < values.size(); ++e) values[e] = (0.7 + 0.6 * values[e]) * subject.input(i).data<double>()[e];
    }
    return inputs;
}

std::vector<Values> random_direction(const Subject& subject, std::uint64_t seed) {
    std::vector<Values> direction;
    for (std::size_t i = 0; i < subject.inputs(); ++i) direction.push_back(random_values(subject.input(i).numel(), seed + i));
    return direction;
}

namespace {

// The index of the output that contains element `o`; `o` becomes the element's index in it.
std::size_t output_of(const std::vector<Shape>& outputs, std::size_t& o) {
    std::size_t k = 0;
    for (; o >= static_cast<std::size_t>(outputs[k].numel()); ++k) o -= static_cast<std::size_t>(outputs[k].numel());
    return k;
}

}  // namespace

const Shape& shape_of(const std::vector<Shape>& outputs, std::size_t o) { return outputs[output_of(outputs, o)]; }

std::string output_text(const std::vector<Shape>& outputs, std::size_t o) {
    const std::size_t k = output_of(outputs, o);
    const std::string index = index_text(outputs[k], static_cast<std::int64_t>(o));
    return outputs.size() == 1 ? index : fmt::format("{} at {}", k, index);
}

std::string not_finite_text(const std::vector<Shape>& outputs, std::size_t o, double value) {
    const Shape& shape = shape_of(outputs, o);
    const std::string at = output_text(outputs, o), number = number_text(value);
    if (shape.rank() > 0) return fmt::format("the output {} holds {} at {}", shape, number, at);
    return outputs.size() == 1 ? fmt::format("the output is {}", number) : fmt::format("output {} is {}", at, number);
}

Cotangents cotangents_of(const Values& values, const std::vector<Shape>& shapes) {
    Cotangents cotangents;
    std::size_t begin = 0;
    for (const Shape& shape : shapes) {
        cotangents.push_back(Tensor::from(std::span(values).subspan(begin, static_cast<std::size_t>(shape.numel())), shape));
        begin += static_cast<std::size_t>(shape.numel());
    }
    return cotangents;
}

Values random_values(std::int64_t count, std::uint64_t key) { return Tensor::randn({count}, key, DType::f64).to_vector(); }

bool same_bits(const Values& a, const Values& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

std::string index_text(const Shape& shape, std::int64_t element) {
    Shape index = shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index.set(axis, element % shape[axis]);
        element /= shape[axis];
    }
    return index.str();
}

std::string at_text(const Shape& shape, std::int64_t element) {
    return shape.rank() == 0 ? "" : " at " + index_text(shape, element);
}

std::string input_text(const Subject& subject, std::size_t input) {
    const Shape& shape = subject.input(input).shape();
    return shape.rank() == 0 ? fmt::format("input {}", input) : fmt::format("input {} {}", input, shape);
}

std::string number_text(double number, int digits) { return std::isnan(number) ? "NaN" : fmt::format("{:.{}g}", number, digits); }

}  // namespace heddle::proof
