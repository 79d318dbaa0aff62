#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "apps/bench/bench.h"
#include "apps/bench/ladders.h"
#include "apps/bench/op_times.h"
#include "apps/command/option_rows.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/device.h"
#include "kernels/device/inspect.h"

namespace heddle::app {
namespace {

struct BenchLadderOptions {
    std::vector<std::string> ops;
    std::optional<std::int64_t> size;
    double seconds = 0.1;
    bool json = false;
};

std::vector<std::string> ladder_names() {
    std::vector<std::string> names;
    for (const LadderOp& one : ladders()) names.emplace_back(one.op);
    return names;
}

OptionTable bench_ladder_table(BenchLadderOptions& options) {
    OptionTable table("bench ladder", "runs each step of a teaching ladder of CUDA kernels beside the library's kernel");
    table.usage = "usage: heddle bench ladder [NAME...] [--size N] [--json]\n";
    table.group(OptionGroup::measurement);
    table.add("op", options.ops, fmt::format("the ladders of these ops: {}", fmt::join(ladder_names(), ", ")))
        .called("NAME...")
        .defaults_to("all")
        .positional();
    table
        .add("size", options.size,
             "rows and columns of matmul's and permute's matrices, sentences of attention, rows of the other ops")
        .at_least(1)
        .defaults_to("the op's: large on a GPU, small on the emulated device");
    table.add("seconds", options.seconds, "time for each step, on a GPU").at_least(0);
    table.add("json", options.json, "print one JSON object for each ladder, one a line, instead of tables");
    return table;
}

/// Measurements of a step; those that the device cannot take are empty.
struct Findings {
    std::optional<std::int64_t> launches = {};
    std::optional<int> registers = {};
    std::optional<double> seconds = {}, tflops = {}, percent_of_peak = {}, percent_of_copy = {};
    std::optional<device::Traffic> traffic = {};
};

Findings examine(const LadderOp& op, const Ladder& ladder, const LadderStep& step, DeviceTimer* timer, double seconds) {
    Findings found;
    if (timer == nullptr) {
        const std::int64_t before = device::statistics().launches;
        const device::Traffic traffic = device::traffic_of(step.run);
        if (step.is_library()) return found;  // the library's kernels also make plain accesses, which are not counted
        found.launches = device::statistics().launches - before;
        found.traffic = traffic;
        return found;
    }
    const BenchCase one{.op = std::string(op.op),
                        .what = step.name,
                        .make_run =
                            [&] {
                                return [&] {
                                    step.run();
                                    return Variable();
                                };
                            },
                        .forward_operations = ladder.operations,
                        .forward_bytes = ladder.least_bytes(step.dtype)};
    found.seconds = timer->measure(one, seconds).forward;
    found.percent_of_copy = 100 * one.forward_bytes / *found.seconds / 1e9 / timer->copy_gb_second();
    if (ladder.operations > 0) {
        found.tflops = ladder.operations / *found.seconds / 1e12;
        if (const double peak = device::peak_operations(step.dtype); peak > 0)
            found.percent_of_peak = 1e14 * *found.tflops / peak;
    }
    if (!step.is_library()) found.registers = step.registers();
    return found;
}

template <class T>
std::string or_dash(const char* format, const std::optional<T>& value) {
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

constexpr std::string_view timed_format = "{:<14}  {:<5}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n";
constexpr std::string_view counted_format = "{:<14}  {:<5}  {:>8}  {:>9}  {:>11}  {:>9}  {:>6}  {:>8}  {:>9}  {:>8}  {:>11}\n";

void print_head(bool timed) {
    if (timed)
        print(fmt::format(timed_format, "step", "dtype", "us", "TFLOP/s", "% of peak", "% of copy", "registers"));
    else
        print(fmt::format(counted_format, "step", "dtype", "launches", "accesses", "bytes", "sectors", "each", "shared",
                          "conflicts", "barriers", "collectives"));
}

void print_row(const LadderStep& step, const Findings& found) {
    if (found.seconds) {
        print(fmt::format(timed_format, step.name, name(step.dtype), fmt::format("{:.1f}", 1e6 * *found.seconds),
                          or_dash("{:.2f}", found.tflops), or_dash("{:.1f}", found.percent_of_peak),
                          or_dash("{:.1f}", found.percent_of_copy), or_dash("{}", found.registers)));
    } else if (found.traffic) {
        const device::Traffic& t = *found.traffic;
        print(fmt::format(counted_format, step.name, name(step.dtype), *found.launches, t.accesses, t.bytes, t.sectors,
                          fmt::format("{:.1f}", static_cast<double>(t.sectors) / static_cast<double>(t.accesses)),
                          t.shared_cycles, t.shared_cycles - t.least_shared_cycles, t.barriers, t.collectives));
    } else {
        print(fmt::format(counted_format, step.name, name(step.dtype), "-", "-", "-", "-", "-", "-", "-", "-", "-"));
    }
}

nlohmann::ordered_json as_json(const Ladder& ladder, const LadderStep& step, const Findings& found) {
    nlohmann::ordered_json row = {
        {"step", step.name}, {"dtype", word_of(step.dtype)}, {"least_bytes", ladder.least_bytes(step.dtype)}};
    if (found.seconds) {
        row["microseconds"] = 1e6 * *found.seconds;
        if (found.tflops) row["tflops"] = *found.tflops;
        if (found.percent_of_peak) row["percent_of_peak"] = *found.percent_of_peak;
        row["percent_of_copy"] = *found.percent_of_copy;
    }
    if (found.launches) row["launches"] = *found.launches;
    if (found.registers) row["registers"] = *found.registers;
    if (found.traffic) {
        row["accesses"] = found.traffic->accesses;
        row["bytes"] = found.traffic->bytes;
        row["sectors"] = found.traffic->sectors;
        row["shared_accesses"] = found.traffic->shared_accesses;
        row["shared_cycles"] = found.traffic->shared_cycles;
        row["least_shared_cycles"] = found.traffic->least_shared_cycles;
        row["barriers"] = found.traffic->barriers;
        row["collectives"] = found.traffic->collectives;
    }
    return row;
}

void run(const LadderOp& op, const BenchLadderOptions& options, DeviceTimer* timer) {
    const Ladder ladder = op.of(options.size);
    nlohmann::ordered_json object = {{"peer", "heddle"},
                                     {"mode", device::description()},
                                     {"ladder", op.op},
                                     {"what", ladder.what},
                                     {"size", options.size.value_or(op.default_size())}};
    if (timer != nullptr) {
        object["copy_gb_per_second"] = timer->copy_gb_second();
        object["method"] = timer->method();
    }
    if (!options.json) {
        print(fmt::format("\n{}\n\n", ladder.what));
        print_head(timer != nullptr);
    }
    for (const LadderStep& step : ladder.steps) {
        const Findings found = examine(op, ladder, step, timer, options.seconds);
        if (options.json)
            object["steps"].push_back(as_json(ladder, step, found));
        else
            print_row(step, found);
    }
    if (options.json)
        print(json_text(object) + "\n");
    else
        print(fmt::format("each tensor once: {:.0f} bytes\n", ladder.least_bytes(DType::f32)));
}

}  // namespace

int bench_ladder(Arguments arguments) {
    BenchLadderOptions options;
    OptionTable table = bench_ladder_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<std::string> names = ladder_names();
    for (const std::string& op : options.ops)
        check_usage(std::ranges::find(names, op) != names.end(),
                    fmt::format("--op {}: there is no such ladder; choose one of {}{}", op, fmt::join(names, ", "),
                                did_you_mean(op, names)));
    check_usage(device::available(), "bench ladder: its steps are CUDA kernels; " + device::why_unavailable());
    std::optional<DeviceTimer> timer;
    if (!device::emulated()) timer.emplace();
    if (!options.json) {
        print(device::description() + "\n");
        if (timer) print(fmt::format("copy {:.1f} GB/s; {}\n", timer->copy_gb_second(), timer->method()));
    }
    for (const LadderOp& op : ladders())
        if (options.ops.empty() || std::ranges::find(options.ops, op.op) != options.ops.end())
            run(op, options, timer ? &*timer : nullptr);
    if (options.json) return 0;
    if (timer)
        print("\n% of peak: of the chip's multiply-adds at its highest clock; % of copy: each tensor once, beside a copy\n");
    else
        print(
            "\naccesses: of warps to global memory; bytes: that their threads ask for; sectors: of 32 bytes, that the accesses "
            "touch,\n"
            "before any cache; each: sectors an access; shared: cycles of the banks of shared memory; conflicts: those of them "
            "that\n"
            "banks with several words cost; barriers: once for each warp; collectives: shuffles and other meetings of a warp.\n"
            "The library's kernels are not counted here: heddle explain shows them\n");
    return 0;
}

}  // namespace heddle::app
