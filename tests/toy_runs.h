// Parallel text that a tiny model learns from, letters and the same as capitals; and what a run has learned, for comparisons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/digest.h"
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

/// The digests of all weights and moments of a run, by their files.
inline std::map<std::string, std::string> digests_of_weights(const Workplace& here, const std::string& run) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(here.path(run))) {
        const std::filesystem::path name = entry.path().lexically_relative(here.path(run));
        if (entry.path().extension() == ".safetensors" && name.string().find("latest") == std::string::npos)
            found[name.string()] = digest(here.read(run + "/" + name.string()));
    }
    EXPECT_GE(found.size(), 4u) << run;
    return found;
}

}  // namespace heddle
