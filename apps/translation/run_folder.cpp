#include "apps/translation/run_folder.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "apps/output.h"
#include "apps/output_folder.h"
#include "apps/translation/event_file.h"
#include "apps/translation/training_log.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// In the order in which they are removed: while one is left, the folder is known as a run.
constexpr const char* run_files[] = {"vocab.model",        "vocab.tsv",
                                     "vocab.source.model", "vocab.source.tsv",
                                     "vocab.target.model", "vocab.target.tsv",
                                     "model.safetensors",  "best.safetensors",
                                     "search.toml",        "log.jsonl",
                                     "report.html",        event_file_name,
                                     scalars_file_name,    "saves",
                                     "config.toml"};

bool is_run(const fs::path& path) {
    return fs::exists(path / "config.toml") || fs::exists(path / "model.safetensors") || !saved_updates(path).empty();
}

// The file that the weights on top become when the run leaves the future that they are of.
std::string name_aside(std::string_view kind, std::string_view update) { return fmt::format("{}-{}.safetensors", kind, update); }

bool was_put_aside(const std::string& name) {
    for (const std::string_view kind : {"model", "best"}) {
        const std::size_t begin = kind.size() + 1, end = std::min(name.find_first_not_of("0123456789", begin), name.size());
        if (end > begin && name == name_aside(kind, name.substr(begin, end - begin))) return true;
    }
    return false;
}

void must(const std::error_code& failed, const char* what, const fs::path& path) {
    check(!failed, "{}: cannot be {}: {}", path.string(), what, failed.message());
}

void make_subfolder(const fs::path& path) {
    std::error_code failed;
    fs::create_directory(path, failed);
    must(failed, "made", path);
}

void rename_onto(const fs::path& from, const fs::path& to) {
    std::error_code failed;
    fs::rename(from, to, failed);
    must(failed, "written", to);
}

// A folder that is half removed has another name, so nobody takes it for a save.
void remove_folder(const fs::path& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) return;
    const fs::path part = path.string() + ".old.part";
    fs::remove_all(part, failed);
    rename_onto(path, part);
    fs::remove_all(part, failed);
    must(failed, "removed", part);
}

// `latest` is a symbolic link: a new one is made beside it and renamed onto it, so that it always names a whole save.
void point_latest_to(const fs::path& saves, const std::string& name) {
    const fs::path fresh = saves / "latest.part";
    std::error_code failed;
    fs::remove(fresh, failed);
    fs::create_directory_symlink(name, fresh, failed);
    must(failed, "made", fresh);
    // A copy of the run that followed links has a folder there.
    if (!fs::is_symlink(saves / "latest", failed)) remove_folder(saves / "latest");
    rename_onto(fresh, saves / "latest");
    sync_folder(saves);
}

// The number that a save's folder is called by; -1 for every other name.
std::int64_t save_number(const fs::path& path) {
    const std::string name = path.filename().string();
    std::int64_t number = -1;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    return failed == std::errc{} && end == name.data() + name.size() ? number : -1;
}

// What a process that was killed left half written; files of these names are nobody else's.
void remove_parts(const fs::path& run) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(run, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(".heddle-") && name.ends_with(".part")) fs::remove(entry.path(), ignored);
    }
    for (const auto& entry : fs::directory_iterator(run / "saves", ignored)) {
        fs::path stem = entry.path().stem();
        if (stem.extension() == ".old") stem = stem.stem();
        const bool ours = save_number(stem) >= 0 || stem == "latest";
        if (ours && entry.path().extension() == ".part") fs::remove_all(entry.path(), ignored);
    }
}

}  // namespace

void RunFolder::check_free(const fs::path& path, bool overwrite) {
    check(overwrite || !is_run(path),
          "{} holds a run already; go on with it (--resume {}), choose another --out, or replace it with --overwrite",
          path.string(), path.string());
}

RunFolder::RunFolder(fs::path path, bool overwrite) : path_(std::move(path)) {
    check_free(path_, overwrite);
    make_folder(path_, "--out");
    lock_ = std::make_unique<RunLock>(path_);
    check_free(path_, overwrite);  // another process may have begun in between
    std::error_code ignored;
    if (is_run(path_)) {
        for (const auto& entry : fs::directory_iterator(path_, ignored))
            if (was_put_aside(entry.path().filename().string())) fs::remove(entry.path(), ignored);
        for (const char* name : run_files) fs::remove_all(path_ / name, ignored);
    }
    remove_parts(path_);
    make_subfolder(path_ / "saves");
    sync_folder(path_);
}

RunFolder RunFolder::reopen(fs::path path) {
    check(fs::exists(path / "config.toml"), "--resume {}: there is no run; wanted a folder that heddle train made",
          path.string());
    for (const char* name : run_files) {
        const fs::file_status status = fs::status(path / name);
        check(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status),
              "{}: it is a named pipe, a device or a socket; wanted a regular file", (path / name).string());
    }
    auto lock = std::make_unique<RunLock>(path);
    remove_parts(path);
    return {std::move(path), std::move(lock)};
}

void RunFolder::write_config(std::string_view toml) const { write_file_atomically(path_ / "config.toml", toml); }

void RunFolder::write_model(const nn::NamedTensors& weights) const {
    save_weights(path_ / "model.safetensors", weights, identity_);
}

void RunFolder::write_best(const nn::NamedTensors& weights) const {
    save_weights(path_ / "best.safetensors", weights, identity_);
}

void RunFolder::save(const Save& save, std::int64_t keep) const {
    const fs::path part = save_folder(path_, save.state.updates).string() + ".part";
    std::error_code ignored;
    fs::remove_all(part, ignored);
    try {
        make_subfolder(part);
        // Their lengths are in the save.
        for (const fs::path& file : {log(), path_ / event_file_name}) sync_file(file);
        write_save(part, save, identity_);
        put_in_place(part, save.state.updates);
    } catch (const Error& error) {
        fs::remove_all(part, ignored);  // room on a full disk
        fail_with("update {} cannot be saved: {}; {}", save.state.updates, error.what(), how_to_go_on(path_));
    }
    remove_all_but(save.state.updates, keep);
}

std::vector<fs::path> RunFolder::go_on_from(std::int64_t update) const {
    std::vector<fs::path> aside;
    // In this order: who is stopped in between finds a save at `latest`, and the chosen one with all others still there can be
    // chosen again.
    if (const fs::path left = latest_save(path_); left != save_folder(path_, update)) {
        aside = put_weights_aside(left.filename().string());
        point_latest_to(path_ / "saves", std::to_string(update));
    }
    remove_all_but(update, 0);
    return aside;
}

std::vector<fs::path> RunFolder::put_weights_aside(const std::string& update) const {
    std::vector<fs::path> aside;
    for (const char* kind : {"model", "best"}) {
        const fs::path weights = path_ / fmt::format("{}.safetensors", kind);
        if (!fs::exists(weights)) continue;
        aside.push_back(path_ / name_aside(kind, update));
        rename_onto(weights, aside.back());
    }
    return aside;
}

void RunFolder::put_in_place(const fs::path& part, std::int64_t update) const {
    const fs::path final = save_folder(path_, update);
    remove_folder(final);  // left by a run that did not come to name it `latest`
    rename_onto(part, final);
    sync_folder(path_ / "saves");
    point_latest_to(path_ / "saves", final.filename().string());
}

void RunFolder::remove_all_but(std::int64_t newest, std::int64_t keep) const {
    std::vector<std::int64_t> updates = saved_updates(path_);
    // Higher numbers are of a future that this run, which went on from an older save, will not have.
    std::erase_if(updates, [&](std::int64_t update) {
        if (update > newest) remove_folder(save_folder(path_, update));
        return update > newest;
    });
    while (keep > 0 && static_cast<std::int64_t>(updates.size()) > keep) {
        remove_folder(save_folder(path_, updates.front()));
        updates.erase(updates.begin());
    }
}

std::string how_to_go_on(const fs::path& run) {
    const fs::path save = latest_save(run);
    const std::string name = shell_word(run.string());
    if (save.empty()) return fmt::format("nothing was saved before; heddle train --resume {} begins again", name);
    return fmt::format("the save of update {} is whole; heddle train --resume {} goes on from there", save.filename().string(),
                       name);
}

fs::path save_of_epoch(const fs::path& run, std::int64_t epoch) {
    check(fs::exists(run / "config.toml"), "{}: there is no run; wanted a folder that heddle train made", run.string());
    std::vector<std::int64_t> epochs;
    fs::path found;
    for (const std::int64_t update : saved_updates(run)) {
        const TrainingState state = read_state(save_folder(run, update));
        if (!state.epoch_is_over()) continue;
        epochs.push_back(state.epoch);
        if (state.epoch == epoch) found = save_folder(run, update);
    }
    const std::string there =
        epochs.empty() ? "none of the end of an epoch"
                       : fmt::format("{} of the end of an epoch, from {} to {}", epochs.size(), epochs.front(), epochs.back());
    check(!found.empty(),
          "{}: there is no save of the end of epoch {}; it has {}. Train with --keep 0 and --save-every 0 to keep one "
          "of each epoch",
          run.string(), epoch, there);
    return found;
}

std::vector<std::int64_t> saved_updates(const fs::path& run) {
    std::vector<std::int64_t> updates;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(run / "saves", ignored))
        if (const std::int64_t number = save_number(entry.path()); number >= 0) updates.push_back(number);
    std::sort(updates.begin(), updates.end());
    return updates;
}

fs::path save_folder(const fs::path& run, std::int64_t update) { return run / "saves" / fmt::format("{}", update); }

fs::path latest_save(const fs::path& run) {
    std::error_code ignored;
    const fs::path named = fs::read_symlink(run / "saves" / "latest", ignored);
    if (!named.empty() && fs::is_directory(run / "saves" / named, ignored)) return run / "saves" / named;
    const std::vector<std::int64_t> updates = saved_updates(run);
    return updates.empty() ? fs::path() : save_folder(run, updates.back());
}

}  // namespace heddle::app
