#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "apps/command/evaluate.h"
#include "apps/command/on_ranks.h"
#include "apps/command/run.h"
#include "apps/command/run_search.h"
#include "apps/tasks/tasks.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/run/clock.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/run/lock.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/text/corpus.h"
#include "apps/translation/training/data.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

// Files of sentence pairs, and how to read them.
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

// The run's own validation pairs, read as training read them, unless other pairs are given.
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
    const std::filesystem::path results = results_file(options);
    check_can_write_file(results, "--results", inputs);
    check_usage(
        options.output.empty() || std::filesystem::weakly_canonical(options.output) != std::filesystem::weakly_canonical(results),
        fmt::format("evaluate: --output {} is the file that --results {} writes; give another --output", options.output,
                    options.results));
}

// Training left out longer sources: the model has learned to translate them from short ones only.
void say_longer(const Corpus& test, std::int64_t max_words) {
    if (max_words == 0) return;
    const auto longer = std::count_if(test.pairs.begin(), test.pairs.end(),
                                      [&](const SentencePair& pair) { return words_in(pair.source) > max_words; });
    say(fmt::format("{} of {} sources have more than {} words, the most that training took", longer, test.size(), max_words));
}

}  // namespace

void tune_run(const EvaluateOptions& options, Ranks* ranks) {
    check_translates("evaluate", options.tune);
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
    write_search(options.tune,
                 {.length_penalty = choice.best.length_penalty, .forbid_unknown = read_search(options.tune).forbid_unknown});
    say(fmt::format("{}; stored in {}", choice_text(choice, criterion, sample.size()),
                    (std::filesystem::path(options.tune) / search_file_name).string()));
}

void evaluate_run(const EvaluateOptions& options, Ranks* ranks) {
    check_translates("evaluate", options.run);
    const Run run = open_run(options.run, weights_file(options.weights, options.run), options.machine);
    share_models(ranks, {&run, 1}, options.machine);
    const PairSource pairs = test_set(options, run.settings.data);
    const Corpus test = pairs.read();
    // Before anything is translated: later all of it would be lost.
    check_outputs(options, pairs.files());
    const auto start = std::chrono::steady_clock::now();
    Translator translator(*run.model, run.vocabularies, options.decode, decoders_on(ranks, *run.model));
    const std::vector<std::string> hypotheses = translator.best(test.sources());
    const double seconds = seconds_since(start);
    say(fmt::format("{} sentences translated in {:.2f} s", hypotheses.size(), seconds));
    translator.report_cuts();
    translator.report_limit();
    say_longer(test, run.settings.training.max_words);
    const ScoredAs as = scored_as(options, test.targets());
    if (!options.output.empty()) write_lines(options.output, hypotheses);
    if (!options.results.empty()) write_results(options, test, hypotheses, as);
    print_scores(hypotheses, test.targets(), as, options);
}

}  // namespace heddle::app
