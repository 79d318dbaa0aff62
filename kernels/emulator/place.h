// Where a call stands in the source, for reports.
#pragma once

namespace heddle::emulator {

/// A place in the source: as a last parameter with the default current(), the caller's.
struct Place {
    const char* file = "";
    int line = 0;
    static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace heddle::emulator
