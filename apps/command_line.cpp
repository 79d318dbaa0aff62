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

// "--lr has no value, wanted --lr X", of CLI11's "--lr: 1 required  missing".
std::string without_values(OptionTable& table, const std::string& message) {
    const std::string name = message.substr(0, message.find(':'));
    const Option* const option = name.starts_with("--") ? table.find(name.substr(2)) : nullptr;
    const bool several = option != nullptr && option->values > 1;
    return name + (several ? " has another number of values" : " has no value") + ", wanted " + name + " " +
           (option == nullptr ? "FILE" : option->placeholder);
}

// What no row took: an option that there is not, or else a word that belongs to none.
std::string not_expected(const std::vector<std::string>& words) {
    for (const std::string& word : words)
        if (word.starts_with('-') && word.size() > 1) return "there is no option " + word.substr(0, word.find('='));
    return "'" + words.front() + "' belongs to no option";
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
    app.allow_extras();
    const std::string see = "; see heddle " + table.command + " --help";
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::ArgumentMismatch& error) {
        throw UsageError(without_values(table, error.what()) + see);
    } catch (const CLI::ParseError& error) {
        std::string message = error.what();
        for (char& c : message)
            if (c == '\n') c = ' ';
        throw UsageError(message + see);
    }
    if (const std::vector<std::string> words = app.remaining(); !words.empty()) throw UsageError(not_expected(words) + see);
    if (!config.empty()) table.read_config(config);
    return true;
}

}  // namespace heddle::app
