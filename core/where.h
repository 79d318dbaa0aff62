// A place in the source code.
#pragma once

#include <string_view>

namespace heddle {

/// The file and line of a call, for errors and reports. As the last parameter, `Where where = Where::current()`, it is the
/// caller's location. Like std::source_location, but also for compilers without it.
class Where {
  public:
    Where() = default;
    static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where(Place(), in_project(file), line);
    }

    /// "nn/linear.cpp" for a file of the project, wherever it was built; for other files the compiler's spelling.
    constexpr const char* file_name() const { return file_; }
    constexpr int line() const { return line_; }

  private:
    struct Place {};  // so that no {0, 1} of a call is taken for a place
    constexpr Where(Place, const char* file, int line) : file_(file), line_(line) {}

    static constexpr const char* in_project(const char* file) {
        constexpr std::string_view here = __FILE__;
        constexpr std::string_view root = here.substr(0, here.size() - std::string_view("core/where.h").size());
        return std::string_view(file).starts_with(root) ? file + root.size() : file;
    }

    const char* file_ = "";
    int line_ = 0;
};

}  // namespace heddle
