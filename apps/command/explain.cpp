#include "apps/command/explain.h"

#include <string_view>

#include "apps/command/sibling_program.h"

namespace heddle::app {
namespace {

// Whether one of the words is a file of CUDA C++: heddle explain FILE.cu has options of its own.
bool has_source(Arguments arguments) {
    for (const std::string_view word : arguments) {
        if (word == "--") return false;
        if (word.ends_with(".cu") && !word.starts_with("-")) return true;
    }
    return false;
}

}  // namespace

OptionTable explain_table(ExplainOptions& options) {
    OptionTable table("explain", "runs a kernel on the emulated device and shows what its warps ask of memory");
    table.usage =
        "usage: heddle explain list\n       heddle explain NAME [options]\n       heddle explain --beside A B [options]\n"
        "       heddle explain FILE.cu [options]    (a program of your own: see heddle explain FILE.cu --help)\n";
    table.group(OptionGroup::what_to_show);
    table.add("kernel", options.kernel, "the op whose kernels to run; list: lists them").called("NAME").positional();
    table.add("beside", options.beside, "two kernels next to each other, such as two steps of a ladder, with one slider")
        .called("A B");
    table.add("shape", options.shape, "the extents that list names, such as 4,64: small ones fit a page")
        .defaults_to("as in list; with --beside those of A for both, where both have the same axes")
        .called("N,N");
    table.add("json", options.json, "the counts and all accesses as JSON, on stdout");
    table.add("picture", options.picture, "an SVG of these steps instead of a page, such as 'read x, write shared, warps'")
        .called("STEPS");
    table.group(OptionGroup::output);
    table.add("out", options.out, "the page, or the picture")
        .defaults_to("NAME.html, A-beside-B.html or NAME.svg; none with --json")
        .called("FILE");
    return table;
}

int start_explain(Arguments arguments) {
    if (has_source(arguments)) return run_lab_program("explain", arguments);
    ExplainOptions options;
    OptionTable table = explain_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    return run_sibling_program(
        "heddle-explain", "explain", arguments,
        "--preset emulated -DHEDDLE_TESTS=OFF && cmake --build build/emulated --target heddle heddle-explain");
}

}  // namespace heddle::app
