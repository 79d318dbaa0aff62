// Documents whose examples are held against what is compiled and printed.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace heddle {

/// The text of a file of the project, by its path from the root.
inline std::string project_file(const std::string& path) {
    std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(file.good()) << "cannot read " << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The fenced blocks of a Markdown file that are marked with `language`.
inline std::vector<std::string> fenced_blocks(const std::string& path, const std::string& language) {
    std::istringstream text(project_file(path));
    std::vector<std::string> blocks;
    bool inside = false, wanted = false;
    for (std::string line; std::getline(text, line);) {
        if (!inside && line.starts_with("```")) {
            inside = true;
            wanted = line == "```" + language;
            if (wanted) blocks.emplace_back();
        } else if (inside && line == "```") {
            inside = false;
        } else if (inside && wanted) {
            blocks.back() += line + "\n";
        }
    }
    return blocks;
}

/// The lines without indentation and without empty ones, so that a block may stand deeper in a source file.
inline std::string without_layout(const std::string& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find_first_not_of(' ');
        if (first != std::string::npos) result += line.substr(first) + "\n";
    }
    return result;
}

/// Expects every `cpp` block of `document` to stand in the source file `source`, and at least one to be there.
inline void expect_compiled(const std::string& document, const std::string& source) {
    const std::string code = without_layout(project_file(source));
    const std::vector<std::string> blocks = fenced_blocks(document, "cpp");
    EXPECT_FALSE(blocks.empty()) << document << " shows no code";
    for (const std::string& block : blocks)
        EXPECT_NE(code.find(without_layout(block)), std::string::npos)
            << "this block of " << document << " is not in " << source << ":\n"
            << block;
}

}  // namespace heddle
