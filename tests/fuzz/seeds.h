// The kept inputs of the fuzz targets, from tests/fuzz/seeds/TARGET.txt; seeds.py has the format, writes the files and unpacks
// them.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/file.h"

namespace heddle::fuzz {

/// The bytes that `text` stands for: \xNN, \t, \r, \n, \\.
inline std::string unescaped(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            bytes += text[i];
        } else if (++i < text.size() && text[i] == 'x') {
            bytes += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
            i += 2;
        } else {
            constexpr std::string_view names = "trn\\", values = "\t\r\n\\";
            const std::size_t at = i < text.size() ? names.find(text[i]) : std::string_view::npos;
            if (at == std::string_view::npos) throw std::runtime_error("a seed has a backslash that begins no escape");
            bytes += values[at];
        }
    }
    return bytes;
}

/// The inputs of a target by name.
inline std::map<std::string, std::string> seeds_of(const std::string& target) {
    const std::string file = "\n" + read_file(HEDDLE_SOURCE_DIR "/tests/fuzz/seeds/" + target + ".txt");
    std::string_view rest = std::string_view(file).substr(0, file.size() - 1);
    constexpr std::string_view start = "\n== ";
    std::map<std::string, std::string> seeds;
    while (rest.starts_with(start)) {
        const std::size_t line = rest.find('\n', 1), next = rest.find(start, line);
        const std::string name(rest.substr(start.size(), line - start.size()));
        seeds[name] = unescaped(rest.substr(line + 1, next == rest.npos ? next : next - line - 1));
        rest = next == rest.npos ? "" : rest.substr(next);
    }
    return seeds;
}

}  // namespace heddle::fuzz
