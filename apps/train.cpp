#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/option_rows.h"
#include "apps/resume.h"
#include "apps/run.h"
#include "apps/task_recipes.h"
#include "apps/translation/stop_signals.h"
#include "apps/translation/trainer.h"
#include "apps/translation/translate.h"
#include "core/cpu.h"
#include "core/parallel.h"
#include "nn/serialize.h"

namespace heddle::app {
namespace {

// The text to learn from, and the test sentences of a task.
struct Text {
    TrainingText training;
    Corpus test;
};

Text generated_text(OptionTable& table, TrainSettings& settings, const Say& say) {
    check_usage(settings.data.train.empty() && settings.data.valid.empty(),
                "--task and --train are two sources of sentences; give one of them");
    TaskCorpus task = generate_task(settings.data.task, settings.training.seed);
    say(fmt::format("task {}: {}", task.name, task.description));
    const std::string recipe = apply_recipe(table, task);
    if (!recipe.empty()) say(fmt::format("the task sets {}; what you give yourself goes first", recipe));
    settings.data.source = task.source_language;
    settings.data.target = task.target_language;
    return {.training = {.training = std::move(task.training), .validation = std::move(task.validation)},
            .test = std::move(task.test)};
}

Text read_text(OptionTable& table, TrainSettings& settings, const Say& say) {
    if (!settings.data.task.empty()) return generated_text(table, settings, say);
    return {.training = read_training_text(settings.data, say), .test = {}};
}

void write_test(const RunFolder& folder, const DataOptions& data, const Corpus& test) {
    if (test.pairs.empty()) return;
    write_lines(folder.path() / ("test." + data.source), test.sources());
    write_lines(folder.path() / ("test." + data.target), test.targets());
}

TranslateLines greedy(const Vocabularies& vocabularies) {
    return [vocabularies](const nn::Transformer& model, const std::vector<std::string>& lines) {
        DecodeOptions options;
        options.beam = 1;
        return translate_lines(model, vocabularies, lines, options);
    };
}

// The weights of another run, which has the same model and vocabulary.
void load_initial_weights(nn::Transformer& model, const std::filesystem::path& run, const ModelIdentity& identity) {
    nn::load(model.named_tensors(), open_weights(run / weights_file("average"), identity));
}

// Of a run that has weights already, after a look at whether they belong to it.
Vocabularies known_vocabularies(const TrainSettings& settings, const std::filesystem::path& run,
                                const std::filesystem::path& weights) {
    if (!weights.empty()) open_weights(weights, model_identity(settings, run));
    return Vocabularies::load(run, settings.vocabulary.lowercase);
}

Vocabularies vocabularies_of(TrainSettings& settings, const Corpus& text, const Say& say) {
    const DataOptions& data = settings.data;
    if (!data.resume.empty()) {
        const std::filesystem::path save = latest_save(data.resume);
        return known_vocabularies(settings, data.resume, save.empty() ? save : save / "model.safetensors");
    }
    if (!data.init.empty())
        return known_vocabularies(settings, data.init, std::filesystem::path(data.init) / weights_file("average"));
    return make_vocabularies(settings.vocabulary, text, say);
}

// Where a run begins: its last save, another run's weights, or new ones.
void begin(Trainer& trainer, nn::Transformer& model, const RunFolder& folder, const DataOptions& data, TrainingLog& log) {
    const std::filesystem::path save = latest_save(folder.path());
    if (!save.empty()) {
        trainer.resume(save);
        log.note(fmt::format("goes on from update {}", grouped_text(trainer.state().updates)));
        return;
    }
    log.cut_back({});
    if (data.init.empty()) return;
    load_initial_weights(model, data.init, folder.identity());
    log.note(fmt::format("begins with the weights of {}", data.init));
    trainer.save_now();  // that run may be changed later
}

int train(Trainer& trainer, const std::string& run, const Say& say) {
    const StopSignals signals;
    trainer.stop_when([] { return StopSignals::received() != 0; });
    try {
        const TrainingResult result = trainer.run();
        if (!result.stopped) {
            say(fmt::format("translate with: heddle translate --model {} < in > out", run));
            return 0;
        }
        say(fmt::format("stopped by {} after update {} and saved; go on with: heddle train --resume {}",
                        signal_name(StopSignals::received()), grouped_text(result.updates), run));
        return 128 + StopSignals::received();
    } catch (const Divergence& divergence) {
        throw Divergence(
            fmt::format("{}; the save before stays: heddle train --resume {} --lr X goes on from there", divergence.what(), run));
    }
}

}  // namespace

int train_command(Arguments arguments) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    if (!parse_command_line(table, arguments)) return 0;
    const std::string resumed = settings.data.resume, run = resumed.empty() ? settings.data.out : resumed;
    check_usage(!run.empty(), "train: no folder for the run; give --out RUN");
    check_usage(resumed.empty() || settings.data.out.empty(), "train: --resume and --out are two folders; give one of them");
    std::vector<std::string> changes;
    if (resumed.empty()) {
        RunFolder::check_free(run, settings.data.overwrite);
        if (!settings.data.init.empty()) take_over_model(table, settings.data.init);
    } else {
        changes = take_over_run(table, run);
    }
    apply(settings.machine);

    TrainingLog console;
    const Say say = [&](std::string_view text) { console.note(text); };
    std::optional<RunFolder> folder;
    if (!resumed.empty()) folder = RunFolder::reopen(run);
    Text text = read_text(table, settings, say);
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    Vocabularies vocabularies = vocabularies_of(settings, text.training.training, say);
    if (!folder) {
        folder.emplace(run, settings.data.overwrite);
        vocabularies.save(folder->path());
        write_test(*folder, settings.data, text.test);
        folder->write_config(table.config());  // last: now it is a run
    }
    folder->identify(model_identity(settings, folder->path()));

    const TrainingData data = encode_training_data(std::move(text.training), std::move(vocabularies));
    nn::Transformer model(transformer_options(settings.model, data.vocabularies.source->size(), data.vocabularies.target->size()),
                          settings.training.seed);
    say(fmt::format("model: {} parameters; {} threads, {}", grouped_text(model.parameter_count()), threads(), name(cpu_level())));
    TrainingLog log(folder->log());
    Trainer trainer(model, data, settings.training, log, &*folder, greedy(data.vocabularies));
    begin(trainer, model, *folder, settings.data, log);
    for (const std::string& change : changes) log.note("changed: " + change);
    if (!changes.empty()) folder->write_config(table.config());
    return train(trainer, run, say);
}

}  // namespace heddle::app
