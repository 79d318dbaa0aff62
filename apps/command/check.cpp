#include "apps/command/check.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/sibling_program.h"
#include "apps/options/option_table.h"
#include "apps/terminal/terminal.h"
#include "kernels/emulator/frontend/check.h"

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
    OptionTable table("check", "runs CUDA C++ without a GPU and reports races and other mistakes of its kernels");
    table.usage =
        "usage: heddle check FILE.cu [FILE.cu ...] [options] [-- ARGUMENTS]\n"
        "       heddle check FILE.cu --kernel NAME --grid 2 --block 64 --arg x=f32[128] --arg n=128    (a file without main)\n\n"
        "The compiler is $CXX, else c++, g++ or clang++. It also gets -I, -D, -U, -std, -O, -include, -isystem, -l and -L; what "
        "follows\n"
        "-- are the program's arguments. Exit status: 0 no violation, 3 a violation, 1 the program failed by itself, 2 wrong "
        "usage or\n"
        "the file does not compile.\n";
    table.group(OptionGroup::files);
    table.add("file", settings.sources, "CUDA C++ files, which become one program").called("FILE...").positional();
    table.add("gpuverify", settings.gpuverify,
              "a file of GPUVerify's testsuite: its first lines say what is launched and expected");
    table.group(OptionGroup::run);
    table.add("orders", settings.orders, "orders of blocks and threads to try").at_least(1).at_most(1000);
    table.add("seed", settings.seed, "the seed of the first order; each further one has the next number").at_least(1);
    table.add("seconds", settings.seconds, "the most that one order may take; all together take 50, or this if it is more")
        .more_than(0);
    table.add("chip", settings.chip, "the emulated device").one_of({"sm_80", "sm_86", "sm_89", "sm_90"});
    table.add("memory", settings.memory, "its memory, such as 512M or 2G").called("SIZE").defaults_to("the emulator's own");
    table
        .add("repeats", settings.repeats, "run only the first N of launches of a kernel with the same arguments at the same line")
        .called("N")
        .defaults_to("all");
    table.add("leaks", settings.leaks, "memory of the device that is still allocated at exit is a violation");
    table.add("allow-same-value", settings.same_value, "two threads may write the value that already stands there");
    add_launch_options(table, settings);
    table.group(OptionGroup::output);
    table.add("cost", settings.cost, "print the sectors, bank conflicts and divergence of each kernel, and its worst line");
    table.add("json", settings.json, "the results as JSON; - is stdout").called("FILE");
    table.add("sarif", settings.sarif, "the results in SARIF 2.1.0, which GitHub shows beside the lines; - is stdout")
        .called("FILE");
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

void add_launch_options(OptionTable& table, frontend::Settings& settings) {
    table.group(OptionGroup::launch);
    table.add("call", settings.call, "a host function to call with the values of --arg, in their order").called("NAME");
    table.add("kernel", settings.kernel, "the kernel to launch, such as saxpy or 'scale<float>'")
        .called("NAME");
    table.add("grid", settings.grid, "its grid: 2 or 2x3x4").called("G");
    table.add("block", settings.block, "its block").called("B");
    table.add("shared", settings.shared, "bytes of dynamic shared memory");
    table
        .add("arg", settings.arguments,
             "one parameter, given again for each: n=1024, x=f32[1024] (random), y=f32[32x32]:zeros, :0..9, :iota, :none or :7")
        .called("NAME=VALUE");
}

bool parse_program(OptionTable& table, Arguments words, frontend::Settings& settings) {
    std::vector<std::string> arguments;
    const std::vector<std::string> rest = without_arguments(
        frontend::without_compiler_options(std::vector<std::string>(words.begin(), words.end()), settings), arguments);
    std::vector<const char*> pointers;
    for (const std::string& word : rest) pointers.push_back(word.c_str());
    if (!parse_command_line(table, pointers)) return false;
    settings.arguments.insert(settings.arguments.end(), arguments.begin(), arguments.end());
    settings.total_seconds = std::max(settings.total_seconds, settings.seconds);
    settings.toolkit = toolkit();
    frontend::check_settings(settings);
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
