#include <fmt/format.h>

#include <algorithm>

#include "apps/command/commands.h"
#include "apps/corpora/corpora.h"
#include "apps/options/option_table.h"
#include "apps/options/suggestion.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/output_folder.h"
#include "core/text.h"

namespace heddle::app {
namespace {

void list_corpora() {
    for (const CorpusSet& set : corpus_sets()) {
        print(fmt::format("{:<17}{}\n", set.name, set.holds));
        print(fmt::format("{:17}licence: {}\n{:17}source: {}\n", "", set.licence, "", set.source));
        if (!set.steps.empty()) print(fmt::format("{:17}by hand: {}\n", "", set.steps));
    }
}

std::vector<std::string> names() {
    std::vector<std::string> all = {"list"};
    for (const CorpusSet& set : corpus_sets()) all.emplace_back(set.name);
    return all;
}

}  // namespace

int data_command(Arguments arguments) {
    std::string name = "list", out = "corpus", from;
    OptionTable table("data", "lists the available corpora, or downloads one");
    table.usage = "usage: heddle data list\n       heddle data NAME [options]\n";
    table.group(OptionGroup::data);
    table.add("corpus", name, "the corpus to fetch; list: lists them").called("NAME").positional();
    table.add("out", out, "the folder for train.de, train.en, val.*, test.*").called("FOLDER");
    table.add("from", from, "take the published files from this folder, not from the network").called("FOLDER");
    if (!parse_command_line(table, arguments)) return 0;
    if (name == "list") {
        for (const Option& option : table.options())
            check_usage(!option.given || option.name == "corpus",
                        fmt::format("--{0} needs a corpus name: heddle data NAME --{0} FOLDER", option.name));
        list_corpora();
        return 0;
    }
    const auto set = std::ranges::find(corpus_sets(), name, &CorpusSet::name);
    check_usage(set != corpus_sets().end(),
                fmt::format("data: there is no corpus '{}'{}", name, did_you_mean(name, names(), "see heddle data list")));
    fetch_corpus(*set, out, from, say);
    say(fmt::format("train with it: heddle train --train {0}/train --valid {0}/val --source de --target en --out runs/first",
                    shell_word(out)));
    return 0;
}

}  // namespace heddle::app
