// Answers of `heddle learn`: from one file to a shared library that heddle-grader opens.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/emulator/frontend/process.h"

namespace heddle::emulator::frontend {

/// An answer as it was written.
struct Answer {
    std::string text;
    std::string name;                             ///< of its file, in messages and reports
    bool on_device = true;                        ///< CUDA C++, each access of which is watched; else C++ for the host
    std::vector<std::filesystem::path> includes;  ///< of headers that it may include; the last one has kernels/emulator
    std::chrono::seconds longest{60};             ///< that one call of the compiler may take
};

struct BuiltAnswer {
    std::filesystem::path library = {};  ///< empty: it does not compile
    std::string messages = {};           ///< of the compiler: errors, or warnings
    Ended ended = {};                    ///< how the compiler ended
};

/// Preprocesses, rewrites and compiles the answer in the folder. Its kernels stay functions, which the grader
/// launches by their names. Each process of the compiler gets 30 seconds of processor time and 4 GB of memory, because a constant
/// expression can keep it busy for ever. Refused if there is no compiler; Interrupted by a signal.
BuiltAnswer build_answer(const Answer& answer, const std::filesystem::path& folder);

}  // namespace heddle::emulator::frontend
