// The numeric derivatives of the function under test.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/gradcheck_impl.h"
#include "core/error.h"

namespace heddle::proof {
namespace {

constexpr double kRounding = 64 * kEpsilon;  // of backward itself, relative to the sum of absolute terms
constexpr double kArgument = 4 * kEpsilon;   // of backward's argument: sin(1e5 x) rounds 1e5 x
constexpr double kArgumentPart = 0.25;       // maximum part of the tolerance that kArgument may use
constexpr int kHalvings = 44;                // from 0.02 down to 1e-15
constexpr double kClose = 0x1p-20;  // points so close, relative to their size, that a smooth function is linear between them

// The derivatives with respect to one element, before sums and bounds are computed.
class Element {
  public:
    Element(const Subject& subject, std::size_t input, std::int64_t element, const Wanted& wanted, const Values& center)
        : subject_(subject),
          wanted_(wanted),
          center_(center),
          input_(input),
          element_(element),
          x_(subject.input(input).data<double>()[element]),
          first_(wanted.step * std::max(1.0, std::abs(x_))),
          unchanged_(wanted.value.size(), true),
          noise_(wanted.noise) {
        slope_ = measure(first_, kHalvings, noise_);
    }

    // Stores entry `at` of the result. A sum's derivative is measured directly and as the sum of its outputs' derivatives; the
    // more accurate one is used.
    void write(Derivatives& result, std::size_t at) const {
        const std::size_t outputs = wanted_.value.size();
        for (std::size_t s = 0; s < wanted_.sums.size(); ++s) {
            const Values& cotangent = wanted_.sums[s];
            double scale = 0, terms = 0, bound = 0, bend = 0, jump = slope_.jump[outputs + s];
            for (std::size_t o = 0; o < outputs; ++o) {
                if (cotangent[o] == 0) continue;
                const double weight = std::abs(cotangent[o]);
                scale += weight * std::abs(slope_.derivative[o]);
                terms += cotangent[o] * slope_.derivative[o];
                bound += weight * slope_.bound[o];
                bend += weight * slope_.bend[o];
                jump = std::max(jump, weight * slope_.jump[o]);
            }
            const bool by_terms = bound < slope_.bound[outputs + s];
            const double derivative = by_terms ? terms : slope_.derivative[outputs + s];
            // Used if a single output has no estimate.
            if (!std::isfinite(scale)) scale = std::isfinite(derivative) ? std::abs(derivative) : 0;
            Contracted& sum = result.sums[s];
            sum.derivative[at] = derivative;
            sum.bound[at] = (by_terms ? bound : slope_.bound[outputs + s]) + kRounding * scale + of_argument(bend, scale);
            sum.scale[at] = scale;
            sum.jump[at] = jump;
        }
        if (!wanted_.jacobian) return;
        for (std::size_t o = 0; o < outputs; ++o) {
            result.jacobian[at * outputs + o] = slope_.derivative[o];
            const double rounding =
                kRounding * std::abs(slope_.derivative[o]) + of_argument(slope_.bend[o], std::abs(slope_.derivative[o]));
            result.jacobian_bound[at * outputs + o] =
                std::isfinite(slope_.derivative[o]) ? slope_.bound[o] + rounding : std::numeric_limits<double>::infinity();
        }
    }

    double smallest_step() const { return slope_.smallest_step; }

    // Outputs that do not depend on this element have exactly the derivative 0, however large and noisy they are. An output
    // depends on it if it changed, or if a NaN in the element changes it.
    void find_what_is_not_reached() {
        Values poisoned;
        try {
            poisoned = subject_.value_at(input_, element_, std::numeric_limits<double>::quiet_NaN());
        } catch (const OutOfMemory&) {
            throw;
        } catch (const std::exception&) {
            return;
        }
        for (std::size_t o = 0; o < wanted_.value.size() && o < poisoned.size(); ++o)
            if (unchanged_[o] && poisoned[o] == wanted_.value[o]) slope_.bound[o] = 0;
    }

    // For a nearly linear function a larger step is more accurate, because rounding errors matter less. It must agree with the
    // smaller steps, since far away a bounded function looks flat. Returns whether it does.
    bool widen(double factor) {
        Values noise = noise_far_away(factor * first_);
        const Slope wide = measure(factor * first_, 5, noise);
        for (std::size_t o = 0; o < slope_.bound.size(); ++o)
            if (std::isfinite(wide.bound[o]) &&
                !(std::abs(wide.derivative[o] - slope_.derivative[o]) <= wide.bound[o] + slope_.bound[o]))
                return false;
        for (std::size_t o = 0; o < slope_.bound.size(); ++o)
            if (wide.bound[o] < slope_.bound[o]) {
                slope_.bound[o] = wide.bound[o];
                slope_.derivative[o] = wide.derivative[o];
            }
        return true;
    }

  private:
    double of_argument(double bend, double scale) const {
        return std::min(kArgument * std::abs(x_) * bend, kArgumentPart * wanted_.tolerance * scale);
    }

    // At least noise_: a larger value may have larger rounding errors.
    Values noise_far_away(double distance) const {
        const double far = x_ + distance, unit = kClose * std::abs(far);
        Values noise = measured_noise(
            [&](double t) {
                Values values;
                passes([&] { return values = subject_.value_at(input_, element_, far + t), true; },
                       [](const char*) { return false; });
                values.resize(wanted_.value.size(), std::numeric_limits<double>::quiet_NaN());
                return with_sums(std::move(values), wanted_.sums);
            },
            {&unit, 1});
        for (std::size_t o = 0; o < noise.size(); ++o) noise[o] = std::max(noise[o], noise_[o]);
        return noise;
    }

    Slope measure(double first, int rows, Values& noise) {
        return differentiate(
            [&](double step, Values& above, Values& below) {
                const double high = x_ + step, low = x_ - (high - x_);  // at the same distance even after rounding
                above = subject_.value_at(input_, element_, high);
                below = subject_.value_at(input_, element_, low);
                for (std::size_t o = 0; o < unchanged_.size() && o < above.size() && o < below.size(); ++o)
                    unchanged_[o] = unchanged_[o] && above[o] == wanted_.value[o] && below[o] == wanted_.value[o];
                above = with_sums(std::move(above), wanted_.sums);
                below = with_sums(std::move(below), wanted_.sums);
                return high - low;
            },
            center_, noise, first, rows);
    }

    const Subject& subject_;
    const Wanted& wanted_;
    const Values& center_;
    std::size_t input_;
    std::int64_t element_;
    double x_, first_;
    std::vector<bool> unchanged_;
    Values noise_;
    Slope slope_;
};

// The median magnitude, so that one large value does not hide the others.
double typical_size(Values values) {
    if (values.empty()) return 0;
    for (double& value : values) value = std::abs(value);
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

double dot_of_magnitudes(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] * b[i]);
    return sum;
}

Values with_sums(Values values, std::span<const Values> sums) {
    const std::size_t outputs = values.size();
    for (const Values& cotangent : sums)
        values.push_back(cotangent.size() == outputs ? dot({values.data(), outputs}, cotangent)
                                                     : std::numeric_limits<double>::quiet_NaN());
    return values;
}

Values noise_of(const Subject& subject, std::span<const Values> sums, std::uint64_t seed) {
    // Steps of some hundred units in the last place, and hardly fewer for any element: the arguments stay exact, and every
    // intermediate rounding differs.
    std::vector<Values> direction = random_direction(subject, seed);
    for (std::size_t i = 0; i < direction.size(); ++i)
        for (std::size_t e = 0; e < direction[i].size(); ++e) {
            const double x = subject.input(i).data<double>()[e];
            const double unit = std::ldexp(1.0, x == 0 ? -52 : std::ilogb(x) - 52);
            direction[i][e] = unit * std::round(256 * (direction[i][e] + std::copysign(1.0, direction[i][e])));
        }
    const Values value = subject.value();
    // Up to about 1e-5 of the inputs, with unrelated ratios.
    constexpr double kDistances[] = {1, 17, 4099, 1000003, 15485863, 40000003};
    Values noise = measured_noise(
        [&](double step) {
            Values sample;
            passes([&] { return sample = subject.value_along(direction, step), true; }, [](const char*) { return false; });
            sample.resize(value.size(), std::numeric_limits<double>::quiet_NaN());
            return with_sums(std::move(sample), sums);
        },
        kDistances);
    // A value near zero, such as log 1, has the errors of the numbers it was computed from, which may be too coarse to show in
    // small steps; the typical value tells their size.
    const double typical = typical_size(value);
    for (std::size_t o = 0; o < value.size(); ++o)
        noise[o] = std::max(noise[o], kEpsilon / 2 * std::max(std::abs(value[o]), typical));
    for (std::size_t s = 0; s < sums.size(); ++s) {
        double of_outputs = 0;
        for (std::size_t o = 0; o < value.size(); ++o) of_outputs = std::hypot(of_outputs, sums[s][o] * noise[o]);
        noise[value.size() + s] =
            std::max({noise[value.size() + s], of_outputs, kEpsilon / 2 * dot_of_magnitudes(sums[s], value)});
    }
    return noise;
}

bool is_rounding(const Wanted& wanted) {
    return wanted.noise[wanted.value.size()] <= 1e-6 * dot_of_magnitudes(wanted.sums[0], wanted.value);
}

bool moves_like_float(const Wanted& wanted) {
    Values parts;
    for (std::size_t o = 0; o < wanted.value.size(); ++o)
        if (wanted.value[o] != 0) parts.push_back(wanted.noise[o] / wanted.value[o]);
    const double typical = typical_size(std::move(parts));
    return typical > 0x1p-30 && typical < 0x1p-20;
}

Derivatives derivatives(const Subject& subject, std::size_t input, std::vector<std::int64_t> elements, const Wanted& wanted) {
    const Values center = with_sums(wanted.value, wanted.sums);
    Derivatives result;
    const std::size_t count = elements.size(), outputs = wanted.value.size();
    result.sums.assign(wanted.sums.size(), {Values(count), Values(count), Values(count), Values(count), 0});
    if (wanted.jacobian) result.jacobian = result.jacobian_bound = Values(count * outputs);
    for (std::size_t e = 0; e < count; ++e) {
        const Element element(subject, input, elements[e], wanted, center);
        element.write(result, e);
        result.smallest_step = e == 0 ? element.smallest_step() : std::min(result.smallest_step, element.smallest_step());
    }
    // The bound below which a derivative counts as known depends on the largest derivative, and on the value: a derivative below
    // a thousandth hardly changes a value of about 1. If all derivatives are zero within their bounds, only the value counts.
    for (Contracted& sum : result.sums) {
        double most = 0;
        for (std::size_t e = 0; e < count; ++e)
            if (sum.scale[e] > sum.bound[e]) most = std::max(most, sum.scale[e]);
        sum.least_scale = most > 0 ? std::max(wanted.floor * most, 1e-3 * std::min(1.0, typical_size(wanted.value)))
                                   : largest(wanted.value) + 1;
    }
    const auto known = [&](std::size_t e) {
        return std::all_of(result.sums.begin(), result.sums.end(), [&](const Contracted& sum) {
            return sum.bound[e] <= wanted.tolerance * std::max(sum.scale[e], sum.least_scale);
        });
    };
    for (std::size_t e = 0; e < count; ++e) {
        if (known(e)) continue;
        Element element(subject, input, elements[e], wanted, center);
        element.find_what_is_not_reached();
        element.write(result, e);
        for (double factor = 8; factor <= 0x1p18 && !known(e) && is_rounding(wanted) && element.widen(factor); factor *= 8)
            element.write(result, e);
    }
    result.elements = std::move(elements);
    return result;
}

// If the function is smooth, the gap between the one-sided derivatives is proportional to the step. Several widths are tried, so
// that no distance of the kink can mimic that.
bool kink_explains(const std::function<double(double)>& one_sided, double size, double rounding, double noise, double error) {
    const auto gap = [&](double width) { return std::abs(one_sided(width) - one_sided(-width)); };
    for (const double h : {1e-3 * size, 1e-6 * size}) {
        const double wide = gap(h), half = gap(h / 2);
        const bool smooth = std::abs(half - wide / 2) <= wide / 8 && std::abs(gap(h / 4) - half / 2) <= half / 8;
        if (!smooth && wide > std::max(error / 8, std::max(1e3 * rounding, 30 * noise) / h)) return true;
    }
    return false;
}

bool kink_explains(const Subject& subject, std::size_t input, std::int64_t element, const Values& cotangent, double noise,
                   double error) {
    const double x = subject.input(input).data<double>()[element];
    const auto slope = [&](double h) {
        const double moved = x + h;
        const double there = dot(cotangent, subject.value_at(input, element, moved));
        return (there - dot(cotangent, subject.value_at(input, element, x))) / (moved - x);
    };
    return kink_explains(slope, std::max(1.0, std::abs(x)), kEpsilon * dot_of_magnitudes(cotangent, subject.value()), noise,
                         error);
}

double largest(std::span<const double> values) {
    double most = 0;
    for (const double value : values) {
        if (std::isnan(value)) return value;
        most = std::max(most, std::abs(value));
    }
    return most;
}

}  // namespace heddle::proof
