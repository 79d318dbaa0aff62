// The command line of `heddle explain`. heddle parses it for --help and errors, then becomes heddle-explain, which parses it
// again: so the help is available in builds without traced kernels, too.
#pragma once

#include <string>
#include <utility>

#include "apps/command/commands.h"
#include "apps/options/option_table.h"

namespace heddle::app {

struct ExplainOptions {
    std::string kernel = "list";
    std::pair<std::string, std::string> beside;  ///< two kernels to compare; empty: explain one
    std::string shape;                           ///< "4,64"; empty: the kernel's default
    std::string picture;                         ///< steps to draw (apps/explain/step_picture.h); empty: a page instead
    std::string out;                             ///< empty: no file with --json, else NAME.html, A-beside-B.html or NAME.svg
    bool json = false;
};

OptionTable explain_table(ExplainOptions& options);

/// Prints --help, or becomes `heddle-explain ARGUMENTS...`. UsageError; Error with build instructions when heddle-explain is
/// missing.
int start_explain(Arguments arguments);

}  // namespace heddle::app
