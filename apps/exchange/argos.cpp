#include "apps/exchange/argos.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/exchange/ctranslate2.h"
#include "apps/exchange/token_lists.h"
#include "apps/exchange/zip.h"
#include "apps/translation/run/json.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::string_view package_ending = ".argosmodel";

/// The files below a folder of these files.
ModelFiles below(const ModelFiles& files, const std::string& folder) {
    return {files.name, [files, folder](const std::string& file) { return files.bytes(folder + file); }};
}

ModelFiles files_of_package(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return files_of_folder(path);
    const auto zip = std::make_shared<const ZipFile>(path);
    std::string folder;
    for (const std::string& name : zip->names()) {
        const std::size_t slash = name.find('/');
        if (slash != std::string::npos && name.substr(slash) == "/metadata.json") folder = name.substr(0, slash + 1);
    }
    check(!folder.empty(), "{}: it has no metadata.json; wanted a package of Argos Translate", path.string());
    return below({path.string(),
                  [zip](const std::string& file) -> std::optional<std::span<const std::byte>> {
                      if (!zip->contains(file)) return std::nullopt;
                      return zip->bytes(file);
                  }},
                 folder);
}

std::string metadata_word(const nlohmann::json& metadata, const char* name) {
    const auto found = metadata.find(name);
    return found != metadata.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

bool is_argos(const std::filesystem::path& path) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed))
        return std::filesystem::exists(path / "metadata.json", failed) &&
               std::filesystem::exists(path / "model/model.bin", failed);
    return path.extension() == package_ending;
}

ExchangedModel read_argos(const std::filesystem::path& path) {
    const ModelFiles files = files_of_package(path);
    const nlohmann::json metadata = bounded_json(text_of(files, "metadata.json", longest_config));
    check(metadata.is_object(), "{}: metadata.json is no JSON object", files.name);
    check(metadata_word(metadata, "target_prefix").empty(), "{}: its translations begin with a word of their own (target_prefix)",
          files.name);
    check(files.bytes("sentencepiece.model").has_value(), "{}: it has no sentencepiece.model; one with bpe.model cannot be read",
          files.name);
    const ModelFiles of_model = below(files, "model/");
    const nlohmann::json config = bounded_json(text_of(of_model, "config.json", longest_config));
    check(config.is_object() && config.value("add_source_eos", nlohmann::json(false)) == nlohmann::json(true),
          "{}: its model reads sources without an end mark (add_source_eos is not true in model/config.json), and Heddle's have "
          "one",
          files.name);
    ExchangedModel model = read_ctranslate2(of_model, {text_of(files, "sentencepiece.model", largest_model)});
    model.source_language = metadata_word(metadata, "from_code");
    model.target_language = metadata_word(metadata, "to_code");
    return model;
}

Export to_argos(const ExchangedModel& model, ExportDType dtype, std::string_view name) {
    const std::string &from = model.source_language, &to = model.target_language;
    for (const std::string& language : {from, to})
        check(!language.empty() &&
                  std::ranges::all_of(language,
                                      [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }),
              "{}: a package needs the codes of its languages; give --languages de en", name);
    if (!model.one_file) {
        const std::vector<std::string> target = token_texts(model.target, name);
        check(std::ranges::find(target, "<0x0A>") == target.end(),
              "{}: source and target have two SentencePiece models, and the target's spells out bytes; Argos Translate has one "
              "model for "
              "both: export it --to ctranslate2",
              name);
    }
    Export made = to_ctranslate2(model, dtype, name), out;
    const std::string folder = fmt::format("translate-{}_{}-1_0/", from, to);
    nlohmann::ordered_json metadata;
    metadata["package_version"] = "1.0";
    metadata["argos_version"] = "1.9";
    metadata["from_code"] = from;
    metadata["from_name"] = from;
    metadata["to_code"] = to;
    metadata["to_name"] = to;
    metadata["type"] = "translate";
    out.files.push_back({folder + "metadata.json", json_text(metadata, 2) + "\n"});
    out.files.push_back({folder + "sentencepiece.model", model.source.sentencepiece});
    for (ExportedFile& file : made.files)
        if (!file.name.ends_with(".spm") && file.name != "sentencepiece.model")
            out.files.push_back({folder + "model/" + file.name, std::move(file.bytes)});
    out.notes.push_back("install it with argospm install FILE, or argostranslate.package.install_from_path");
    return out;
}

}  // namespace heddle::app
