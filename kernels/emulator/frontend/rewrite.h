// Turns preprocessed CUDA C++ into C++ that any compiler accepts and the emulator runs.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::emulator::frontend {

/// A parameter of a kernel as written: `const float*` and `x`; the name may be missing.
struct KernelParameter {
    std::string type, name;
    bool operator==(const KernelParameter&) const = default;
};

/// A kernel with a body.
struct Kernel {
    std::string name;  // how it is called from the end of the file: ns::k
    std::vector<KernelParameter> parameters;
    std::string file;
    int line = 0;
    bool is_template = false;
};

struct RewriteOptions {
    bool several_units = false;      ///< __device__ variables that several files define are one: headers may define them.
    bool host_is_unwatched = false;  ///< Accesses of functions that run on the host alone are not watched (host_code.cpp).
    bool is_answer = false;          ///< Of `heddle learn`: kernels stay functions, and none may be launched.
};

/// Result of rewrite(). Each line of `text` is the line of the input; the # lines still name the source.
struct Rewritten {
    std::string text;
    std::vector<Kernel> kernels;
    bool has_main = false;
};

/// Thrown for what cannot be rewritten; what() begins with file and line.
struct RewriteError : std::runtime_error {
    RewriteError(std::string file, int line, std::string message);
    std::string file;
    int line;
    std::string message;  // what() without the place
};

/// Rewrites the output of `$CXX -E` for a file of CUDA C++; README.md shows how. Any text is accepted: where it is no CUDA it
/// stays as it is, and errors in it are the compiler's to report. Throws RewriteError.
Rewritten rewrite(std::string_view preprocessed, const RewriteOptions& options = {});

}  // namespace heddle::emulator::frontend
