// The only file that reads CLI11: it is large to compile.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "apps/option_table.h"

namespace heddle::app {
namespace {

void add_row(CLI::App& app, Option& option) {
    const auto take = [&option](const CLI::results_t& values) {
        option.read(option, values);
        option.given = true;
        return true;
    };
    CLI::Option* bound = app.add_option("--" + option.name, take);
    if (option.comma) bound->delimiter(',');
    if (option.values == 0)
        bound->expected(1, -1)->allow_extra_args();
    else if (option.values > 1)
        bound->expected(option.values);
    else if (option.is_flag)
        bound->expected(0, 1)->take_last();
    else
        bound->take_last();
}

// CLI11 gives "{}" for a flag without a value.
void normalise_flags(OptionTable& table) {
    for (Option& option : table.options()) {
        if (!option.is_flag) continue;
        option.read = [read = option.read](Option& self, const std::vector<std::string>& values) {
            read(self, values.empty() || values[0] == "{}" ? std::vector<std::string>{} : values);
        };
    }
}

}  // namespace

bool parse_command_line(OptionTable& table, std::span<const char* const> arguments) {
    for (const char* argument : arguments) {
        if (std::strcmp(argument, "--help") != 0 && std::strcmp(argument, "-h") != 0) continue;
        const std::string help = table.help();
        std::fwrite(help.data(), 1, help.size(), stdout);
        return false;
    }
    normalise_flags(table);
    CLI::App app;
    app.set_help_flag();
    std::string config;
    for (Option& option : table.options()) add_row(app, option);
    app.add_option("--config", config);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
        std::string message = error.what();
        for (char& c : message)
            if (c == '\n') c = ' ';
        throw UsageError(message + "; see heddle " + table.command + " --help");
    }
    if (!config.empty()) table.read_config(config);
    return true;
}

}  // namespace heddle::app
