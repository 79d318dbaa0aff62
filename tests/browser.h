// Chromium, for tests of pages.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/file.h"
#include "tests/shell.h"
#include "tests/support.h"

namespace heddle {

/// Of %XX its byte.
inline std::string decoded(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '%') {
            bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            bytes += text[i];
        }
    return bytes;
}

/// The title that the page gives itself, as JSON; what the console says instead, when anything complains. `settings`: options of
/// Chromium.
inline nlohmann::json title_of(const std::string& html, const std::string& settings = "") {
    const TemporaryFolder folder;
    std::ofstream(folder / "page.html", std::ios::binary) << html;
    const std::string at = folder.path().string();
    const ShellOutput seen =
        shell(fmt::format("HOME='{0}' timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir='{0}/profile' "
                          "--enable-logging=stderr {1} --dump-dom 'file://{0}/page.html' 2> '{0}/log'",
                          at, settings));
    std::istringstream log(read_file(folder / "log"));
    for (std::string line; std::getline(log, line);)
        if (line.find(":CONSOLE") != std::string::npos) return {"the console says " + line};
    const std::size_t begin = seen.text.find("<title>") + 7;
    const std::string title = seen.text.substr(begin, seen.text.find("</title>") - begin);
    return nlohmann::json::parse(decoded(title));
}

/// What Chromium sees on the page once the script `probe` has run, which sets `seen`.
inline nlohmann::json seen_on(std::string html, const std::string& probe, const std::string& settings = "") {
    html.insert(html.rfind("</body>"),
                "<script>{let seen;\n" + probe + "\ndocument.title = encodeURIComponent(JSON.stringify(seen));}</script>");
    return title_of(html, settings);
}

}  // namespace heddle
