// The table of the options of `heddle check`, from which Heddle's command line and that of heddle-check are made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

enum class Subject { files, run, launch, output };

struct OptionRow {
    Subject subject;
    const char* name;   ///< without the dashes
    const char* value;  ///< how --help writes it; null: a flag
    const char* help;
    const char* unset = nullptr;  ///< describes the default of an option that has no value
    std::optional<double> least = {}, most = {}, above = {};
    std::vector<std::string> choices = {};
};

/// Calls add(row, target) for each option, in the order of --help. A target is a bool, a number, a text, or, for the option that
/// may be given several times, a list of texts; it holds the default.
template <class Add>
void each_option(Settings& s, Add&& add) {
    using Row = OptionRow;
    add(Row{Subject::files, "gpuverify", nullptr,
            "a file of GPUVerify's testsuite: its first lines say what is launched and expected"},
        s.gpuverify);
    add(Row{.subject = Subject::run,
            .name = "orders",
            .value = "N",
            .help = "orders of blocks and threads to try",
            .least = 1,
            .most = 1000},
        s.orders);
    add(Row{.subject = Subject::run,
            .name = "seed",
            .value = "N",
            .help = "the seed of the first order; each further one has the next number",
            .least = 1},
        s.seed);
    add(Row{.subject = Subject::run,
            .name = "seconds",
            .value = "X",
            .help = "the most that one order may take; all together take 50, or this if it is more",
            .above = 0},
        s.seconds);
    add(Row{.subject = Subject::run,
            .name = "chip",
            .value = "CHIP",
            .help = "the emulated device",
            .choices = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}},
        s.chip);
    add(Row{Subject::run, "memory", "SIZE", "its memory, such as 512M or 2G", "the emulator's own"}, s.memory);
    add(Row{Subject::run, "repeats", "N", "run only the first N of launches of a kernel with the same arguments at the same line",
            "all"},
        s.repeats);
    add(Row{Subject::run, "leaks", nullptr, "memory of the device that is still allocated at exit is a violation"}, s.leaks);
    add(Row{Subject::run, "allow-same-value", nullptr, "two threads may write the value that already stands there"},
        s.same_value);
    add(Row{Subject::launch, "call", "NAME", "a host function to call with the values of --arg, in their order"}, s.call);
    add(Row{Subject::launch, "kernel", "NAME", "the kernel to launch, such as saxpy or 'scale<float>'"}, s.kernel);
    add(Row{Subject::launch, "grid", "G", "its grid: 2 or 2x3x4"}, s.grid);
    add(Row{Subject::launch, "block", "B", "its block"}, s.block);
    add(Row{Subject::launch, "shared", "N", "bytes of dynamic shared memory"}, s.shared);
    add(Row{Subject::launch, "arg", "NAME=VALUE",
            "one parameter, given again for each: n=1024, x=f32[1024] (random), y=f32[32x32]:zeros, :0..9, :iota, :none or :7"},
        s.arguments);
    add(Row{Subject::output, "cost", nullptr,
            "print the sectors, bank conflicts and divergence of each kernel, and its worst line"},
        s.cost);
    add(Row{Subject::output, "json", "FILE", "the results as JSON; - is stdout"}, s.json);
    add(Row{Subject::output, "sarif", "FILE", "the results in SARIF 2.1.0, which GitHub shows beside the lines; - is stdout"},
        s.sarif);
}

}  // namespace heddle::emulator::frontend
