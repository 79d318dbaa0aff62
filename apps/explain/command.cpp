#include "apps/command/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "apps/command/explain.h"
#include "apps/explain/explained.h"
#include "apps/explain/step_picture.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using explain::Example;

void list() {
    std::size_t width = 0, shapes = 0;
    const auto shape_of = [](const Example& one) { return fmt::format("{}", fmt::join(one.shape, ",")); };
    for (const Example& one : explain::examples()) {
        width = std::max(width, one.name.size());
        shapes = std::max(shapes, shape_of(one).size());
    }
    for (const Example& one : explain::examples())
        print(fmt::format("{:<{}}  {:<{}}  {} ({})\n", one.name, width, shape_of(one), shapes, one.title, one.axes));
}

const Example& example_named(const std::string& name) {
    const std::vector<Example>& all = explain::examples();
    const auto found = std::ranges::find(all, std::string_view(name), &Example::name);
    if (found != all.end()) return *found;
    std::vector<std::string> names = {"list"}, of_op;
    for (const Example& one : all) {
        names.emplace_back(one.name);
        if (one.name.starts_with(name + "-")) of_op.emplace_back(one.name);
    }
    const std::string others = of_op.empty() ? did_you_mean(name, names, "see heddle explain list")
                                             : fmt::format("; there are {}", fmt::join(of_op, ", "));
    throw UsageError(fmt::format("explain: there is no example of a kernel '{}'{}", name, others));
}

std::vector<std::int64_t> extents_of(const std::string& text) {
    check_usage(!text.empty(), "--shape: wanted numbers with commas between them, such as 4,64");
    std::vector<std::int64_t> extents;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::int64_t extent = 0;
        const auto [stop, error] = std::from_chars(at, end, extent);
        check_usage(error != std::errc::result_out_of_range, fmt::format("--shape {}: wanted smaller numbers", text));
        const bool good = error == std::errc() && (stop == end || (*stop == ',' && stop + 1 != end));
        check_usage(good, fmt::format("--shape {}: wanted numbers with commas between them, such as 4,64", text));
        extents.push_back(extent);
        at = stop == end ? end : stop + 1;
    }
    return extents;
}

}  // namespace

int explain_command(Arguments arguments) {
    ExplainOptions options;
    OptionTable table = explain_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    const auto& [left, right] = options.beside;
    const bool both = !left.empty() || !right.empty();
    if (both) {
        check_usage(!table.given("kernel"), fmt::format("--beside {} {}: leave {} out", left, right, options.kernel));
    } else if (options.kernel == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == "kernel",
                        table.given("kernel") ? fmt::format("explain: list runs nothing: --{} has no effect", option.name)
                                              : "explain: no kernel; give heddle explain NAME, one that heddle explain list has");
        list();
        return 0;
    }
    std::vector<const Example*> examples = {&example_named(both ? left : options.kernel)};
    if (both) examples.push_back(&example_named(right));
    std::vector<std::int64_t> shape;
    if (table.given("shape")) shape = extents_of(options.shape);
    if (both && examples[0]->axes == examples[1]->axes) {
        if (shape.empty()) shape = examples[0]->shape;
    } else if (both) {
        check_usage(shape.empty(), fmt::format("--shape {}: {} takes {}, but {} takes {}: leave it out", options.shape, left,
                                               examples[0]->axes, right, examples[1]->axes));
    }
    const bool is_picture = table.given("picture");
    check_usage(!is_picture || !both, "--picture draws steps of one kernel: leave --beside out");
    if (options.out.empty() && !options.json)
        options.out = both ? left + "-beside-" + right + ".html" : options.kernel + (is_picture ? ".svg" : ".html");
    check_usage(!is_picture || !options.out.empty(), "--picture has no effect with --json and without --out");
    check_usage(options.out != "-", "explain: stdout is for the counts, or for --json; give the name of a file");
    if (is_picture)
        picture::check_picture_replaceable(options.out);  // now, not after the run
    else if (!options.out.empty())
        picture::check_replaceable(options.out);
    if (!options.out.empty()) const AtomicFile probe(options.out);
    std::vector<explain::Explanation> explanations;
    for (const Example* example : examples) explanations.push_back(explain::explained(*example, shape));
    if (is_picture) {
        const auto all = explain::json_of(explanations, std::numeric_limits<std::size_t>::max());
        write_file_atomically(options.out, explain::step_picture(all, options.picture));
        say(fmt::format("wrote {}", options.out));
    }
    explain::show(explanations, is_picture ? "" : options.out, options.json, explain::text_of(explanations));
    return 0;
}

}  // namespace heddle::app
