// The only file that reads CLI11: it is large to compile.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "apps/options/option_table.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"

namespace heddle::app {
namespace {

void add_row(CLI::App& app, Option& option) {
    const auto take = [&option](const CLI::results_t& values) {
        const std::string again = option.values == 0 ? ": --" + option.name + " " + option.placeholder : "";
        check_usage(!option.given, "--" + option.name + " is given twice; give it once" + again);
        option.read(option, values);
        option.given = true;
        return true;
    };
    CLI::Option* bound = app.add_option("--" + option.name, take);
    bound->trigger_on_parse();  // called at each occurrence: CLI11 would join the values
    if (option.comma) bound->delimiter(',');
    if (option.values == 0)
        bound->expected(1, -1)->allow_extra_args();
    else
        bound->expected(option.values);
}

// The option with this name and dashes, or null.
Option* named_by(OptionTable& table, const std::string& word) {
    return word.starts_with("--") ? table.find(word.substr(2)) : nullptr;
}

bool is_positional(const Option& option) { return static_cast<bool>(option.takes_word); }

// A flag's value may be left out: "--scores RUN" becomes "--scores=true RUN". In commands that take words, a word that is
// neither true nor false is not taken as the flag's value.
std::vector<std::string> with_flag_values(OptionTable& table, std::span<const char* const> arguments) {
    const bool takes_words = std::ranges::any_of(table.options(), is_positional);
    std::vector<std::string> words(arguments.begin(), arguments.end());
    for (std::size_t i = 0; i < words.size(); ++i) {
        const Option* const option = named_by(table, words[i]);
        if (option == nullptr || !option->is_flag) continue;
        const bool alone = i + 1 == words.size() || words[i + 1].starts_with('-');
        if (alone || (takes_words && !truth(words[i + 1]))) words[i] += "=true";
    }
    return words;
}

// Rewords CLI11's "--lr: 1 required  missing" as "--lr has no value, wanted --lr X".
std::string without_values(OptionTable& table, const std::string& message) {
    const std::string name = message.substr(0, message.find(':'));
    const Option* const option = named_by(table, name);
    const std::string wanted = name + " " + (option == nullptr ? "FILE" : option->placeholder);
    if (option != nullptr && option->values == 2) return name + " takes two values: " + wanted;
    return name + " has no value, wanted " + wanted;
}

// Rejects the words that no row took: an unknown option, or else a surplus word.
[[noreturn]] void fail_at(const OptionTable& table, const std::vector<std::string>& words) {
    const std::string see = "see heddle " + table.command + " --help";
    std::vector<std::string> names = {"--config", "--help"};
    for (const Option& option : table.options()) names.push_back("--" + option.name);
    for (const std::string& word : words) {
        if (!word.starts_with('-') || word.size() == 1) continue;
        const std::string name = word.substr(0, word.find('='));
        throw UsageError("there is no option " + name + did_you_mean(name, names, see));
    }
    const std::string message = "unexpected argument '" + words.front() + "'; ";
    for (const Option& option : table.options())
        for (const std::string& choice : option.choices)
            if (choice == words.front()) throw UsageError(message + "did you mean --" + option.name + " " + choice + "? " + see);
    throw UsageError(message + see);
}

// Gives the words that no option took to a positional row, as many as it has values.
void take_words(OptionTable& table, std::vector<std::string> words) {
    const auto wrong = [](const std::string& word) { return word.starts_with('-') && word.size() > 1; };
    if (words.empty()) return;
    const auto row = std::ranges::find_if(
        table.options(), [&](const Option& option) { return is_positional(option) && option.takes_word(words.front()); });
    if (row == table.options().end() || std::ranges::any_of(words, wrong)) fail_at(table, words);
    check_usage(!row->given, "'" + words.front() + "' and --" + row->name + " both choose the " + row->name + "; give only one");
    const std::size_t count = row->values == 0 ? words.size() : static_cast<std::size_t>(row->values);
    if (words.size() > count) fail_at(table, {words.begin() + static_cast<std::ptrdiff_t>(count), words.end()});
    row->read(*row, words);
    row->given = true;
}

}  // namespace

bool parse_command_line(OptionTable& table, std::span<const char* const> arguments) {
    for (const char* argument : arguments) {
        if (std::strcmp(argument, "--help") != 0 && std::strcmp(argument, "-h") != 0) continue;
        print(table.help());
        return false;
    }
    OptionTable other(table.command, "");
    other.add("config", table.config_file, "").called("FILE");
    CLI::App app;
    app.set_help_flag();
    for (Option& option : table.options()) add_row(app, option);
    add_row(app, other.options().front());
    app.allow_extras();
    std::vector<std::string> words = with_flag_values(table, arguments);
    std::ranges::reverse(words);
    const std::string see = "; see heddle " + table.command + " --help";
    try {
        app.parse(std::move(words));
    } catch (const CLI::ArgumentMismatch& error) {
        throw UsageError(without_values(table, error.what()) + see);
    } catch (const CLI::ParseError& error) {
        std::string message = error.what();
        for (char& c : message)
            if (c == '\n') c = ' ';
        throw UsageError(message + see);
    }
    take_words(table, app.remaining());
    if (!table.config_file.empty()) table.read_config(table.config_file);
    return true;
}

}  // namespace heddle::app
