#include "kernels/emulator/frontend/check.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>

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

template <class Number>
void read_number(const std::string& option, const std::string& text, Number& number, Number least) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < least)
        throw Refused("--" + option + " is '" + text + "', wanted a number >= " + std::to_string(least));
}

// An option of heddle-check; `set` takes its value, or "" for a flag.
struct Row {
    const char* name;
    const char* value;  // how --help writes it; null: a flag
    const char* help;
    std::function<void(const std::string&)> set;
};

std::vector<Row> rows_for(Settings& s) {
    const auto text = [](std::string& target) { return [&target](const std::string& value) { target = value; }; };
    const auto flag = [](bool& target) { return [&target](const std::string&) { target = true; }; };
    return {
        {"orders", "N", "schedules to try [3]",
         [&](const std::string& v) { read_number("orders", v, s.orders, std::int64_t{1}); }},
        {"seed", "N", "of the first schedule [1]",
         [&](const std::string& v) { read_number("seed", v, s.seed, std::uint64_t{1}); }},
        {"seconds", "X", "the most that a schedule may take [15]; all together 50, or this if it is more",
         [&](const std::string& v) {
             char* end = nullptr;
             s.seconds = std::strtod(v.c_str(), &end);
             if (v.empty() || *end != '\0' || !(s.seconds > 0)) throw Refused("--seconds is '" + v + "', wanted a number > 0");
             s.total_seconds = std::max(50.0, s.seconds);
         }},
        {"memory", "SIZE", "of the emulated device, such as 512M or 2G", text(s.memory)},
        {"chip", "CHIP", "sm_80, sm_86, sm_89 or sm_90 [sm_90]", text(s.chip)},
        {"repeats", "N", "run only the first N of launches of a kernel with the same arguments at the same line",
         [&](const std::string& v) { read_number("repeats", v, s.repeats, std::uint64_t{1}); }},
        {"leaks", nullptr, "memory that is still allocated at exit is a violation", flag(s.leaks)},
        {"allow-same-value", nullptr, "two threads may write the value that already stands there", flag(s.same_value)},
        {"cost", nullptr, "a table of what each kernel asked of memory", flag(s.cost)},
        {"json", "FILE", "the results as JSON; - is stdout", text(s.json)},
        {"sarif", "FILE", "the results in SARIF 2.1.0; - is stdout", text(s.sarif)},
        {"call", "NAME", "without a main(): a host function to call with the values of --arg in their order", text(s.call)},
        {"kernel", "NAME", "without a main(): the kernel to launch, with its template arguments", text(s.kernel)},
        {"grid", "G", "its grid, as 2 or 2x3x4 [1]", text(s.grid)},
        {"block", "B", "its block [32]", text(s.block)},
        {"shared", "BYTES", "its dynamic shared memory [0]",
         [&](const std::string& v) { read_number("shared", v, s.shared, std::uint64_t{0}); }},
        {"arg", "NAME=VALUE", "a parameter, as n=1024, x=f32[1024] or y=f32[1024]:zeros",
         [&](const std::string& v) { s.arguments.push_back(v); }},
        {"gpuverify", nullptr, "a file of GPUVerify's testsuite: its first lines say what is expected", flag(s.gpuverify)},
    };
}

void print_help(const std::vector<Row>& rows, const Settings& settings) {
    std::printf(
        "usage: %s FILE.cu [FILE.cu ...] [options] [-I DIR] [-D NAME=VALUE] [-std=c++20] [-O2] [-l NAME] [-L DIR] [-- "
        "ARGUMENTS]\n\n"
        "builds CUDA C++, runs it without a GPU in several orders of its threads, and reports races and other mistakes.\n"
        "exit status: 0 no violation, 3 a violation, 1 the program failed by itself, 2 it does not compile\n\n",
        settings.name.c_str());
    for (const Row& row : rows) {
        std::string left = std::string("  --") + row.name + (row.value == nullptr ? "" : std::string(" ") + row.value);
        if (left.size() < 24) left.resize(24, ' ');
        std::printf("%s %s\n", left.c_str(), row.help);
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

void check_settings(const Settings& settings) {
    if (settings.sources.empty()) throw Refused("no file to check; give one, as in: " + settings.name + " FILE.cu");
    constexpr const char* chips[] = {"sm_80", "sm_86", "sm_89", "sm_90"};
    if (std::find(std::begin(chips), std::end(chips), settings.chip) == std::end(chips))
        throw Refused("--chip is '" + settings.chip + "', wanted sm_80, sm_86, sm_89 or sm_90");
    if (!settings.memory.empty() && !is_memory_size(settings.memory))
        throw Refused("--memory is '" + settings.memory + "', wanted a size such as 512M or 2G");
}

bool read_arguments(const std::vector<std::string>& words, Settings& settings) {
    const std::vector<Row> rows = rows_for(settings);
    const std::vector<std::string> rest = without_compiler_options(words, settings);
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] == "--help" || rest[i] == "-h") return print_help(rows, settings), false;
        if (!begins_with(rest[i], "-") || rest[i] == "-") {
            settings.sources.push_back(rest[i]);
            continue;
        }
        const std::size_t equal = rest[i].find('=');
        const std::string name = rest[i].substr(0, equal);
        const auto row =
            std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return name == std::string("--") + each.name; });
        if (row == rows.end()) throw Refused("there is no option " + name + "; see " + settings.name + " --help");
        if (row->value == nullptr && equal != std::string::npos) throw Refused(name + " takes no value");
        if (row->value != nullptr && equal == std::string::npos && i + 1 == rest.size()) throw Refused(name + " has no value");
        row->set(row->value == nullptr ? "" : equal != std::string::npos ? rest[i].substr(equal + 1) : rest[++i]);
    }
    check_settings(settings);
    return true;
}

}  // namespace heddle::emulator::frontend
