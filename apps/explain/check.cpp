#include "apps/explain/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/sibling_program.h"
#include "apps/options/option_table.h"
#include "apps/terminal/terminal.h"
#include "kernels/emulator/frontend/check.h"
#include "kernels/emulator/frontend/options.h"

namespace heddle::app {
namespace {

namespace frontend = emulator::frontend;

// In an installed Heddle the headers and the library lie in a folder of their own; in a build folder they are those of the source
// tree and of the build.
frontend::Toolkit toolkit() {
    const std::filesystem::path installed = (this_program().parent_path() / HEDDLE_CHECK_FOLDER).lexically_normal();
    if (std::filesystem::exists(installed)) return {installed / "include", installed / "libheddle_emulator_checked.a"};
    return {HEDDLE_SOURCE_DIR, HEDDLE_CHECK_LIBRARY};
}

OptionTable check_table(frontend::Settings& settings) {
    OptionTable table = program_table(
        "check", "runs CUDA C++ without a GPU and reports races and other mistakes of its kernels",
        "The compiler is $CXX, else c++, g++ or clang++. It also gets -I, -D, -U, -std, -O, -include, -isystem, -l and -L; what "
        "follows\n"
        "-- are the program's arguments. Exit status: 0 no violation, 3 a violation, 1 the program failed by itself, 2 wrong "
        "usage or\n"
        "the file does not compile.\n",
        settings);
    add_check_options(table, settings);
    return table;
}

// A table takes each option once; --arg may be given for each parameter.
std::vector<std::string> without_arguments(const std::vector<std::string>& words, std::vector<std::string>& arguments) {
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--arg" && i + 1 < words.size())
            arguments.push_back(words[++i]);
        else if (words[i].starts_with("--arg="))
            arguments.push_back(words[i].substr(6));
        else
            rest.push_back(words[i]);
    }
    return rest;
}

int check_files(Arguments words) {
    frontend::Settings settings;
    OptionTable table = check_table(settings);
    return parse_program(table, words, settings) ? frontend::check(settings) : 0;
}

}  // namespace

OptionTable program_table(const std::string& command, const char* summary, const char* remarks, frontend::Settings& settings) {
    OptionTable table(command, summary);
    table.usage = fmt::format(
        "usage: heddle {0} FILE.cu [FILE.cu ...] [options] [-- ARGUMENTS]\n"
        "       heddle {0} FILE.cu --kernel NAME --grid 2 --block 64 --arg x=f32[128] --arg n=128    (a file without "
        "main)\n\n{1}",
        command, remarks);
    table.group(OptionGroup::files);
    table.add("file", settings.sources, "CUDA C++ files, which become one program").called("FILE...").positional();
    return table;
}

void add_check_options(OptionTable& table, frontend::Settings& settings, const std::vector<std::string>& names) {
    constexpr OptionGroup groups[] = {OptionGroup::files, OptionGroup::run, OptionGroup::launch, OptionGroup::output};
    frontend::each_option(settings, [&](const frontend::OptionRow& row, auto& target) {
        if (!names.empty() && std::ranges::find(names, row.name) == names.end()) return;
        table.group(groups[static_cast<int>(row.subject)]);
        Option& option = table.add(row.name, target, row.help);
        if (row.value != nullptr) option.called(row.value);
        if (row.unset != nullptr) option.defaults_to(row.unset);
        if (!row.choices.empty()) option.one_of(row.choices);
        option.least = row.least;
        option.most = row.most;
        option.above = row.above;
    });
}

bool parse_program(OptionTable& table, Arguments words, frontend::Settings& settings) {
    std::vector<std::string> arguments;
    const std::vector<std::string> rest = without_arguments(
        frontend::without_compiler_options(std::vector<std::string>(words.begin(), words.end()), settings), arguments);
    std::vector<const char*> pointers;
    for (const std::string& word : rest) pointers.push_back(word.c_str());
    if (!parse_command_line(table, pointers)) return false;
    settings.arguments.insert(settings.arguments.end(), arguments.begin(), arguments.end());
    settings.toolkit = toolkit();
    frontend::complete_settings(settings);
    return true;
}

int check_command(Arguments arguments) {
    try {
        return check_files(arguments);
    } catch (const frontend::Refused& refused) {  // several lines: a list of kernels, each with a command line
        say(std::string("heddle check: ") + refused.what());
        return 2;
    }
}

}  // namespace heddle::app
