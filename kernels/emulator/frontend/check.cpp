#include "kernels/emulator/frontend/check.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include "kernels/emulator/frontend/build.h"
#include "kernels/emulator/frontend/findings.h"
#include "kernels/emulator/frontend/gpuverify.h"
#include "kernels/emulator/frontend/process.h"
#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// How a program failed; empty if it did not.
std::string failure_of(const Ended& ended, double limit) {
    if (ended.too_long) return "it was ended after " + short_number(limit) + " seconds, in host code (--seconds gives it more)";
    if (ended.stopped != 0) return "it stopped itself by signal " + std::to_string(ended.stopped);
    if (ended.signal != 0) {
        const char* const name = ::strsignal(ended.signal);
        return "it was ended by signal " + std::to_string(ended.signal) + (name == nullptr ? "" : std::string(", ") + name);
    }
    return ended.status == 0 ? "" : "it returned " + std::to_string(ended.status);
}

// Runs the schedules of a program one after another.
class Schedules {
  public:
    Schedules(const Settings& settings, std::string program) : settings_(settings), program_(std::move(program)) {}

    Outcome run() {
        const auto start = Clock::now();
        Outcome outcome;
        for (int order = 1; order <= settings_.orders; ++order) {
            const double left = settings_.total_seconds - seconds_since(start);
            if (order > 1 && left < 0.5) break;
            const double limit = std::min(settings_.seconds, left);
            bool too_long = false;
            std::string failure = run_order(outcome.findings, order, limit, too_long);
            // The stack of a thread is small, so that many of them fit; whoever needs more gets it for all further schedules.
            if (overflowed_) {
                overflowed_ = false;
                stack_ = "1048576";
                std::fprintf(stderr, "%s: a thread needs more than its 64 KB of stack; trying again with 1 MB\n\n",
                             settings_.name.c_str());
                outcome.findings.restart(order);
                const double rest = std::max(std::min(limit, settings_.total_seconds - seconds_since(start)), 1.0);
                failure = run_order(outcome.findings, order, rest, too_long);
            }
            outcome.orders = order;
            if (outcome.failure.empty()) outcome.failure = failure;
            // Another schedule would take as long and say no more.
            if (too_long || outcome.findings.has("no-progress")) break;
        }
        return outcome;
    }

  private:
    std::string run_order(Findings& findings, int order, double limit, bool& too_long) {
        ProgramRun run;
        run.words = {program_};
        run.words.insert(run.words.end(), settings_.program_arguments.begin(), settings_.program_arguments.end());
        run.environment = environment(order, limit);
        run.shown = order == 1 && settings_.shows_output;
        // The program itself ends a launch that takes too long; only host code is ended from here.
        run.longest = std::chrono::milliseconds(static_cast<std::int64_t>((limit + 2) * 1000));
        const auto take = [&](const ViolationRecord& record) {
            if (overflowed_) return;  // it comes of the failed launch, and the run is repeated
            if (record.kind == "stack-overflow" && stack_.empty()) {
                overflowed_ = true;
                return;
            }
            if (const Finding* const found = findings.add(record, order)) std::fputs(report_of(*found).c_str(), stderr);
        };
        run.record = [&](std::string_view line) {
            const std::optional<ViolationRecord> record = decode(line);
            if (record) take(*record);
        };
        std::fflush(stdout);
        const bool traces = !settings_.trace.empty() && (order == 1 || findings.violations() == 0);
        if (traces) run.environment.push_back("HEDDLE_EMULATOR_TRACE=" + settings_.trace + ".new");
        const Ended ended = run_program(run, input_);
        if (traces) keep_trace(order == 1 || findings.violations() > 0);
        too_long = ended.too_long;
        return failure_of(ended, limit + 2);
    }

    // The trace of the last schedule, unless an earlier one is to be shown.
    void keep_trace(bool wanted) const {
        const std::string written = settings_.trace + ".new";
        if (wanted) std::remove(settings_.trace.c_str());
        if (wanted)
            std::rename(written.c_str(), settings_.trace.c_str());
        else
            std::remove(written.c_str());
    }

    std::vector<std::string> environment(int order, double limit) const {
        std::vector<std::string> all = {
            "HEDDLE_EMULATOR_SEED=" + std::to_string(settings_.seed + static_cast<std::uint64_t>(order) - 1),
            "HEDDLE_EMULATOR_CHIP=" + settings_.chip, "HEDDLE_EMULATOR_SECONDS=" + short_number(limit)};
        if (!settings_.memory.empty()) all.push_back("HEDDLE_EMULATOR_MEMORY=" + settings_.memory);
        if (!stack_.empty()) all.push_back("HEDDLE_EMULATOR_STACK=" + stack_);
        if (settings_.repeats != 0) all.push_back("HEDDLE_EMULATOR_REPEATS=" + std::to_string(settings_.repeats));
        if (!settings_.trace.empty()) all.push_back("HEDDLE_EMULATOR_LAUNCHES=" + std::to_string(settings_.launches));
        if (settings_.leaks) all.emplace_back("HEDDLE_EMULATOR_LEAKS=1");
        if (settings_.same_value) all.emplace_back("HEDDLE_EMULATOR_SAME_VALUE=1");
        if (settings_.cost && order == 1) all.emplace_back("HEDDLE_EMULATOR_COST=1");
        return all;
    }

    const Settings& settings_;
    std::string program_;
    std::string stack_;  // bytes; empty: the emulator's own
    bool overflowed_ = false;
    Input input_;
};

void write_results(const std::string& file, const std::string& text) {
    if (file == "-") {
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
        return;
    }
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    if (!stream.flush()) throw std::runtime_error(file + " cannot be written");
}

// The results for programs. False, after a message, if a file cannot be written: the verdict is still to be told.
bool write_all_results(const Outcome& outcome, const Settings& settings) {
    try {
        if (!settings.json.empty()) write_results(settings.json, json_of(outcome, settings));
        if (!settings.sarif.empty()) write_results(settings.sarif, sarif_of(outcome));
        return true;
    } catch (const std::runtime_error& error) {
        std::fprintf(stderr, "%s: %s\n", settings.name.c_str(), error.what());
        return false;
    }
}

// Whether an option says what a harness launches.
bool has_launch_options(const Settings& settings) {
    const Settings none;
    return settings.kernel != none.kernel || settings.call != none.call || settings.grid != none.grid ||
           settings.block != none.block || settings.shared != none.shared || !settings.arguments.empty();
}

int check_program(const Settings& settings, Outcome* result) {
    const Scratch scratch;
    const Builder builder(settings, scratch);
    std::vector<SourceUnit> units = builder.read(settings.sources);
    const bool has_main = std::any_of(units.begin(), units.end(), [](const SourceUnit& unit) { return unit.rewritten.has_main; });
    if (has_main && has_launch_options(settings))
        throw Refused(
            settings.sources[0] +
            " has a main(), which decides what is launched; leave out --kernel, --call, --grid, --block, --shared and --arg");
    if (!has_main) add_harness(units, settings);
    const std::filesystem::path program = builder.program(units);

    const Outcome outcome = Schedules(settings, program.string()).run();
    if (settings.cost) std::fputs(cost_table(outcome.findings.costs()).c_str(), stderr);
    const bool written = write_all_results(outcome, settings);
    std::fprintf(stderr, "%s: %s\n", settings.name.c_str(), outcome.verdict().c_str());
    if (result != nullptr) *result = outcome;
    return outcome.status() == 0 && !written ? 1 : outcome.status();
}

}  // namespace

int check(const Settings& settings, Outcome* result) {
    int signal = 0;
    {
        const CaughtSignals caught;
        try {
            if (settings.gpuverify && has_launch_options(settings))
                throw Refused("--gpuverify launches what the file's first lines say; leave out the options of a launch");
            return settings.gpuverify ? check_as_gpuverify(settings) : check_program(settings, result);
        } catch (const Interrupted& interrupted) {
            signal = interrupted.signal;
        }
    }
    std::raise(signal);  // ends this process as it would have without a child
    return 128 + signal;
}

}  // namespace heddle::emulator::frontend
