#include "kernels/emulator/frontend/check.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>

#include "kernels/emulator/frontend/options.h"
#include "kernels/emulator/frontend/report.h"

namespace heddle::emulator::frontend {
namespace {

bool begins_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// nvcc's, which asks for what is always there.
bool asks_for_lines(const std::string& word) { return word == "-lineinfo" || word == "--generate-line-info"; }

// The options that are a letter and a value, in one word or in two.
bool is_compiler_option(const std::string& word) {
    if (begins_with(word, "--") || word.size() < 2 || word[0] != '-') return false;
    return std::string("IDULlO").find(word[1]) != std::string::npos || begins_with(word, "-std=") || word == "-include" ||
           word == "-isystem";
}

// An option of heddle-check; `set` takes its value, or "" for a flag.
struct Option {
    OptionRow row;
    std::string standing;  // its default, for --help; may be empty
    std::function<void(const std::string&)> set;
};

template <class Number>
void read_value(const OptionRow& row, const std::string& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto real = static_cast<double>(number);
    if (error != std::errc() || end != text.data() + text.size() || (row.least && real < *row.least) ||
        (row.most && real > *row.most) || (row.above && !(real > *row.above)))
        throw Refused(std::string("--") + row.name + " is '" + text + "', wanted a number" +
                      (row.least ? " >= " + short_number(*row.least) : "") + (row.above ? " > " + short_number(*row.above) : "") +
                      (row.least && row.most ? " and" : "") + (row.most ? " <= " + short_number(*row.most) : ""));
}
void read_value(const OptionRow&, const std::string&, bool& target) { target = true; }
void read_value(const OptionRow&, const std::string& text, std::string& target) { target = text; }
void read_value(const OptionRow&, const std::string& text, std::vector<std::string>& target) { target.push_back(text); }

template <class Number>
std::string standing(const Number& number) {
    return short_number(static_cast<double>(number));
}
std::string standing(bool) { return ""; }
std::string standing(const std::string& text) { return text; }
std::string standing(const std::vector<std::string>&) { return ""; }

std::vector<Option> options_for(Settings& settings) {
    std::vector<Option> options;
    each_option(settings, [&](const OptionRow& row, auto& target) {
        options.push_back({row, row.unset != nullptr ? row.unset : standing(target),
                           [row, &target](const std::string& text) { read_value(row, text, target); }});
    });
    return options;
}

void print_help(const std::vector<Option>& options, const Settings& settings) {
    std::printf(
        "usage: %s FILE.cu [FILE.cu ...] [options] [-I DIR] [-D NAME=VALUE] [-std=c++20] [-O2] [-l NAME] [-L DIR] [-- "
        "ARGUMENTS]\n\n"
        "builds CUDA C++, runs it without a GPU in several orders of its threads, and reports races and other mistakes.\n"
        "exit status: 0 no violation, 3 a violation, 1 the program failed by itself, 2 it does not compile\n\n",
        settings.name.c_str());
    for (const auto& [row, standing, set] : options) {
        std::string left = std::string("  --") + row.name + (row.value == nullptr ? "" : std::string(" ") + row.value);
        if (left.size() < 24) left.resize(24, ' ');
        std::string choices;
        for (const std::string& choice : row.choices) choices += (choices.empty() ? ": " : ", ") + choice;
        std::printf("%s %s%s%s\n", left.c_str(), row.help, choices.c_str(),
                    standing.empty() ? "" : (" [" + standing + "]").c_str());
    }
}

// A size as the emulator reads it (run/memory.cpp).
bool is_memory_size(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool has_unit = *end == 'K' || *end == 'M' || *end == 'G';
    return end != text.c_str() && number > 0 && end[has_unit ? 1 : 0] == '\0';
}

}  // namespace

std::vector<std::string> without_compiler_options(const std::vector<std::string>& words, Settings& settings) {
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "--") {
            settings.program_arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
            break;
        }
        if (asks_for_lines(words[i])) continue;
        if (!is_compiler_option(words[i])) {
            rest.push_back(words[i]);
            continue;
        }
        const bool links = words[i][1] == 'l' || words[i][1] == 'L';
        std::vector<std::string>& options = links ? settings.link_options : settings.compile_options;
        const bool bare = (words[i].size() == 2 && words[i][1] != 'O') || words[i] == "-include" || words[i] == "-isystem";
        if (bare && i + 1 == words.size()) throw Refused(words[i] + " has no value");
        options.push_back(words[i].size() == 2 && bare ? words[i] + words[i + 1] : words[i]);
        if (words[i] == "-include" || words[i] == "-isystem") options.push_back(words[i + 1]);
        i += bare ? 1 : 0;
    }
    return rest;
}

void complete_settings(Settings& settings) {
    settings.total_seconds = std::max(settings.total_seconds, settings.seconds);
    if (settings.sources.empty()) throw Refused("no file to check; give one, as in: " + settings.name + " FILE.cu");
    constexpr const char* chips[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
    if (std::find(std::begin(chips), std::end(chips), settings.chip) == std::end(chips))
        throw Refused("--chip is '" + settings.chip + "', wanted sm_80, sm_86, sm_89, sm_90, sm_100 or sm_120");
    if (!settings.memory.empty() && !is_memory_size(settings.memory))
        throw Refused("--memory is '" + settings.memory + "', wanted a size such as 512M or 2G");
}

bool read_arguments(const std::vector<std::string>& words, Settings& settings) {
    const std::vector<Option> options = options_for(settings);
    const std::vector<std::string> rest = without_compiler_options(words, settings);
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] == "--help" || rest[i] == "-h") return print_help(options, settings), false;
        if (!begins_with(rest[i], "-") || rest[i] == "-") {
            settings.sources.push_back(rest[i]);
            continue;
        }
        const std::size_t equal = rest[i].find('=');
        const std::string name = rest[i].substr(0, equal);
        const auto option = std::find_if(options.begin(), options.end(),
                                         [&](const Option& each) { return name == std::string("--") + each.row.name; });
        if (option == options.end()) throw Refused("there is no option " + name + "; see " + settings.name + " --help");
        const bool is_flag = option->row.value == nullptr;
        if (is_flag && equal != std::string::npos) throw Refused(name + " takes no value");
        if (!is_flag && equal == std::string::npos && i + 1 == rest.size()) throw Refused(name + " has no value");
        option->set(is_flag ? "" : equal != std::string::npos ? rest[i].substr(equal + 1) : rest[++i]);
    }
    complete_settings(settings);
    return true;
}

}  // namespace heddle::emulator::frontend
