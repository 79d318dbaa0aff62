#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/bench/bench.h"
#include "apps/bench/op_cases.h"
#include "apps/bench/op_times.h"
#include "apps/command/option_rows.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"
#include "core/cpu.h"
#include "core/device.h"
#include "core/parallel.h"

namespace heddle::app {
namespace {

struct BenchOpsOptions {
    std::vector<std::string> ops;
    std::string sizes = "translator";
    DType dtype = DType::f32;
    bool json = false;
    double seconds = 0.1;
    MachineOptions machine;
};

OptionTable bench_ops_table(BenchOpsOptions& options) {
    OptionTable table("bench ops", "runs every op, forward and backward, and compares it with the machine's peak");
    table.usage = "usage: heddle bench ops [NAME...] [--sizes translator] [--json]\n";
    table.group(OptionGroup::measurement);
    table.add("op", options.ops, "measure these ops only").called("NAME...").defaults_to("all").positional();
    table
        .add("sizes", options.sizes,
             "the standard translator's, a toy's, attention over sentences of 10-60 tokens, plain ops at four shapes, or 512 MB "
             "and 16k tokens")
        .one_of({"translator", "tiny", "sentences", "rows", "large"});
    table.add("dtype", options.dtype, "what tensors hold; bf16 on CUDA only");
    table.add("seconds", options.seconds, "time for each case").at_least(0);
    table.add("json", options.json, "print one JSON object instead of a table");
    add_machine_options(table, options.machine);
    return table;
}

/// The machine's peak rates, for comparison.
struct Ceilings {
    double copy_gb_second = 0;
    double gflops = 0;  ///< 0: not measured
};

using Row = nlohmann::ordered_json;

Row measurements(const BenchCase& one, const OpTimes& times, const Ceilings& machine) {
    Row row = {{"op", one.op}, {"case", one.what}, {"samples", times.samples}};
    if (!one.formula.empty()) row["operations"] = one.formula;
    if (times.host > 0) row["host_microseconds"] = 1e6 * times.host;
    if (times.graphs) row["graph"] = true;
    if (times.waits > 0) row["host_waits"] = times.waits;
    const auto add = [&](const std::string& side, double seconds, double operations, double bytes) {
        row[side + "_microseconds"] = 1e6 * seconds;
        if (operations > 0) row[side + "_gflops"] = operations / seconds / 1e9;
        row[side + "_gb_per_second"] = bytes / seconds / 1e9;
        row[side + "_percent_of_copy"] = 100 * bytes / seconds / 1e9 / machine.copy_gb_second;
    };
    add("forward", times.forward, one.forward_operations, one.forward_bytes);
    if (one.goes_back()) add("backward", times.backward, one.backward_operations, one.backward_bytes);
    return row;
}

constexpr std::string_view row_format = "{:<20}  {:<54}  {:>9}  {:>9}  {:>7}  {:>6}  {:>9}  {:>9}  {:>7}  {:>6}\n";

void print_row(const Row& row) {
    const auto cell = [&](const char* key, int decimals) {
        return row.contains(key) ? fmt::format("{:.{}f}", row.at(key).get<double>(), decimals) : "-";
    };
    print(fmt::format(row_format, row.at("op").get<std::string>(), row.at("case").get<std::string>(),
                      cell("forward_microseconds", 1), cell("forward_gflops", 1), cell("forward_gb_per_second", 1),
                      cell("forward_percent_of_copy", 0), cell("backward_microseconds", 1), cell("backward_gflops", 1),
                      cell("backward_gb_per_second", 1), cell("backward_percent_of_copy", 0)));
}

void print_formulas(const std::vector<BenchCase>& cases) {
    print("\nfloating-point operations (two for a multiply-add), bytes: each tensor once\n");
    std::string last;
    for (const BenchCase& one : cases)
        if (!one.formula.empty() && one.op != last) print(fmt::format("{:<20}  {}\n", last = one.op, one.formula));
}

std::vector<BenchCase> wanted_cases(const OpSetting& setting, const std::vector<std::string>& ops) {
    std::vector<BenchCase> all = op_cases(setting), wanted;
    std::vector<std::string> names;
    const auto among = [](const std::vector<std::string>& list, const std::string& op) {
        return std::find(list.begin(), list.end(), op) != list.end();
    };
    for (BenchCase& one : all) {
        if (!among(names, one.op)) names.push_back(one.op);
        if (ops.empty() || among(ops, one.op)) wanted.push_back(std::move(one));
    }
    for (const std::string& op : ops)
        check_usage(among(names, op),
                    fmt::format("--op {}: there is no such op with --sizes {} and --dtype {}; choose one of {}{}", op,
                                setting.sizes, name(setting.dtype), fmt::join(names, ", "), did_you_mean(op, names)));
    return wanted;
}

}  // namespace

int bench_ops(Arguments arguments) {
    BenchOpsOptions options;
    OptionTable table = bench_ops_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    apply(options.machine);
    const OpSetting setting = {.device = options.machine.device, .dtype = options.dtype, .sizes = options.sizes};
    check_usage(setting.device == Device::cuda || setting.dtype == DType::f32,
                "--dtype bf16: the CPU's ops compute in f32 and f64; add --device cuda");
    const std::vector<BenchCase> cases = wanted_cases(setting, options.ops);

    Ceilings machine;
    std::optional<DeviceTimer> timer;
    if (setting.device == Device::cuda) {
        machine.copy_gb_second = timer.emplace().copy_gb_second();
    } else {
        const MachineRates rates = measure_machine();
        machine = {.copy_gb_second = rates.copy_gb_second, .gflops = rates.gflops};
    }
    nlohmann::ordered_json object = {{"peer", "heddle"},
                                     {"mode", description(options.machine)},
                                     {"device", word_of(options.machine.device)},
                                     {"dtype", word_of(options.dtype)},
                                     {"sizes", options.sizes},
                                     {"level", name(cpu_level())},
                                     {"threads", threads()},
                                     {"copy_gb_per_second", machine.copy_gb_second}};
    if (machine.gflops > 0) object["peak_gflops"] = machine.gflops;
    if (timer) object["method"] = timer->method();
    if (!options.json) {
        print(fmt::format("{}: ", description(options.machine)));
        if (machine.gflops > 0) print(fmt::format("peak {:.0f} GFLOP/s, ", machine.gflops));
        print(fmt::format("copy {:.1f} GB/s\n{}{}\n", machine.copy_gb_second, timer ? timer->method() : "", timer ? "\n" : ""));
        print(fmt::format(row_format, "op", "case", "forw. us", "GFLOP/s", "GB/s", "% copy", "backw. us", "GFLOP/s", "GB/s",
                          "% copy"));
    }
    for (const BenchCase& one : cases) {
        const OpTimes times = timer ? timer->measure(one, options.seconds) : measure_on_cpu(one, options.seconds);
        Row row = measurements(one, times, machine);
        if (options.json)
            object["ops"].push_back(std::move(row));
        else
            print_row(row);
    }
    if (options.json)
        print(json_text(object) + "\n");
    else
        print_formulas(cases);
    return 0;
}

}  // namespace heddle::app
