#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/bench/bench.h"
#include "apps/bench/op_times.h"
#include "apps/command/option_rows.h"
#include "apps/options/suggestion.h"
#include "apps/translation/run/json.h"
#include "core/device.h"
#include "kernels/device/inspect.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_ladder.h"

namespace heddle::app {
namespace {

struct BenchLadderOptions {
    std::vector<std::string> ops;
    std::optional<std::int64_t> size;
    double seconds = 0.1;
    bool json = false;
};

OptionTable bench_ladder_table(BenchLadderOptions& options) {
    OptionTable table("bench ladder", "runs each step of a teaching ladder of CUDA kernels beside the library's kernel");
    table.usage = "usage: heddle bench ladder [NAME...] [--size 4096] [--json]\n";
    table.group(OptionGroup::measurement);
    table.add("op", options.ops, "the ladder of this op; there is matmul's").called("NAME...").defaults_to("all").positional();
    table.add("size", options.size, "rows and columns of the matrices")
        .at_least(1)
        .defaults_to("4096; 128 on the emulated device");
    table.add("seconds", options.seconds, "time for each step, on a GPU").at_least(0);
    table.add("json", options.json, "print one JSON object instead of a table");
    return table;
}

/// One kernel for C = A B.
struct Step {
    std::string name;
    DType dtype;
    std::function<Tensor(const Tensor& a, const Tensor& b)> run;
    std::optional<kernels::LadderStep> rung;  ///< none: cuBLASLt
};

std::vector<Step> matmul_steps() {
    using kernels::LadderStep;
    std::vector<Step> steps;
    const auto add = [&](const char* name, DType dtype, LadderStep rung) {
        steps.push_back(
            {name, dtype, [rung](const Tensor& a, const Tensor& b) { return kernels::matmul_ladder(rung, a, b); }, rung});
    };
    const auto add_library = [&](DType dtype) {
        steps.push_back(
            {"cuBLASLt", dtype, [](const Tensor& a, const Tensor& b) { return kernels::matmul_forward(a, b); }, std::nullopt});
    };
    add("naive", DType::f32, LadderStep::naive);
    add("shared_tile", DType::f32, LadderStep::shared_tile);
    add("register_tile", DType::f32, LadderStep::register_tile);
    add("vector_loads", DType::f32, LadderStep::vector_loads);
    add_library(DType::f32);
    add("tensor_cores", DType::bf16, LadderStep::tensor_cores);
    add_library(DType::bf16);
    return steps;
}

/// What was found out about a step; nothing where the device does not tell.
struct Findings {
    double operations = 0, least_bytes = 0;  ///< of the product, each matrix once
    std::int64_t launches = 1;
    std::optional<int> registers = {};
    std::optional<double> seconds = {}, peak = {};
    std::optional<device::Traffic> traffic = {};
};

Findings examine(const Step& step, std::int64_t size, DeviceTimer* timer, double seconds) {
    const auto extent = static_cast<double>(size);
    Findings found{.operations = 2 * extent * extent * extent,
                   .least_bytes = 3 * extent * extent * static_cast<double>(size_of(step.dtype))};
    const benches::Setting setting{.device = Device::cuda, .dtype = step.dtype};
    const Tensor a = benches::numbers({size, size}, setting), b = benches::numbers({size, size}, setting);
    if (timer == nullptr) {
        const std::int64_t before = device::statistics().launches;
        const device::Traffic traffic = device::traffic_of([&] { step.run(a, b); });
        if (!step.rung) return found;  // a product of the library's is no launch, and the emulator makes it without a kernel
        found.launches = device::statistics().launches - before;
        found.traffic = traffic;
        return found;
    }
    const OpCase one{.op = "matmul",
                     .what = step.name,
                     .prepare =
                         [&] {
                             return [&] {
                                 step.run(a, b);
                                 return Variable();
                             };
                         },
                     .forward_operations = found.operations,
                     .forward_bytes = found.least_bytes};
    found.seconds = timer->measure(one, seconds).forward;
    if (const double peak = device::peak_operations(step.dtype); peak > 0) found.peak = peak;
    if (step.rung) found.registers = kernels::matmul_ladder_registers(*step.rung);
    return found;
}

template <class T>
std::string or_dash(const char* format, const std::optional<T>& value) {
    return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

constexpr std::string_view timed_format = "{:<14}  {:<5}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}\n";
constexpr std::string_view counted_format = "{:<14}  {:<5}  {:>9}  {:>11}  {:>13}  {:>11}  {:>7}  {:>9}\n";

void print_head(bool timed) {
    if (timed)
        fmt::print(timed_format, "step", "dtype", "us", "TFLOP/s", "% of peak", "% of copy", "registers");
    else
        fmt::print(counted_format, "step", "dtype", "launches", "accesses", "bytes", "sectors", "a warp", "bytes a *");
}

void print_row(const Step& step, const Findings& found, double copy_gb_second) {
    if (found.seconds) {
        const double rate = found.operations / *found.seconds;
        std::optional<double> of_peak;
        if (found.peak) of_peak = 100 * rate / *found.peak;
        fmt::print(timed_format, step.name, name(step.dtype), fmt::format("{:.1f}", 1e6 * *found.seconds),
                   fmt::format("{:.2f}", rate / 1e12), or_dash("{:.1f}", of_peak),
                   fmt::format("{:.1f}", 100 * found.least_bytes / *found.seconds / 1e9 / copy_gb_second),
                   or_dash("{}", found.registers));
    } else if (found.traffic) {
        const device::Traffic& t = *found.traffic;
        fmt::print(counted_format, step.name, name(step.dtype), found.launches, t.accesses, t.bytes, t.sectors,
                   fmt::format("{:.1f}", static_cast<double>(t.sectors) / static_cast<double>(t.accesses)),
                   fmt::format("{:.3f}", 2 * static_cast<double>(t.bytes) / found.operations));
    } else {
        fmt::print(counted_format, step.name, name(step.dtype), found.launches, "-", "-", "-", "-", "-");
    }
    std::fflush(stdout);
}

nlohmann::ordered_json as_json(const Step& step, const Findings& found, double copy_gb_second) {
    nlohmann::ordered_json row = {{"step", step.name}, {"dtype", word_of(step.dtype)}, {"least_bytes", found.least_bytes}};
    if (found.seconds) {
        row["microseconds"] = 1e6 * *found.seconds;
        row["tflops"] = found.operations / *found.seconds / 1e12;
        if (found.peak) row["percent_of_peak"] = 100 * found.operations / *found.seconds / *found.peak;
        row["percent_of_copy"] = 100 * found.least_bytes / *found.seconds / 1e9 / copy_gb_second;
    } else {
        row["launches"] = found.launches;
    }
    if (found.registers) row["registers"] = *found.registers;
    if (found.traffic) {
        row["accesses"] = found.traffic->accesses;
        row["bytes"] = found.traffic->bytes;
        row["sectors"] = found.traffic->sectors;
    }
    return row;
}

}  // namespace

int bench_ladder(Arguments arguments) {
    BenchLadderOptions options;
    OptionTable table = bench_ladder_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    for (const std::string& op : options.ops)
        check_usage(op == "matmul",
                    fmt::format("--op {}: there is no such ladder; choose one of matmul{}", op, did_you_mean(op, {"matmul"})));
    check_usage(device::available(), "bench ladder: its steps are CUDA kernels; " + device::why_unavailable());
    const std::int64_t size = options.size.value_or(device::emulated() ? 128 : 4096);

    std::optional<DeviceTimer> timer;
    if (!device::emulated()) timer.emplace();
    const double copy = timer ? timer->copy_gb_second() : 0;
    nlohmann::ordered_json object = {{"peer", "heddle"}, {"mode", device::description()}, {"ladder", "matmul"}, {"size", size}};
    if (timer) {
        object["copy_gb_per_second"] = copy;
        object["method"] = timer->method();
    }
    if (!options.json) {
        fmt::print("{}: matmul, C = A B with {} rows and columns each\n", device::description(), size);
        if (timer) fmt::print("copy {:.1f} GB/s; {}\n", copy, timer->method());
        fmt::print("\n");
        print_head(timer.has_value());
    }
    for (const Step& step : matmul_steps()) {
        const Findings found = examine(step, size, timer ? &*timer : nullptr, options.seconds);
        if (options.json)
            object["steps"].push_back(as_json(step, found, copy));
        else
            print_row(step, found, copy);
    }
    if (options.json) {
        fmt::print("{}\n", json_text(object));
    } else if (timer) {
        fmt::print("\n% of peak: of the chip's multiply-adds at its highest clock; % of copy: each matrix once, beside a copy\n");
    } else {
        const std::int64_t elements = 3 * size * size;
        fmt::print(
            "\naccesses: of warps to global memory; bytes: that their threads ask for; sectors: of 32 bytes, that the accesses "
            "touch,\n"
            "before any cache; a warp: sectors an access; bytes a *: for each multiply-add. Each matrix once: {} bytes in f32, "
            "{} in\n"
            "bf16. The emulated cuBLASLt has no kernels\n",
            4 * elements, 2 * elements);
    }
    return 0;
}

}  // namespace heddle::app
