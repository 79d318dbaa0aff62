#include "kernels/emulator/frontend/compiler.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {
namespace {

namespace fs = std::filesystem;

std::string program_in_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path program = fs::path(folder.empty() ? "." : folder) / name;
        std::error_code error;
        if (::access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, error)) return program.string();
    }
    return "";
}

std::vector<std::string> compiler_words() {
    const char* const chosen = std::getenv("CXX");
    if (chosen != nullptr && *chosen != '\0') {
        std::vector<std::string> words = fs::exists(chosen) ? std::vector<std::string>{chosen} : words_in(chosen);
        if (words.empty() || program_in_path(words[0]).empty())
            throw Refused(std::string("the compiler that CXX names, ") + chosen + ", is not there; unset CXX, or install it");
        return words;
    }
    for (const char* const name : {"c++", "g++", "clang++"})
        if (const std::string found = program_in_path(name); !found.empty()) return {found};
    throw Refused(
        "there is no C++ compiler (looked for c++, g++ and clang++); install one, on Debian and Ubuntu with: apt install g++");
}

}  // namespace

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
}

std::string below_current_folder(const std::string& option) { return option + "=" + fs::current_path().string() + "=."; }

Compiler::Compiler(const ToolOptions& options) : words_(compiler_words()) {
    is_clang_ = run({"--version"}, options).output.find("clang") != std::string::npos;
}

ToolRun Compiler::run(const std::vector<std::string>& arguments, const ToolOptions& options) const {
    std::vector<std::string> words = words_;
    append(words, arguments);
    return run_tool(words, options);
}

std::vector<std::string> Compiler::watch_options() const {
    std::vector<std::string> words = words_in(HEDDLE_WATCH_OPTIONS);
    append(words, words_in(is_clang_ ? HEDDLE_WATCH_OPTIONS_CLANG : HEDDLE_WATCH_OPTIONS_GNU));
    // clang must not remove endless loops, as g++ does not: they are mistakes to find.
    if (is_clang_) words.emplace_back("-fno-finite-loops");
    return words;
}

std::vector<std::string> Compiler::message_options() const {
    return {"-fdiagnostics-color=never", "-fno-show-column",
            is_clang_ ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret"};
}

}  // namespace heddle::emulator::frontend
