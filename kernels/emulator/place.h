// The source location of a call, for reports. Apart from kernel.h, because the functions of cuda_runtime.h take one, too, and
// host code that includes these must not get CUDA's keywords.
#pragma once

namespace heddle::emulator {

/// A source location. As a last parameter with the default current(), it is the caller's.
struct Place {
    const char* file = "";
    int line = 0;
    static constexpr Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

}  // namespace heddle::emulator
