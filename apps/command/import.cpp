#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/command/run_search.h"
#include "apps/exchange/argos.h"
#include "apps/exchange/ctranslate2.h"
#include "apps/exchange/exchanged_model.h"
#include "apps/exchange/huggingface.h"
#include "apps/exchange/marian.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/training/stop_signals.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
    std::string model;
    std::vector<std::string> vocabularies;
    std::string source, target;
    std::string out;
    bool overwrite = false;
};

OptionTable import_table(ImportOptions& options) {
    OptionTable table("import", "makes a run of a model of Marian, Hugging Face (MarianMT), CTranslate2 or Argos Translate");
    table.usage =
        "usage: heddle import FOLDER --out RUN\n"
        "       heddle import model.npz --vocab vocab.spm --out RUN\n\n"
        "The run translates, scores, is evaluated and averaged, and begins another training (heddle train --init RUN) like one "
        "that\n"
        "heddle train made. heddle export is the way back. docs/exchange.md says what can be imported and what cannot.\n";
    table.group(OptionGroup::files);
    table
        .add("model", options.model,
             "model.npz, an .argosmodel, or a folder of Marian, Hugging Face or CTranslate2, told apart by their files")
        .called("FILE")
        .positional();
    table
        .add("vocab", options.vocabularies,
             "Marian and CTranslate2: the .spm vocabulary, or those of source and target; else those beside the model")
        .called("FILE...");
    table.add("source", options.source, "file ending of the source language, for heddle evaluate RUN --test PREFIX").called("de");
    table.add("target", options.target, "file ending of the target language").called("en");
    table.add("out", options.out, "the run's folder, to be created").called("RUN");
    table.add("overwrite", options.overwrite, "replace an existing run");
    return table;
}

// Forms of models that are not read, by the ending of a file.
struct OtherForm {
    const char* ending;
    const char* what;
};
constexpr OtherForm other_forms[] = {
    {".onnx", "an ONNX graph without the names of a model's weights; a MarianMT model that it was made from can be imported"},
    {".gguf", "a GGUF file, which holds a language model, and Heddle's models translate"},
    {".pt",
     "a checkpoint of fairseq, OpenNMT-py or PyTorch; one of fairseq can be converted with ct2-fairseq-converter and then "
     "imported, the others cannot"},
    {".ckpt", "a checkpoint of JoeyNMT or PyTorch Lightning, which cannot be imported"},
    {".h5", "a model of Keras; import its form of Hugging Face with model.safetensors"},
    {".msgpack", "a model of Flax; import its form of Hugging Face with model.safetensors"},
};

[[noreturn]] void fail_unknown_form(const fs::path& path) {
    std::vector<fs::path> files{path};
    if (fs::is_directory(path))
        for (const fs::directory_entry& entry : fs::directory_iterator(path)) files.push_back(entry.path());
    std::ranges::sort(files);
    for (const fs::path& file : files)
        for (const OtherForm& form : other_forms)
            if (file.extension() == form.ending) fail_with("{}: this is {}", file.string(), form.what);
    fail_with(
        "{}: no model that can be imported was found; wanted model.npz (Marian), config.json with model.safetensors (Hugging "
        "Face's "
        "MarianMT), model.bin (CTranslate2) or an .argosmodel; see docs/exchange.md",
        path.string());
}

ExchangedModel read_model(const ImportOptions& options) {
    const fs::path path = options.model;
    check(fs::exists(path), "{}: there is no such file or folder", path.string());
    check(!fs::exists(path / "config.toml"), "{}: this is a run of Heddle, which needs no import", path.string());
    const std::vector<fs::path> vocabularies(options.vocabularies.begin(), options.vocabularies.end());
    if (is_marian(path)) return read_marian(path, vocabularies);
    const bool folder = fs::is_directory(path);
    for (const char* file : {"config.json", "model.safetensors", "pytorch_model.bin", "model.bin"})
        check(folder || path.filename() != file, "{}: this is one file of a model; give its folder", path.string());
    if (folder && is_ctranslate2(path)) return read_ctranslate2(path, vocabularies);
    check_usage(vocabularies.empty(),
                fmt::format("import: {}: the model brings its vocabulary; leave --vocab out", options.model));
    if (is_argos(path)) return read_argos(path);
    if (folder && is_huggingface(path)) return read_huggingface(path);
    fail_unknown_form(path);
}

// The configuration of a run with this model; how it was trained is not known.
TrainSettings settings_of(const ImportOptions& options, const HeddleModel& model) {
    TrainSettings settings;
    settings.data.source = options.source;
    settings.data.target = options.target;
    settings.model = model.model->options();
    settings.model.layers = *settings.model.encoder_layers;
    settings.vocabulary.type = model.vocabularies.source->type();
    settings.vocabulary.shared = model.vocabularies.shared() || settings.model.one_embedding();
    settings.vocabulary.normalization = model.vocabularies.source->normalization();
    resolve(settings.model, settings.vocabulary);
    resolve(settings.training);
    return settings;
}

void write_run(const ImportOptions& options, TrainSettings& settings, const HeddleModel& model, std::optional<double> penalty) {
    const OptionTable table = train_table(settings);
    RunFolder folder(options.out, options.overwrite);
    model.vocabularies.save(folder.path());
    folder.identify(model_identity(settings, folder.path()));
    folder.write_model(model.model->named_tensors());
    if (model.forbid_unknown || penalty)
        write_search(folder.path(), {.length_penalty = penalty, .forbid_unknown = model.forbid_unknown});
    folder.write_config(table.config());  // makes it a run
}

void import_model(ImportOptions options) {
    ExchangedModel read = read_model(options);
    const std::vector<std::string> notes = read.notes;
    const std::optional<double> penalty = read.length_penalty;
    if (options.source.empty()) options.source = read.source_language;
    if (options.target.empty()) options.target = read.target_language;
    const HeddleModel model = to_heddle(std::move(read), options.model);
    TrainSettings settings = settings_of(options, model);
    write_run(options, settings, model, penalty);
    for (const std::string& note : notes) say("note: " + note);
    const nn::TransformerOptions& built = model.model->options();
    say(fmt::format("{}: {} parameters, {} + {} layers of width {}, {} source and {} target tokens", options.out,
                    grouped_text(model.model->parameter_count()), *built.encoder_layers, *built.decoder_layers, built.d_model,
                    grouped_text(model.vocabularies.source->size()), grouped_text(model.vocabularies.target->size())));
    say(fmt::format("translate with: heddle translate --model {} < in > out", shell_word(options.out)));
}

}  // namespace

int import_command(Arguments arguments) {
    ImportOptions options;
    OptionTable table = import_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_usage(!options.model.empty(), "import: no model; give heddle import FOLDER --out RUN");
    check_usage(!options.out.empty(), "import: no folder for the run; give --out RUN");
    check_usage(options.vocabularies.size() <= 2, "import: --vocab is one vocabulary for both sides, or one for each");
    RunFolder::check_free(options.out, options.overwrite);
    survive_failed_writes();
    with_memory_advice([] { return more_memory; }, [&] { import_model(options); });
    return 0;
}

}  // namespace heddle::app
