// heddle explain FILE.cu, in heddle-lab: an installed Heddle has no program with watched kernels of its own, and needs none here.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "apps/command/commands.h"
#include "apps/explain/check.h"
#include "apps/explain/explanation_program.h"
#include "apps/terminal/terminal.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "kernels/emulator/frontend/check.h"
#include "kernels/emulator/frontend/scratch.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
namespace frontend = emulator::frontend;

struct ExplainFileOptions {
    frontend::Settings settings;
    std::string out;
    bool json = false;
};

OptionTable explain_file_table(ExplainFileOptions& options) {
    frontend::Settings& settings = options.settings;
    OptionTable table = program_table(
        "explain", "runs CUDA C++ without a GPU and shows on a page what its warps ask of memory",
        "The file is checked as by heddle check; the page shows the first order in which there was a violation, else the "
        "first.\n",
        settings);
    table.group(OptionGroup::run);
    table.add("launches", settings.launches, "the most launches on the page: the first ones, and the first with a violation")
        .at_least(1)
        .at_most(1000);
    add_check_options(table, settings,
                      {"orders", "seed", "seconds", "chip", "memory", "call", "kernel", "grid", "block", "shared", "arg"});
    table.group(OptionGroup::output);
    table.add("json", options.json, "the counts and all accesses as JSON, on stdout, in place of what the program prints");
    table.add("out", options.out, "the page")
        .defaults_to("the file's name with .html, beside it; none with --json")
        .called("FILE");
    return table;
}

int explain_program(Arguments words) {
    ExplainFileOptions options;
    OptionTable table = explain_file_table(options);
    frontend::Settings& settings = options.settings;
    settings.name = "heddle explain";
    if (!parse_program(table, words, settings)) return 0;
    check_usage(options.out != "-", "explain: stdout is for the counts, or for --json; give the name of a file");
    const std::string file = settings.sources[0];
    if (options.out.empty() && !options.json) options.out = fs::path(file).replace_extension(".html").string();
    if (!options.out.empty()) picture::check_replaceable(options.out);  // now, not after the run
    const frontend::Scratch scratch;
    settings.trace = (scratch.folder() / "trace").string();
    settings.shows_output = !options.json;
    frontend::Outcome outcome;
    frontend::check(settings, &outcome);
    emulator::ProgramTrace trace;
    if (!emulator::read_trace(trace, settings.trace)) {
        say(fmt::format("{}: the program was ended before it could write down its accesses, so there is nothing to show", file));
        return 1;
    }
    if (trace.launches.empty()) {
        say(fmt::format("{}: no kernel ran, so there is nothing to show", file));
        return 1;
    }
    if (trace.launched > trace.launches.size())
        say(fmt::format("{} of {} launches are shown; --launches N takes more", trace.launches.size(), trace.launched));
    for (const emulator::TracedLaunch& launch : trace.launches)
        if (launch.is_cut) {
            say(fmt::format("kernel {} is shown up to the {} accesses and waits that a trace holds; a smaller size fits it",
                            launch.kernel, grouped_text(emulator::kMostTraceEvents)));
            break;
        }
    std::string command = "heddle explain";
    for (const char* word : words) command += " " + shell_word(word);
    const std::array explained = {explain::explanation_of(std::move(trace), settings, outcome.findings.all(), command)};
    explain::show(explained, options.out, options.json, explain::text_of(explained));
    return 0;
}

}  // namespace

int explain_file_command(Arguments arguments) {
    try {
        return explain_program(arguments);
    } catch (const frontend::Refused& refused) {
        say(std::string("heddle explain: ") + refused.what());
        return 2;
    }
}

}  // namespace heddle::app
