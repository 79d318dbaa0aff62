#include "kernels/emulator/frontend/quote.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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

std::string shown_path(const std::string& file) {
    std::error_code error;
    const std::string here = std::filesystem::current_path(error).string() + "/";
    std::string shown = file;
    if (!error && shown.compare(0, here.size(), here) == 0) shown.erase(0, here.size());
    while (shown.compare(0, 2, "./") == 0) shown.erase(0, 2);
    return shown;
}

}  // namespace heddle::emulator::frontend
