#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/bench/bench.h"
#include "apps/bench/machine_rates.h"
#include "apps/bench/op_cases.h"
#include "apps/option_rows.h"
#include "core/cpu.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchOpsOptions {
    std::string op;
    bool json = false;
    double seconds = 0.1;
    MachineOptions machine;
};

/// Medians over the repetitions.
struct OpTimes {
    double forward = 0;  ///< seconds
    double backward = 0;
};

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

OpTimes measure(const OpCase& one, double seconds) {
    std::vector<double> forward, backward;
    Tensor cotangent;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (int repeat = 0; repeat < 5 || Clock::now() < end; ++repeat) {
        const auto start = Clock::now();
        const Variable result = one.run();
        const auto middle = Clock::now();
        if (one.goes_back() && !cotangent.defined()) cotangent = Tensor::full(result.shape(), 0.01, DType::f32);
        const auto go_back = Clock::now();
        if (one.goes_back()) heddle::backward(result, cotangent);
        const auto done = Clock::now();
        if (repeat == 0) continue;  // the first one fills caches and the allocator
        forward.push_back(std::chrono::duration<double>(middle - start).count());
        backward.push_back(std::chrono::duration<double>(done - go_back).count());
    }
    return {median(forward), median(backward)};
}

std::string rate(double amount, double seconds) { return amount > 0 ? fmt::format("{:.1f}", amount / seconds / 1e9) : "-"; }

void print_row(const OpCase& one, const OpTimes& times) {
    fmt::print("{:<20}  {:<54}  {:>9.1f}  {:>8}  {:>7}  {:>9}  {:>8}  {:>7}\n", one.op, one.what, 1e6 * times.forward,
               rate(one.forward_operations, times.forward), rate(one.forward_bytes, times.forward),
               one.goes_back() ? fmt::format("{:.1f}", 1e6 * times.backward) : "-", rate(one.backward_operations, times.backward),
               rate(one.backward_bytes, times.backward));
}

nlohmann::ordered_json as_json(const OpCase& one, const OpTimes& times) {
    nlohmann::ordered_json row = {{"op", one.op}, {"case", one.what}};
    const auto add = [&](const std::string& side, double seconds, double operations, double bytes) {
        row[side + "_microseconds"] = 1e6 * seconds;
        if (operations > 0) row[side + "_gflops"] = operations / seconds / 1e9;
        row[side + "_gb_per_second"] = bytes / seconds / 1e9;
    };
    add("forward", times.forward, one.forward_operations, one.forward_bytes);
    if (one.goes_back()) add("backward", times.backward, one.backward_operations, one.backward_bytes);
    return row;
}

std::vector<OpCase> wanted_cases(const std::string& op) {
    std::vector<OpCase> all = op_cases(), wanted;
    std::vector<std::string> names;
    for (OpCase& one : all) {
        if (std::find(names.begin(), names.end(), one.op) == names.end()) names.push_back(one.op);
        if (op.empty() || one.op == op) wanted.push_back(std::move(one));
    }
    check_usage(!wanted.empty(), fmt::format("--op {}: there is no such op; choose one of {}", op, fmt::join(names, ", ")));
    return wanted;
}

}  // namespace

int bench_ops(Arguments arguments) {
    BenchOpsOptions options;
    OptionTable table("bench ops", "runs every op at the standard translator's sizes, beside what the machine could do");
    table.usage = "usage: heddle bench ops [--op NAME] [--json]\n";
    table.group("Measurement");
    table.add("op", options.op, "measure this op only").called("NAME").defaults_to("all");
    table.add("seconds", options.seconds, "time for each case").at_least(0);
    table.add("json", options.json, "print one JSON object instead of a table");
    add_machine_options(table, options.machine);
    if (!parse_command_line(table, arguments)) return 0;
    apply(options.machine);
    check_usage(device_of(options.machine) == Device::cpu, "bench ops measures the CPU's ops; leave out --device cuda");

    const std::vector<OpCase> cases = wanted_cases(options.op);
    const MachineRates machine = measure_machine();
    nlohmann::ordered_json object = {{"level", name(cpu_level())},
                                     {"threads", threads()},
                                     {"peak_gflops", machine.gflops},
                                     {"copy_gb_per_second", machine.copy_gb_second}};
    if (!options.json) {
        fmt::print("{}, {} threads: peak {:.0f} GFLOP/s, copy {:.1f} GB/s\n\n", name(cpu_level()), threads(), machine.gflops,
                   machine.copy_gb_second);
        fmt::print("{:<20}  {:<54}  {:>9}  {:>8}  {:>7}  {:>9}  {:>8}  {:>7}\n", "op", "case", "forw. us", "GFLOP/s", "GB/s",
                   "backw. us", "GFLOP/s", "GB/s");
    }
    for (const OpCase& one : cases) {
        const OpTimes times = measure(one, options.seconds);
        if (options.json)
            object["ops"].push_back(as_json(one, times));
        else
            print_row(one, times);
    }
    if (options.json) fmt::print("{}\n", object.dump());
    return 0;
}

}  // namespace heddle::app
