// Commands that run named programs and leave a page of each: heddle lab, heddle chapter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/commands.h"
#include "apps/picture/page.h"

namespace heddle::app {

/// What a program leaves.
struct PageResult {
    std::string text;    ///< for a terminal
    std::string json;    ///< the same as one line of JSON
    picture::Page page;  ///< NAME.html
};

struct PageProgram {
    std::string name;
    std::string title;  ///< one line
    /// `command`: how to run it again. The same seed gives the same numbers.
    std::function<PageResult(std::uint64_t seed, const std::string& command)> run;
};

struct PageCommand {
    std::string name;         ///< of the command, and of the folder for its pages: "lab"
    std::string summary;      ///< of --help
    std::string what;         ///< "experiment": what a program is called in messages and, with an s, in --help
    std::string index_title;  ///< of index.html, which links to every page
    std::vector<PageProgram> programs;
};

/// COMMAND list (or nothing), COMMAND NAME and COMMAND all, with --out, --seed, --json and --threads. Returns the exit status.
int run_page_command(const PageCommand& command, Arguments arguments);
/// A page with a link to each program's.
picture::Page page_index(const PageCommand& command);

}  // namespace heddle::app
