#include <fmt/format.h>

#include "apps/commands.h"
#include "apps/option_rows.h"
#include "apps/run.h"
#include "apps/task_recipes.h"
#include "apps/translation/trainer.h"
#include "apps/translation/translate.h"
#include "core/cpu.h"
#include "core/parallel.h"

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

}  // namespace

int train_command(Arguments arguments) {
    TrainSettings settings;
    OptionTable table = train_table(settings);
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(!settings.data.out.empty(), "train: no folder for the run; give --out RUN");
    RunFolder::check_free(settings.data.out, settings.data.overwrite);
    apply(settings.machine);

    TrainingLog console;
    const Say say = [&](std::string_view text) { console.note(text); };
    Text text = read_text(table, settings, say);
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    Vocabularies vocabularies = make_vocabularies(settings.vocabulary, text.training.training, say);
    const RunFolder folder(settings.data.out, settings.data.overwrite);
    vocabularies.save(folder.path());
    write_test(folder, settings.data, text.test);
    folder.write_config(table.config());

    const TrainingData data = encode_training_data(std::move(text.training), std::move(vocabularies));
    nn::Transformer model(transformer_options(settings.model, data.vocabularies.source->size(), data.vocabularies.target->size()),
                          settings.training.seed);
    say(fmt::format("model: {} parameters; {} threads, {}", grouped_text(model.parameter_count()), threads(), name(cpu_level())));
    TrainingLog log(folder.log());
    Trainer(model, data, settings.training, log, &folder, greedy(data.vocabularies)).run();
    say(fmt::format("translate with: heddle translate --model {} < in > out", settings.data.out));
    return 0;
}

}  // namespace heddle::app
