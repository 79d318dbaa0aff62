#include "apps/lab/page_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/command/option_rows.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/output_folder.h"

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
    table.group(command.group);
    table.add(command.what, options.program, fmt::format("the {} to run; all: each; list: lists them", command.what))
        .called("NAME")
        .positional();
    table.add("out", options.out, "the folder for the pages: NAME.html, and index.html of all").called("FOLDER");
    table.add("seed", options.seed, "of everything random");
    table.add("json", options.json, "the numbers as JSON");
    add_processor_options(table, options.machine);
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

std::string file_of(const PageProgram& program) { return program.name + ".html"; }

// Links to the previous and next pages and to the index. If only one page is written, pages that do not exist are not linked.
std::vector<picture::Page::Link> neighbours(const PageCommand& command, const PageProgram& program, const std::string& out,
                                            bool all) {
    const auto number = static_cast<std::size_t>(&program - command.programs.data());
    std::vector<picture::Page::Link> links;
    const auto add = [&](const std::string& file, const std::string& text) {
        if (all || std::filesystem::exists(std::filesystem::path(out) / file)) links.push_back({file, text});
    };
    if (number > 0) add(file_of(command.programs[number - 1]), "← " + command.programs[number - 1].name);
    add("index.html", fmt::format("all {}s", command.what));
    if (number + 1 < command.programs.size())
        add(file_of(command.programs[number + 1]), command.programs[number + 1].name + " →");
    return links;
}

// Runs the program, writes its page, and returns its card for the index.
picture::Page::Card run(const PageCommand& command, const PageProgram& program, const PageOptions& options, bool all) {
    const std::filesystem::path file = std::filesystem::path(options.out) / file_of(program);
    picture::check_replaceable(file);  // fail now, not after minutes of work
    PageResult result =
        program.run(options.seed, fmt::format("heddle {} {} --seed {}", command.name, program.name, options.seed));
    result.page.navigation(neighbours(command, program, options.out, all)).write(file);
    print(options.json ? result.json : result.text);
    say(fmt::format("wrote {}", file.string()));
    return {{file_of(program), program.name + ": " + program.title}, result.finding, result.picture};
}

// The index, with a heading for each group.
picture::Page page_of_all(const PageCommand& command, const std::vector<picture::Page::Card>& cards) {
    picture::Page index(command.index_title);
    for (std::size_t begin = 0, end = 0; begin < cards.size(); begin = end) {
        const std::string& group = command.programs[begin].group;
        for (end = begin + 1; end < cards.size() && command.programs[end].group == group;) ++end;
        if (!group.empty()) index.heading(group);
        index.cards({cards.begin() + static_cast<std::ptrdiff_t>(begin), cards.begin() + static_cast<std::ptrdiff_t>(end)});
    }
    return index;
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
        run(command, *found, options, false);
        return 0;
    }
    const std::filesystem::path index = std::filesystem::path(options.out) / "index.html";
    picture::check_replaceable(index);
    std::vector<picture::Page::Card> cards;
    for (const PageProgram& one : command.programs) {
        cards.push_back(run(command, one, options, true));
        if (!options.json) print("\n");
    }
    page_of_all(command, cards).write(index);
    return 0;
}

}  // namespace heddle::app
