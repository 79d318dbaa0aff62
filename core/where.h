// A place in the source code.
#pragma once

namespace heddle {

/// The file and line of a call, for errors and reports: declared as the last parameter, `Where where = Where::current()`, it is
/// the caller's place. It does what std::source_location does and is also understood by compilers that do not have that yet.
class Where {
  public:
    Where() = default;
    static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

    constexpr const char* file_name() const { return file_; }
    constexpr int line() const { return line_; }

  private:
    constexpr Where(const char* file, int line) : file_(file), line_(line) {}

    const char* file_ = "";
    int line_ = 0;
};

}  // namespace heddle
