// Parameters for files of GPUVerify's testsuite (gpuverify.h). A prover finds the one value that matters; here the numbers that
// the file compares with are tried, because the value that matters is most often made of them.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "kernels/emulator/frontend/gpuverify.h"
#include "kernels/emulator/frontend/tokens.h"

namespace heddle::emulator::frontend {
namespace {

constexpr std::size_t kMostDraws = 64, kMostCompared = 12;

std::optional<long long> whole_number(std::string_view text) {
    std::string digits(text);
    while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos) digits.pop_back();
    if (digits.empty() || digits.size() > 10) return {};
    char* end = nullptr;
    const long long value = std::strtoll(digits.c_str(), &end, 0);
    return *end == 0 ? std::optional(value) : std::nullopt;
}

bool compares(const Tokens& tokens, std::uint32_t sign) {
    for (const char* const each : {"==", "!=", "<=", ">="})
        if (tokens.is(sign, each)) return true;
    const bool shifts = tokens.is(sign, '<') ? tokens.is(sign + 1, '<') || tokens.is(sign - 1, '<')
                                             : tokens.is(sign + 1, '>') || tokens.is(sign - 1, '>');
    return (tokens.is(sign, '<') || tokens.is(sign, '>')) && !shifts;
}

/// The numbers beside a comparison or a `case` in the file itself, in their order.
std::vector<long long> compared_numbers(const Tokens& tokens, const std::string& source) {
    std::vector<long long> numbers;
    for (std::uint32_t i = 1; i < tokens.size() && numbers.size() < kMostCompared; ++i) {
        if (tokens[i].kind != Kind::number || tokens.file(i) != source) continue;
        if (!compares(tokens, i - 1) && !compares(tokens, i + 1) && tokens.text(i - 1) != "case") continue;
        const std::optional<long long> value = whole_number(tokens.text(i));
        if (value && std::find(numbers.begin(), numbers.end(), *value) == numbers.end()) numbers.push_back(*value);
    }
    return numbers;
}

/// These numbers, then what differences and sums of two of them and their neighbours add.
std::vector<long long> candidates(const std::vector<long long>& numbers) {
    std::vector<long long> all;
    const auto add = [&](long long value) {
        if (value >= 0 && std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    };
    for (const long long number : numbers) add(number);
    for (const long long a : numbers)
        for (const long long b : numbers)
            if (a > b) add(a - b), add(a + b);
    for (const long long number : numbers) add(number - 1), add(number + 1);
    return all;
}

/// `NAME == NUMBER` or `NUMBER == NAME`.
std::optional<std::pair<std::string, long long>> equality(std::string text) {
    text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '"'; }), text.end());
    const std::size_t sign = text.find("==");
    if (sign == std::string::npos) return {};
    std::string name = text.substr(0, sign), number = text.substr(sign + 2);
    if (!whole_number(number)) std::swap(name, number);
    const std::optional<long long> value = whole_number(number);
    if (!value) return {};
    return std::pair(name, *value);
}

bool is_scalar(const KernelParameter& parameter) {
    return parameter.type.find_first_of("*&[") == std::string::npos && parameter.type.find("float") == std::string::npos &&
           parameter.type.find("double") == std::string::npos;
}

/// Whether the file itself, and no header, has one of these words.
bool has_word(const Tokens& tokens, const std::string& source, std::initializer_list<std::string_view> words) {
    for (std::uint32_t i = 0; i < tokens.size(); ++i)
        if (tokens.is_word(i) && tokens.file(i) == source && std::find(words.begin(), words.end(), tokens.text(i)) != words.end())
            return true;
    return false;
}

}  // namespace

std::vector<Draw> draws_of(const SourceUnit& unit) {
    const Tokens tokens(unit.preprocessed);
    std::map<std::string, long long> required;  // __requires(NAME == NUMBER), as the annotations' header writes it
    for (std::uint32_t i = 0; i + 2 < tokens.size(); ++i)
        if (tokens.text(i) == "unmet" && tokens.is(i + 1, '(') && tokens.file(i) == unit.source)
            if (const auto found = equality(std::string(tokens.text(i + 2)))) required.insert(*found);
    std::vector<ChosenValue> fixed, open;
    for (std::size_t kernel = 0; kernel < unit.rewritten.kernels.size(); ++kernel)
        for (std::size_t index = 0; index < unit.rewritten.kernels[kernel].parameters.size(); ++index) {
            const KernelParameter& parameter = unit.rewritten.kernels[kernel].parameters[index];
            if (!is_scalar(parameter)) continue;
            const auto value = required.find(parameter.name);
            (value == required.end() ? open : fixed)
                .push_back({static_cast<int>(kernel), static_cast<int>(index), value == required.end() ? 0 : value->second,
                            parameter.name});
        }
    std::vector<Draw> draws = {{1, fixed}, {2, fixed}, {3, fixed}};
    if (open.empty()) return draws;
    for (const long long value : candidates(compared_numbers(tokens, unit.source)))
        for (ChosenValue one : open) {
            if (draws.size() == kMostDraws) return draws;
            one.value = value;
            draws.push_back({1, fixed});
            draws.back().chosen.push_back(one);
        }
    return draws;
}

void add_draws(SourceUnit& unit, const Expectation& expectation) {
    if (unit.rewritten.has_main) throw Refused(unit.source + " has a main(); files of GPUVerify's testsuite have none");
    if (unit.rewritten.kernels.empty()) throw Refused(unit.source + " has no kernel");
    const auto product = [](const std::vector<unsigned>& extents) {
        unsigned long long all = 1;
        for (const unsigned extent : extents) all *= extent;
        return std::to_string(all) + "ull";
    };
    const auto dim3_of = [](const std::vector<unsigned>& extents) {
        std::string text;
        for (const unsigned extent : extents) text += (text.empty() ? "dim3(" : ", ") + std::to_string(extent) + "u";
        return text + ")";
    };
    const Tokens tokens(unit.preprocessed);
    const bool is_cooperative = has_word(tokens, unit.source, {"this_grid"});
    const bool asks_for_accesses = has_word(tokens, unit.source,
                                            {"__read", "__write", "__no_read", "__no_write", "__read_implies", "__write_implies",
                                             "__read_offset_bytes", "__write_offset_bytes"});
    const std::string name = "::heddle::emulator::gpuverify::";
    std::string text = "\n# 1 \"the parameters of heddle check\"\nint main(int count, char** words) {\n    return " + name +
                       "run(count, words, " + (asks_for_accesses ? "true" : "false") + ", " + product(expectation.block) + ", " +
                       product(expectation.grid) + ", [] {\n";
    for (const Kernel& kernel : unit.rewritten.kernels) {
        if (kernel.is_template) throw Refused(unit.source + ": left out: " + kernel.name + " is a template");
        text += "        " + name + "launch(&" + kernel.name + ", " + dim3_of(expectation.grid) + ", " +
                dim3_of(expectation.block) + (is_cooperative ? ", true);\n" : ", false);\n");
    }
    unit.added = text + "    });\n}\n";
}

}  // namespace heddle::emulator::frontend
