// `heddle lab`: runs experiments and writes a page for each.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/command/commands.h"
#include "apps/command/option_rows.h"
#include "apps/lab/experiment.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/output_folder.h"

namespace heddle::app {
namespace {

using Experiments = std::vector<const lab::Experiment*>;

// What a word of the command line runs, and the page that lists it, if any.
struct Choice {
    std::string name, title;
    Experiments experiments;
    std::string index = {};  // "index.html"
};

struct LabOptions {
    std::string choice = "list";
    std::string out = "lab";
    bool json = false;
    lab::Options experiment = {};
    MachineOptions machine = {};
};

OptionTable lab_table(LabOptions& options) {
    OptionTable table("lab", "runs a known mistake beside its correction, and shows what it breaks");
    table.usage = "usage: heddle lab list\n       heddle lab NAME [options]\n       heddle lab all [options]\n";
    table.group(OptionGroup::experiments);
    table
        .add("experiment", options.choice,
             "the experiment, or the write-up whose experiments to run; all: each; list: lists them")
        .called("NAME")
        .positional();
    table
        .add("out", options.out,
             "the folder for the pages: one for each experiment, and one that lists those of a write-up, or all")
        .called("FOLDER");
    table.add("seed", options.experiment.seed, "of everything random");
    table.add("json", options.json, "the numbers as JSON");
    add_processor_options(table, options.machine);
    return table;
}

// Each experiment alone, each write-up, and all.
std::vector<Choice> all_choices() {
    std::vector<Choice> choices;
    Choice all{"all", "What known mistakes break", {}, "index.html"};
    for (const lab::Experiment& one : lab::experiments()) {
        choices.push_back({std::string(one.name), std::string(one.title), {&one}});
        all.experiments.push_back(&one);
    }
    for (const lab::WriteUp& one : lab::write_ups()) {
        Choice& choice =
            choices.emplace_back(Choice{std::string(one.name), std::string(one.title), {}, fmt::format("{}.html", one.name)});
        for (const lab::Experiment* each : all.experiments)  // in their order, so that groups stand together
            if (std::ranges::find(one.experiments, each->name) != one.experiments.end()) choice.experiments.push_back(each);
    }
    choices.push_back(all);
    return choices;
}

std::string page_of(const lab::Experiment& experiment) { return fmt::format("{}.html", experiment.name); }

// Links to the previous and next pages and to the index, if these are in the folder or will be.
std::vector<picture::Page::Link> neighbours(const Choice& choice, std::size_t i, const std::string& out) {
    std::vector<picture::Page::Link> links;
    if (i > 0) links.push_back({page_of(*choice.experiments[i - 1]), fmt::format("← {}", choice.experiments[i - 1]->name)});
    if (!choice.index.empty())
        links.push_back({choice.index, choice.title});
    else if (std::filesystem::exists(std::filesystem::path(out) / "index.html"))
        links.push_back({"index.html", "all experiments"});
    if (i + 1 < choice.experiments.size())
        links.push_back({page_of(*choice.experiments[i + 1]), fmt::format("{} →", choice.experiments[i + 1]->name)});
    return links;
}

// Runs the experiment, writes its page, and returns its card for the index.
picture::Page::Card run(const Choice& choice, std::size_t i, const LabOptions& options) {
    const lab::Experiment& one = *choice.experiments[i];
    const std::filesystem::path file = std::filesystem::path(options.out) / page_of(one);
    picture::check_replaceable(file);  // fail now, not after minutes of work
    const lab::Result result = one.run(options.experiment);
    const std::string again = fmt::format("heddle lab {} --seed {}", one.name, options.experiment.seed);
    lab::page(one, result, again).navigation(neighbours(choice, i, options.out)).write(file);
    print(options.json ? lab::json(one, result, options.experiment) : lab::text(one, result));
    say(fmt::format("wrote {}", file.string()));
    return {{page_of(one), fmt::format("{}: {}", one.name, one.title)}, headline(result), result.figures.front().svg};
}

// Runs all experiments of the choice. Its index has a heading for each group.
void run(const Choice& choice, const LabOptions& options) {
    const std::filesystem::path file = std::filesystem::path(options.out) / choice.index;
    if (!choice.index.empty()) picture::check_replaceable(file);
    picture::Page index(choice.title);
    for (std::size_t begin = 0, end = 0; begin < choice.experiments.size(); begin = end) {
        const std::string_view group = choice.experiments[begin]->group;
        std::vector<picture::Page::Card> cards;
        for (; end < choice.experiments.size() && choice.experiments[end]->group == group; ++end) {
            cards.push_back(run(choice, end, options));
            if (!options.json && !choice.index.empty()) print("\n");
        }
        index.heading(group).cards(cards);
    }
    if (!choice.index.empty()) index.write(file);
}

}  // namespace

int lab_command(Arguments arguments) {
    LabOptions options;
    OptionTable table = lab_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    const std::vector<Choice> choices = all_choices();
    if (options.choice == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == "experiment",
                        fmt::format("lab: list runs nothing: --{} has no effect", option.name));
        std::size_t width = 0;
        for (const Choice& one : choices) width = std::max(width, one.name.size());
        for (const Choice& one : choices)
            if (one.name != "all")
                print(
                    fmt::format("{}{:<{}}  {}\n", one.name == lab::write_ups()[0].name ? "\n" : "", one.name, width, one.title));
        return 0;
    }
    std::vector<std::string> names = {"list"};
    for (const Choice& one : choices) names.push_back(one.name);
    const auto chosen = std::ranges::find(choices, options.choice, &Choice::name);
    check_usage(chosen != choices.end(), fmt::format("lab: there is no experiment '{}'{}", options.choice,
                                                     did_you_mean(options.choice, names, "see heddle lab list")));
    apply(options.machine);
    make_folder(options.out, "--out");
    run(*chosen, options);
    return 0;
}

}  // namespace heddle::app
