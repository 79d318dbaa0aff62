#include "apps/command/check_run.h"

#include <fmt/format.h>

#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/resume.h"
#include "apps/command/run.h"
#include "apps/command/train_ranks.h"
#include "apps/tasks/tasks.h"
#include "apps/terminal/option_error.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/training/encode_text.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// The text to learn from, and the test sentences of a task.
struct Text {
    TrainingText training;
    Corpus test;
    bool too_large = false;  // to be held; AutoPackedText writes it unless that was done before
};

// An option as it would be given on the command line.
struct RecipeSetting {
    const char* option;
    const char* value;
};

// The languages have no ambiguity and no noise, so a small model without regularisation and a rate that falls to zero learns
// them completely. Found by experiment; the epochs are chosen so that training takes less than a minute on two cores.
constexpr RecipeSetting common[] = {{"layers", "2"},   {"d-model", "64"},        {"d-ff", "256"},
                                    {"dropout", "0"},  {"label-smoothing", "0"}, {"schedule", "cosine"},
                                    {"warmup", "100"}, {"average", "1"},         {"valid-sentences", "200"}};

const char* epochs(std::string_view task) {
    if (task == "sentences") return "10";
    if (task == "reverse") return "8";
    return "6";
}

void set(OptionTable& table, std::string& said, const char* name, const std::string& value) {
    Option* option = table.find(name);
    if (option == nullptr || option->given) return;
    option->read(*option, {value});
    option->given = true;
    said += fmt::format("{}--{} {}", said.empty() ? "" : " ", name, value);
}

// Options for --task names (half a minute on two cores) and --task text (some minutes). Found by experiment.
constexpr RecipeSetting of_names[] = {{"decoder-only", "true"}, {"vocab-type", "char"}, {"layers", "2"},
                                      {"d-model", "64"},        {"d-ff", "256"},        {"dropout", "0"},
                                      {"epochs", "6"},          {"schedule", "cosine"}, {"warmup", "100"},
                                      {"label-smoothing", "0"}, {"average", "1"},       {"tune-search", "false"}},
                        of_text[] = {
                            {"decoder-only", "true"}, {"label-smoothing", "0"}, {"max-length", "512"}, {"tune-search", "false"}};

// Gives the table the options, including the vocabulary's, in which the task differs from the defaults, except those that the
// user gave. Returns what it set, as text: "--epochs 10 --vocab-size 200".
std::string apply_recipe(OptionTable& table, const TaskCorpus& task) {
    std::string said;
    if (!table.given("vocab-model")) {
        const bool other_type = table.given("vocab-type");
        set(table, said, "vocab-type", std::string(word_of(task.vocabulary.type)));
        if (!other_type) set(table, said, "vocab-size", fmt::format("{}", task.vocabulary.size));
        if (task.vocabulary.max_lines > 0) set(table, said, "vocab-lines", fmt::format("{}", task.vocabulary.max_lines));
        if (!task.shared_vocabulary) set(table, said, "shared-vocab", "false");
    }
    const bool limited = table.given("updates") || table.given("minutes");
    if (!limited) set(table, said, "epochs", epochs(task.name));
    const bool end_is_known = table.given("epochs") || table.given("updates");  // needed by the cosine schedule
    for (const RecipeSetting& setting : common)
        if (end_is_known || setting.option != std::string_view("schedule")) set(table, said, setting.option, setting.value);
    return said;
}

// The two parts of a language model's file. Like the generated ones, its task sets options that were not given.
Text text_of_language_model(const TrainCall& call) {
    DataOptions& data = call.settings.data;
    const bool limited = call.table.given("updates") || call.table.given("minutes");
    const bool end_is_known = !limited || call.table.given("epochs") || call.table.given("updates");
    const std::span<const RecipeSetting> recipe = data.task == "names" ? std::span<const RecipeSetting>(of_names) : of_text;
    std::string said;
    for (const auto& [option, value] : recipe) {
        const std::string_view name = option;
        if ((name == "epochs" && limited) || (name == "schedule" && !end_is_known)) continue;
        if (name == "vocab-type" && call.table.given("vocab-model")) continue;
        set(call.table, said, option, value);
    }
    if (!said.empty()) call.say(fmt::format("the task sets {}; explicit options override it", said));
    check_option(call.settings.model.decoder_only, {"decoder-only", "task"},
                 fmt::format("--task {} makes a language model; leave out --decoder-only false", data.task));
    check_option(
        !call.settings.training.tune_search || call.resumes(), {"tune-search", "task"},
        fmt::format("--tune-search chooses how translations are searched for, and --task {} makes a language model; leave it "
                    "out",
                    data.task));
    data.text_seed = call.settings.training.seed;
    const bool too_large = is_too_large_to_hold(data);
    std::shared_ptr<const PreparedText> prepared;
    if (too_large && call.resumes()) prepared = find_auto_packed_text(data, call.settings.vocabulary.lowercase, call.say);
    return {.training = read_training_text(data, call.say, std::move(prepared), !too_large), .test = {}, .too_large = too_large};
}

Text generated_text(const TrainCall& call) {
    DataOptions& data = call.settings.data;
    TaskCorpus task = generate_task(data.task, call.settings.training.seed);
    call.say(fmt::format("task {}: {}", task.name, task.description));
    const std::string recipe = apply_recipe(call.table, task);
    if (!recipe.empty()) call.say(fmt::format("the task sets {}; explicit options override it", recipe));
    data.source = task.source_language;
    data.target = task.target_language;
    return {.training = {.training = std::move(task.training),
                         .validation = std::move(task.validation),
                         .training_names = {"the training text", "training sources", "training targets"},
                         .validation_names = {"the validation text", "validation sources", "validation targets"}},
            .test = std::move(task.test)};
}

// With more pairs in memory, a note recommends heddle prepare.
constexpr std::int64_t many_pairs = 1 << 22;

Text read_text(const TrainCall& call) {
    const DataOptions& data = call.settings.data;
    if (is_text_task(data.task)) return text_of_language_model(call);
    check_option(!call.settings.model.decoder_only, {"decoder-only", "task"},
                 "--decoder-only makes a language model, which learns no pairs; give --task text --text FILE");
    if (!data.task.empty()) return generated_text(call);
    std::shared_ptr<const PreparedText> prepared;
    if (is_prepared(data.train)) {
        prepared = std::make_shared<PreparedText>(data.train);
        take_over_prepared(call.table, *prepared, !call.resumes() && data.init.empty());
    }
    const bool too_large = is_too_large_to_hold(data);
    if (too_large && call.resumes()) prepared = find_auto_packed_text(data, call.settings.vocabulary.lowercase, call.say);
    Text text{
        .training = read_training_text(data, call.say, std::move(prepared), !too_large), .test = {}, .too_large = too_large};
    if (const std::int64_t pairs = text.training.training.size(); pairs > many_pairs)
        call.say(fmt::format(
            "{} pairs are held in memory; heddle prepare writes them to files, which training reads without holding them",
            grouped_text(pairs)));
    return text;
}

// The save that a resumed run continues from: its last one, or that of the end of an epoch. Empty when there is none.
std::filesystem::path save_to_go_on_from(const DataOptions& data) {
    if (data.resume.empty()) return {};
    return data.preload ? save_of_epoch(data.resume, *data.preload) : latest_save(data.resume);
}

// Error unless the ids of this prepared text come from the run's vocabulary, with the same case (not every vocabulary file
// records that).
void check_vocabulary_of_run(const PreparedText& text, const std::string& run, const Vocabularies& known) {
    check(vocabulary_digest(run) == text.header().vocabulary_digest &&
              text.vocabularies().source->lowercase() == known.source->lowercase(),
          "{}: it was prepared with another vocabulary than that of {}; prepare the text with --init {}", text.folder().string(),
          run, run);
    text.check_sizes(known);
}

Vocabularies vocabularies_of(const TrainCall& call, const std::optional<SafetensorsFile>& weights, const Text& text) {
    TrainSettings& settings = call.settings;
    VocabularyRequest& request = settings.vocabulary;
    const DataOptions& data = settings.data;
    const PreparedText* const prepared = text.training.prepared.get();
    const std::string run = call.resumes() ? data.resume : data.init;
    if (run.empty() && prepared != nullptr) {
        call.say(fmt::format("{}: {} prepared pairs and their vocabulary", data.train, grouped_text(prepared->size())));
        Vocabularies own = prepared->vocabularies();
        request.normalization = own.source->normalization();
        return own;
    }
    if (run.empty() && text.too_large && request.model_file.empty() && request.max_lines == 0)
        call.say("the vocabulary is learned from all lines, which are held meanwhile; --vocab-lines 1000000 holds that many");
    if (run.empty())
        return text.too_large ? learn_vocabularies(data, request, call.say)
                              : make_vocabularies(request, text.training.training, call.say, text.training.training_names);
    Vocabularies known = Vocabularies::load(run, request.lowercase);
    check_numbering(settings.model, known, run);
    if (prepared != nullptr) check_vocabulary_of_run(*prepared, run, known);
    request.normalization = known.source->normalization();
    if (weights) check_model_size(settings.model.with_vocabularies(known.source->size(), known.target->size()), *weights);
    return known;
}

// What check_together() does, for the options of the text, which a resumed run may set: UsageError.
void check_text(const DataOptions& data) {
    const bool of_text = is_text_task(data.task);
    check_option(of_text || data.text.empty(), {"text", "task"},
                 fmt::format("--text {} is for a language model; give --task text, or names for short lines", data.text));
    check_option(!of_text || !data.text.empty(), {"text", "task"},
                 fmt::format("--task {} learns from one file, a text per line; give --text FILE", data.task));
    check_option(data.text != standard_input, {"text"}, "--text - is read twice, to learn from and to validate; give a file");
    if (data.task.empty()) return;
    check_option(
        !of_text || (data.source.empty() && data.target.empty()), {"source", "target", "task"},
        fmt::format("--source and --target are the languages of sentence pairs, and --task {} learns from one file; leave "
                    "them out",
                    data.task));
    check_option(data.train.empty() && data.valid.empty(), {"task", "train", "valid"},
                 "--task and --train are two sources of sentences; give one of them");
    check_option(!data.reads_columns() && (!data.replace_invalid || of_text) && data.format == TextFormat::automatic,
                 {"tsv", "tsv-columns", "format", "replace-invalid", "task"},
                 "train: --tsv, --tsv-columns, --format and --replace-invalid are for text from files, and --task makes its own; "
                 "leave them out");
}

// Completes the options from the run that is resumed, which is locked, or from the run of --init.
CheckedRun take_over_options(const TrainCall& call) {
    const DataOptions& data = call.settings.data;
    CheckedRun run;
    if (call.resumes()) {
        run.path = data.resume;
        check_can_resume(run.path);
        run.folder = RunFolder::reopen(run.path);  // before its save is chosen: another process might make a newer one
        run.save = save_to_go_on_from(data);
        run.changes = take_over_run(call.table, run.path, run.save.empty() ? OptionTexts() : read_state(run.save).options);
    } else {
        run.path = data.out;
        RunFolder::check_free(run.path, data.overwrite);
        RunFolder::check_can_begin(run.path);
        if (!data.init.empty()) take_over_model(call.table, data.init);
    }
    check_text(data);
    return run;
}

// Learns or reads the vocabulary, and encodes the text with it.
void read_data(const TrainCall& call, CheckedRun& run, Text text) {
    VocabularyRequest& request = call.settings.vocabulary;
    const auto advice = [&](std::int64_t less) { return text.too_large ? vocabulary_advice(request, less) : text_advice(); };
    with_memory_advice(advice, [&] {
        if (text.too_large && text.training.prepared == nullptr)
            run.packed = std::make_unique<AutoPackedText>(call.settings.data, call.say);
        take_given(call.table, request);
        Vocabularies vocabularies = vocabularies_of(call, run.weights, text);
        if (run.packed) text.training.prepared = run.packed->write(vocabularies, decided_options(call.table));
        run.data = encode_training_data(std::move(text.training), std::move(vocabularies), call.resumes() ? Say() : call.say);
    });
    run.test = std::move(text.test);
}

// The model, with new weights unless the run begins with others.
void make_model(const TrainCall& call, CheckedRun& run, double bytes_per_parameter) {
    const TrainSettings& settings = call.settings;
    const Vocabularies& vocabularies = run.data.vocabularies;
    const nn::TransformerOptions shape =
        settings.model.with_vocabularies(vocabularies.source->size(), vocabularies.target->size());
    check_model_fits(shape, bytes_per_parameter);
    run.model = std::make_unique<nn::Transformer>(shape, run.weights ? std::nullopt : std::optional(settings.training.seed));
    run.model->to(settings.machine.device);
}

}  // namespace

void check_together(const DataOptions& data) {
    check_usage(!data.out.empty() || !data.resume.empty(), "train: no folder for the run; give --out RUN");
    check_usage(data.resume.empty() || data.out.empty(), "train: --resume and --out are two folders; give one of them");
    check_usage(data.resume.empty() || !data.overwrite,
                "train: --resume resumes a run, --overwrite replaces one; give one of them");
    check_usage(data.resume.empty() || data.preset.empty(),
                "train: --resume uses the run's own options, its preset included; leave --preset out");
    check_usage(!data.preload || !data.resume.empty(), "train: --preload EPOCH needs --resume RUN; give it, too");
    std::error_code ignored;
    check_usage(data.init.empty() || data.out.empty() || !std::filesystem::equivalent(data.init, data.out, ignored),
                fmt::format("train: --init {} and --out {} are one folder; give another --out", data.init, data.out));
    const std::filesystem::path own_text = std::filesystem::path(data.out) / auto_packed_text_name;
    check_usage(data.out.empty() || !is_auto_packed_text(own_text) || !std::filesystem::equivalent(data.train, own_text, ignored),
                fmt::format("train: --train {} is what a run in --out {} prepared, and goes with that run; give another --out",
                            data.train, data.out));
}

std::optional<SafetensorsFile> first_weights(const TrainSettings& settings, const std::filesystem::path& save) {
    const std::string &resumed = settings.data.resume, &init = settings.data.init;
    constexpr const char* file = "model.safetensors";
    if (!save.empty()) return open_weights(save / file, model_identity(settings, resumed), read_state(save).updates);
    if (init.empty()) return {};
    SafetensorsFile weights =
        open_weights(std::filesystem::path(init) / file, model_identity(settings, resumed.empty() ? init : resumed));
    check_finite(weights);
    return weights;
}

CheckedRun check_run(const TrainCall& call) {
    TrainSettings& settings = call.settings;
    CheckedRun run = take_over_options(call);
    apply(settings.machine);
    if (!call.resumes() && !settings.data.overwrite && RunFolder::learned_nothing(run.path))
        call.say(fmt::format("{}: the run there ended before its first save; another one begins in its place", run.path));
    Text text = with_memory_advice(text_advice, [&] { return read_text(call); });
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    // config.toml may be both: --config RUN/config.toml --out RUN --overwrite repeats a run in its place.
    if (settings.data.overwrite)
        check_spares_inputs(files_of_run(run.path), "--out", input_files(settings.data, settings.vocabulary));
    const double bytes = training_bytes(settings.training, settings.machine.device);
    // Before a vocabulary is learned. For the model of another run its weights are a better check.
    if (!call.resumes() && settings.data.init.empty()) check_model_fits(settings.model.with_vocabularies(1, 1), bytes);
    if (call.ranks != nullptr) check_shareable(*call.ranks, settings);
    run.weights = first_weights(settings, run.save);
    read_data(call, run, std::move(text));
    make_model(call, run, bytes);
    run.plan = plan_training(*run.model, run.data, settings.training);
    if (call.ranks != nullptr) {
        run.sharing = fmt::format("{} processes share the {} shards of an update", call.ranks->size(), settings.training.shards);
        begin_on_ranks(*call.ranks, call.table, run.data, call.say);
    }
    return run;
}

}  // namespace heddle::app
