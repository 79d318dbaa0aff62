#include "apps/translation/translate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "apps/commands.h"
#include "apps/line_stream.h"
#include "apps/option_rows.h"
#include "apps/run.h"

namespace heddle::app {
namespace {

constexpr std::size_t lines_at_once = 2000;

struct TranslateOptions {
    std::string run;
    std::string weights = "average";
    DecodeOptions decode;
    MachineOptions machine;
};

void print_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + '\n';
    const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
    if (written != text.size() || std::fflush(stdout) != 0) throw Error("the translations cannot be written to stdout");
}

}  // namespace

int translate_command(Arguments arguments) {
    TranslateOptions options;
    OptionTable table("translate", "translates stdin to stdout: one line in, one line out; an empty line stays empty");
    table.usage = "usage: heddle translate --model RUN < in > out\n";
    table.group("Model");
    table.add("model", options.run, "the folder of a trained run").called("RUN");
    add_weights_option(table, options.weights);
    add_decode_options(table, options.decode);
    add_machine_options(table, options.machine);
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(!options.run.empty(), "translate: no model; give --model RUN, a folder that heddle train made");
    apply(options.machine);

    const Run run = open_run(options.run, weights_file(options.weights));
    LineStream input(STDIN_FILENO);
    for (;;) {
        const std::vector<std::string> lines = input.next(lines_at_once);
        if (lines.empty()) return 0;
        print_lines(translate_lines(*run.model, run.vocabularies, lines, options.decode));
    }
}

}  // namespace heddle::app
