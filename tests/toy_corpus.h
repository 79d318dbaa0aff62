// Parallel text that a tiny model learns from: letters, and the same as capitals.
#pragma once

#include <cstdint>
#include <string>

#include "core/random.h"
#include "tests/program.h"

namespace heddle {

/// Writes text.a and text.b: so many sentences of two to five letters, the same ones at every call.
inline void write_toy_corpus(const Workplace& here, int sentences) {
    Sequence numbers(3);
    std::string a, b;
    for (int line = 0; line < sentences; ++line) {
        for (std::uint64_t n = 2 + numbers.below(4); n > 0; --n) {
            const auto letter = static_cast<char>('a' + numbers.below(8));
            a += std::string(1, letter) + " ";
            b += std::string(1, static_cast<char>(letter - 'a' + 'A')) + " ";
        }
        a.back() = b.back() = '\n';
    }
    here.write("text.a", a);
    here.write("text.b", b);
}

}  // namespace heddle
