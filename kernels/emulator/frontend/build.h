// From CUDA C++ to a program: preprocess, rewrite, compile, link.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/compiler.h"
#include "kernels/emulator/frontend/rewrite.h"
#include "kernels/emulator/frontend/scratch.h"
#include "kernels/emulator/frontend/settings.h"

namespace heddle::emulator::frontend {

/// A source file on its way.
struct SourceUnit {
    std::string source;
    std::string preprocessed = {};
    Rewritten rewritten = {};
    std::string added = {};  ///< C++ that is compiled behind the file's own: a harness
};

class Builder {
  public:
    /// Finds the compiler: $CXX, else c++, g++ or clang++. Refused where there is none.
    Builder(const Settings& settings, const Scratch& scratch);

    /// Preprocesses and rewrites the sources. Refused, after the compiler's messages went to stderr, for a file with errors.
    std::vector<SourceUnit> read(const std::vector<std::string>& sources) const;
    /// Compiles them and links a program in the scratch folder. Refused, after the messages, if that fails.
    std::filesystem::path program(const std::vector<SourceUnit>& units) const;

  private:
    void preprocess(SourceUnit& unit) const;
    std::string compile(const SourceUnit& unit, std::size_t number) const;
    std::vector<std::string> language_options() const;
    std::vector<std::string> object_options() const;

    const Settings& settings_;
    std::filesystem::path folder_;
    ToolOptions options_;
    Compiler compiler_;
};

/// For files that have kernels and no main(): adds one that launches settings.kernel with settings.arguments to the unit that has
/// the kernel. Refused, with a command line that is ready to be used, where a name or a value is missing (harness.cpp).
void add_harness(std::vector<SourceUnit>& units, const Settings& settings);

}  // namespace heddle::emulator::frontend
