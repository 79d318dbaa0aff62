#include "apps/options/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "apps/options/suggestion.h"
#include "apps/terminal/option_error.h"
#include "apps/translation/run/toml.h"
#include "core/file.h"
#include "core/text.h"

namespace heddle::app {
namespace {

template <class... Args>
[[noreturn]] void wrong(fmt::format_string<Args...> format, Args&&... args) {
    throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}

// Rejects a value that the option cannot have.
template <class... Args>
[[noreturn]] void wrong_value(const Option& option, fmt::format_string<Args...> format, Args&&... args) {
    throw OptionError({option.name}, fmt::format("--{} {}", option.name, fmt::format(format, std::forward<Args>(args)...)));
}

std::string range_text(const Option& option) {
    std::string text;
    if (option.least) text += fmt::format(" >= {}", *option.least);
    if (option.above) text += fmt::format("{} > {}", text.empty() ? "" : " and", *option.above);
    if (option.most) text += fmt::format("{} <= {}", text.empty() ? "" : " and", *option.most);
    if (option.below) text += fmt::format("{} < {}", text.empty() ? "" : " and", *option.below);
    return text;
}

// The text as a number of type T within the option's range.
template <class T>
T number(const Option& option, const std::string& text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = from_chars(text.data(), end, value);
    const auto real = static_cast<double>(value);
    const bool good = error == std::errc() && rest == end && std::isfinite(real) && (!option.least || real >= *option.least) &&
                      (!option.above || real > *option.above) && (!option.most || real <= *option.most) &&
                      (!option.below || real < *option.below);
    const char* kind = std::is_floating_point_v<T> ? "a number" : "a whole number";
    if (!good) wrong_value(option, "is '{}', wanted {}{}", text, kind, range_text(option));
    return value;
}

bool boolean(const Option& option, const std::string& word) {
    if (const std::optional<bool> value = truth(word)) return *value;
    wrong_value(option, "is '{}', wanted true or false", word);
}

// True if the value names a file or folder: FILE, FOLDER, RUN, "FILE..." or "FILE FILE".
bool names_a_place(const Option& option) {
    const std::string word = option.placeholder.substr(0, option.placeholder.find_first_of(" ."));
    return word == "FILE" || word == "FOLDER" || word == "RUN";
}

std::string text(const Option& option, const std::string& value) {
    if (value.empty() && names_a_place(option)) wrong_value(option, "is empty, wanted {}", option.placeholder);
    if (option.choices.empty()) return value;
    for (const std::string& choice : option.choices)
        if (value == choice) return value;
    wrong_value(option, "is '{}', wanted one of {}{}", value, fmt::join(option.choices, ", "),
                did_you_mean(value, option.choices));
}

// A TOML number that reads back as floating-point: 3 becomes 3.0.
std::string toml_number(double value) {
    std::string written = fmt::format("{}", value);
    if (written.find_first_of(".en") == std::string::npos) written += ".0";
    return written;
}
std::string toml(double value) { return toml_number(value); }
std::string toml(std::int64_t value) { return fmt::format("{}", value); }
std::string toml(std::uint64_t value) { return fmt::format("{}", value); }
std::string toml(bool value) { return value ? "true" : "false"; }
std::string toml(const std::string& value) { return toml_string(value); }

template <class A, class B>
std::string toml(const std::pair<A, B>& pair) {
    const bool none = std::is_same_v<A, std::string> && pair == std::pair<A, B>();
    return none ? std::string() : fmt::format("[{}, {}]", toml(pair.first), toml(pair.second));
}
std::string toml(const std::vector<std::string>& values) {
    std::vector<std::string> quoted;
    for (const std::string& value : values) quoted.push_back(toml(value));
    return quoted.empty() ? std::string() : fmt::format("[{}]", fmt::join(quoted, ", "));
}
template <class T>
std::string toml(const std::optional<T>& value) {
    return value ? toml(*value) : std::string();
}

// From text to value; one overload for each type of a row.
using Values = std::span<const std::string>;

void parse(const Option& option, Values values, bool& target) { target = boolean(option, values[0]); }
template <class T>
requires std::is_arithmetic_v<T>
void parse(const Option& option, Values values, T& target) { target = number<T>(option, values[0]); }
void parse(const Option& option, Values values, std::string& target) { target = text(option, values[0]); }
// One pair replaces two single-valued options.
template <class T>
void parse(const Option& option, Values values, std::pair<T, T>& target) {
    if (values.size() != 2) wrong_value(option, "has {} values, wanted 2", values.size());
    parse(option, values.first(1), target.first);
    parse(option, values.last(1), target.second);
}
void parse(const Option& option, Values values, std::vector<std::string>& target) {
    target.clear();
    for (const std::string& value : values) target.push_back(text(option, value));
}
template <class T>
void parse(const Option& option, Values values, std::optional<T>& target) {
    T value{};
    parse(option, values, value);
    target = std::move(value);
}

// How --help writes a value of this type, and how many words it has.
struct Shape {
    const char* placeholder;
    int values = 1;
    bool comma = false;
};
Shape shape_of(bool) { return {"true|false"}; }
Shape shape_of(double) { return {"X"}; }
Shape shape_of(const std::string&) { return {"TEXT"}; }
template <class T>
requires std::is_integral_v<T> Shape shape_of(T) { return {"N"}; }
Shape shape_of(const std::pair<double, double>&) { return {"X,X", 2, true}; }
Shape shape_of(const std::pair<std::int64_t, std::int64_t>&) { return {"N,N", 2, true}; }
Shape shape_of(const std::pair<std::string, std::string>&) { return {"TEXT TEXT", 2}; }
Shape shape_of(const std::vector<std::string>&) { return {"TEXT...", 0}; }
template <class T>
Shape shape_of(const std::optional<T>&) {
    return shape_of(T());
}

std::string left_column(const Option& option) {
    if (option.is_flag) return fmt::format("  --{} [true|false]", option.name);
    return fmt::format("  --{} {}", option.name, option.placeholder);
}

std::string shown_default(const Option& option) {
    if (!option.default_text.empty()) return option.default_text;
    std::string value = option.write();
    if (option.comma) {  // written as it is typed: 0.9,0.98
        std::erase_if(value, [](char c) { return c == '[' || c == ']' || c == ' '; });
        return value;
    }
    if (value == "\"\"") return "none";
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value.empty() ? "none" : value;
}

std::vector<std::string> config_names(const std::vector<Option>& rows) {
    std::vector<std::string> names;
    for (const Option& option : rows)
        if (option.in_config) names.push_back(option.name);
    return names;
}

}  // namespace

std::optional<bool> truth(std::string_view word) {
    for (const char* yes : {"true", "on", "yes", "1"})
        if (word == yes) return true;
    for (const char* no : {"false", "off", "no", "0"})
        if (word == no) return false;
    return std::nullopt;
}

Option& Option::one_of(std::vector<std::string> texts) {
    choices = std::move(texts);
    placeholder = fmt::format("{}", fmt::join(choices, "|"));
    return *this;
}

Option& Option::left_out_at(const std::string& value) {
    if (default_text.empty()) default_text = value;
    unset_left_out = true;
    write = [value, every_value = std::move(write)] {
        std::string text = every_value();
        return text == value ? std::string() : text;
    };
    return *this;
}

Option& OptionTable::row(std::string name, std::string help, const char* placeholder) {
    Option& option = rows_.emplace_back();
    option.name = std::move(name);
    option.help = std::move(help);
    option.placeholder = placeholder;
    option.group = group_;
    return option;
}

template <class T>
Option& OptionTable::add(std::string name, T& target, std::string help) {
    const Shape shape = shape_of(target);
    Option& option = row(std::move(name), std::move(help), shape.placeholder);
    option.values = shape.values;
    option.comma = shape.comma;
    option.is_flag = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>;
    option.read = [&target](Option& self, const std::vector<std::string>& values) { parse(self, values, target); };
    option.write = [&target] { return toml(target); };
    return option;
}

template Option& OptionTable::add(std::string, bool&, std::string);
template Option& OptionTable::add(std::string, std::int64_t&, std::string);
template Option& OptionTable::add(std::string, std::uint64_t&, std::string);
template Option& OptionTable::add(std::string, double&, std::string);
template Option& OptionTable::add(std::string, std::string&, std::string);
template Option& OptionTable::add(std::string, std::pair<double, double>&, std::string);
template Option& OptionTable::add(std::string, std::optional<std::pair<std::int64_t, std::int64_t>>&, std::string);
template Option& OptionTable::add(std::string, std::pair<std::string, std::string>&, std::string);
template Option& OptionTable::add(std::string, std::vector<std::string>&, std::string);
template Option& OptionTable::add(std::string, std::optional<bool>&, std::string);
template Option& OptionTable::add(std::string, std::optional<std::int64_t>&, std::string);
template Option& OptionTable::add(std::string, std::optional<double>&, std::string);
template Option& OptionTable::add(std::string, std::optional<std::string>&, std::string);

Option& OptionTable::add_words(std::string name, std::string help, std::vector<std::string> words,
                               std::function<void(std::string_view)> set, std::function<std::string_view()> get) {
    Option& option = row(std::move(name), std::move(help), "WORD");
    option.one_of(std::move(words));
    option.read = [set = std::move(set)](Option& self, const std::vector<std::string>& values) { set(text(self, values[0])); };
    option.write = [get = std::move(get)] { return get().empty() ? std::string() : toml_string(get()); };
    return option;
}

Option* OptionTable::find(std::string_view name) {
    for (Option& option : rows_)
        if (option.name == name) return &option;
    return nullptr;
}

bool OptionTable::given(std::string_view name) const {
    for (const Option& option : rows_)
        if (option.name == name) return option.given;
    return false;
}

std::string OptionTable::help() const {
    std::string help = fmt::format("heddle {} - {}\n\n{}", command, summary, usage);
    std::optional<OptionGroup> shown;
    for (const Option& option : rows_) {
        if (option.group != shown) help += fmt::format("\n{}:\n", word_of(option.group));
        shown = option.group;
        const std::string left = left_column(option);
        if (left.size() > 41)
            help += left + "\n" + std::string(42, ' ');
        else
            help += fmt::format("{:<42}", left);
        const std::string word = option.takes_word ? fmt::format("; also without --{}", option.name) : "";
        help += fmt::format("{}{} [{}]\n", option.help, word, shown_default(option));
    }
    help += "\nOther:\n";
    help += fmt::format("{:<42}{}\n", "  --config FILE",
                        "read options from a TOML file; options on the command line override it [none]");
    return help + fmt::format("{:<42}{}\n", "  --help", "print this and end");
}

std::string OptionTable::config() const {
    std::string config;
    std::optional<OptionGroup> shown;
    for (const Option& option : rows_) {
        const std::string value = option.in_config ? option.write() : std::string();
        if (value.empty() || value == "\"\"") continue;
        if (option.group != shown) config += fmt::format("\n# {}\n", word_of(option.group));
        shown = option.group;
        config += fmt::format("{} = {}\n", option.name, value);
    }
    return config;
}

void OptionTable::read_config(std::istream& stream, const std::string& name) {
    const std::vector<TomlItem> items = read_toml(stream, name);
    std::vector<std::string> read;
    for (const TomlItem& item : items) {
        Option* option = find(item.key);
        if (option == nullptr || !option->in_config)
            wrong("{}:{}: '{}' is not a setting of heddle {}{}", name, item.line, item.key, command,
                  did_you_mean(item.key, config_names(rows_), fmt::format("see heddle {} --help", command)));
        if (std::find(read.begin(), read.end(), item.key) != read.end())
            wrong("{}:{}: '{}' occurs twice in this file", name, item.line, item.key);
        read.push_back(item.key);
        if (option->given) continue;
        if (option->values == 0 && item.values.empty())
            wrong("{}:{}: '{}' has no value, wanted one or more", name, item.line, item.key);
        if (option->values != 0 && item.values.size() != static_cast<std::size_t>(option->values))
            wrong("{}:{}: '{}' has {} values, wanted {}", name, item.line, item.key, item.values.size(), option->values);
        try {
            option->read(*option, item.values);
        } catch (const OptionError& error) {
            throw OptionError(error.options(), fmt::format("{}:{}: {}", name, item.line, error.what()));
        }
        option->given = true;
    }
}

void OptionTable::read_config(const std::string& path) {
    if (std::filesystem::is_directory(path))
        wrong("--config {}: it is a folder; wanted a file such as {}/config.toml", path, path);
    std::istringstream stream;
    try {
        stream.str(read_file(path));
    } catch (const Error&) {
        wrong("--config {}: the file cannot be read", path);
    }
    read_config(stream, path);
}

}  // namespace heddle::app
