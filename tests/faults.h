// How thorough the tests of faults are: a sample in ctest, everything in tests/faults.sh, which prints their rows as a table.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace heddle {

/// HEDDLE_FAULTS=all: the long form.
inline bool all_faults() {
    const char* const wanted = std::getenv("HEDDLE_FAULTS");
    return wanted != nullptr && std::string(wanted) == "all";
}

/// A row of the table in docs/measured/reliability.md.
inline void print_faults(const std::string& fault, int trials, const std::string& outcome) {
    std::printf("FAULTS | %s | %d | %s |\n", fault.c_str(), trials, outcome.c_str());
}

}  // namespace heddle
