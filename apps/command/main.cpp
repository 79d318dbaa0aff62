// The `heddle` program: finds the sub-command.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/explain.h"
#include "apps/command/sibling_program.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "core/error.h"

namespace {

using namespace heddle::app;

struct Command {
    std::string_view name;
    const char* summary;
    int (*run)(Arguments);
};

constexpr Command commands[] = {
    {"train", "trains a translator, or a language model", train_command},
    {"prepare", "writes the tokens of a large text to files for training", prepare_command},
    {"translate", "translates stdin to stdout", translate_command},
    {"generate", "draws texts from a language model", generate_command},
    {"serve", "serves translations by HTTP, and a page that translates", serve_command},
    {"score", "gives the log-probability of given translations, or of texts", score_command},
    {"evaluate", "scores a run or a file, or compares two files", evaluate_command},
    {"average", "averages the weights of a run's saves", average_command},
    {"import", "makes a run of a model of Marian, Hugging Face, CTranslate2 or Argos Translate", import_command},
    {"export", "writes a run as a model of another toolkit", export_command},
    {"data", "lists the available corpora, or downloads one", data_command},
    {"summary", "lists a model's modules and parameters", summary_command},
    {"gradcheck", "proves every op's gradient", gradcheck_command},
    {"lab", "shows by measurement what known mistakes break",
     [](Arguments arguments) { return run_lab_program("lab", arguments); }},
    {"learn", "exercises in gradients and CUDA kernels that grade themselves, without a GPU",
     [](Arguments arguments) { return run_lab_program("learn", arguments); }},
    {"explain", "shows what a kernel's warps ask of memory, access by access", start_explain},
    {"check", "runs CUDA C++ files without a GPU and reports races and other mistakes of their kernels",
     [](Arguments arguments) { return run_lab_program("check", arguments); }},
    {"bench", "measures training (bench train), the ops (bench ops) or the steps of a kernel (bench ladder)", bench_command},
};

int print_help() {
    std::string help = "usage: heddle COMMAND [options]\n\ncommands:\n";
    for (const Command& command : commands) help += fmt::format("  {:<12}{}\n", command.name, command.summary);
    print(help +
          "\nheddle COMMAND --help, or heddle help COMMAND, shows every option with its default.\n"
          "heddle --version prints version, commit, CPU level, threads and devices.\n");
    return 0;
}

const Command& command_named(std::string_view name) {
    std::vector<std::string> names = {"help", "version"};
    for (const Command& command : commands) {
        if (command.name == name) return command;
        names.emplace_back(command.name);
    }
    heddle::check_usage(name != "chapter",
                        "heddle lab NAME runs the experiments of a write-up, as heddle chapter NAME did; see heddle lab list");
    throw heddle::UsageError("there is no command '" + std::string(name) + "'" + did_you_mean(name, names, "see heddle --help"));
}

// heddle help bench train prints the help of heddle bench train. Words that do not name a command have no help of their own.
int help_command(Arguments words) {
    constexpr std::string_view general[] = {"help", "--help", "-h", "version", "--version"};
    if (words.empty() || std::ranges::find(general, words[0]) != std::end(general)) return print_help();
    std::vector<const char*> arguments(words.begin() + 1, words.end());
    arguments.push_back("--help");
    return command_named(words[0]).run(arguments);
}

int run(Arguments arguments) {
    if (arguments.empty()) return print_help();
    const std::string_view name = arguments[0];
    if (name == "--help" || name == "-h") return print_help();
    if (name == "help") return help_command(arguments.subspan(1));
    if (name == "--version" || name == "version") {
        if (arguments.size() > 1)
            throw heddle::UsageError(fmt::format("unexpected argument '{}'; heddle {} takes no arguments", arguments[1], name));
        return version_command(build_commit);
    }
    return command_named(name).run(arguments.subspan(1));
}

}  // namespace

int main(int count, char** arguments) {
    return guarded([&] { return run(Arguments(arguments + (count > 0 ? 1 : 0), arguments + count)); });
}
