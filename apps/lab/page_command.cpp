#include "apps/lab/page_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "apps/option_rows.h"
#include "apps/output.h"
#include "apps/output_folder.h"
#include "apps/suggestion.h"

namespace heddle::app {
namespace {

struct PageOptions {
    std::string program = "list";
    std::string out;
    bool json = false;
    std::uint64_t seed = 1;
    MachineOptions machine;
};

OptionTable page_table(const PageCommand& command, PageOptions& options) {
    OptionTable table(command.name, command.summary);
    table.usage =
        fmt::format("usage: heddle {0} list\n       heddle {0} NAME [options]\n       heddle {0} all [options]\n", command.name);
    std::string heading = command.what + "s";
    heading[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(heading[0])));
    table.group(heading);
    table.add(command.what, options.program, fmt::format("the {} to run; all: each; list: says what there is", command.what))
        .called("NAME")
        .positional();
    table.add("out", options.out, "the folder for the pages: NAME.html, and index.html of all").called("FOLDER");
    table.add("seed", options.seed, "of everything random");
    table.add("json", options.json, "the numbers as JSON");
    add_threads_option(table, options.machine);
    return table;
}

std::vector<std::string> names(const PageCommand& command) {
    std::vector<std::string> all = {"all", "list"};
    for (const PageProgram& one : command.programs) all.push_back(one.name);
    return all;
}

void list(const PageCommand& command) {
    std::size_t width = 0;
    for (const PageProgram& one : command.programs) width = std::max(width, one.name.size());
    for (const PageProgram& one : command.programs) print(fmt::format("{:<{}}  {}\n", one.name, width, one.title));
}

void run(const PageCommand& command, const PageProgram& program, const PageOptions& options) {
    const PageResult result =
        program.run(options.seed, fmt::format("heddle {} {} --seed {}", command.name, program.name, options.seed));
    const std::filesystem::path file = std::filesystem::path(options.out) / (program.name + ".html");
    result.page.write(file);
    print(options.json ? result.json : result.text);
    say(fmt::format("wrote {}", file.string()));
}

}  // namespace

int run_page_command(const PageCommand& command, Arguments arguments) {
    PageOptions options;
    options.out = command.name;
    OptionTable table = page_table(command, options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::string& name = options.program;
    if (name == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == command.what,
                        fmt::format("{}: list runs nothing: --{} has no effect", command.name, option.name));
        list(command);
        return 0;
    }
    const auto found = std::ranges::find(command.programs, name, &PageProgram::name);
    check_usage(name == "all" || found != command.programs.end(),
                fmt::format("{}: there is no {} '{}'{}", command.name, command.what, name,
                            did_you_mean(name, names(command), fmt::format("see heddle {} list", command.name))));
    apply(options.machine);
    make_folder(options.out, "--out");
    if (found != command.programs.end()) {
        run(command, *found, options);
        return 0;
    }
    for (const PageProgram& one : command.programs) {
        run(command, one, options);
        if (!options.json) print("\n");
    }
    page_index(command).write(std::filesystem::path(options.out) / "index.html");
    return 0;
}

picture::Page page_index(const PageCommand& command) {
    picture::Page index(command.index_title);
    for (const PageProgram& one : command.programs) index.link(one.name + ".html", one.name + ": " + one.title);
    return index;
}

}  // namespace heddle::app
