#include "apps/command/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/on_ranks.h"
#include "apps/command/run_search.h"
#include "apps/terminal/terminal.h"
#include "core/format.h"

namespace heddle::app {
namespace {

/// `heddle evaluate WORD`: translations rather than a run.
bool names_text(const std::string& word) {
    std::error_code ignored;
    return word == standard_input || (std::filesystem::exists(word, ignored) && !std::filesystem::is_directory(word, ignored));
}

OptionTable evaluate_table(EvaluateOptions& options) {
    OptionTable table("evaluate", "scores a run on a test set or a file of translations, or compares two files");
    table.usage =
        "usage: heddle evaluate RUN --test PREFIX\n"
        "       heddle evaluate RUN                         (of a generated task: its own test sentences)\n"
        "       heddle evaluate --tune RUN                  (which length penalty is best; the run keeps it)\n"
        "       heddle evaluate FILE --reference FILE       (existing translations)\n"
        "       heddle evaluate --compare FILE FILE --reference FILE\n"
        "       mpirun -n 4 heddle evaluate RUN ...         (several processes translate, the same output)\n";
    table.group(OptionGroup::run);
    table.add("model", options.run, "the folder of a trained run").called("RUN").positional(std::not_fn(names_text));
    table.add("test", options.test, "sentence pairs to translate: PREFIX.SOURCE and PREFIX.TARGET").called("PREFIX");
    table.add("source", options.source, "file ending of the source language").called("de").defaults_to("the run's");
    table.add("target", options.target, "file ending of the target language").called("en").defaults_to("the run's");
    table.add("tsv", options.tsv, "the PREFIX is one file (- is standard input): source, tab, target per line")
        .defaults_to("the run's");
    add_columns_option(table, options.tsv_columns).defaults_to("the run's");
    table.add("output", options.output, "also write the translations to this file").called("FILE");
    table.add("results", options.results, "also write each source, reference and translation, and BLEU, to a file in this folder")
        .called("FOLDER");
    add_weights_option(table, options.weights);
    add_decode_options(table, options.decode);
    add_forbid_unknown_option(table, options.forbid_unknown).defaults_to("the run's, else false");
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    table.group(OptionGroup::tuning);
    table
        .add("tune", options.tune,
             "choose the run's length penalty on validation pairs, as training does at its end, and store it in RUN/search.toml")
        .called("RUN");
    table.add("valid", options.valid, "with --tune: sentence pairs to choose by").called("PREFIX").defaults_to("the run's own");
    table.group(OptionGroup::files);
    table.add("hypotheses", options.hypotheses, "translations, one per line; - is standard input")
        .called("FILE")
        .positional(names_text);
    table.add("reference", options.reference, "their references, one per line; - is standard input").called("FILE");
    table.add("compare", options.compare, "two systems' translations: which is better, and is it chance? (paired bootstrap)")
        .called("FILE FILE");
    table.add("resamples", options.resamples, "number of bootstrap resamples of --compare").at_least(1).at_most(1'000'000);
    table.add("seed", options.seed, "what --compare draws; the same seed gives the same result");
    table.group(OptionGroup::text);
    add_format_option(table, options.format).defaults_to("text; with --test and --valid auto");
    add_replace_invalid_option(table, options.replace_invalid);
    table.group(OptionGroup::score);
    table.add("lowercase", options.lowercase, "score in lower case");
    table.add("tokenize", options.tokenize,
              "BLEU's tokens, as sacrebleu's; auto: zh for Chinese references, char for Japanese, Thai and their like, else 13a");
    table.add("sentences", options.sentences, "the scores of each line, as a table with tabs; those of all lines go to stderr");
    table.add("json", options.json, "print one JSON object instead");
    return table;
}

/// One format for the pairs.
void check_format(const EvaluateOptions& options) {
    const TextFormat format = options.format.value_or(TextFormat::automatic);
    check_usage((!options.tsv.value_or(false) && !options.tsv_columns) || format == TextFormat::automatic,
                fmt::format("evaluate: --tsv is a format of its own; leave out --format {}", word_of(format)));
}

/// Options that would do nothing.
void check_useful(const OptionTable& table, const EvaluateOptions& options) {
    const bool run = table.given("model");
    for (const Option& option : table.options())
        check_usage(run || !option.given || (option.group != OptionGroup::run && option.group != OptionGroup::search),
                    fmt::format("evaluate: --{} is for translating with --model RUN; leave it out for files", option.name));
    for (const char* name : {"source", "target", "tsv", "tsv-columns", "format", "replace-invalid"})
        check_usage(!run || !options.test.empty() || !table.given(name),
                    fmt::format("evaluate: --{} applies to --test PREFIX; give --test, too", name));
    check_weights(table);
    check_decoding(options.decode);
    check_format(options);
    check_usage(!table.given("compare") || !table.given("sentences"),
                "evaluate: --sentences scores one system; give --hypotheses instead of --compare");
    check_usage(table.given("compare") || !(table.given("resamples") || table.given("seed")),
                "evaluate: --resamples and --seed belong to --compare FILE FILE");
}

/// --tune with what it does not use.
void check_tuning(const OptionTable& table, const EvaluateOptions& options) {
    constexpr std::string_view useful[] = {"tune",          "valid",         "source",   "target",
                                           "tsv",           "tsv-columns",   "format",   "replace-invalid",
                                           "beam",          "beam-patience", "tokenize", "max-output-length",
                                           "forbid-unknown"};
    check_usage(!table.given("model"), fmt::format("evaluate: --tune names the run itself; leave out {}", options.run));
    for (const Option& option : table.options()) {
        const bool fits = option.group == OptionGroup::machine || std::ranges::find(useful, option.name) != std::end(useful);
        check_usage(fits || !option.given, fmt::format("evaluate: --tune RUN makes no use of --{}; leave it out", option.name));
    }
    for (const char* name : {"source", "target", "tsv", "tsv-columns", "format", "replace-invalid"})
        check_usage(!options.valid.empty() || !table.given(name),
                    fmt::format("evaluate: --{} applies to --valid PREFIX; give --valid, too", name));
    check_format(options);
    check_decoding(options.decode);
}

/// One way to get translations.
void check_together(const OptionTable& table, const EvaluateOptions& options) {
    const std::string* files[] = {&options.hypotheses, &options.reference, &options.compare.first, &options.compare.second};
    check_usage(std::count_if(std::begin(files), std::end(files), [](const auto* file) { return *file == standard_input; }) <= 1,
                "evaluate: only one of the files can be standard input");
    const bool run = table.given("model"), hypotheses = table.given("hypotheses"), compare = table.given("compare");
    const bool reference = table.given("reference");
    check_usage(run || reference || hypotheses || compare,
                "evaluate: nothing to evaluate; give RUN --test PREFIX, or --hypotheses FILE --reference FILE");
    check_usage(!run || !reference || std::filesystem::exists(options.run),
                fmt::format("evaluate: {} is neither a file of translations nor a run: there is no such file", options.run));
    check_usage(!run || !hypotheses, "evaluate: --model and --hypotheses are two ways to get translations; give one of them");
    check_usage(!run || !reference,
                fmt::format("evaluate: --reference needs a file of translations (--hypotheses FILE), not a run; leave out {}",
                            options.run));
    check_usage(!compare || !(run || hypotheses),
                "evaluate: --compare names its two files itself; leave out --model and --hypotheses");
    check_usage(run || reference, "evaluate: no reference; give --reference FILE");
    check_usage(run || hypotheses || compare, "evaluate: no translations; give --hypotheses FILE, or --compare FILE FILE");
    check_usage(!table.given("valid"), "evaluate: --valid is for --tune RUN; give it, too");
    check_usage(options.output != standard_input,
                "evaluate: stdout is for the scores; give --output FILE, or heddle translate for translations there");
}

int evaluate_on_this_rank(Arguments arguments, Ranks* ranks) {
    EvaluateOptions options;
    OptionTable table = evaluate_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    options.config_file = table.config_file;
    const bool tunes = table.given("tune");
    if (tunes) {
        check_tuning(table, options);
    } else {
        check_together(table, options);
        check_useful(table, options);
    }
    if (tunes && !table.given("forbid-unknown")) options.forbid_unknown = read_search(options.tune).forbid_unknown;
    const bool takes_penalty = table.given("model") && take_search_of(options.run, table, options.decode, options.forbid_unknown);
    if (options.forbid_unknown) options.decode.forbidden = {unk_id};
    apply(options.machine);
    if (takes_penalty)
        say(fmt::format("using length penalty {} from {}", options.decode.length_penalty,
                        (std::filesystem::path(options.run) / search_file_name).string()));
    const auto advice = [&](std::int64_t less) { return search_advice(options.decode, less); };
    if (tunes)
        with_memory_advice(advice, [&] { tune_run(options, ranks); });
    else if (table.given("compare"))
        compare_files(options);
    else if (table.given("model"))
        with_memory_advice(advice, [&] { evaluate_run(options, ranks); });
    else
        evaluate_files(options);
    return 0;
}

}  // namespace

int evaluate_command(Arguments arguments) {
    return on_ranks(
        arguments, [&](Ranks* ranks) { return evaluate_on_this_rank(arguments, ranks); }, follow_with_models);
}

}  // namespace heddle::app
