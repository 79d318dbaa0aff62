#include "apps/learn/host_answer.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string_view>

namespace heddle::learn {

std::string without_comments(const std::string& answer) {
    std::string code;
    for (std::size_t at = 0; at < answer.size();) {
        const std::string_view next(answer.data() + at, std::min<std::size_t>(2, answer.size() - at));
        if (next != "//" && next != "/*") {
            code += answer[at++];
            continue;
        }
        const bool is_line = next == "//";
        const std::size_t end = std::min(answer.find(is_line ? "\n" : "*/", at + 2), answer.size());
        code.append(static_cast<std::size_t>(std::ranges::count(answer.substr(at, end - at), '\n')), '\n');
        at = is_line ? end : std::min(end + 2, answer.size());
    }
    return code;
}

namespace {

// The first line that calls g.give(input, ...) or g.accumulate_into(input); 0 if none does.
int line_of_gradient(const std::string& code, const std::string& input) {
    const std::regex call(R"(\b(give|accumulate_into)\(\s*)" + input + R"(\b)");
    std::istringstream text(code);
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (std::regex_search(line, call)) return number;
    }
    return 0;
}

}  // namespace

void complete(Verdict& verdict, const std::string& answer, const std::string& messages) {
    const std::string code = without_comments(answer);
    static const std::regex gradient(R"(^the gradient of input (\d+), )");
    std::smatch found;
    if (verdict.line == 0 && std::regex_search(verdict.text, found, gradient)) verdict.line = line_of_gradient(code, found[1]);
    // libstdc++ with _GLIBCXX_ASSERTIONS.
    if (verdict.kind == "crash" && messages.find("Assertion '") != std::string::npos &&
        messages.find("size()' failed") != std::string::npos) {
        verdict.kind = "bounds";
        verdict.text = "an index is not below the size of its array or vector";
        if (verdict.line != 0) verdict.text += ", in line " + std::to_string(verdict.line);
    }
    // What such a backward reads is chance: any verdict but one on the forward pass may come of it.
    static const std::regex by_reference(R"(\.backward\s*=\s*\[[^\]]*&)");
    const bool is_of_backward = !verdict.passed() && verdict.kind != "compile" && verdict.kind != "values";
    if (is_of_backward && std::regex_search(code, by_reference))
        verdict.text +=
            "; backward runs after the function has returned, and [&] refers to variables that are gone then: put tensors into "
            ".saved, and copy numbers with [=]";
}

}  // namespace heddle::learn
