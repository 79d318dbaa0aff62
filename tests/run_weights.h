// What a run has learned, for comparisons.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/digest.h"
#include "tests/program.h"

namespace heddle {

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
