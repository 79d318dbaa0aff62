#include "apps/translation/run/saves.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "apps/translation/run/output_folder.h"
#include "apps/translation/run/save.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// The command that starts a new run from the weights of a run without a save.
std::string new_run_from(const fs::path& run) {
    const std::string name = shell_word(run.string());
    const std::string begin =
        is_there(run / "model.safetensors") ? "" : fmt::format("copy {0}/best.safetensors to {0}/model.safetensors, then ", name);
    return fmt::format("{0}heddle train --config {1} --init {2} --out NEW", begin, shell_word((run / "config.toml").string()),
                       name);
}

// The save named by `latest`, which is a link or a file; empty when it is neither.
std::string named_latest(const fs::path& latest) {
    std::error_code failed;
    if (const fs::path link = fs::read_symlink(latest, failed); !failed) return link.string();
    std::string name;
    if (fs::is_regular_file(latest, failed)) std::getline(std::ifstream(latest), name);
    return name;
}

}  // namespace

std::int64_t save_number(const fs::path& path) {
    const std::string name = path.filename().string();
    std::int64_t number = -1;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    return failed == std::errc{} && end == name.data() + name.size() ? number : -1;
}

bool has_weights(const fs::path& run) { return is_there(run / "model.safetensors") || is_there(run / "best.safetensors"); }

void check_can_resume(const fs::path& path) {
    check(!latest_save(path).empty() || !has_weights(path),
          "--resume {}: the run has weights but no save, so it would begin again and overwrite them; train on from these weights "
          "in a new folder: {}",
          path.string(), new_run_from(path));
}

std::string how_to_go_on(const fs::path& run) {
    const fs::path save = latest_save(run);
    const std::string name = shell_word(run.string());
    if (!save.empty())
        return fmt::format("the save of update {} is whole; heddle train --resume {} goes on from there",
                           save.filename().string(), name);
    if (has_weights(run))
        return fmt::format("there is no save, but the run has weights; train on from them: {}", new_run_from(run));
    return fmt::format("nothing was saved before; heddle train --resume {} begins again", name);
}

std::string how_to_go_on_without(const fs::path& save) {
    const fs::path run = save.parent_path().parent_path();
    std::vector<std::int64_t> others = saved_updates(run);
    std::erase(others, save_number(save));
    if (!others.empty())
        return fmt::format("delete the folder {}: heddle train --resume {} then goes on from update {}",
                           shell_word(save.string()), shell_word(run.string()), others.back());
    if (has_weights(run)) return fmt::format("the run has no other save; train on from its weights: {}", new_run_from(run));
    return fmt::format("the run has no other save; begin again: heddle train --config {} --out {} --overwrite",
                       shell_word((run / "config.toml").string()), shell_word(run.string()));
}

fs::path save_of_epoch(const fs::path& run, std::int64_t epoch) {
    check(is_there(run / "config.toml"), "{}: there is no run; wanted a folder that heddle train made", run.string());
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
    for (const fs::path& entry : files_in(run / "saves"))
        if (const std::int64_t number = save_number(entry); number >= 0) updates.push_back(number);
    std::sort(updates.begin(), updates.end());
    return updates;
}

fs::path save_folder(const fs::path& run, std::int64_t update) { return run / "saves" / fmt::format("{}", update); }

fs::path latest_save(const fs::path& run) {
    std::error_code ignored;
    const std::int64_t named = save_number(named_latest(run / "saves" / "latest"));
    if (named >= 0 && fs::is_directory(save_folder(run, named), ignored)) return save_folder(run, named);
    const std::vector<std::int64_t> updates = saved_updates(run);
    return updates.empty() ? fs::path() : save_folder(run, updates.back());
}

}  // namespace heddle::app
