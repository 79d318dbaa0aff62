#include "apps/command/explain.h"

#include "apps/command/sibling_program.h"

namespace heddle::app {

OptionTable explain_table(ExplainOptions& options) {
    OptionTable table("explain", "runs a kernel on the emulated device and shows what its warps ask of memory");
    table.usage =
        "usage: heddle explain list\n       heddle explain NAME [options]\n       heddle explain --beside A B [options]\n";
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
    table.add("kilobytes", options.kilobytes, "the most that the page may have: it shows the steps of as many warps as fit")
        .at_least(1)
        .defaults_to("about 1500");
    table.add("shared-scripts", options.shared_scripts,
              "a page that loads its script and style from explain.js and explain.css beside it, which a folder of pages shares");
    return table;
}

int start_explain(Arguments arguments) {
    ExplainOptions options;
    OptionTable table = explain_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    return run_sibling_program(
        "heddle-explain", "explain", arguments,
        "--preset emulated -DHEDDLE_TESTS=OFF && cmake --build build/emulated --target heddle heddle-explain");
}

}  // namespace heddle::app
