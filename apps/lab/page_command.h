// Commands that run named programs and leave a page of each: heddle lab, heddle chapter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/options/option_group.h"
#include "apps/picture/page.h"

namespace heddle::app {

/// What a program leaves.
struct PageResult {
    std::string text;          ///< for a terminal
    std::string json;          ///< the same as one line of JSON
    picture::Page page;        ///< NAME.html
    std::string finding = {};  ///< what came out, in one line for the page of all
    std::string picture = {};  ///< an <svg> for it, or nothing
};

struct PageProgram {
    std::string name;
    std::string title;  ///< one line
    /// `command`: how to run it again. The same seed gives the same numbers.
    std::function<PageResult(std::uint64_t seed, const std::string& command)> run;
    std::string group = {};  ///< the heading under which the page of all has it; neighbours of one group stand together
};

struct PageCommand {
    std::string name;         ///< of the command, and of the folder for its pages: "lab"
    std::string summary;      ///< of --help
    std::string what;         ///< "experiment": what a program is called in messages and --help
    std::string index_title;  ///< of index.html, the page of all
    std::vector<PageProgram> programs;
    OptionGroup group = OptionGroup::experiments;  ///< of the options
};

/// COMMAND list (or nothing), COMMAND NAME and COMMAND all, with --out, --seed, --json and --threads. Returns the exit status.
/// A page leads to the ones before and behind it and to that of all, as far as they are written.
int run_page_command(const PageCommand& command, Arguments arguments);

}  // namespace heddle::app
