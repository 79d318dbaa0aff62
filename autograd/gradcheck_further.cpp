// Checks gradients beyond the probed elements: along random directions, at further points, of two forward passes at once; and
// repeats them at the same inputs: many runs on other threads, and one Variable as two inputs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "autograd/gradcheck_impl.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::proof {
namespace {

constexpr double kRoundingAlong = 256 * kEpsilon;  // relative to the sum of absolute terms
constexpr int kPoints = 2;

struct Along {
    double numeric = 0, bound = 0;  // derivative along the direction
    double backward = 0;            // the same, from backward's gradients
    double scale = 0;               // sum of |gradient * direction|
    bool kink = false;              // a kink of the function along the direction explains the difference
    bool known(double tolerance) const { return bound <= tolerance * scale; }
    bool right() const { return std::abs(backward - numeric) <= bound + kRoundingAlong * scale; }
};

Along along(const Subject& subject, const std::vector<Values>& gradients, const Values& cotangent,
            const std::vector<Values>& direction, std::uint64_t seed, double step) {
    const std::vector<Values> sums{cotangent};
    const Values value = subject.value();
    Values noise{noise_of(subject, sums, seed + 100).back()};
    // Rounding of the arguments along the direction.
    for (std::size_t i = 0; i < direction.size(); ++i)
        noise[0] += kEpsilon / 2 * dot_of_magnitudes(gradients[i], subject.input(i).values<double>());
    const double center = dot(cotangent, value);
    const auto sum_at = [&](double t) { return Values{dot(cotangent, subject.value_along(direction, t))}; };
    const Slope slope = differentiate(
        [&](double h, Values& above, Values& below) {
            above = sum_at(h);
            below = sum_at(-h);
            return 2 * h;
        },
        {center}, noise, step, 40);
    Along result{slope.derivative[0], slope.bound[0]};
    for (std::size_t i = 0; i < direction.size(); ++i) {
        result.backward += dot(gradients[i], direction[i]);
        result.scale += dot_of_magnitudes(gradients[i], direction[i]);
    }
    if (!result.right() && std::isfinite(result.backward))
        result.kink =
            kink_explains([&](double h) { return (sum_at(h)[0] - center) / h; }, 1,
                          kEpsilon * dot_of_magnitudes(cotangent, value), noise[0], std::abs(result.backward - result.numeric));
    return result;
}

// Along a random direction or, if there is a kink on the way, along one that moves each element in proportion to its magnitude,
// which does not cross zero, where relu and similar functions have their kink.
Along along_random(const Subject& subject, const std::vector<Values>& gradients, const Values& cotangent, std::uint64_t seed,
                   double step) {
    std::vector<Values> direction = random_direction(subject, seed);
    const Along found = along(subject, gradients, cotangent, direction, seed, step);
    if (!found.kink) return found;
    for (std::size_t i = 0; i < direction.size(); ++i)
        for (std::size_t e = 0; e < direction[i].size(); ++e) direction[i][e] *= std::abs(subject.input(i).data<double>()[e]);
    return along(subject, gradients, cotangent, direction, seed, step);
}

std::string text(const Along& found) {
    return fmt::format("backward {:.12g}, central differences {:.12g} (error {:.3g}, allowed {:.3g})", found.backward,
                       found.numeric, std::abs(found.backward - found.numeric), found.bound + kRoundingAlong * found.scale);
}

std::vector<Values> gradients_at(Subject& subject, const Cotangents& cotangents) {
    const FreshTape fresh;
    Forward pass = subject.forward(std::vector<bool>(subject.inputs(), true));
    return subject.back(pass, cotangents);
}

// The fault, if any, of two forward passes on one tape that precede their backwards.
std::optional<std::string> wrong_beside(const Points& points, Subject& there, const std::vector<Values>& gradients_there) {
    const std::vector<bool> all(there.inputs(), true);
    for (const bool last_first : {false, true}) {
        const FreshTape fresh;
        Forward first = points.here.forward(all), last = there.forward(all);
        std::array<std::vector<Values>, 2> gradients;
        if (last_first) gradients[1] = there.back(last, points.cotangents);
        gradients[0] = points.here.back(first, points.cotangents);
        if (!last_first) gradients[1] = there.back(last, points.cotangents);
        for (std::size_t pass = 0; pass < 2; ++pass) {
            const std::vector<Values>& alone = pass == 0 ? points.gradients : gradients_there;
            for (std::size_t i = 0; i < all.size(); ++i)
                if (!same_bits(gradients[pass][i], alone[i]))
                    return fmt::format(
                        "after two forward passes at different inputs, backward of the {} pass gives input {} another gradient "
                        "than after that pass alone (the {} pass went back first)\n  likely cause: backward reads a buffer that "
                        "both passes share, a static or captured one; save such tensors in the record",
                        pass == 0 ? "first" : "second", i, last_first ? "second" : "first");
        }
    }
    return {};
}

}  // namespace

std::optional<std::string> wrong_for_held_gradients(const Points& points) {
    Subject& here = points.here;
    std::vector<Tensor> start;
    for (std::size_t i = 0; i < here.inputs(); ++i) {
        const double size = std::min(largest(points.gradients[i]), 1e300);  // the sum must not overflow
        start.push_back(Tensor::empty(here.input(i).shape(), DType::f64));
        fill_normal(start.back(), 0, size > 0 ? size : 1, points.options.seed + 1000 + i);
    }
    const FreshTape fresh;
    Forward pass = here.forward(std::vector<bool>(here.inputs(), true));
    const std::vector<Values> sums = here.back(pass, points.cotangents, false, start);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const Values before = start[i].to_vector();
        const Values& alone = points.gradients[i];
        const double size = std::max(largest(alone), largest(before));
        for (std::size_t e = 0; e < before.size(); ++e) {
            if (std::abs(sums[i][e] - (before[e] + alone[e])) <= 1e-11 * size) continue;
            const bool overwritten = std::abs(sums[i][e] - alone[e]) <= 1e-11 * size;
            return fmt::format(
                "{} already holds a gradient, and backward does not add to it:{} it holds {}, backward alone gives {}, both "
                "together {}\n  likely cause: {}",
                input_text(here, i), at_text(here.input(i).shape(), static_cast<std::int64_t>(e)), number_text(before[e], 9),
                number_text(alone[e], 9), number_text(sums[i][e], 9),
                overwritten ? "the gradient that is already there is overwritten: `=` for `+=` in accumulate_into()"
                            : "backward uses the gradient that is already there, or adds to it twice");
        }
    }
    return {};
}

std::optional<std::string> wrong_for_scaled_cotangents(const Points& points) {
    // 2^40, as long as the gradients stay below 2^1000.
    double most = 1;
    for (const Values& gradient : points.gradients) most = std::max(most, largest(gradient));
    const int room = std::clamp(1000 - std::ilogb(most), 0, 40);
    for (const double factor : {std::ldexp(1, room), 0x1p-40}) {
        Cotangents scaled;
        for (const Tensor& cotangent : points.cotangents) {
            scaled.push_back(cotangent.clone());
            for (double& each : scaled.back().mutable_values<double>()) each *= factor;
        }
        const std::vector<Values> gradients = gradients_at(points.here, scaled);
        for (std::size_t i = 0; i < gradients.size(); ++i)
            for (std::size_t e = 0; e < gradients[i].size(); ++e) {
                const double wanted = factor * points.gradients[i][e];
                const double allowed =
                    1e-12 * factor * largest(points.gradients[i]) + 4 * std::numeric_limits<double>::denorm_min();
                if (std::abs(gradients[i][e] - wanted) <= allowed) continue;
                return fmt::format(
                    "backward is not linear in the output's gradient: for one {:.3g} times as large it gives {} {}{}, wanted {}\n"
                    "  likely cause: the gradient is clipped, or a constant is added that small numbers hide",
                    factor, input_text(points.here, i), number_text(gradients[i][e], 9),
                    at_text(points.here.input(i).shape(), static_cast<std::int64_t>(e)), number_text(wanted, 9));
            }
    }
    return {};
}

std::optional<std::string> wrong_after_changes(const Points& points) {
    const std::vector<Tensor> others = nearby_inputs(points.here, points.options.seed + 4000);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < points.here.inputs(); ++i) inputs.push_back(points.here.input(i));
    for (std::size_t changed = 0; changed < inputs.size(); ++changed) {
        Subject spare(points.function, inputs, points.options.device);
        const FreshTape fresh;
        Forward pass = spare.forward(std::vector<bool>(inputs.size(), true));
        spare.overwrite(changed, others[changed]);
        std::vector<Values> gradients;
        try {
            gradients = spare.back(pass, points.cotangents);
        } catch (const OutOfMemory&) {
            throw;
        } catch (const Error&) {
            continue;  // the change was noticed
        }
        for (std::size_t i = 0; i < gradients.size(); ++i)
            if (!same_bits(gradients[i], points.gradients[i]))
                return fmt::format(
                    "{} was changed in place between forward and backward, and backward gives {} another gradient instead of an "
                    "error\n  likely cause: backward reads a tensor that it captured; save such tensors in the record, which "
                    "compares versions",
                    input_text(points.here, changed), input_text(points.here, i));
    }
    return {};
}

std::optional<std::string> wrong_along_a_direction(const Points& points) {
    const Along found =
        along_random(points.here, points.gradients, points.cotangent, points.options.seed + 2000, points.options.step);
    if (found.right() && found.known(points.options.tolerance)) return {};
    if (found.right() || found.kink)
        return fmt::format(
            "the derivative along a random direction cannot be proven: central differences are too inexact\n  {}\n  likely "
            "cause: {}",
            text(found),
            found.kink ? "a kink or jump of the function within a step of the inputs; move them away from it"
                       : "a kink or jump of the function, or a value whose rounding error hides the change");
    return fmt::format(
        "the derivative along a random direction is wrong\n  {}\n  likely cause: the gradient of an element that was not probed "
        "alone",
        text(found));
}

std::optional<std::string> wrong_at_other_points(const Points& points) {
    bool beside = false;
    for (int k = 0; k < kPoints; ++k) {
        const std::uint64_t seed = points.options.seed + 3000 + 100 * static_cast<std::uint64_t>(k);
        Subject there(points.function, nearby_inputs(points.here, seed), points.options.device);
        try {
            const Values value = there.value();
            if (value.size() != points.cotangent.size() || !std::isfinite(largest(value))) continue;
        } catch (const OutOfMemory&) {
            throw;
        } catch (const std::exception&) {
            continue;  // outside of the function's domain
        }
        const std::vector<Values> gradients = gradients_at(there, points.cotangents);
        if (!std::exchange(beside, true))
            if (std::optional<std::string> wrong = wrong_beside(points, there, gradients)) return wrong;
        const Along found = along_random(there, gradients, points.cotangent, seed + 50, points.options.step);
        if (!std::isfinite(found.backward) || (found.known(1e-6) && !found.right() && !found.kink))
            return fmt::format(
                "at another point (each element times a random factor from 0.7 to 1.3) the derivative along a random direction "
                "is wrong\n  {}\n  likely cause: a branch of backward that the given inputs do not take, or a saved value that "
                "is right for them alone",
                text(found));
    }
    return {};
}

// ---- the same inputs again

namespace {

constexpr int kThreads = 2;  // one after the other, since the function need not be thread-safe
// For a race that shows in one of a hundred runs, 300 runs miss it with a probability of 1 in 20, 100 runs 1 in 3. If the proof
// needed few calls there are fewer runs, so that they do not take longer than the rest; on a device a run costs more.
constexpr std::int64_t kMostRuns = 300, kCallsOfARun = 2, kCallsOfARunOnADevice = 16;
constexpr std::int64_t kFewestRuns = 100, kFewestRunsOnADevice = 10;

void run_on_another_thread(const std::function<void()>& body) {
    std::exception_ptr error;
    const auto guarded = [&] {
        try {
            const FreshTape fresh;
            body();
        } catch (...) {
            error = std::current_exception();
        }
    };
    try {
        std::thread(guarded).join();
    } catch (const std::system_error&) {
        guarded();  // no more threads can be created
    }
    if (error) std::rethrow_exception(error);
}

// The fault, if any, of `runs` walks over the tape of one forward pass.
std::optional<std::string> wrong_in_runs(const Points& points, std::int64_t runs) {
    Forward pass = points.here.forward(std::vector<bool>(points.here.inputs(), true));
    if (!same_bits(pass.value, points.value))
        return "on another thread the value is another one\n  likely cause: a thread_local or otherwise shared variable, or a "
               "race";
    for (std::int64_t run = 0; run < runs; ++run) {
        const std::vector<Values> gradients = points.here.back(pass, points.cotangents, true);
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            if (same_bits(gradients[i], points.gradients[i])) continue;
            const std::string when = run == 0 ? "on another thread" : fmt::format("in run {} on another thread", run + 1);
            return fmt::format(
                "{} backward gives {} a gradient with different bits\n  likely cause: {}", when, input_text(points.here, i),
                run == 0 ? "a thread_local variable, or one that belongs to the first thread"
                         : "a race: threads write to one place, or add in an order that changes; or a count of the calls");
        }
    }
    return {};
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_of_one_shape(const Subject& subject) {
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t first = 0; first < subject.inputs(); ++first)
        for (std::size_t second = first + 1; second < subject.inputs(); ++second) {
            if (subject.input(first).shape() != subject.input(second).shape()) continue;
            pairs.emplace_back(first, second);
            if (subject.inputs() > 4) break;  // with many inputs, only the next one of the same shape is tried
        }
    return pairs;
}

bool has_value(const Subject& subject, std::size_t outputs) {
    return passes(
        [&] {
            const Values value = subject.value();
            return value.size() == outputs && std::isfinite(largest(value));
        },
        [](const char*) { return false; });  // outside of the function's domain
}

}  // namespace

std::optional<std::string> wrong_when_repeated(const Points& points) {
    const bool cpu = points.options.device == Device::cpu;
    const std::int64_t runs = std::clamp(points.here.calls() / (cpu ? kCallsOfARun : kCallsOfARunOnADevice),
                                         cpu ? kFewestRuns : kFewestRunsOnADevice, kMostRuns);
    std::optional<std::string> wrong;
    for (int thread = 0; thread < kThreads && !wrong; ++thread)
        run_on_another_thread([&] { wrong = wrong_in_runs(points, runs / kThreads); });
    return wrong;
}

std::optional<std::string> wrong_for_one_variable_twice(const Points& points) {
    for (const auto& [first, second] : pairs_of_one_shape(points.here)) {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < points.here.inputs(); ++i) inputs.push_back(points.here.input(i == second ? first : i));
        Subject there(points.function, inputs, points.options.device);
        if (!has_value(there, points.cotangent.size())) continue;
        const FreshTape fresh;
        Forward apart = there.forward(std::vector<bool>(inputs.size(), true));
        const std::vector<Values> alone = there.back(apart, points.cotangents);
        Forward pass = there.forward_with_one_for(first, second);
        const std::vector<Values> together = there.back(pass, points.cotangents);
        const double size = largest(alone[first]) + largest(alone[second]);
        for (std::size_t e = 0; e < alone[first].size(); ++e) {
            const double wanted = alone[first][e] + alone[second][e];
            if (std::abs(together[first][e] - wanted) <= 1e-11 * size || !std::isfinite(wanted)) continue;
            return fmt::format(
                "one Variable given as inputs {} and {} must get the sum of their gradients:{} they are {} and {}, but it gets "
                "{}\n"
                "  likely cause: backward tells its inputs apart by their values or addresses, or overwrites the first gradient "
                "with the second",
                first, second, at_text(inputs[first].shape(), static_cast<std::int64_t>(e)), number_text(alone[first][e], 9),
                number_text(alone[second][e], 9), number_text(together[first][e], 9));
        }
    }
    return {};
}

}  // namespace heddle::proof
