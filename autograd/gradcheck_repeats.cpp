// Repeats gradients at the same inputs: many runs on other threads, and one Variable as two inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <thread>

#include "autograd/gradcheck_impl.h"
#include "core/error.h"

namespace heddle::proof {
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
