// The machine's C++ compiler, which builds what is checked.
#pragma once

#include <string>
#include <vector>

#include "kernels/emulator/frontend/process.h"

namespace heddle::emulator::frontend {

class Compiler {
  public:
    /// $CXX, else c++, g++ or clang++. Refused where there is none.
    explicit Compiler(const ToolOptions& options);

    /// Runs it with these arguments.
    ToolRun run(const std::vector<std::string>& arguments, const ToolOptions& options) const;
    bool is_clang() const { return is_clang_; }

    /// Options with which each access calls the checker (emulator.cmake).
    std::vector<std::string> watch_options() const;
    /// Messages on one line each, without colours.
    std::vector<std::string> message_options() const;

  private:
    std::vector<std::string> words_;  // a program, and words before its arguments as in "ccache g++"
    bool is_clang_ = false;
};

/// The words of a text between blanks.
std::vector<std::string> words_in(const std::string& text);
/// An option such as -ffile-prefix-map with which paths in reports are relative to the current folder.
std::string below_current_folder(const std::string& option);
void append(std::vector<std::string>& words, const std::vector<std::string>& more);

}  // namespace heddle::emulator::frontend
