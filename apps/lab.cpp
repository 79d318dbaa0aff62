#include "apps/lab/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/commands.h"
#include "apps/option_rows.h"
#include "apps/output.h"
#include "core/format.h"

namespace heddle::app {
namespace {

struct LabCommandOptions {
    std::string out = "lab";
    bool json = false;
    lab::Options experiment;
    MachineOptions machine;
};

void list() {
    std::size_t width = 0;
    for (const lab::Experiment& one : lab::experiments()) width = std::max(width, one.name.size());
    for (const lab::Experiment& one : lab::experiments()) print(fmt::format("{:<{}}  {}\n", one.name, width, one.title));
}

void run(const lab::Experiment& experiment, const LabCommandOptions& options) {
    const lab::Result result = experiment.run(options.experiment);
    const std::filesystem::path file = std::filesystem::path(options.out) / (std::string(experiment.name) + ".html");
    lab::page(experiment, result, fmt::format("heddle lab {} --seed {}", experiment.name, options.experiment.seed)).write(file);
    print(options.json ? lab::json(experiment, result, options.experiment) : lab::text(experiment, result));
    say(fmt::format("wrote {}", file.string()));
}

}  // namespace

int lab_command(Arguments arguments) {
    LabCommandOptions options;
    const std::string name = arguments.empty() ? "" : arguments[0];
    OptionTable table("lab", "runs a known mistake beside its correction, and shows what it breaks");
    table.usage = "usage: heddle lab list\n       heddle lab NAME [options]\n       heddle lab all [options]\n";
    table.group("Experiments");
    table.add("out", options.out, "the folder for the pages: NAME.html, and index.html of all").called("FOLDER");
    table.add("seed", options.experiment.seed, "of everything random");
    table.add("json", options.json, "the numbers as JSON");
    table.group("Machine");
    table.add("threads", options.machine.threads, "threads to compute with")
        .at_least(1)
        .at_most(1024)
        .defaults_to("one per processor");
    const bool named = !name.empty() && name[0] != '-';
    if (!parse_command_line(table, named ? arguments.subspan(1) : arguments)) return 0;
    check_usage(named, "lab: no experiment; heddle lab list names them, heddle lab all runs all");
    if (name == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given, fmt::format("lab: list runs nothing: --{} has no effect", option.name));
        list();
        return 0;
    }
    const lab::Experiment* experiment = lab::find_experiment(name);
    check_usage(name == "all" || experiment != nullptr,
                fmt::format("lab: there is no experiment '{}'; see heddle lab list", name));
    apply(options.machine);
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) fail_with("--out {}: the folder cannot be made: {}", options.out, error.message());
    if (experiment != nullptr) {
        run(*experiment, options);
        return 0;
    }
    for (const lab::Experiment& one : lab::experiments()) {
        run(one, options);
        if (!options.json) print("\n");
    }
    lab::index().write(std::filesystem::path(options.out) / "index.html");
    return 0;
}

}  // namespace heddle::app
