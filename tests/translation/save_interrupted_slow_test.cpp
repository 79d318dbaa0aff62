// A process killed, or failing, at each system call of a save.
#include <errno.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdio>
#include <set>

#include "core/file.h"
#include "tests/support.h"
#include "tests/system_calls.h"
#include "tests/translation/training_support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

// A run of twelve updates with a save of update 4; the save of update 8 is interrupted.
class InterruptedSave : public testing::Test {
  protected:
    static constexpr int refused = 1;

    InterruptedSave() : data_(copy_data(40, 6)), model_(tiny_model(data_, 0.1)) {
        options_ = tiny_training();
        options_.batch_tokens = 60;
        options_.average = 2;
        options_.valid_every = 3;
        options_.save_every = 4;
        options_.epochs.reset();
        whole_ = train_to(12, folder_ / "whole");
        train_to(4, folder_ / "four");
        train_to(8, folder_ / "eight");
    }

    // Trains to this update in the folder, from the newest save if there is one; returns the weights.
    std::vector<double> train_to(std::int64_t updates, const fs::path& path) {
        options_.updates = updates;
        nn::Transformer model(tiny_model(data_, 0.1));
        const RunFolder folder = fs::exists(path / "config.toml") ? RunFolder::reopen(path) : RunFolder(path, false);
        folder.write_config("\n");
        TrainingLog log(folder.log(), true);
        Trainer trainer(model, data_, options_, log, &folder);
        if (const fs::path save = latest_save(path); !save.empty()) trainer.resume(save);
        trainer.run();
        return trainer.learner().parameters().values.to_vector();
    }

    // A fresh copy of the run with the save of update 4.
    fs::path fresh_run() {
        const fs::path path = folder_ / "run";
        fs::remove_all(path);
        fs::copy(folder_ / "four", path, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        return path;
    }

    // The save of update 8, as the trainer passes it to the folder, with its own storage.
    Save second_save() {
        Save save{
            .state = read_state(folder_ / "eight" / "saves" / "8"), .weights = {}, .moments = {}, .averaged = {}, .best = {}};
        const auto load = [&](const char* file) {
            const SafetensorsFile opened(folder_ / "eight" / "saves" / "8" / file);
            nn::NamedTensors tensors;
            for (const std::string& name : opened.names()) tensors.emplace_back(name, opened.load(name));
            return tensors;
        };
        save.weights = load("model.safetensors");
        save.moments = load("moments.safetensors");
        save.averaged = {{}, {}};
        for (auto& [name, tensor] : load("average.safetensors"))
            save.averaged[name[0] == '0' ? 0 : 1].emplace_back(name.substr(2), tensor);
        save.best = load("best.safetensors");
        return save;
    }

    // The newest save must be one of the two, byte for byte, and the run must end correctly from each of them.
    std::int64_t expect_a_whole_save_in(const fs::path& path, long call) {
        const RunFolder reopened = RunFolder::reopen(path);  // removes incomplete files
        const std::int64_t latest = read_state(latest_save(path)).updates;
        const fs::path original = folder_ / (latest == 4 ? "four" : "eight") / "saves" / std::to_string(latest);
        int files = 0;
        for (const auto& entry : fs::directory_iterator(original)) {
            const fs::path copy = latest_save(path) / entry.path().filename();
            EXPECT_EQ(read_file(copy), read_file(entry.path())) << copy << " after call " << call;
            ++files;
        }
        EXPECT_EQ(std::distance(fs::directory_iterator(latest_save(path)), {}), files);
        return latest;
    }

    TemporaryFolder folder_;
    TrainingData data_;
    nn::Transformer model_;
    TrainingOptions options_;
    std::vector<double> whole_;
};

TEST_F(InterruptedSave, IsSurvivedAtEverySystemCall) {
    const Save save = second_save();
    const auto body = [&] {
        const RunFolder folder = RunFolder::reopen(folder_ / "run");
        folder.save(save, 1);
        return 0;
    };
    fresh_run();
    const Traced all = trace(body, -1);
    if (!all.possible) GTEST_SKIP() << "this system does not let a process trace its child";
    ASSERT_EQ(all.status, 0);
    ASSERT_GT(all.calls.size(), 50u);
    std::set<std::int64_t> went_on_from;
    for (std::size_t index = 0; index < all.calls.size(); ++index) {
        const fs::path path = fresh_run();
        const Traced traced = trace(body, static_cast<long>(index));
        ASSERT_TRUE(traced.killed) << index;
        const std::int64_t latest = expect_a_whole_save_in(path, all.calls[index]);
        if (went_on_from.insert(latest).second) {
            EXPECT_EQ(train_to(12, path), whole_) << "from " << latest;
        }
        if (HasFailure()) break;
    }
    print_faults("kill -9 before a system call of a save", static_cast<int>(all.calls.size()), "the newest save whole each time");
    EXPECT_EQ(went_on_from, (std::set<std::int64_t>{4, 8})) << "kills before and after the moment at which the new save counts";
}

// The disk is full or broken, or a signal interrupts the call.
TEST_F(InterruptedSave, ThatFailsAtAnyFileCallKeepsAGoodSaveAndSaysSo) {
    const std::set<long> file_calls = {SYS_openat,     SYS_write,      SYS_fsync,    SYS_close,  SYS_rename,
                                       SYS_mkdir,      SYS_symlink,    SYS_rmdir,    SYS_unlink, SYS_unlinkat,
                                       SYS_getdents64, SYS_newfstatat, SYS_readlink, SYS_flock,  SYS_ftruncate};
    const Save save = second_save();
    const auto body = [&] {
        try {
            const RunFolder folder = RunFolder::reopen(folder_ / "run");
            folder.save(save, 1);
        } catch (const Error& error) {
            const bool clear = std::string(error.what()).find((folder_ / "run").string()) != std::string::npos;
            return clear ? refused : 2;
        } catch (const std::exception& error) {
            std::fputs(error.what(), stderr);
            return 3;
        }
        return 0;
    };
    fresh_run();
    const Traced all = trace(body, -1);
    if (!all.possible) GTEST_SKIP() << "this system does not let a process trace its child";
    for (const auto& [failure, name] : {std::pair(ENOSPC, "ENOSPC"), {EIO, "EIO"}, {EINTR, "EINTR"}}) {
        SCOPED_TRACE(name);
        int failures = 0, successes = 0;
        for (std::size_t index = 0; index < all.calls.size(); ++index) {
            if (!file_calls.contains(all.calls[index])) continue;  // other calls cannot fail because of the disk
            if (failure != ENOSPC && !all_faults() && index % 5 != 0) continue;
            const fs::path path = fresh_run();
            const Traced traced = trace(body, static_cast<long>(index), failure);
            ASSERT_FALSE(traced.killed) << index;
            ASSERT_TRUE(traced.status == 0 || traced.status == refused) << "call " << index << ", number " << all.calls[index];
            (traced.status == 0 ? successes : failures) += 1;
            const std::int64_t latest = expect_a_whole_save_in(path, all.calls[index]);
            if (traced.status == 0) {
                EXPECT_EQ(latest, 8) << "a save that does not complain is there";
            }
            if (HasFailure()) break;
        }
        EXPECT_GT(failures + successes, 10);
        if (failure == ENOSPC) {
            EXPECT_GT(failures, 20);
            EXPECT_GT(successes, 0) << "what only tidies up may fail";
        }
        print_faults(std::string("a system call of a save fails with ") + name, failures + successes,
                     fmt::format("{} clear ends, {} survived; the newest save whole each time", failures, successes));
    }
}

}  // namespace
}  // namespace heddle::app
