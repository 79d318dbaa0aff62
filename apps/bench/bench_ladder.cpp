#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

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

using Row = nlohmann::ordered_json;

// A step's row: its times on a GPU, or what it asks of the emulated device's memory.
Row examine(const LadderOp& op, const Ladder& ladder, const LadderStep& step, DeviceTimer* timer, double seconds) {
    Row row = {{"step", step.name}, {"dtype", word_of(step.dtype)}, {"least_bytes", ladder.least_bytes(step.dtype)}};
    if (timer == nullptr) {
        const std::int64_t before = device::statistics().launches;
        const device::Traffic t = device::traffic_of(step.run);
        if (step.is_library()) return row;  // the library's kernels also make plain accesses, which are not counted
        row.update({{"launches", device::statistics().launches - before},
                    {"accesses", t.accesses},
                    {"bytes", t.bytes},
                    {"sectors", t.sectors},
                    {"sectors_each", static_cast<double>(t.sectors) / static_cast<double>(t.accesses)},
                    {"shared_accesses", t.shared_accesses},
                    {"shared_cycles", t.shared_cycles},
                    {"least_shared_cycles", t.least_shared_cycles},
                    {"conflict_cycles", t.shared_cycles - t.least_shared_cycles},
                    {"barriers", t.barriers},
                    {"collectives", t.collectives}});
        return row;
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
    const double took = timer->measure(one, seconds).forward;
    row["microseconds"] = 1e6 * took;
    if (ladder.operations > 0) {
        row["tflops"] = ladder.operations / took / 1e12;
        if (const double peak = device::peak_operations(step.dtype); peak > 0)
            row["percent_of_peak"] = 100 * ladder.operations / took / peak;
    }
    row["percent_of_copy"] = 100 * one.forward_bytes / took / 1e9 / timer->copy_gb_second();
    if (!step.is_library()) row["registers"] = step.registers();
    return row;
}

struct Column {
    std::string_view title, key;
    int width, decimals;
};
constexpr Column kTimes[] = {{"us", "microseconds", 9, 1},
                             {"TFLOP/s", "tflops", 9, 2},
                             {"% of peak", "percent_of_peak", 9, 1},
                             {"% of copy", "percent_of_copy", 9, 1},
                             {"registers", "registers", 9, 0}};
constexpr Column kCounts[] = {
    {"launches", "launches", 8, 0},         {"accesses", "accesses", 9, 0}, {"bytes", "bytes", 11, 0},
    {"sectors", "sectors", 9, 0},           {"each", "sectors_each", 6, 1}, {"shared", "shared_cycles", 8, 0},
    {"conflicts", "conflict_cycles", 9, 0}, {"barriers", "barriers", 8, 0}, {"collectives", "collectives", 11, 0}};

// A line of the table: the titles, or the numbers of a row.
void print_line(std::span<const Column> columns, const Row* row) {
    std::string line =
        row == nullptr ? fmt::format("{:<14}  {:<5}", "step", "dtype")
                       : fmt::format("{:<14}  {:<5}", row->at("step").get<std::string>(), row->at("dtype").get<std::string>());
    for (const Column& column : columns) {
        std::string cell(column.title);
        if (row != nullptr)
            cell = row->contains(column.key) ? fmt::format("{:.{}f}", row->at(column.key).get<double>(), column.decimals) : "-";
        line += fmt::format("  {:>{}}", cell, column.width);
    }
    print(line + "\n");
}

void run(const LadderOp& op, const BenchLadderOptions& options, DeviceTimer* timer) {
    const Ladder ladder = op.of(options.size);
    const std::span<const Column> columns = timer != nullptr ? std::span<const Column>(kTimes) : std::span<const Column>(kCounts);
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
        print_line(columns, nullptr);
    }
    for (const LadderStep& step : ladder.steps) {
        Row row = examine(op, ladder, step, timer, options.seconds);
        if (options.json)
            object["steps"].push_back(std::move(row));
        else
            print_line(columns, &row);
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
