#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/option_rows.h"
#include "apps/translation/bleu.h"
#include "apps/translation/corpus.h"

namespace heddle::app {
namespace {

struct EvaluateOptions {
    std::string hypotheses;
    std::string reference;
    bool lowercase = false;
};

void print_score(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, bool lowercase) {
    const BleuScore bleu = corpus_bleu(hypotheses, references, lowercase);
    std::int64_t exact = 0;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) exact += hypotheses[i] == references[i] ? 1 : 0;
    fmt::print("{}\n", bleu.text());
    fmt::print("{}\n", bleu.signature());
    fmt::print("exact: {} of {} lines ({:.2f} %)\n", exact, hypotheses.size(),
               100.0 * static_cast<double>(exact) / static_cast<double>(std::max<std::size_t>(1, hypotheses.size())));
}

}  // namespace

int evaluate_command(Arguments arguments) {
    EvaluateOptions options;
    OptionTable table("evaluate", "gives the BLEU of a run or of a file");
    table.usage = "usage: heddle evaluate --hypotheses FILE --reference FILE\n";
    table.group("Files");
    table.add("hypotheses", options.hypotheses, "translations, one per line").called("FILE");
    table.add("reference", options.reference, "their references, one per line").called("FILE");
    table.add("lowercase", options.lowercase, "compare in lower case");
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(!options.hypotheses.empty() && !options.reference.empty(),
                "nothing to evaluate; give --hypotheses FILE --reference FILE");
    print_score(read_lines(options.hypotheses), read_lines(options.reference), options.lowercase);
    return 0;
}

}  // namespace heddle::app
