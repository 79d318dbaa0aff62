#include <fmt/format.h>

#include <optional>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/resume.h"
#include "apps/command/run.h"
#include "apps/terminal/option_error.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/prepared/prepared_text.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/training/encode_text.h"
#include "apps/translation/training/stop_signals.h"
#include "core/parallel.h"
#include "core/text.h"

namespace heddle::app {
namespace {

struct PrepareSettings {
    DataOptions data;
    VocabularyRequest vocabulary;
    std::string check;
    std::optional<std::int64_t> threads;
};

OptionTable prepare_table(PrepareSettings& settings) {
    OptionTable table("prepare", "writes the tokens of a large text to files, which heddle train reads without holding them");
    table.usage =
        "usage: heddle prepare --train PREFIX --source de --target en --vocab-lines 1000000 --out TEXT [options]\n"
        "       heddle prepare --check TEXT\n\n"
        "For sentence pairs. The text of a language model needs no command of its own: heddle train --task text --text FILE\n"
        "prepares it in the run's folder if it is larger than --prepare-above.\n";
    table.group(OptionGroup::data);
    table
        .add("train", settings.data.train,
             "sentence pairs: PREFIX.SOURCE and PREFIX.TARGET; read more than once unless --vocab-model is given")
        .called("PREFIX");
    table.add("source", settings.data.source, "file ending of the source language").called("de");
    table.add("target", settings.data.target, "file ending of the target language").called("en");
    add_reading_options(table, settings.data);
    table.add("init", settings.data.init, "use the vocabulary of this run, for heddle train --init RUN").called("RUN");
    table.add("out", settings.data.out, "the folder of the prepared text, to be created: heddle train --train TEXT")
        .called("TEXT")
        .not_in_config();
    table.add("overwrite", settings.data.overwrite, "replace an existing prepared text").not_in_config();
    table.add("check", settings.check, "read this prepared text and compare every digest").called("TEXT").not_in_config();
    add_vocabulary_options(table, settings.vocabulary);
    table.group(OptionGroup::machine);
    table.add("threads", settings.threads, "threads to compute with").at_least(1).at_most(1024).defaults_to("one per processor");
    return table;
}

int check_text(const OptionTable& table, const std::string& folder) {
    for (const Option& option : table.options())
        check_usage(!option.given || option.name == "check",
                    fmt::format("prepare: --check {} reads a prepared text; leave --{} out", folder, option.name));
    const PreparedText text(folder);
    text.check_all();
    text.vocabularies();
    say(fmt::format("{}: {} pairs; all digests are right", folder, grouped_text(text.size())));
    return 0;
}

void check_together(const PrepareSettings& settings) {
    const DataOptions& data = settings.data;
    check_usage(!data.train.empty(), "prepare: no text; give --train PREFIX --source de --target en");
    check_usage(!data.out.empty(), "prepare: no folder for the prepared text; give --out TEXT");
    check_usage(data.train != standard_input || !settings.vocabulary.model_file.empty(),
                "prepare: to learn a vocabulary the text is read more than once; give a file instead of standard input, or a "
                "--vocab-model");
    check_is_plain("train", data.train);
    check_training_text(data);
}

// The vocabulary of another run, and its options.
Vocabularies vocabularies_of_run(const OptionTable& table, const std::string& run, VocabularyRequest& request) {
    for (const Option& option : table.options())
        check_option(!option.given || option.group != OptionGroup::vocabulary, {option.name, "init"},
                     fmt::format("--init {}: the run has its vocabulary; leave --{} out", run, option.name));
    request = read_settings(run).vocabulary;
    return Vocabularies::load(run, request.lowercase);
}

}  // namespace

int prepare_command(Arguments arguments) {
    PrepareSettings settings;
    OptionTable table = prepare_table(settings);
    if (!parse_command_line(table, arguments)) return 0;
    if (!settings.check.empty()) return check_text(table, settings.check);
    const DataOptions& data = settings.data;
    check_together(settings);
    nn::TransformerOptions any_model;
    resolve(any_model, settings.vocabulary);
    take_given(table, settings.vocabulary);
    PreparedWriter::check_free(data.out, data.overwrite);  // before the work
    if (data.overwrite) check_spares_inputs(files_in(data.out), "--out", input_files(data, settings.vocabulary));
    if (settings.threads) set_threads(static_cast<int>(*settings.threads));
    survive_failed_writes();

    const Say notes = [](std::string_view text) { say(text); };
    const Vocabularies vocabularies =
        with_memory_advice([&](std::int64_t less) { return vocabulary_advice(settings.vocabulary, less); },
                           [&] {
                               return data.init.empty() ? learn_vocabularies(data, settings.vocabulary, notes)
                                                        : vocabularies_of_run(table, data.init, settings.vocabulary);
                           });
    PreparedWriter writer(data.out, data.overwrite, vocabularies);
    const std::int64_t left_out = encode_text(data, vocabularies, writer, notes);
    const PreparedHeader header = writer.finish(left_out, decided_options(table));
    say(fmt::format("{}: {} pairs with {} tokens", data.out, grouped_text(header.pairs), grouped_text(header.tokens())));
    say(fmt::format("train with it: heddle train --train {} --out runs/first", shell_word(data.out)));
    return 0;
}

}  // namespace heddle::app
