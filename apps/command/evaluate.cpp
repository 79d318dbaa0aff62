#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/model_ranks.h"
#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/command/run_search.h"
#include "apps/command/score_report.h"
#include "apps/tasks/tasks.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/metrics/bootstrap.h"
#include "apps/translation/metrics/metric_choice.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/run/lock.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/clock.h"
#include "apps/translation/training/data.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

struct EvaluateOptions {
    std::string run;
    WeightsChoice weights;
    std::string test;
    std::string tune;
    std::string valid;
    std::string source;
    std::string target;
    std::optional<bool> tsv;  // as the run was trained
    std::optional<std::pair<std::int64_t, std::int64_t>> tsv_columns;
    std::string output;
    std::string results;
    std::string hypotheses;
    std::string reference;
    std::pair<std::string, std::string> compare;
    std::int64_t resamples = 1000;
    std::uint64_t seed = 1;
    std::optional<TextFormat> format;  // text for files of translations; test sets are detected
    bool replace_invalid = false;
    bool lowercase = false;
    Tokenizer tokenize = Tokenizer::automatic;
    bool sentences = false;
    bool json = false;
    DecodeOptions decode;
    UnknownOptions unknown;
    MachineOptions machine;
    std::string config_file;
};

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
    add_unknown_options(table, options.unknown);
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

// How to score by these references; says so where that is not BLEU with 13a's tokens.
ScoredAs scored_as(const EvaluateOptions& options, const std::vector<std::string>& references) {
    const MetricChoice choice = choose_metric(references, options.tokenize);
    if (!choice.reason.empty())
        say(fmt::format("scored with --tokenize {}{}: {}", word_of(choice.tokenizer),
                        choice.prefers_chrf() ? ", chrF2 first" : "", choice.reason));
    return {.options = {.lowercase = options.lowercase, .tokenizer = choice.tokenizer}, .chrf_first = choice.prefers_chrf()};
}

void print_score(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, const ScoredAs& as,
                 const EvaluateOptions& options) {
    const std::vector<LineStatistics> lines = line_statistics(hypotheses, references, as.options);
    if (options.json) return print(score_json(lines, as, options.sentences));
    const std::string text = score_text(sum(lines), as);
    if (!options.sentences) return print(text);
    print(sentence_table(lines));
    say(std::string_view(text).substr(0, text.size() - 1));  // say() ends the last line itself
}

// Where sentence pairs come from.
struct PairSource {
    std::string prefix, source, target;
    Reading reading;

    Corpus read() const { return read_corpus(prefix, source, target, reading); }
    std::vector<std::string> files() const { return corpus_files(prefix, source, target, reading); }
};

// The pairs that --test PREFIX or --valid PREFIX names.
PairSource given_pairs(const char* option, const std::string& prefix, const EvaluateOptions& options, const DataOptions& run) {
    const TextFormat format = options.format.value_or(TextFormat::automatic);
    const bool as_run = !options.tsv && !options.tsv_columns && format == TextFormat::automatic;
    const Reading reading{.tsv = as_run ? run.reads_columns() : options.tsv.value_or(false) || options.tsv_columns,
                          .columns = as_run ? run.tsv_columns : options.tsv_columns,
                          .replace_invalid = options.replace_invalid,
                          .say = say,
                          .format = format};
    const std::string &source = options.source.empty() ? run.source : options.source,
                      &target = options.target.empty() ? run.target : options.target;
    check_usage(reading.tsv || (!source.empty() && !target.empty()),
                fmt::format("evaluate: --{} {} needs the file endings of both languages: --source de --target en, or --tsv",
                            option, prefix));
    check_is_plain(option, prefix);
    return {prefix, source, target, reading};
}

PairSource test_set(const EvaluateOptions& options, const DataOptions& run) {
    if (!options.test.empty()) return given_pairs("test", options.test, options, run);
    check_usage(!run.task.empty(), "evaluate: no test set; give --test PREFIX");
    return {options.run + "/test", run.source, run.target, {.format = TextFormat::text}};
}

// What the run was validated on, read as training read it, unless other pairs are given.
Corpus tuning_set(const EvaluateOptions& options, const TrainSettings& run) {
    const DataOptions& data = run.data;
    if (!options.valid.empty()) return given_pairs("valid", options.valid, options, data).read();
    if (!data.task.empty()) return generate_task(data.task, run.training.seed).validation;
    check_usage(!data.valid.empty() && data.valid != standard_input,
                fmt::format("evaluate: {} names no file of validation pairs; give --valid PREFIX", options.tune));
    return read_corpus(data.valid, data.source, data.target, reading_of(data, say));
}

// FOLDER/model135.txt with --eval-epoch 135; model.txt or best.txt otherwise.
std::filesystem::path results_file(const EvaluateOptions& options) {
    const std::string name = options.weights.kind == WeightsKind::best ? "best" : "model",
                      epoch = options.weights.epoch ? fmt::format("{}", *options.weights.epoch) : "";
    return std::filesystem::path(options.results) / (name + epoch + ".txt");
}

void write_results(const EvaluateOptions& options, const Corpus& test, const std::vector<std::string>& hypotheses,
                   const ScoredAs& as) {
    std::string text;
    for (std::size_t i = 0; i < hypotheses.size(); ++i)
        text +=
            fmt::format("- source: {}\n- expected: {}\n- got: {}\n\n", test.pairs[i].source, test.pairs[i].target, hypotheses[i]);
    const double bleu = corpus_bleu(hypotheses, test.targets(), as.options).score;
    text += fmt::format("Bleu Score = {:.2f}\n", bleu);
    const std::filesystem::path file = results_file(options);
    write_file_atomically(file, text);
    say(fmt::format("results: {}", file.string()));
}

// Neither output may replace an input.
void check_outputs(const EvaluateOptions& options, const std::vector<std::string>& test_files) {
    std::vector<std::filesystem::path> inputs = files_of_run(options.run);
    inputs.insert(inputs.end(), test_files.begin(), test_files.end());
    if (!options.config_file.empty()) inputs.emplace_back(options.config_file);
    if (!options.output.empty()) check_can_write_file(options.output, "--output", inputs);
    if (options.results.empty()) return;
    make_folder(options.results, "--results");
    check_can_write_file(results_file(options), "--results", inputs);
}

// Training took no longer ones: how the model does on these it had to learn from short ones.
void say_longer(const Corpus& test, std::int64_t max_words) {
    if (max_words == 0) return;
    const auto longer = std::count_if(test.pairs.begin(), test.pairs.end(),
                                      [&](const SentencePair& pair) { return words_in(pair.source) > max_words; });
    say(fmt::format("{} of {} sources have more than {} words, the most that training took", longer, test.size(), max_words));
}

void tune_run(const EvaluateOptions& options, Ranks* ranks) {
    const Run run = open_run(options.tune, "model.safetensors", options.machine);
    share_models(ranks, {&run, 1}, options.machine);
    const RunLock lock(options.tune);  // training writes the same file
    const Corpus sample = tuning_sample(tuning_set(options, run.settings), most_tuning_sentences);
    check(sample.size() >= least_tuning_sentences, "evaluate: --tune has {} pairs to choose by, wanted {} or more; give {}",
          sample.size(), least_tuning_sentences, options.valid.empty() ? "--valid PREFIX" : "a larger --valid");
    const bool by_exact = options.valid.empty() && !run.settings.data.task.empty();
    check_usage(!by_exact || options.tokenize == Tokenizer::automatic,
                "evaluate: --tune goes by the exact lines of a generated task; leave out --tokenize");
    const Criterion criterion = by_exact ? Criterion{} : criterion_of(sample, options.tokenize);
    const PenaltyChoice choice = *choose_length_penalty(*run.model, run.vocabularies, sample, options.decode, criterion, {},
                                                        decoders_on(ranks, *run.model));
    for (const PenaltyTrial& trial : choice.trials) print(trial_text(trial, criterion) + "\n");
    write_search(options.tune, choice.best.length_penalty);
    say(fmt::format("{}; stored in {}", choice_text(choice, criterion, sample.size()),
                    (std::filesystem::path(options.tune) / search_file_name).string()));
}

void evaluate_run(const EvaluateOptions& options, Ranks* ranks) {
    const Run run = open_run(options.run, weights_file(options.weights, options.run), options.machine);
    share_models(ranks, {&run, 1}, options.machine);
    const PairSource pairs = test_set(options, run.settings.data);
    const Corpus test = pairs.read();
    // Before anything is translated: later all of it would be lost.
    check_outputs(options, pairs.files());
    const auto start = std::chrono::steady_clock::now();
    Translator translator(*run.model, run.vocabularies, options.decode, decoders_on(ranks, *run.model));
    FarText far("the test set", source_characters_of(options.run), say);
    translator.show(far);
    if (options.unknown.replace) translator.replace_unknown(*options.unknown.replace);
    const std::vector<std::string> hypotheses = translator.best(test.sources());
    const double seconds = seconds_since(start);
    say(fmt::format("{} sentences translated in {:.2f} s", hypotheses.size(), seconds));
    far.report();
    translator.report_cuts();
    translator.report_limit();
    say_longer(test, run.settings.training.max_words);
    const ScoredAs as = scored_as(options, test.targets());
    if (!options.output.empty()) write_lines(options.output, hypotheses);
    if (!options.results.empty()) write_results(options, test, hypotheses, as);
    print_score(hypotheses, test.targets(), as, options);
}

TextFile read_text(const std::string& path, const EvaluateOptions& options, SegmentRole role) {
    const Reading reading{.replace_invalid = options.replace_invalid,
                          .say = say,
                          .format = options.format.value_or(TextFormat::text),
                          .assumed = !options.format};
    return read_text_file(path, reading, {.role = role});
}

/// Translations of a file and the references that they belong to.
std::vector<SentencePair> read_hypotheses(const std::string& path, const EvaluateOptions& options, TextFile references) {
    TextFile hypotheses = read_text(path, options, SegmentRole::hypothesis);
    if (hypotheses.format != references.format) {  // translations are seldom in the format of what was translated
        hypotheses.drop_metadata(say);
        references.drop_metadata(say);
    }
    align(hypotheses, references, say);
    std::vector<SentencePair> pairs;
    for (std::size_t i = 0; i < hypotheses.lines.size(); ++i)
        pairs.push_back({std::move(hypotheses.lines[i]), std::move(references.lines[i])});
    return pairs;
}

void evaluate_files(const EvaluateOptions& options) {
    const Corpus corpus{
        read_hypotheses(options.hypotheses, options, read_text(options.reference, options, SegmentRole::reference))};
    check(!corpus.pairs.empty(), "evaluate: {} and {} have no lines to score", options.hypotheses, options.reference);
    print_score(corpus.sources(), corpus.targets(), scored_as(options, corpus.targets()), options);
}

void compare_files(const EvaluateOptions& options) {
    const TextFile references = read_text(options.reference, options, SegmentRole::reference);
    const Corpus one{read_hypotheses(options.compare.first, options, references)},
        other{read_hypotheses(options.compare.second, options, references)};
    check(!one.pairs.empty(), "evaluate: {} has no lines to compare by", options.reference);
    const ScoredAs as = scored_as(options, one.targets());
    const auto statistics = [&](const Corpus& corpus) { return line_statistics(corpus.sources(), corpus.targets(), as.options); };
    const std::vector<LineStatistics> first = statistics(one), second = statistics(other);
    const std::vector<Comparison> comparisons = paired_bootstrap(first, second, options.resamples, options.seed);
    const ComparedSystems systems{.names = options.compare,
                                  .lines = static_cast<std::int64_t>(first.size()),
                                  .resamples = options.resamples,
                                  .seed = options.seed,
                                  .as = as};
    print(options.json ? comparison_json(systems, comparisons) : comparison_text(systems, comparisons));
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
    take_unknown_options(options.unknown, options.decode);
    apply(options.machine);
    if (table.given("model") && take_search_of(options.run, table, options.decode))
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
