#include "apps/lab/page_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "apps/option_rows.h"
#include "apps/output.h"
#include "apps/output_folder.h"

namespace heddle::app {
namespace {

struct PageOptions {
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
    table.add("out", options.out, "the folder for the pages: NAME.html, and index.html of all").called("FOLDER");
    table.add("seed", options.seed, "of everything random");
    table.add("json", options.json, "the numbers as JSON");
    add_threads_option(table, options.machine);
    return table;
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
    const std::string name = arguments.empty() ? "" : arguments[0];
    OptionTable table = page_table(command, options);
    const bool named = !name.empty() && name[0] != '-';
    if (!parse_command_line(table, named ? arguments.subspan(1) : arguments)) return 0;
    check_usage(named,
                fmt::format("{0}: no {1}; heddle {0} list names them, heddle {0} all runs all", command.name, command.what));
    if (name == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given, fmt::format("{}: list runs nothing: --{} has no effect", command.name, option.name));
        list(command);
        return 0;
    }
    const auto found = std::ranges::find(command.programs, name, &PageProgram::name);
    check_usage(name == "all" || found != command.programs.end(),
                fmt::format("{0}: there is no {1} '{2}'; see heddle {0} list", command.name, command.what, name));
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
