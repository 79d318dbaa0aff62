#include "apps/learn/host_answer.h"

#include <regex>
#include <sstream>

namespace heddle::learn {
namespace {

// The first line that calls g.give(input, ...) or g.accumulate_into(input); 0 if none does.
int line_of_gradient(const std::string& answer, const std::string& input) {
    const std::regex call(R"(\b(give|accumulate_into)\(\s*)" + input + R"(\b)");
    std::istringstream text(answer);
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (std::regex_search(line.substr(0, line.find("//")), call)) return number;
    }
    return 0;
}

}  // namespace

void complete(Verdict& verdict, const std::string& answer, const std::string& messages) {
    static const std::regex gradient(R"(^the gradient of input (\d+), )");
    std::smatch found;
    if (verdict.line == 0 && std::regex_search(verdict.text, found, gradient)) verdict.line = line_of_gradient(answer, found[1]);
    // libstdc++ with _GLIBCXX_ASSERTIONS.
    if (verdict.kind == "crash" && messages.find("Assertion '") != std::string::npos &&
        messages.find("size()' failed") != std::string::npos) {
        verdict.kind = "bounds";
        verdict.text = "an index is not below the size of its array or vector";
        if (verdict.line != 0) verdict.text += ", in line " + std::to_string(verdict.line);
    }
}

}  // namespace heddle::learn
