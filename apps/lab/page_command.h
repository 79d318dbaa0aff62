// Commands that run named programs and write one page for each: heddle lab, heddle chapter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/command/commands.h"
#include "apps/options/option_table.h"
#include "apps/picture/page.h"

namespace heddle::app {

/// The output of a program.
struct PageResult {
    std::string text;          ///< for a terminal
    std::string json;          ///< the same as one line of JSON
    picture::Page page;        ///< NAME.html
    std::string finding = {};  ///< the result in one line, for the index page
    std::string picture = {};  ///< an <svg> for the index page, or empty
};

struct PageProgram {
    std::string name;
    std::string title;  ///< one line
    /// `command`: the command that reproduces the run. The same seed gives the same results.
    std::function<PageResult(std::uint64_t seed, const std::string& command)> run;
    std::string group = {};  ///< its heading on the index page; programs of one group are listed together
};

struct PageCommand {
    std::string name;         ///< name of the command and of its default output folder: "lab"
    std::string summary;      ///< for --help
    std::string what;         ///< "experiment": what a program is called in messages and --help
    std::string index_title;  ///< title of index.html
    std::vector<PageProgram> programs;
    OptionGroup group = OptionGroup::experiments;  ///< of the options
};

/// COMMAND list (or nothing), COMMAND NAME and COMMAND all, with --out, --seed, --json and --threads. Returns the exit status.
/// Each page links to the previous and next pages and to the index, if these exist.
int run_page_command(const PageCommand& command, Arguments arguments);

}  // namespace heddle::app
