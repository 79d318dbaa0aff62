#include "apps/learn/check.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <sstream>
#include <string_view>

#include "apps/command/sibling_program.h"
#include "apps/corpora/child.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::learn {
namespace {

namespace fs = std::filesystem;

// A new folder that vanishes with the object.
class ScratchFolder {
  public:
    ScratchFolder() : path_((fs::temp_directory_path() / "heddle-learn-XXXXXX").string()) {
        check(mkdtemp(path_.data()) != nullptr, "a temporary folder cannot be made in {}; make room there",
              fs::temp_directory_path().string());
    }
    ~ScratchFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string operator/(const char* name) const { return (fs::path(path_) / name).string(); }

  private:
    std::string path_;
};

std::string found_in_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
        if (access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program)) return program.string();
    }
    return "";
}

// The path of the C++ compiler: $CXX, else c++, g++ or clang++ in PATH. Error that says what to install.
std::string find_compiler() {
    const char* const chosen = std::getenv("CXX");
    if (chosen != nullptr && *chosen != '\0') {
        const std::string found = found_in_path(chosen);
        check(!found.empty(), "learn: the compiler that CXX names, {}, is not there; unset CXX, or install it", chosen);
        return found;
    }
    for (const char* name : {"c++", "g++", "clang++"})
        if (const std::string found = found_in_path(name); !found.empty()) return found;
    fail(
        "learn: there is no C++ compiler (looked for c++, g++ and clang++); install one, on Debian and Ubuntu with: apt install "
        "g++");
}

// Processor time and memory are limited because a constant expression can keep a compiler busy for ever.
constexpr const char* kCompilerLimits = "ulimit -t 30; ulimit -v 4000000; ";

// Elapsed time is limited because a compiler waits for ever for a named pipe that the answer includes. The limit grows with
// --seconds, for slow machines, and is never below that of processor time.
std::chrono::seconds compiler_time(std::int64_t seconds) {
    return std::chrono::seconds(std::max<std::int64_t>(30, 12 * seconds));
}

// Messages are in English, because they are searched for "error", and temporary files go into the folder `$0`, because a compiler
// that is killed leaves them.
app::ChildResult run_compiler(std::vector<std::string> words, const app::ScratchFile& input, const app::ScratchFile& output,
                              const ScratchFolder& scratch, std::chrono::seconds longest) {
    const std::string start = std::string("LC_ALL=C; TMPDIR=$0; export LC_ALL TMPDIR; ") + kCompilerLimits + "exec \"$@\"";
    words.insert(words.begin(), {"/bin/sh", "-c", start, scratch.path()});
    return app::run_child(words, input, output, longest);
}

bool is_clang(const std::string& compiler, const ScratchFolder& scratch, std::chrono::seconds longest) {
    const app::ScratchFile input, output;
    run_compiler({compiler, "--version"}, input, output, scratch, longest);
    return output.text().find("clang") != std::string::npos;
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

void append_words(std::vector<std::string>& words, const char* more) {
    std::istringstream all(more);
    for (std::string word; all >> word;) words.push_back(word);
}

// Advice on errors that are typical of learners: what to write instead of CUDA's words.
std::string advice_on(const std::string& error) {
    if (error.find("__shared__") != std::string::npos)
        return "; here shared memory comes from an arena: SharedArena arena; float* tile = arena.take<float>(128);";
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
        verdict = {.kind = "compile", .line = last_line, .text = words + advice_on(said), .shape = "", .cost = {}};
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
std::string why_it_failed(const app::ChildResult& compiled, std::chrono::seconds longest) {
    if (compiled.too_long || compiled.stopped_by != 0)
        return fmt::format(
            "the compiler was stopped: it waits for a file that does not end, such as a named pipe or a terminal, or "
            "it takes more than {} seconds",
            longest.count());
    if (compiled.status > 128) return "the compiler was stopped: it takes more than 30 seconds or 4 GB of memory";
    return compiled.errors;
}

// For host C++: it compiles fast, indices of vectors and spans are checked, and each call has its own frame. g++ finds variables
// that may be uninitialised only when it optimises; clang finds them anyway.
constexpr const char* kHostOptions = "-g1 -D_GLIBCXX_ASSERTIONS";
constexpr const char* kHostOptionsGnu = "-O1 -fno-inline";

// Compiles the learner's answer to a shared library; the options of emulator.cmake let every access of a kernel be watched.
// Returns a pass, or why it does not compile. `longest` limits each run of the compiler. Sets `warning` to the first warning.
Verdict compile(const ExercisePage& page, const std::string& text, const std::string& source, const ScratchFolder& scratch,
                std::chrono::seconds longest, std::string& warning) {
    const std::string compiler = find_compiler(), object = scratch / "answer.o", library = scratch / "answer.so";
    std::vector<std::string> words = {compiler,
                                      "-std=c++20",
                                      "-fPIC",
                                      "-ffp-contract=off",
                                      "-fvisibility-inlines-hidden",
                                      "-fdiagnostics-color=never",
                                      "-fdebug-prefix-map=" + fs::current_path().string() + "=.",
                                      "-Wno-unknown-pragmas",
                                      "-Wuninitialized"};
    append_words(words, page.on_device ? HEDDLE_WATCH_OPTIONS : kHostOptions);
    if (is_clang(compiler, scratch, longest)) {
        if (page.on_device) append_words(words, HEDDLE_WATCH_OPTIONS_CLANG);
        // clang must not remove endless loops and unused memory, as g++ does not: both are mistakes to find.
        words.insert(words.end(), {"-Wconditional-uninitialized", "-fno-finite-loops", "-fno-builtin-malloc"});
    } else {
        append_words(words, page.on_device ? HEDDLE_WATCH_OPTIONS_GNU : kHostOptionsGnu);
        words.insert(words.end(), {"-Wmaybe-uninitialized", "-fno-diagnostics-show-caret"});
    }
    words.insert(words.end(), {"-I" + files().header_folder(page.name).string(), "-I" + files().includes.string(), "-x", "c++",
                               "-c", "-", "-o", object});
    // The compiler reads stdin, and #line gives the file's name alone, which reports and messages then show.
    const app::ScratchFile input("#line 1 \"" + source + "\"\n" + text), output, nothing;
    const app::ChildResult compiled = run_compiler(words, input, output, scratch, longest);
    if (compiled.status != 0) {
        Verdict verdict = compiler_verdict(compiled.raw_errors, source);
        std::istringstream lines(text);
        std::string line;
        for (int i = 0; i < verdict.line; ++i) std::getline(lines, line);
        verdict.text = const_write(verdict.text, line);
        if (verdict.passed()) verdict = {.kind = "compile", .text = why_it_failed(compiled, longest), .shape = "", .cost = {}};
        return verdict;
    }
    warning = compiler_warning(compiled.raw_errors, source);
    const app::ChildResult linked = run_compiler({compiler, "-shared", object, "-o", library}, nothing, output, scratch, longest);
    check(linked.status == 0, "{} cannot link a shared library: {}", compiler, linked.errors);
    return {};
}

// The verdict where the grader left none.
Verdict verdict_without_result(const app::ChildResult& ran, std::chrono::seconds longest) {
    Verdict verdict = {.kind = "crash", .text = "", .shape = "", .cost = {}};
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
    const ScratchFolder scratch;
    const std::string source = result.name = reported_name(page, file);
    std::string warning;
    result.verdict = compile(page, result.text, source, scratch, compiler_time(seconds), warning);
    if (result.verdict.passed()) {
        const app::ScratchFile input, output;
        const std::string said = scratch / "verdict", run = scratch / "run";
        std::vector<std::string> words = {all.grader.string(),    page.name, scratch / "answer.so", source, said,
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
