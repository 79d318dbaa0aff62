#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "apps/commands.h"
#include "apps/option_rows.h"
#include "apps/run.h"
#include "apps/translation/bleu.h"
#include "apps/translation/corpus.h"
#include "apps/translation/translate.h"

namespace heddle::app {
namespace {

struct EvaluateOptions {
    std::string run;
    std::string weights = "average";
    std::string test;
    std::string source;
    std::string target;
    std::string output;
    std::string hypotheses;
    std::string reference;
    bool lowercase = false;
    DecodeOptions decode;
    MachineOptions machine;
};

OptionTable evaluate_table(EvaluateOptions& options) {
    OptionTable table("evaluate", "gives the BLEU of a run on a test set, or of a file of translations");
    table.usage =
        "usage: heddle evaluate --model RUN --test PREFIX\n"
        "       heddle evaluate --model RUN                 (of a generated task: its own test sentences)\n"
        "       heddle evaluate --hypotheses FILE --reference FILE\n";
    table.group("A run");
    table.add("model", options.run, "the folder of a trained run").called("RUN");
    table.add("test", options.test, "sentence pairs to translate: PREFIX.SOURCE and PREFIX.TARGET").called("PREFIX");
    table.add("source", options.source, "file ending of the source language").called("de").defaults_to("the run's");
    table.add("target", options.target, "file ending of the target language").called("en").defaults_to("the run's");
    table.add("output", options.output, "also write the translations to this file").called("FILE");
    add_weights_option(table, options.weights);
    add_decode_options(table, options.decode);
    add_machine_options(table, options.machine);
    table.group("Files");
    table.add("hypotheses", options.hypotheses, "translations, one per line").called("FILE");
    table.add("reference", options.reference, "their references, one per line").called("FILE");
    table.group("Score");
    table.add("lowercase", options.lowercase, "compare in lower case");
    return table;
}

void print_score(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, bool lowercase) {
    const BleuScore bleu = corpus_bleu(hypotheses, references, lowercase);
    std::int64_t exact = 0;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) exact += hypotheses[i] == references[i] ? 1 : 0;
    fmt::print("{}\n{}\n", bleu.text(), bleu.signature());
    fmt::print("exact: {} of {} lines ({:.2f} %)\n", exact, hypotheses.size(),
               100.0 * static_cast<double>(exact) / static_cast<double>(std::max<std::size_t>(1, hypotheses.size())));
}

Corpus test_set(const EvaluateOptions& options, const DataOptions& run) {
    const bool own = options.test.empty() && !run.task.empty();
    check_usage(own || !options.test.empty(), "evaluate: no test set; give --test PREFIX");
    return read_corpus(own ? options.run + "/test" : options.test, options.source.empty() ? run.source : options.source,
                       options.target.empty() ? run.target : options.target);
}

void evaluate_run(const EvaluateOptions& options) {
    const Run run = open_run(options.run, weights_file(options.weights));
    const Corpus test = test_set(options, run.settings.data);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::string> hypotheses = translate_lines(*run.model, run.vocabularies, test.sources(), options.decode);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print(stderr, "{} sentences translated in {:.2f} s\n", hypotheses.size(), seconds);
    if (!options.output.empty()) write_lines(options.output, hypotheses);
    print_score(hypotheses, test.targets(), options.lowercase);
}

void evaluate_files(const EvaluateOptions& options) {
    check_usage(!options.hypotheses.empty() && !options.reference.empty(),
                "evaluate: nothing to evaluate; give --model RUN --test PREFIX, or --hypotheses FILE --reference FILE");
    print_score(read_lines(options.hypotheses), read_lines(options.reference), options.lowercase);
}

}  // namespace

int evaluate_command(Arguments arguments) {
    EvaluateOptions options;
    OptionTable table = evaluate_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(options.run.empty() || (options.hypotheses.empty() && options.reference.empty()),
                "evaluate: --model and --hypotheses are two ways to get translations; give one of them");
    apply(options.machine);
    if (options.run.empty())
        evaluate_files(options);
    else
        evaluate_run(options);
    return 0;
}

}  // namespace heddle::app
