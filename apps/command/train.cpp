#include <fmt/format.h>

#include <csignal>
#include <functional>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/model_memory.h"
#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/resume.h"
#include "apps/command/run.h"
#include "apps/command/run_report.h"
#include "apps/command/run_search.h"
#include "apps/command/task_recipes.h"
#include "apps/command/train_ranks.h"
#include "apps/presets/presets.h"
#include "apps/terminal/error_text.h"
#include "apps/terminal/option_error.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/search/translate.h"
#include "apps/translation/training/auto_packed_text.h"
#include "apps/translation/training/encode_text.h"
#include "apps/translation/training/pretrained_embeddings.h"
#include "apps/translation/training/stop_signals.h"
#include "apps/translation/training/trainer.h"
#include "core/file.h"
#include "core/format.h"
#include "core/number_text.h"
#include "core/shell_word.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

// The text to learn from, and the test sentences of a task.
struct Text {
    TrainingText training;
    Corpus test;
    bool too_large = false;  ///< to be held; where there is no prepared one yet, AutoPackedText writes it
};

Text generated_text(OptionTable& table, TrainSettings& settings, const Say& say) {
    TaskCorpus task = generate_task(settings.data.task, settings.training.seed);
    say(fmt::format("task {}: {}", task.name, task.description));
    const std::string recipe = apply_recipe(table, task);
    if (!recipe.empty()) say(fmt::format("the task sets {}; explicit options override it", recipe));
    settings.data.source = task.source_language;
    settings.data.target = task.target_language;
    return {.training = {.training = std::move(task.training),
                         .validation = std::move(task.validation),
                         .training_names = {"the training text", "training sources", "training targets"},
                         .validation_names = {"the validation text", "validation sources", "validation targets"}},
            .test = std::move(task.test)};
}

// With more pairs in memory, a note recommends heddle prepare.
constexpr std::int64_t many_pairs = 1 << 22;

Text read_text(OptionTable& table, TrainSettings& settings, const Say& say) {
    if (!settings.data.task.empty()) return generated_text(table, settings, say);
    std::shared_ptr<const PreparedText> prepared;
    if (is_prepared(settings.data.train)) {
        prepared = std::make_shared<PreparedText>(settings.data.train);
        take_over_prepared(table, *prepared, settings.data.resume.empty() && settings.data.init.empty());
    }
    const bool too_large = is_too_large_to_hold(settings.data);
    if (too_large && !settings.data.resume.empty())
        prepared = find_auto_packed_text(settings.data, settings.vocabulary.lowercase, say);
    Text text{
        .training = read_training_text(settings.data, say, std::move(prepared), !too_large), .test = {}, .too_large = too_large};
    if (const std::int64_t pairs = text.training.training.size(); pairs > many_pairs)
        say(fmt::format(
            "{} pairs are held in memory; heddle prepare writes them to files, which training reads without holding them",
            grouped_text(pairs)));
    return text;
}

void write_test(const RunFolder& folder, const DataOptions& data, const Corpus& test) {
    if (test.pairs.empty()) return;
    write_lines(folder.path() / ("test." + data.source), test.sources());
    write_lines(folder.path() / ("test." + data.target), test.targets());
}

TranslateLines greedy(const Vocabularies& vocabularies, Ranks* ranks) {
    return [vocabularies, ranks](const nn::Transformer& model, const std::vector<std::string>& lines) {
        DecodeOptions options;
        options.beam = 1;
        return translate_lines(model, vocabularies, lines, options, decoders_on(ranks, model));
    };
}

// Of a resumed run: its last save, or that of the end of an epoch. Empty when there is none.
std::filesystem::path save_to_go_on_from(const DataOptions& data) {
    if (data.resume.empty()) return {};
    return data.preload ? save_of_epoch(data.resume, *data.preload) : latest_save(data.resume);
}

// The weights that a run begins with, those of a save or of another run: opened, with their digest checked. Nothing for
// new ones.
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

// Of a prepared text: Error unless its ids are of the run's vocabulary, and of the run's case, which a vocabulary's file need not
// know.
void check_vocabulary_of_run(const PreparedText& text, const std::string& run, const Vocabularies& known) {
    check(vocabulary_digest(run) == text.header().vocabulary_digest &&
              text.vocabularies().source->lowercase() == known.source->lowercase(),
          "{}: it was prepared with another vocabulary than that of {}; prepare the text with --init {}", text.folder().string(),
          run, run);
    text.check_sizes(known);
}

Vocabularies vocabularies_of(TrainSettings& settings, const std::optional<SafetensorsFile>& weights, const TrainingText& text,
                             bool too_large, const Say& say) {
    const DataOptions& data = settings.data;
    const std::string run = data.resume.empty() ? data.init : data.resume;
    if (run.empty() && text.prepared != nullptr) {
        say(fmt::format("{}: {} prepared pairs and their vocabulary", data.train, grouped_text(text.prepared->size())));
        Vocabularies prepared = text.prepared->vocabularies();
        settings.vocabulary.normalization = prepared.source->normalization();
        return prepared;
    }
    if (run.empty() && too_large && settings.vocabulary.model_file.empty() && settings.vocabulary.max_lines == 0)
        say("the vocabulary is learned from all lines, which are held meanwhile; --vocab-lines 1000000 holds that many");
    if (run.empty())
        return too_large ? learn_vocabularies(data, settings.vocabulary, say)
                         : make_vocabularies(settings.vocabulary, text.training, say, text.training_names);
    Vocabularies known = Vocabularies::load(run, settings.vocabulary.lowercase);
    if (text.prepared != nullptr) check_vocabulary_of_run(*text.prepared, run, known);
    settings.vocabulary.normalization = known.source->normalization();
    if (weights) check_model_size(settings.model.with_vocabularies(known.source->size(), known.target->size()), *weights);
    return known;
}

// Where a run begins: a save of it, another run's weights, or new ones.
void begin(Trainer& trainer, const TrainSettings& settings, const std::filesystem::path& save,
           std::optional<SafetensorsFile> weights, TrainingLog& log) {
    const DataOptions& data = settings.data;
    if (!save.empty()) {
        trainer.resume(save, &*weights);
        const std::string epoch = data.preload ? fmt::format(", the end of epoch {}", *data.preload) : "";
        log.note(fmt::format("goes on from update {}{}", grouped_text(trainer.state().updates), epoch));
        return;
    }
    if (!data.resume.empty()) {
        log.cut_back({}, settings.training.scalars_every > 0);
        log.note("nothing was saved before: begins at update 0");
    }
    if (!weights) return;
    const nn::FlatParameters& parameters = trainer.learner().parameters();
    nn::load(parameters.named(parameters.values), *weights);
    parameters.round_again();
    log.note(fmt::format("begins with the weights of {}", data.init));
    trainer.save_now();  // that run may be changed later
}

// Chooses how the trained model searches. Like the report, it is no reason to lose a run. False when a signal stopped it.
bool tune(const RunFolder& folder, const TrainSettings& settings, const nn::Transformer& model, const TrainingData& data,
          TrainingLog& log, std::int64_t learned, Ranks* ranks) {
    if (!settings.training.tune_search) return true;
    const auto not_chosen = [&](const std::string& why) {
        log.note(fmt::format("no length penalty was chosen: {}; heddle evaluate --tune {} does it", why,
                             shell_word(folder.path().string())));
    };
    try {
        const bool done = tune_search(
            folder.path(), model, data.vocabularies, data.validation_text, !settings.data.task.empty(), learned,
            [&](std::string_view text) { log.note(text); }, [] { return StopSignals::received() != 0; },
            decoders_on(ranks, model));
        if (!done) not_chosen(fmt::format("stopped by {}", signal_name(StopSignals::received())));
        return done;
    } catch (const std::exception& error) {
        not_chosen(error_text(error));
        return true;
    }
}

// What comes after the last update, given the pairs that were learned from. False when a signal stopped it.
using Tuning = std::function<bool(std::int64_t learned)>;
// Writes the report of a training that ended so.
using Report = std::function<void(const std::string& ended)>;

int signal_to_save_on(const TrainingOptions& training) {
    switch (training.save_on_signal) {
        case SaveSignal::none: return 0;
        case SaveSignal::usr1: return SIGUSR1;
        case SaveSignal::usr2: return SIGUSR2;
    }
    return 0;
}

int train(Trainer& trainer, const RunFolder& folder, TrainingLog& log, const Tuning& tune, const Report& report) {
    const std::string run = shell_word(folder.path().string());
    const StopSignals signals(signal_to_save_on(trainer.options()));
    trainer.stop_when([] { return StopSignals::received() != 0; });
    trainer.save_when(StopSignals::save_wanted);
    try {
        const TrainingResult result = trainer.run();
        if (result.ended_by == EndReason::stopped) {
            const std::string stopped =
                fmt::format("stopped by {} after update {} and saved; go on with: heddle train --resume {}",
                            signal_name(StopSignals::received()), grouped_text(result.updates), run);
            report(stopped);
            log.note(stopped);
            return 128 + StopSignals::received();
        }
        // A run without further updates keeps its choice, which may be the user's.
        const bool chosen = !result.nothing_to_train.empty() && std::filesystem::exists(folder.path() / search_file_name);
        const bool tuned = chosen || tune(result.pairs);
        report(how_it_ended(result));
        if (!tuned) return 128 + StopSignals::received();
        log.note(fmt::format("translate with: heddle translate --model {} < in > out", run));
        return 0;
    } catch (const Divergence& divergence) {
        const Divergence told(fmt::format("{}; {}, with --lr X for example", divergence.what(), how_to_go_on(folder.path())));
        report(told.what());
        throw told;
    }
}

// Options that nothing would come of, whatever a preset or a resumed run brings along.
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
    check_usage(data.init.empty() || data.embeddings.empty(),
                "train: --init brings the embeddings of another run, --embeddings those of a file; give one of them");
    check_usage(data.embeddings.size() <= 2,
                fmt::format("train: --embeddings has {} files, wanted one, or one for each side", data.embeddings.size()));
}

// The same of the text, when all options are known.
void check_text(const DataOptions& data) {
    if (data.task.empty()) return;
    check_option(data.train.empty() && data.valid.empty(), {"task", "train", "valid"},
                 "--task and --train are two sources of sentences; give one of them");
    const bool replaces = data.replace_invalid && data.embeddings.empty();
    check_option(!data.reads_columns() && !replaces && data.format == TextFormat::automatic,
                 {"tsv", "tsv-columns", "format", "replace-invalid", "task"},
                 "train: --tsv, --tsv-columns, --format and --replace-invalid are for text from files, and --task makes its own; "
                 "leave them out");
}

int train_with(OptionTable& table, TrainSettings& settings, Arguments arguments, Ranks* ranks) {
    const std::string resumed = settings.data.resume, run = resumed.empty() ? settings.data.out : resumed;
    std::optional<RunFolder> folder;
    std::filesystem::path save;
    std::vector<std::string> changes;
    if (resumed.empty()) {
        RunFolder::check_free(run, settings.data.overwrite);
        RunFolder::check_can_begin(run);
        if (!settings.data.init.empty()) take_over_model(table, settings.data.init);
    } else {
        check_can_resume(run);
        folder = RunFolder::reopen(run);  // before its save is chosen: another process might make a newer one
        save = save_to_go_on_from(settings.data);
        changes = take_over_run(table, run, save.empty() ? OptionTexts() : read_state(save).options);
    }
    check_text(settings.data);
    apply(settings.machine);

    TrainingLog console;
    const Say say = [&](std::string_view text) { console.note(text); };
    if (resumed.empty() && !settings.data.overwrite && RunFolder::learned_nothing(run))
        say(fmt::format("{}: the run there ended before its first save; another one begins in its place", run));
    Text text = with_memory_advice(text_advice, [&] { return read_text(table, settings, say); });
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    // config.toml may be both: --config RUN/config.toml --out RUN --overwrite repeats a run in its place.
    if (settings.data.overwrite) check_spares_inputs(files_of_run(run), "--out", input_files(settings.data, settings.vocabulary));
    const double bytes = training_bytes(settings.training, settings.machine.device);
    // Before a vocabulary is learned; of another run's model its weights tell more.
    if (resumed.empty() && settings.data.init.empty()) check_model_fits(settings.model.with_vocabularies(1, 1), bytes);
    if (ranks != nullptr) check_shareable(*ranks, settings);
    std::optional<SafetensorsFile> weights = first_weights(settings, save);
    std::optional<AutoPackedText> auto_packed_text;
    const TrainingData data = with_memory_advice(
        [&](std::int64_t less) { return text.too_large ? vocabulary_advice(settings.vocabulary, less) : text_advice(); },
        [&] {
            const bool prepares = text.too_large && text.training.prepared == nullptr;
            if (prepares) auto_packed_text.emplace(settings.data, say);
            take_given(table, settings.vocabulary);
            Vocabularies vocabularies = vocabularies_of(settings, weights, text.training, text.too_large, say);
            if (prepares) text.training.prepared = auto_packed_text->write(vocabularies, decided_options(table));
            return encode_training_data(std::move(text.training), std::move(vocabularies), resumed.empty() ? say : Say());
        });
    const nn::TransformerOptions shape =
        settings.model.with_vocabularies(data.vocabularies.source->size(), data.vocabularies.target->size());
    check_model_fits(shape, bytes);
    nn::Transformer model(shape, weights ? std::nullopt : std::optional(settings.training.seed));
    if (resumed.empty() && !settings.data.embeddings.empty())
        load_embeddings(model, data.vocabularies, settings.data.embeddings,
                        {.replace_invalid = settings.data.replace_invalid, .say = say});
    model.to(settings.machine.device);
    TrainingPlan plan = plan_training(model, data, settings.training);  // before a folder is made
    std::string shared;
    if (ranks != nullptr) {
        shared = description(*ranks, settings.training, data.pairs(), plan.epoch.window());
        begin_on_ranks(*ranks, table, data, say);
    }
    if (!folder) {
        if (auto_packed_text) auto_packed_text->release();
        folder.emplace(run, settings.data.overwrite);
        if (auto_packed_text) auto_packed_text->begun();
        data.vocabularies.save(folder->path());
        write_test(*folder, settings.data, text.test);
        folder->write_config(table.config());  // last: now it is a run
    }
    if (!auto_packed_text) remove_auto_packed_text(run, resumed.empty());
    folder->identify(model_identity(settings, folder->path()));

    say(fmt::format("model: {} parameters; {}", grouped_text(model.parameter_count()), description(settings.machine)));
    TrainingLog log(folder->log(), false, settings.training.log_style);
    Trainer trainer(model, data, settings.training, log, &*folder, greedy(data.vocabularies, ranks), settings.machine.dtype,
                    std::move(plan), ranks);
    trainer.save_options(options_to_save(table));
    // Another run may be written meanwhile: its weights are looked at again when they are used. A save is under the run's lock.
    if (save.empty() && weights) weights = first_weights(settings, save);
    begin(trainer, settings, save, std::move(weights), log);  // closes the weights' file
    if (!shared.empty()) log.note(shared);
    for (const std::string& change : changes) log.note("changed: " + change);
    const std::string config = read_regular_file(folder->path() / "config.toml");
    if (!changes.empty()) folder->write_config(table.config());
    const std::int64_t updates = trainer.state().updates;
    const Report report = [&](const std::string& ended) {
        write_run_report(*folder, {arguments, settings, data}, trainer, model, log, ended);
    };
    const Tuning tuning = [&](std::int64_t learned) { return tune(*folder, settings, model, data, log, learned, ranks); };
    try {
        return train(trainer, *folder, log, tuning, report);
    } catch (const Divergence&) {
        // What was changed has led to no save: the run is what it was.
        const std::vector<std::int64_t> saves = saved_updates(run);
        if (saves.empty() || saves.back() <= updates)
            write_file_atomically(folder->path() / "config.toml", std::string_view(config));
        throw;
    }
}

int train_on_this_rank(Arguments arguments, Ranks* ranks) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    if (!parse_command_line(table, arguments)) return 0;
    check_together(settings.data);
    survive_failed_writes();
    return with_memory_advice([&](std::int64_t less) { return batch_advice(settings.training, less, settings.data.resume); },
                              [&] {
                                  return with_preset(
                                      table, settings.data.preset, [&] { return train_with(table, settings, arguments, ranks); },
                                      !is_prepared(settings.data.train));  // such a text has its vocabulary
                              });
}

}  // namespace

int train_command(Arguments arguments) {
    return on_ranks(
        arguments, [&](Ranks* ranks) { return train_on_this_rank(arguments, ranks); }, follow_training);
}

}  // namespace heddle::app
