#include "kernels/emulator/frontend/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace heddle::emulator::frontend {
namespace {

// The line with tabs as spaces; false when it is not there.
bool find_line(const std::string& file, int number, std::string& line) {
    std::error_code error;
    if (number <= 0 || !std::filesystem::is_regular_file(file, error)) return false;
    std::ifstream stream(file);
    for (int i = 0; i < number; ++i)
        if (!std::getline(stream, line)) return false;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::string spaced;
    for (const char c : line) c == '\t' ? spaced.append(4 - spaced.size() % 4, ' ') : spaced.append(1, c);
    line = spaced;
    return true;
}

}  // namespace

std::string source_line(const std::string& file, int line) {
    std::string text;
    if (!find_line(file, line, text)) return "";
    const std::size_t begin = text.find_first_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::string quoted_line(const std::string& file, int line) {
    std::string text;
    if (!find_line(file, line, text)) return "";
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return "";
    text.erase(text.find_last_not_of(' ') + 1);
    std::string number = std::to_string(line);
    number.insert(0, number.size() < 7 ? 7 - number.size() : 0, ' ');
    return number + " | " + text + "\n" + std::string(number.size(), ' ') + " | " + std::string(begin, ' ') + "^" +
           std::string(text.size() - begin - 1, '~') + "\n";
}

std::string with_quotes(const std::string& messages) {
    std::istringstream lines(messages);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        result += line + "\n";
        std::size_t at = line.find(": error: ");
        if (at == std::string::npos) at = line.find(": fatal error: ");
        if (at == std::string::npos) continue;
        const std::size_t colon = line.rfind(':', at - 1);
        if (colon == std::string::npos || colon + 1 == at) continue;
        result += quoted_line(line.substr(0, colon), std::atoi(line.c_str() + colon + 1));
    }
    return result;
}

std::string short_number(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

std::string shown_path(const std::string& file) {
    std::error_code error;
    const std::string here = std::filesystem::current_path(error).string() + "/";
    std::string shown = file;
    if (!error && shown.compare(0, here.size(), here) == 0) shown.erase(0, here.size());
    while (shown.compare(0, 2, "./") == 0) shown.erase(0, 2);
    return shown;
}

namespace {

std::string place_of(const std::string& file, int line) {
    return file.empty() ? "" : shown_path(file) + (line > 0 ? ":" + std::to_string(line) : "");
}

// The text in lines of up to 110 bytes, each after two spaces.
std::string indented(const std::string& text) {
    std::string result = "  ";
    std::size_t length = 2;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.find_first_of(" \n", begin);
        if (end == std::string::npos) end = text.size();
        const std::string word = text.substr(begin, end - begin);
        if (length > 2 && length + word.size() + 1 > 110) {
            result += "\n  ";
            length = 2;
        }
        result += (length > 2 ? " " : "") + word;
        length += word.size() + (length > 2 ? 1 : 0);
        if (end < text.size() && text[end] == '\n') {
            result += "\n  ";
            length = 2;
        }
        begin = end + 1;
    }
    return result + "\n";
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    char text[16];
    std::snprintf(text, sizeof text, "%.0f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
    return text;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
    const std::string space(text.size() < width ? width - text.size() : 0, ' ');
    return right ? space + text : text + space;
}

// Columns as wide as their longest cell; all but the first are numbers.
std::string table_of(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows[0].size());
    for (const std::vector<std::string>& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const std::vector<std::string>& row : rows) {
        text += " ";
        for (std::size_t i = 0; i < row.size(); ++i) text += " " + padded(row[i], widths[i], i > 0);
        text += "\n";
    }
    return text;
}

}  // namespace

std::string report_of(const Finding& finding) {
    const ViolationRecord& r = finding.record;
    const std::string place = place_of(r.file, r.line);
    std::string text = (place.empty() ? "" : place + ": ") + r.kind + (r.note ? " (a note)" : "");
    if (!r.kernel.empty()) {
        text += (r.note ? " in kernel " : ": kernel ") + r.kernel;
        if (!r.block.empty()) text += ", block " + r.block;
        if (!r.thread.empty()) text += ", thread " + r.thread;
        if (!r.verb.empty()) text += " " + r.verb;
    }
    text += "\n" + quoted_line(shown_path(r.file), r.line);
    if (r.other_line > 0) {
        text += place_of(r.other_file, r.other_line) + ": " + r.other_thread + " " + r.other_verb + "\n" +
                quoted_line(shown_path(r.other_file), r.other_line);
    }
    // The sentence without what the first line says already.
    std::string sentence = r.text;
    const std::string start = "kernel " + r.kernel + ", block " + r.block + ", thread " + r.thread + ": ";
    if (!r.thread.empty() && sentence.compare(0, start.size(), start) == 0) sentence.erase(0, start.size());
    text += indented(sentence);
    if (!r.between.empty() && sentence.find("between") == std::string::npos && sentence.find(r.between) == std::string::npos)
        text += indented(r.between);
    if (!finding.orders.empty() && finding.orders.front() > 1)
        text += indented("found in order " + std::to_string(finding.orders.front()) + "; --orders 1 --seed " +
                         std::to_string(r.seed) + " repeats it");
    return text + "\n";
}

std::string cost_table(const std::vector<KernelCost>& costs) {
    if (costs.empty()) return "";
    std::vector<std::vector<std::string>> rows = {
        {"kernel", "launches", "sectors", "useful", "bank cycles", "without conflicts", "divergent", "barriers"}};
    for (const KernelCost& each : costs) {
        const CostCounts& c = each.kernel.cost;
        rows.push_back({each.kernel.kernel, std::to_string(c.launches), std::to_string(c.sectors),
                        percent(c.least_sectors, c.sectors), std::to_string(c.shared_cycles),
                        percent(c.least_shared_cycles, c.shared_cycles), percent(c.divergent, c.accesses + c.shared_accesses),
                        std::to_string(c.barriers)});
    }
    std::string text =
        "what the kernels asked of memory (sectors of 32 bytes; useful: the share that the same bytes need):\n" + table_of(rows);
    for (const KernelCost& each : costs) {
        const ViolationRecord* worst = nullptr;
        for (const ViolationRecord& line : each.lines)  // a kernel's own line is the one that wastes most
            if (each.kernel.line > 0 && line.file == each.kernel.file && line.line == each.kernel.line) worst = &line;
        if (worst == nullptr) continue;
        const CostCounts& c = worst->cost;
        text += each.kernel.kernel + " wastes most at " + place_of(worst->file, worst->line) + ":";
        if (c.sectors > c.least_sectors)
            text += " " + std::to_string(c.sectors) + " sectors, where " + std::to_string(c.least_sectors) + " would do";
        if (c.shared_cycles > c.least_shared_cycles)
            text += std::string(c.sectors > c.least_sectors ? ";" : "") + " " + std::to_string(c.shared_cycles) +
                    " cycles of the banks, where " + std::to_string(c.least_shared_cycles) + " would do";
        text += "\n" + quoted_line(shown_path(worst->file), worst->line);
    }
    return text;
}

}  // namespace heddle::emulator::frontend
