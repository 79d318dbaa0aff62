#include <fmt/format.h>

#include <csignal>
#include <memory>

#include "apps/command/check_run.h"
#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/on_ranks.h"
#include "apps/command/option_rows.h"
#include "apps/command/resume.h"
#include "apps/command/run.h"
#include "apps/command/run_report.h"
#include "apps/command/run_search.h"
#include "apps/command/train_ranks.h"
#include "apps/presets/presets.h"
#include "apps/terminal/error_text.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/decoding/generate.h"
#include "apps/translation/decoding/translate.h"
#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/training/stop_signals.h"
#include "apps/translation/training/trainer.h"
#include "core/file.h"
#include "core/text.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

void write_test(const RunFolder& folder, const DataOptions& data, const Corpus& test) {
    if (test.pairs.empty()) return;
    write_lines(folder.path() / ("test." + data.source), test.sources());
    write_lines(folder.path() / ("test." + data.target), test.targets());
}

// A language model draws its samples, the same ones at every validation but for the weights.
TranslateLines samples(const CheckedRun& run, std::uint64_t seed) {
    return
        [vocabulary = run.data.vocabularies.target, seed](const nn::Transformer& model, const std::vector<std::string>& lines) {
            std::vector<std::string> texts;
            for (Translation& each :
                 generate_texts(model, *vocabulary, {.count = std::ssize(lines), .sampling = {.seed = seed}, .max_tokens = 100}))
                texts.push_back(std::move(each.text));
            return texts;
        };
}

TranslateLines greedy(const CheckedRun& run, Ranks* ranks) {
    DecodeOptions options = read_search(run.folder->path()).options();
    options.beam = 1;
    return [vocabularies = run.data.vocabularies, options, ranks](const nn::Transformer& model,
                                                                  const std::vector<std::string>& lines) {
        return translate_lines(model, vocabularies, lines, options, decoders_on(ranks, model));
    };
}

// Makes the folder of a new run; config.toml is written last and makes it a run.
void open_folder(const TrainCall& call, CheckedRun& run) {
    if (!run.folder) {
        if (run.packed) run.packed->release();
        run.folder.emplace(run.path, call.settings.data.overwrite);
        if (run.packed) run.packed->begun();
        run.data.vocabularies.save(run.folder->path());
        const DataOptions& data = call.settings.data;
        if (!data.init.empty() && read_search(data.init).forbid_unknown)
            write_search(run.folder->path(), {.forbid_unknown = true});
        write_test(*run.folder, call.settings.data, run.test);
        run.folder->write_config(call.table.config());
    }
    if (!run.packed) remove_auto_packed_text(run.path, !call.resumes());
    run.folder->identify(model_identity(call.settings, run.folder->path()));
}

// Brings the trainer to where the run begins: a save, another run's weights, or new ones.
void begin(const TrainCall& call, const CheckedRun& run, Trainer& trainer, TrainingLog& log) {
    const DataOptions& data = call.settings.data;
    if (!run.save.empty()) {
        trainer.resume(run.save, &*run.weights);
        const std::string epoch = data.preload ? fmt::format(", the end of epoch {}", *data.preload) : "";
        log.note(fmt::format("goes on from update {}{}", grouped_text(trainer.state().updates), epoch));
        return;
    }
    if (call.resumes()) {
        log.cut_back({}, call.settings.training.scalars_every > 0);
        log.note("nothing was saved before: begins at update 0");
    }
    if (!run.weights) return;
    // Opened again, because the other run may have been written meanwhile. (A save is protected by its run's lock.)
    const std::optional<SafetensorsFile> weights = first_weights(call.settings, run.save);
    const nn::FlatParameters& parameters = trainer.learner().parameters();
    nn::load(parameters.named(parameters.values), *weights);
    parameters.round_again();
    log.note(fmt::format("begins with the weights of {}", data.init));
    trainer.save_now();  // the other run may change later
}

// A run that is training.
struct Training {
    Training(const TrainCall& call, CheckedRun& run)
        : log(run.folder->log(), call.watch != nullptr && call.watch->quiet, call.settings.training.log_style),
          trainer(*run.model, run.data, call.settings.training, log, &*run.folder,
                  run.model->options().decoder_only ? samples(run, call.settings.training.seed) : greedy(run, call.ranks),
                  call.settings.machine.dtype, std::move(run.plan), call.ranks) {
        if (call.watch != nullptr) log.pass_warnings(call.watch->warned);
    }

    TrainingLog log;
    Trainer trainer;
    std::string config_before;  // the text of config.toml
    std::int64_t updates_before = 0;
};

// Makes the folder of a new run, whose first log lines it writes, or continues the log of a resumed one.
std::unique_ptr<Training> start(const TrainCall& call, CheckedRun& run) {
    open_folder(call, run);
    call.say(
        fmt::format("model: {} parameters; {}", grouped_text(run.model->parameter_count()), description(call.settings.machine)));
    auto training = std::make_unique<Training>(call, run);
    training->trainer.save_options(options_to_save(call.table));
    begin(call, run, training->trainer, training->log);
    run.weights.reset();  // closes the file
    if (!run.sharing.empty()) training->log.note(run.sharing);
    for (const std::string& change : run.changes) training->log.note("changed: " + change);
    training->config_before = read_regular_file(run.folder->path() / "config.toml");
    training->updates_before = training->trainer.state().updates;
    if (!run.changes.empty()) run.folder->write_config(call.table.config());
    return training;
}

// Chooses how the trained model searches. Failure must not fail the run. False when a signal stopped it.
bool tune(const TrainCall& call, const CheckedRun& run, TrainingLog& log, std::int64_t pairs_learned_from) {
    if (!call.settings.training.tune_search || run.model->options().decoder_only) return true;
    const std::filesystem::path& folder = run.folder->path();
    const auto not_chosen = [&](const std::string& why) {
        log.note(
            fmt::format("no length penalty was chosen: {}; heddle evaluate --tune {} does it", why, shell_word(folder.string())));
    };
    try {
        const bool done = tune_search(
            folder, *run.model, run.data.vocabularies, run.data.validation_text, !call.settings.data.task.empty(),
            pairs_learned_from, [&](std::string_view text) { log.note(text); }, [] { return StopSignals::received() != 0; },
            decoders_on(call.ranks, *run.model));
        if (!done) not_chosen(fmt::format("stopped by {}", signal_name(StopSignals::received())));
        return done;
    } catch (const std::exception& error) {
        not_chosen(error_text(error));
        return true;
    }
}

void report(const TrainCall& call, const CheckedRun& run, Training& training, const std::string& ended) {
    write_run_report(*run.folder, {call.arguments, call.settings, run.data}, training.trainer, *run.model, training.log, ended);
}

// After the last update: tunes the search, writes the report, and says what to do next. Returns the exit status.
int finish(const TrainCall& call, const CheckedRun& run, Training& training, const TrainingResult& result) {
    const std::string folder = shell_word(run.folder->path().string());
    if (result.ended_by == EndReason::stopped) {
        const std::string stopped = fmt::format("stopped by {} after update {} and saved; go on with: heddle train --resume {}",
                                                signal_name(StopSignals::received()), grouped_text(result.updates), folder);
        report(call, run, training, stopped);
        training.log.note(stopped);
        return 128 + StopSignals::received();
    }
    // A run without further updates keeps its choice, which may be the user's.
    const bool chosen = !result.nothing_to_train.empty() && std::filesystem::exists(run.folder->path() / search_file_name);
    const bool tuned = chosen || tune(call, run, training.log, result.pairs);
    report(call, run, training, how_it_ended(result));
    if (!tuned) return 128 + StopSignals::received();
    training.log.note(run.model->options().decoder_only
                          ? fmt::format("draw texts with: heddle generate {} --samples 10", folder)
                          : fmt::format("translate with: heddle translate --model {} < in > out", folder));
    return 0;
}

// Reports a divergence with what to do, and puts config.toml back unless a save was made with the changed options.
[[noreturn]] void fail_diverged(const TrainCall& call, const CheckedRun& run, Training& training, const Divergence& divergence) {
    const std::filesystem::path& folder = run.folder->path();
    const Divergence told(fmt::format("{}; {}, with --lr X for example", divergence.what(), how_to_go_on(folder)));
    report(call, run, training, told.what());
    const std::vector<std::int64_t> saves = saved_updates(run.path);
    if (saves.empty() || saves.back() <= training.updates_before)
        write_file_atomically(folder / "config.toml", std::string_view(training.config_before));
    throw told;
}

int signal_to_save_on(const TrainingOptions& training) {
    switch (training.save_on_signal) {
        case SaveSignal::none: return 0;
        case SaveSignal::usr1: return SIGUSR1;
        case SaveSignal::usr2: return SIGUSR2;
    }
    return 0;
}

int train(const TrainCall& call) {
    CheckedRun run = check_run(call);
    const std::unique_ptr<Training> training = start(call, run);
    const TrainWatch* const watch = call.watch;
    const StopSignals signals(signal_to_save_on(call.settings.training), watch == nullptr);
    training->trainer.stop_when(
        [watch] { return StopSignals::received() != 0 || (watch != nullptr && watch->stop && watch->stop()); });
    training->trainer.save_when(StopSignals::save_wanted);
    if (watch != nullptr) training->trainer.tell(watch->listener);
    try {
        return finish(call, run, *training, training->trainer.run());
    } catch (const Divergence& divergence) {
        fail_diverged(call, run, *training, divergence);
    }
}

int train_on_this_rank(Arguments arguments, Ranks* ranks, const TrainWatch* watch) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    if (!parse_command_line(table, arguments)) return 0;
    check_together(settings.data);
    survive_failed_writes();
    TrainingLog console({}, watch != nullptr && watch->quiet);
    if (watch != nullptr) console.pass_warnings(watch->warned);
    const TrainCall call{arguments, table, settings, ranks, [&](std::string_view text) { console.note(text); }, watch};
    const auto advice = [&](std::int64_t less) { return batch_advice(settings.training, less, settings.data.resume); };
    const bool brings_vocabulary = is_prepared(settings.data.train);
    return with_memory_advice(advice, [&] {
        return with_preset(
            table, settings.data.preset, [&] { return train(call); }, !brings_vocabulary);
    });
}

}  // namespace

int train_command(Arguments arguments) {
    return on_ranks(
        arguments, [&](Ranks* ranks) { return train_on_this_rank(arguments, ranks, nullptr); }, follow_training);
}

int train_command(Arguments arguments, const TrainWatch& watch) { return train_on_this_rank(arguments, nullptr, &watch); }

}  // namespace heddle::app
