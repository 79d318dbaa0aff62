// The options of a command as a table: each row has a name, a help text, and functions to read and write its value. The command
// line, the TOML file, --help and the run's config.toml are all made from it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/enum_words.h"
#include "core/error.h"

namespace heddle::app {

/// The subject of an option.
enum class OptionGroup : std::uint8_t {
    options,  ///< for tables without groups
    data,
    model,
    vocabulary,
    learning,
    course,
    machine,
    search,
    sampling,
    run,
    tuning,
    files,
    text,
    score,
    output,
    which_model,
    what_to_show,
    average,
    cases,
    measurement,
    experiments,
    launch,
    server
};

/// Their headings.
constexpr auto enum_words(OptionGroup) {
    return words_for<OptionGroup>({{OptionGroup::options, "Options"},
                                   {OptionGroup::data, "Data"},
                                   {OptionGroup::model, "Model"},
                                   {OptionGroup::vocabulary, "Vocabulary"},
                                   {OptionGroup::learning, "Learning"},
                                   {OptionGroup::course, "Course of the training"},
                                   {OptionGroup::machine, "Machine"},
                                   {OptionGroup::search, "Search"},
                                   {OptionGroup::sampling, "Sampling"},
                                   {OptionGroup::run, "A run"},
                                   {OptionGroup::tuning, "Tuning"},
                                   {OptionGroup::files, "Files"},
                                   {OptionGroup::text, "Text"},
                                   {OptionGroup::score, "Score"},
                                   {OptionGroup::output, "Output"},
                                   {OptionGroup::which_model, "Which model"},
                                   {OptionGroup::what_to_show, "What to show"},
                                   {OptionGroup::average, "Average"},
                                   {OptionGroup::cases, "Cases"},
                                   {OptionGroup::measurement, "Measurement"},
                                   {OptionGroup::experiments, "Experiments"},
                                   {OptionGroup::launch, "Launch of a kernel in a file without main()"},
                                   {OptionGroup::server, "Server"}});
}

/// One option. The setters return the option, so that a row of the table is one expression.
struct Option {
    std::string name;  ///< without the dashes
    std::string help;
    std::string placeholder;  ///< how --help writes the value: N, X, FILE, pre|post
    OptionGroup group = OptionGroup::options;
    std::string default_text;  ///< describes a default that depends on other options: "as --dropout"
    std::vector<std::string> choices;
    std::optional<double> least;  ///< value >= least
    std::optional<double> above;  ///< value > above
    std::optional<double> most;   ///< value <= most
    std::optional<double> below;  ///< value < below
    bool in_config = true;        ///< may be in a configuration file, and is written to the run's config.toml
    bool is_flag = false;         ///< the value may be left out
    bool fixed = false;           ///< a resumed run cannot change it
    bool incidental = false;      ///< does not affect what is learned
    bool unset_left_out = false;  ///< a save has no entry for it while write() gives no value
    int values = 1;               ///< how many values follow; 0: one or more
    bool comma = false;           ///< values may be separated by a comma
    bool given = false;           ///< set on the command line or in the configuration file

    /// Decides whether a word that follows no option is this option's value. Empty: never.
    std::function<bool(const std::string&)> takes_word;

    std::function<void(Option&, const std::vector<std::string>&)> read;  ///< text to value; UsageError
    std::function<std::string()> write;                                  ///< value to TOML; empty: no value, leave the line out

    Option& at_least(double value) { return least = value, *this; }
    Option& more_than(double value) { return above = value, *this; }
    Option& at_most(double value) { return most = value, *this; }
    Option& less_than(double value) { return below = value, *this; }
    Option& one_of(std::vector<std::string> texts);
    Option& called(std::string text) { return placeholder = std::move(text), *this; }
    Option& defaults_to(std::string text) { return default_text = std::move(text), *this; }
    Option& not_in_config() { return in_config = false, *this; }
    /// While the option has this value (as TOML), config.toml and saves have no entry for it, as in versions without the option.
    Option& left_out_at(const std::string& value);
    /// `heddle COMMAND VALUE` means `heddle COMMAND --name VALUE`. If there are several such rows, the first whose `test`
    /// accepts the word takes it.
    Option& positional(std::function<bool(const std::string&)> test = [](const std::string&) { return true; }) {
        return takes_word = std::move(test), *this;
    }
};

/// The options of one command, in the order of --help.
class OptionTable {
  public:
    explicit OptionTable(std::string command_name, std::string command_summary)
        : command(std::move(command_name)), summary(std::move(command_summary)) {}

    /// Rows that follow belong to this group.
    void group(OptionGroup group) { group_ = group; }

    /// A row whose value goes to `target`, which must outlive the table; what it holds now is the default. T is bool,
    /// std::int64_t, std::uint64_t, double or std::string; std::vector<std::string>, one or more texts; a pair of double, written
    /// as two words or with a comma, or of std::string, two words, since file names may contain commas; or, without a value until
    /// one is given, an optional of one of these or of two whole numbers: describe its default with defaults_to().
    template <class T>
    Option& add(std::string name, T& target, std::string help);
    /// One value of an enum, by its word: all of them are offered, and any other word is refused.
    template <HasWords Enum>
    Option& add(std::string name, Enum& target, std::string help) {
        return add_words(
            std::move(name), std::move(help), words_of<Enum>(),
            [&target](std::string_view word) { target = *value_of<Enum>(word); }, [&target] { return word_of(target); });
    }
    template <HasWords Enum>
    Option& add(std::string name, std::optional<Enum>& target, std::string help) {
        return add_words(
            std::move(name), std::move(help), words_of<Enum>(),
            [&target](std::string_view word) { target = *value_of<Enum>(word); },
            [&target] { return target ? word_of(*target) : std::string_view(); });
    }

    bool given(std::string_view name) const;
    /// Null when there is no such option.
    Option* find(std::string_view name);
    std::span<Option> options() { return rows_; }
    std::span<const Option> options() const { return rows_; }

    /// The text printed by --help.
    std::string help() const;
    /// The options as TOML, those of in_config that have a value, with their groups as comments.
    std::string config() const;
    /// Takes the values of a TOML text for all options that were not given yet. UsageError with name and line.
    void read_config(std::istream& stream, const std::string& name);
    /// The same for a file. UsageError when it is missing.
    void read_config(const std::string& path);

    std::string command;  ///< "train"
    std::string summary;
    std::string usage;             ///< lines of examples after "usage:"
    std::string config_file = {};  ///< that --config named

  private:
    Option& row(std::string name, std::string help, const char* placeholder);
    // `set` is called with one of the words; `get` returns one, or an empty text for no value.
    Option& add_words(std::string name, std::string help, std::vector<std::string> words,
                      std::function<void(std::string_view)> set, std::function<std::string_view()> get);

    std::vector<Option> rows_;
    OptionGroup group_ = OptionGroup::options;
};

/// The value of a flag: true for true, on, yes, 1; false for false, off, no, 0; empty for other words.
std::optional<bool> truth(std::string_view word);

/// Reads `arguments` (without program and command name), and the file that --config names, into the table. True when the command
/// should run; false when --help was asked for: the help was printed on stdout. UsageError.
bool parse_command_line(OptionTable& table, std::span<const char* const> arguments);

}  // namespace heddle::app
