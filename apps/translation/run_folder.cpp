#include "apps/translation/run_folder.h"

#include "core/file.h"
#include "core/format.h"
#include "core/safetensors.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* run_files[] = {"config.toml",
                                     "vocab.model",
                                     "vocab.tsv",
                                     "vocab.source.model",
                                     "vocab.source.tsv",
                                     "vocab.target.model",
                                     "vocab.target.tsv",
                                     "model.safetensors",
                                     "best.safetensors",
                                     "log.jsonl",
                                     "events.out.tfevents.heddle",
                                     "saves"};

// `latest` is a symbolic link: a new one is made beside it and renamed onto it, so that it always names a whole save.
void point_latest_to(const fs::path& saves, const std::string& name) {
    const fs::path fresh = saves / "latest.part";
    fs::remove(fresh);
    fs::create_directory_symlink(name, fresh);
    fs::rename(fresh, saves / "latest");
    sync_folder(saves);
}

}  // namespace

bool RunFolder::is_run(const fs::path& path) {
    return fs::exists(path / "config.toml") || fs::exists(path / "model.safetensors");
}

void RunFolder::check_free(const fs::path& path, bool overwrite) {
    check(overwrite || !is_run(path), "{} holds a run already; choose another --out, or replace it with --overwrite",
          path.string());
}

RunFolder::RunFolder(fs::path path, bool overwrite) : path_(std::move(path)) {
    check_free(path_, overwrite);
    std::error_code failed;
    fs::create_directories(path_, failed);
    check(!failed, "--out {}: the folder cannot be made: {}", path_.string(), failed.message());
    if (is_run(path_))
        for (const char* name : run_files) fs::remove_all(path_ / name);
}

void RunFolder::write_config(std::string_view toml) const { write_file_atomically(path_ / "config.toml", toml); }

void RunFolder::write_model(const nn::NamedTensors& weights) const { save_safetensors(path_ / "model.safetensors", weights); }

void RunFolder::write_best(const nn::NamedTensors& weights) const { save_safetensors(path_ / "best.safetensors", weights); }

void RunFolder::save(std::int64_t update, const nn::NamedTensors& weights, const nn::NamedTensors& moments) const {
    const fs::path saves = path_ / "saves";
    const std::string name = fmt::format("{}", update);
    const fs::path part = saves / (name + ".part");
    fs::remove_all(part);
    fs::create_directories(part);
    save_safetensors(part / "model.safetensors", weights);
    if (!moments.empty()) save_safetensors(part / "moments.safetensors", moments);
    fs::remove_all(saves / name);
    fs::rename(part, saves / name);
    sync_folder(saves);
    point_latest_to(saves, name);
    remove_saves_but(name);
}

void RunFolder::remove_saves_but(const std::string& kept) const {
    for (const auto& entry : fs::directory_iterator(path_ / "saves")) {
        const std::string name = entry.path().filename().string();
        if (name != kept && name != "latest") fs::remove_all(entry.path());
    }
}

}  // namespace heddle::app
