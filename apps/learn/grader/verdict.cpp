#include "apps/learn/grader/verdict.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <utility>

namespace heddle::learn {

namespace {

// The kind of a report that is not about an access.
std::string kind_of_report(std::string_view report) {
    // The first pair whose words occur in the report counts.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kinds = {{
        {"asynchronous copy", "copy"},
        {"needs more stack", "crash"},
        {"divides an integer by zero", "crash"},
        {"not a multiple of", "misaligned"},
        {"of shared memory taken as piece", "bounds"},
        {"touches the address", "bounds"},
        {"takes the bytes", "bounds"},
        {"comes to ", "barrier"},
        {"leaves the kernel, while", "barrier"},
        {"have left the kernel", "barrier"},
        {"deadlock", "barrier"},
        {"exception", "crash"},
    }};
    for (const auto& [words, kind] : kinds)
        if (report.find(words) != std::string_view::npos) return std::string(kind);
    return "misuse";
}

}  // namespace

int line_in(std::string_view text, std::string_view source, std::size_t& from) {
    for (std::size_t at = text.find(source, from); at != std::string_view::npos; at = text.find(source, at + 1)) {
        const std::size_t colon = at + source.size();
        if (colon + 1 >= text.size() || text[colon] != ':' || std::isdigit(static_cast<unsigned char>(text[colon + 1])) == 0)
            continue;
        from = colon;
        return std::atoi(std::string(text.substr(colon + 1, 9)).c_str());
    }
    return 0;
}

int line_in(std::string_view text, std::string_view source) {
    std::size_t from = 0;
    return line_in(text, source, from);
}

std::string on_one_line(const std::string& text) { return std::regex_replace(text, std::regex(R"(\n\s*)"), "; "); }

std::string without_folders(std::string text, const std::string& source) {
    for (std::size_t at = text.find("/" + source + ":"); at != std::string::npos; at = text.find("/" + source + ":")) {
        const std::size_t space = text.rfind(' ', at);  // the path in front of the name
        text.erase(space + 1, at - space);
    }
    return text;
}

void refuse(const std::string& kind, const std::string& text, int line, const Cost& cost) {
    throw Failed{{.kind = kind, .line = line, .text = text, .cost = cost}};
}

Verdict verdict_of_report(const std::string& report, const std::string& source) {
    Verdict verdict;
    verdict.kind = kind_of_report(report);
    std::string text = std::regex_replace(report, std::regex(R"( \(HEDDLE_EMULATOR_SEED=[^)]*\))"), "");
    text = std::regex_replace(text, std::regex(R"(the (\d+ bytes?) allocated at (\w+):0)"), "$2 ($1)");
    text = std::regex_replace(text, std::regex(R"(an allocation of (\d+ bytes?) made at (\w+):0)"), "$2 ($1)");
    text = without_folders(on_one_line(text), source);
    verdict.text = text;
    std::size_t from = 0;
    verdict.line = line_in(text, source, from);
    verdict.other_line = verdict.line == 0 ? 0 : line_in(text, source, from);
    return verdict;
}

bool write_verdict(const Verdict& verdict, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    file << "kind " << verdict.kind << "\nline " << verdict.line << "\nother_line " << verdict.other_line << "\nshape "
         << verdict.shape << "\nsectors " << verdict.cost.sectors << "\nrequests " << verdict.cost.requests << "\nshared_cycles "
         << verdict.cost.shared_cycles << "\nbarriers " << verdict.cost.barriers << "\ntext " << verdict.text << "\n";
    return static_cast<bool>(file.flush());
}

std::optional<Verdict> read_verdict(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::map<std::string, std::string> values;
    for (std::string line; std::getline(file, line);)
        if (const std::size_t space = line.find(' '); space != std::string::npos)
            values[line.substr(0, space)] = line.substr(space + 1);
    if (!values.contains("text") || values["kind"].empty()) return {};  // text is written last
    const auto number = [&](const char* key) { return std::strtoull(values[key].c_str(), nullptr, 10); };
    return Verdict{.kind = values["kind"],
                   .line = static_cast<int>(number("line")),
                   .other_line = static_cast<int>(number("other_line")),
                   .text = values["text"],
                   .shape = values["shape"],
                   .cost = {.sectors = number("sectors"),
                            .requests = number("requests"),
                            .shared_cycles = number("shared_cycles"),
                            .barriers = number("barriers")}};
}

}  // namespace heddle::learn
