#include "apps/translation/run/folder.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "apps/translation/run/events.h"
#include "apps/translation/run/json.h"
#include "apps/translation/run/output_folder.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/format.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// In the order of removal: as long as one is left, the folder is recognised as a run.
constexpr const char* run_files[] = {"vocab.model",
                                     "vocab.map.json",
                                     "vocab.tsv",
                                     "vocab.source.model",
                                     "vocab.source.map.json",
                                     "vocab.source.tsv",
                                     "vocab.target.model",
                                     "vocab.target.map.json",
                                     "vocab.target.tsv",
                                     "model.safetensors",
                                     "best.safetensors",
                                     "search.toml",
                                     "log.jsonl",
                                     "report.html",
                                     event_file_name,
                                     scalars_file_name,
                                     "config.toml"};

constexpr const char* save_files[] = {"model.safetensors", "moments.safetensors", "average.safetensors", "best.safetensors",
                                      "state.json"};

// Appended to, never replaced: a file of this name that training did not create loses nothing.
bool is_appended_to(std::string_view name) { return name == "log.jsonl" || name == event_file_name; }

// The first line of each config.toml that heddle train writes. Other programs have files of this name, too: a run's files are
// only removed if this line is there.
constexpr std::string_view config_mark = "# heddle train --config THIS_FILE --out ANOTHER_FOLDER repeats the run\n";

bool is_run(const fs::path& path) {
    return is_there(path / "config.toml") || is_there(path / "model.safetensors") || !saved_updates(path).empty();
}

bool is_marked(const fs::path& config) {
    std::error_code failed;
    if (!fs::is_regular_file(config, failed)) return false;  // reading a named pipe could block
    std::string text(config_mark.size(), '\0');
    return std::ifstream(config, std::ios::binary).read(text.data(), static_cast<std::streamsize>(text.size())) &&
           text == config_mark;
}

// True if training wrote this state of a save.
bool is_state(const fs::path& file) {
    constexpr std::uintmax_t longest = 1 << 20;
    std::error_code failed;
    if (!fs::is_regular_file(file, failed) || fs::file_size(file, failed) > longest || failed) return false;
    try {
        return is_sealed_json(read_regular_file(file));
    } catch (const Error&) {
        return false;
    }
}

// True if training made this folder: it has a run's configuration or a save's state, or it has an empty `saves`, which a run
// makes first, and no configuration yet, because the process was killed before it wrote one.
bool is_ours(const fs::path& path) {
    // Another process may be starting a run here. "Begun, but no config.toml yet" ends when it writes one, so this is tested
    // first.
    std::error_code missing;
    const bool begun = !is_run(path) && fs::is_empty(path / "saves", missing) && !missing;
    const std::vector<std::int64_t> updates = saved_updates(path);
    return begun || is_marked(path / "config.toml") ||
           std::ranges::any_of(updates, [&](std::int64_t update) { return is_state(save_folder(path, update) / "state.json"); });
}

// New name for top-level weights that going back to an earlier save discards.
std::string name_aside(std::string_view kind, std::string_view update) { return fmt::format("{}-{}.safetensors", kind, update); }

bool was_put_aside(const std::string& name) {
    for (const std::string_view kind : {"model", "best"}) {
        const std::size_t begin = kind.size() + 1, end = std::min(name.find_first_not_of("0123456789", begin), name.size());
        if (end > begin && name == name_aside(kind, name.substr(begin, end - begin))) return true;
    }
    return false;
}

void make_subfolder(const fs::path& path) {
    std::error_code failed;
    fs::create_directory(path, failed);
    check_done(failed, "made", path);
}

// Removes a save. A partly removed save has another name, so it is not mistaken for a save; if others put files into the folder,
// it remains with the suffix ".others".
void remove_folder(const fs::path& path) {
    std::error_code failed;
    if (!is_there(path)) return;
    const fs::path part = path.string() + ".old.part";
    fs::remove_all(part, failed);
    rename_onto(path, part);
    for (const char* name : save_files) fs::remove(part / name, failed);
    fs::remove(part, failed);
    if (failed == std::errc::directory_not_empty || failed == std::errc::file_exists) {
        rename_onto(part, path.string() + ".others");
        return;
    }
    check_done(failed, "removed", part);
}

// `latest` is a symbolic link or, on file systems without links (FAT), a file that contains the name. A new one is renamed onto
// it, so that it always names a complete save.
void point_latest_to(const fs::path& saves, const std::string& name) {
    const fs::path fresh = saves / "latest.part", latest = saves / "latest";
    std::error_code failed;
    // If the run was copied by a program that follows links, `latest` is a folder.
    if (fs::is_directory(fs::symlink_status(latest, failed))) remove_folder(latest);
    fs::remove(fresh, failed);
    fs::create_directory_symlink(name, fresh, failed);
    if (failed) write_file_atomically(fresh, name + "\n");
    rename_onto(fresh, latest);
    sync_folder(saves);
}

// Removes incomplete files of a killed process; only this program uses such names. Files that are still being written are kept:
// programs other than training write to a run, too.
void remove_parts(const fs::path& run) {
    std::error_code ignored;
    for (const fs::path& entry : files_in(run)) {
        const std::string name = entry.filename().string();
        const bool ours = name.starts_with(".heddle-") && name.ends_with(".part");
        if (ours && !is_being_written(entry)) fs::remove(entry, ignored);
    }
    for (const fs::path& entry : files_in(run / "saves")) {
        fs::path stem = entry.stem();
        if (stem.extension() == ".old") stem = stem.stem();
        const bool ours = entry.extension() == ".part" && (save_number(stem) >= 0 || stem == "latest");
        if (ours && !is_being_written(entry)) fs::remove_all(entry, ignored);
    }
}

// Removes the files that runs write, and nothing else.
void remove_run(const fs::path& run) {
    std::error_code ignored;
    for (const fs::path& entry : files_in(run))
        if (was_put_aside(entry.filename().string())) fs::remove(entry, ignored);
    for (const std::int64_t update : saved_updates(run)) remove_folder(save_folder(run, update));
    fs::remove(run / "saves" / "latest", ignored);
    for (const char* name : run_files) fs::remove(run / name, ignored);
}

// The last line of config.toml, with its digest.
std::string config_seal(std::string_view toml) {
    return fmt::format("\n# digest {}: by it heddle train --resume sees whether this file was edited\n", digest(toml));
}

}  // namespace

bool config_is_unchanged(const fs::path& run) {
    const std::string config = read_regular_file(run / "config.toml");
    const std::size_t seal = config.rfind("\n# digest ");
    return seal != std::string::npos && config.substr(seal) == config_seal(std::string_view(config).substr(0, seal));
}

bool RunFolder::learned_nothing(const fs::path& path) {
    const bool any_weights =
        std::ranges::any_of(files_in(path), [](const fs::path& entry) { return entry.extension() == ".safetensors"; });
    return !any_weights && saved_updates(path).empty() && is_marked(path / "config.toml") && config_is_unchanged(path);
}

void RunFolder::check_can_begin(const fs::path& path) {
    std::error_code failed;
    if (fs::is_directory(path, failed))
        const RunLock lock(path);
    else
        check_can_make_folder(path, "--out");
}

void RunFolder::check_free(const fs::path& path, bool overwrite) {
    const bool run = is_run(path);
    if (!overwrite && run && !learned_nothing(path)) {
        const bool resumable = !latest_save(path).empty() || !has_weights(path);
        fail_with("{} holds a run already; {} {}), choose another --out, or replace it with --overwrite", path.string(),
                  resumable ? "go on with it (--resume" : "to train on from its weights (--init", path.string());
    }
    const auto present = std::ranges::find_if(
        run_files, [&](const char* name) { return !is_appended_to(name) && fs::exists(fs::symlink_status(path / name)); });
    if (is_ours(path)) return;  // tested last: a process that starts a run just now may have written these files
    check(present == std::end(run_files),
          "{}: heddle train did not write this file, and a run would replace it; choose another --out, or move the file away",
          present == std::end(run_files) ? "" : (path / *present).string());
    check(!run, "{}: heddle train did not make these folders; choose another --out", (path / "saves").string());
}

RunFolder::RunFolder(fs::path path, bool overwrite) : path_(std::move(path)) {
    check_free(path_, overwrite);
    make_folder(path_, "--out");
    lock_ = std::make_unique<RunLock>(path_);
    check_free(path_, overwrite);  // another process may have started a run in between
    if (is_run(path_)) remove_run(path_);
    remove_parts(path_);
    make_subfolder(path_ / "saves");
    sync_folder(path_);
}

RunFolder RunFolder::reopen(fs::path path) {
    check(is_there(path / "config.toml"), "--resume {}: there is no run; wanted a folder that heddle train made", path.string());
    for (const char* name : run_files) {
        std::error_code failed;
        const fs::file_status status = fs::status(path / name, failed);
        check(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status),
              "{}: it is a named pipe, a device or a socket; wanted a regular file", (path / name).string());
    }
    auto lock = std::make_unique<RunLock>(path);
    remove_parts(path);
    return {std::move(path), std::move(lock)};
}

void RunFolder::write_config(std::string_view toml) const {
    lock_->check_unmoved();
    const std::string text = fmt::format("{}{}", toml.starts_with(config_mark) ? "" : config_mark, toml);
    write_file_atomically(path_ / "config.toml", text + config_seal(text));
}

void RunFolder::write_model(const nn::NamedTensors& weights) const {
    lock_->check_unmoved();
    save_weights(path_ / "model.safetensors", weights, identity_);
}

void RunFolder::write_best(const nn::NamedTensors& weights) const {
    lock_->check_unmoved();
    save_weights(path_ / "best.safetensors", weights, identity_);
}

void RunFolder::save(const Save& save, std::int64_t keep) const {
    lock_->check_unmoved();
    const fs::path part = save_folder(path_, save.state.updates).string() + ".part";
    std::error_code ignored;
    fs::remove_all(part, ignored);
    try {
        make_subfolder(path_ / "saves");  // it may have been removed
        make_subfolder(part);
        const WriteMark writing(part);
        sync_logs();
        write_save(part, save, identity_);
        put_in_place(part, save.state.updates);
    } catch (const Error& error) {
        fs::remove_all(part, ignored);  // makes room on a full disk
        fail_with("update {} cannot be saved: {}; {}", save.state.updates, error.what(), how_to_go_on(path_));
    }
    remove_all_but(save.state.updates, keep);
}

std::vector<fs::path> RunFolder::go_on_from(std::int64_t update) const {
    std::vector<fs::path> aside;
    // The order matters: if this is interrupted, `latest` still names a save, or the chosen save and all others still exist, so
    // that it can be chosen again.
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
        if (!is_there(weights)) continue;
        aside.push_back(path_ / name_aside(kind, update));
        rename_onto(weights, aside.back());
    }
    return aside;
}

// A save records the logs' lengths, but does not fail because of them: a run also continues with shorter logs.
void RunFolder::sync_logs() const {
    for (const fs::path& file : {log(), path_ / event_file_name}) {
        try {
            sync_file(file);
        } catch (const Error&) {
        }
    }
}

void RunFolder::put_in_place(const fs::path& part, std::int64_t update) const {
    const fs::path final = save_folder(path_, update);
    remove_folder(final);  // left by a run that was killed before `latest` named it
    rename_onto(part, final);
    sync_folder(path_ / "saves");
    point_latest_to(path_ / "saves", final.filename().string());
}

void RunFolder::remove_all_but(std::int64_t newest, std::int64_t keep) const {
    std::vector<std::int64_t> updates = saved_updates(path_);
    // Higher numbers are later updates of a run that went back to an earlier save: they are discarded.
    std::erase_if(updates, [&](std::int64_t update) {
        if (update > newest) remove_folder(save_folder(path_, update));
        return update > newest;
    });
    while (keep > 0 && static_cast<std::int64_t>(updates.size()) > keep) {
        remove_folder(save_folder(path_, updates.front()));
        updates.erase(updates.begin());
    }
}

std::vector<fs::path> files_of_run(const fs::path& run) {
    std::vector<fs::path> files;
    for (const fs::path& entry : files_in(run)) {
        const std::string name = entry.filename().string();
        const bool known = std::ranges::find(run_files, name) != std::end(run_files);
        if (known || name == lock_file_name || name.starts_with("test.") || was_put_aside(name)) files.push_back(entry);
    }
    for (const std::int64_t update : saved_updates(run))
        for (const fs::path& entry : files_in(save_folder(run, update))) files.push_back(entry);
    return files;
}

}  // namespace heddle::app
