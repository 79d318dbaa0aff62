#include "apps/learn/check.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstring>
#include <regex>
#include <sstream>
#include <string_view>

#include "apps/command/sibling_program.h"
#include "apps/corpora/child.h"
#include "core/file.h"
#include "core/format.h"
#include "kernels/emulator/frontend/answer.h"
#include "kernels/emulator/frontend/scratch.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::learn {
namespace {

namespace fs = std::filesystem;
namespace frontend = emulator::frontend;

// Elapsed time is limited because a compiler waits for ever for a named pipe that the answer includes. The limit grows with
// --seconds, for slow machines, and is never below that of processor time.
std::chrono::seconds compiler_time(std::int64_t seconds) {
    return std::chrono::seconds(std::max<std::int64_t>(30, 12 * seconds));
}

// The name of the file in reports and messages. One that could not be told from the words around it is replaced by the
// exercise's.
std::string reported_name(const ExercisePage& page, const fs::path& file) {
    const std::string name = file.filename().string();
    const auto is_plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    };
    return std::ranges::all_of(name, is_plain) ? name : page.file_name();
}

// Advice on errors that are typical of learners.
std::string advice_on(const std::string& error) {
    if (error.find("operator") != std::string::npos || error.find("invalid operands") != std::string::npos ||
        error.find("cannot convert") != std::string::npos)
        if (error.find("uint3") != std::string::npos || error.find("dim3") != std::string::npos)
            return "; threadIdx, blockIdx, blockDim and gridDim have the parts .x, .y and .z";
    return "";
}

// A write to a const input, of which g++ gives an expression and clang says nothing: names the input, by the line of the answer.
std::string const_write(const std::string& words, const std::string& line) {
    if (words.find("read-only location") == std::string::npos && words.find("read-only variable") == std::string::npos)
        return words;
    static const std::regex of_location(R"(read-only location '\*\(*\s*(\w+))"), of_line(R"((\w+)\s*\[)");
    std::smatch found;
    if (!std::regex_search(words, found, of_location) && !std::regex_search(line, found, of_line)) return words;
    return fmt::format("this writes to {0}, but {0} is const: an input that the kernel may only read", found[1].str());
}

// Replaces clang's words by those of g++, so that a verdict does not depend on the compiler.
std::string in_common_words(std::string error) {
    static const std::regex undeclared(R"(^use of undeclared identifier ('[^']*').*)");
    static const std::regex requirement(R"(^(static assertion failed) due to requirement '[^']*')");
    error = std::regex_replace(error, undeclared, "$1 was not declared in this scope");
    return std::regex_replace(error, requirement, "$1");
}

// The first error in a compiler's messages: its line of `source`, or 0, and its text; a pass if there is none. An error in a
// header gets the line of the source that led there: g++ names it before the error, clang in a note after it.
Verdict compiler_verdict(const std::string& messages, const std::string& source) {
    static const std::regex message(R"(^(.*?):(\d+):(?:\d+:)?\s*(.*)$)");
    std::istringstream lines(messages);
    Verdict verdict;
    int last_line = 0;  // of the source
    bool in_header = false;
    for (std::string text; std::getline(lines, text);) {
        std::smatch found;
        if (!std::regex_match(text, found, message)) continue;
        const std::string file = found[1], said = found[3];
        const bool in_source = file.ends_with(source);
        if (in_source) last_line = std::stoi(found[2]);
        const std::size_t error = said.find("error: ");
        const bool is_error = error == 0 || said.starts_with("fatal error: ");
        if (!verdict.passed()) {
            if (is_error || !in_header) break;
            if (!in_source || !said.starts_with("note: in instantiation ")) continue;
            verdict.line = last_line;
            break;
        }
        if (!is_error) continue;
        const std::string words = in_common_words(said.substr(error + std::string_view("error: ").size()));
        verdict = {.kind = "compile", .line = last_line, .text = words + advice_on(said)};
        in_header = !in_source;
    }
    return verdict;
}

// The first warning about `source` in a compiler's messages: "'sum' is used uninitialized (line 7)"; empty if there is none.
std::string compiler_warning(const std::string& messages, const std::string& source) {
    static const std::regex message(R"(^(.*?):(\d+):(?:\d+:)? warning: (.*?)(?: \[-W.*)?$)");
    std::istringstream lines(messages);
    std::smatch found;
    for (std::string text; std::getline(lines, text);)
        if (std::regex_match(text, found, message) && found[1].str().ends_with(source))
            return fmt::format("{} (line {})", found[3].str(), found[2].str());
    return "";
}

// The reason where the compiler's messages name no line.
std::string why_it_failed(const frontend::BuiltAnswer& built, std::chrono::seconds longest) {
    if (built.ended.too_long || built.ended.stopped != 0)
        return fmt::format(
            "the compiler was stopped: it waits for a file that does not end, such as a named pipe or a terminal, or "
            "it takes more than {} seconds",
            longest.count());
    if (built.ended.signal != 0) return "the compiler was stopped: it takes more than 30 seconds or 4 GB of memory";
    std::string text = built.messages;
    while (text.ends_with('\n')) text.pop_back();
    std::ranges::replace(text, '\n', ' ');
    return text;
}

// Compiles the learner's answer to a shared library. Returns a pass, or why it does not compile; sets `library`, and `warning` to
// the first warning. `longest` limits each run of the compiler.
Verdict compile(const ExercisePage& page, const std::string& text, const std::string& source, const fs::path& folder,
                std::chrono::seconds longest, fs::path& library, std::string& warning) {
    frontend::BuiltAnswer built;
    try {
        const frontend::CaughtSignals ends_the_compiler;
        built = frontend::build_answer({.text = text,
                                        .name = source,
                                        .on_device = page.on_device,
                                        .includes = {files().header_folder(page.name), files().includes},
                                        .longest = longest},
                                       folder);
    } catch (const frontend::Refused& refused) {
        fail_with("learn: {}", refused.what());
    }
    library = built.library;
    warning = library.empty() ? "" : compiler_warning(built.messages, source);
    if (!library.empty()) return {};
    Verdict verdict = compiler_verdict(built.messages, source);
    std::istringstream lines(text);
    std::string line;
    for (int i = 0; i < verdict.line; ++i) std::getline(lines, line);
    verdict.text = const_write(verdict.text, line);
    if (verdict.passed()) verdict = {.kind = "compile", .text = why_it_failed(built, longest)};
    return verdict;
}

// The verdict where the grader left none.
Verdict verdict_without_result(const app::ChildResult& ran, std::chrono::seconds longest) {
    Verdict verdict = {.kind = "crash", .text = ""};
    if (ran.stopped_by != 0) {
        verdict.text = fmt::format("the program stopped itself: {}", strsignal(ran.stopped_by));
    } else if (ran.too_long) {
        verdict.kind = "endless";
        verdict.text = fmt::format("the program was ended after {} seconds", longest.count());
    } else {
        verdict.text = fmt::format("the program ended without a result, with status {}{}{}", ran.status,
                                   ran.errors.empty() ? "" : ": ", ran.errors);
    }
    return verdict;
}

// The answer without its comments; lines keep their numbers.
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

// Adds to the verdict on host C++ what the answer's text and the grader's messages tell. A verdict on "the gradient of input 1,
// b" without a line gets the line where backward gives that gradient. A crash in which the standard library found an index out of
// range becomes the verdict "bounds".
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
    // A backward with [&] reads dead variables, so any verdict but one on the forward pass may be its fault.
    static const std::regex by_reference(R"(\.backward\s*=\s*\[[^\]]*&)");
    const bool is_of_backward = !verdict.passed() && verdict.kind != "compile" && verdict.kind != "values";
    if (is_of_backward && std::regex_search(code, by_reference))
        verdict.text +=
            "; backward runs after the function has returned, and [&] refers to variables that are gone then: put tensors into "
            ".saved, and copy numbers with [=]";
}

// Explains a race between two lines of a loop that has a barrier between them: it looks impossible, but the two accesses belong
// to different rounds.
std::string rounds_of(const Verdict& verdict, const std::string& answer) {
    const int upper = std::min(verdict.line, verdict.other_line), lower = std::max(verdict.line, verdict.other_line);
    std::istringstream text(without_comments(answer));
    bool in_loop = false;
    int number = 0, barrier = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (number <= upper && (line.find("for (") != std::string::npos || line.find("while (") != std::string::npos))
            in_loop = true;
        if (number > upper && number < lower && line.find("__syncthreads()") != std::string::npos) barrier = number;
    }
    if (!in_loop || barrier == 0) return "";
    return fmt::format(
        "; the two are in different rounds of the loop: the barrier in line {} orders them within a round, but none stands "
        "between line {} and line {} of the next round",
        barrier, lower, upper);
}

// The line in which the answer defines its first kernel, for complaints of the linker and the grader.
int first_kernel_line(const std::string& answer) {
    std::istringstream text(answer);
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (line.find("__global__") != std::string::npos) return number;
    }
    return 0;
}

}  // namespace

CheckResult check_file(const ExercisePage& page, const fs::path& file, std::int64_t seconds, bool keeps_run) {
    const auto start = std::chrono::steady_clock::now();
    CheckResult result;
    result.source = file.string();
    result.text = read_regular_file(file, 1 << 20);
    const Files all = files();
    check(access(all.grader.c_str(), X_OK) == 0,
          "learn: {}, the program that runs answers, is missing; build it, without sanitizers, with: cmake --build {} "
          "--target heddle-grader",
          all.grader.string(), app::build_folder_of(all.grader));
    const app::DelayedSignals until_all_is_removed;
    const frontend::Scratch scratch;
    const std::string source = result.name = reported_name(page, file);
    fs::path library;
    std::string warning;
    try {
        result.verdict = compile(page, result.text, source, scratch.folder(), compiler_time(seconds), library, warning);
    } catch (const frontend::Interrupted& interrupted) {
        std::raise(interrupted.signal);  // takes its effect when all is removed
        return result;
    }
    if (result.verdict.passed()) {
        const app::ScratchFile input, output;
        const std::string said = (scratch.folder() / "verdict").string(), run = (scratch.folder() / "run").string();
        std::vector<std::string> words = {all.grader.string(),    page.name, library.string(), source, said,
                                          std::to_string(seconds)};
        if (keeps_run) words.push_back(run);
        // The grader ends earlier by itself, unless the answer prevents it.
        const std::chrono::seconds longest(2 * seconds + 60);
        const app::ChildResult ran = app::run_child(words, input, output, longest);
        if (keeps_run) result.run = read_traced_run(run);
        if (result.run && result.run->launches.empty()) result.run.reset();
        const std::optional<Verdict> verdict = read_verdict(said);
        result.printed = output.text().substr(0, 4096);
        result.verdict = verdict ? *verdict : verdict_without_result(ran, longest);
        if (!page.on_device) complete(result.verdict, result.text, ran.raw_errors);
    }
    // A kernel that reads memory which was never written gets its own verdict; on the host the read gives any value.
    const bool may_be_why = page.on_device ? result.verdict.kind == "values" : !result.verdict.passed();
    if (may_be_why && !warning.empty()) result.verdict.text += "; the compiler warns: " + warning;
    if (result.verdict.kind == "race") result.verdict.text += rounds_of(result.verdict, result.text);
    if (result.verdict.kind == "compile" && result.verdict.line == 0) result.verdict.line = first_kernel_line(result.text);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace heddle::learn
