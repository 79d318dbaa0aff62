// heddle export RUN --to FORMAT OUT: a run as a model of another toolkit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>

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
#include "apps/exchange/zip.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/folder.h"
#include "apps/translation/run/output_folder.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {

namespace {

enum class Format : std::uint8_t { huggingface, marian, ctranslate2, argos };
constexpr auto enum_words(Format) {
    return words_for<Format>({{Format::huggingface, "huggingface"},
                              {Format::marian, "marian"},
                              {Format::ctranslate2, "ctranslate2"},
                              {Format::argos, "argos"}});
}

struct ExportOptions {
    std::pair<std::string, std::string> paths;  // the run, and what to write
    std::optional<Format> to;
    ExportDType dtype = ExportDType::f32;
    std::pair<std::string, std::string> languages;
    WeightsChoice weights;
    bool overwrite = false;
};

/// Files that a toolkit reads when they lie in the folder.
std::vector<std::string> files_of_format(Format format) {
    switch (format) {
        case Format::huggingface:
            return {"config.json",
                    "generation_config.json",
                    "tokenizer_config.json",
                    "special_tokens_map.json",
                    "added_tokens.json",
                    "model.safetensors",
                    "model.safetensors.index.json",
                    "pytorch_model.bin",
                    "pytorch_model.bin.index.json",
                    "source.spm",
                    "target.spm",
                    "vocab.json",
                    "target_vocab.json"};
        case Format::ctranslate2:
            return {"model.bin",
                    "config.json",
                    "vmap.txt",
                    "shared_vocabulary.json",
                    "shared_vocabulary.txt",
                    "source_vocabulary.json",
                    "source_vocabulary.txt",
                    "target_vocabulary.json",
                    "target_vocabulary.txt",
                    "sentencepiece.model",
                    "source.spm",
                    "target.spm"};
        case Format::marian:
            return {"model.npz",  "model.npz.yml", "model.npz.decoder.yml", "decoder.yml", "vocab.spm",
                    "source.spm", "target.spm"};
        case Format::argos: break;
    }
    return {};
}

void check_output(const ExportOptions& options) {
    const std::filesystem::path out = options.paths.second;
    std::error_code failed;
    if (*options.to == Format::argos) {
        check_usage(
            out.extension() == ".argosmodel",
            fmt::format("export: a package of Argos Translate is one file; give a name that ends in .argosmodel instead of {}",
                        out.string()));
        check(options.overwrite || !is_there(out), "export: {} exists; give another name, or --overwrite", out.string());
        check_can_write_file(out, "export", files_of_run(options.paths.first));
        return;
    }
    check(!std::filesystem::equivalent(out, options.paths.first, failed), "export: {} is the run itself; give another folder",
          out.string());
    check(!is_there(out / "config.toml"), "export: {} is a run of Heddle; give another folder", out.string());
    check(options.overwrite || files_in(out).empty(),
          "export: {} is not empty; give another folder, or --overwrite to replace the files "
          "of a model in it",
          out.string());
    check_can_make_folder(out, "export");
}

void write_files(const Export& made, Format format, const std::filesystem::path& out) {
    if (format == Format::argos) {
        ZipWriter zip(out);
        for (const ExportedFile& file : made.files) zip.add(file.name, file.bytes);
        zip.commit();
        return;
    }
    for (const ExportedFile& file : made.files) write_file_atomically(out / file.name, file.bytes);
}

/// The files of an earlier model, of whichever toolkit, would contradict those of this one.
void remove_earlier(const Export& made, const std::filesystem::path& out) {
    for (const Format format : {Format::huggingface, Format::marian, Format::ctranslate2})
        for (const std::string& name : files_of_format(format)) {
            if (std::ranges::find(made.files, name, &ExportedFile::name) != made.files.end()) continue;
            std::error_code failed;
            std::filesystem::remove(out / name, failed);
            check_done(failed, "removed", out / name);
        }
}

void export_run(const ExportOptions& options) {
    const auto& [run, out] = options.paths;
    check_translates("export", run);
    const Run opened = open_run(run, weights_file(options.weights, run));
    const RunSearch search = read_search(run);
    ExchangedModel model = from_heddle(*opened.model, opened.vocabularies, search.forbid_unknown, run);
    model.length_penalty = search.length_penalty;
    const bool given = !options.languages.first.empty();
    model.source_language = given ? options.languages.first : opened.settings.data.source;
    model.target_language = given ? options.languages.second : opened.settings.data.target;
    Export made;
    switch (*options.to) {
        case Format::huggingface: made = to_huggingface(model, options.dtype, run); break;
        case Format::ctranslate2: made = to_ctranslate2(model, options.dtype, run); break;
        case Format::argos: made = to_argos(model, options.dtype, run); break;
        case Format::marian: made = to_marian(model, options.dtype, run); break;
    }
    if (*options.to != Format::argos) make_folder(out, "export");
    write_files(made, *options.to, out);
    if (*options.to != Format::argos) remove_earlier(made, out);
    for (const std::string& note : made.notes) say("note: " + note);
    say(fmt::format("{}: {}", out, description(run, opened, options.weights)));
}

}  // namespace

int export_command(Arguments arguments) {
    ExportOptions options;
    OptionTable table("export", "writes a run as a model of another toolkit");
    table.usage =
        "usage: heddle export RUN --to huggingface FOLDER\n"
        "       heddle export RUN --to argos FILE.argosmodel --languages de en\n";
    table.group(OptionGroup::files);
    table.add("model", options.paths, "the run's folder, and the folder or, for argos, the file to write")
        .called("RUN OUT")
        .positional();
    table.add("to", options.to, "the toolkit: Hugging Face's transformers, Marian, CTranslate2 or Argos Translate");
    table.add("dtype", options.dtype, "of the weights in the files; f16 rounds them");
    table.add("languages", options.languages, "the codes of the languages, as de en, that huggingface and argos write down")
        .called("FROM TO")
        .defaults_to("--source and --target of the training");
    table.add("overwrite", options.overwrite, "replace the files of a model in OUT");
    table.group(OptionGroup::which_model);
    add_weights_option(table, options.weights);
    if (!parse_command_line(table, arguments)) return 0;
    check_weights(table);
    check_usage(
        !options.paths.first.empty() && !options.paths.second.empty(),
        "export: wanted heddle export RUN --to FORMAT OUT, a folder that heddle train or heddle import made, and what to write");
    check_usage(options.to.has_value(), fmt::format("export: no format; give --to {}", fmt::join(words_of<Format>(), "|")));
    check_usage(!table.given("languages") || *options.to == Format::huggingface || *options.to == Format::argos,
                fmt::format("export: models of {} do not name their languages; leave --languages out", word_of(*options.to)));
    check_output(options);
    with_memory_advice([] { return more_memory; }, [&] { export_run(options); });
    return 0;
}

}  // namespace heddle::app
