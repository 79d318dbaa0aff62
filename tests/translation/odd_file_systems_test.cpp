// File systems without symbolic links (FAT), and those that cannot sync a folder or a file.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "apps/translation/run/folder.h"
#include "core/file.h"
#include "tests/support.h"

namespace {
int symlink_error = 0, fsync_error = 0;  // errors that these calls report; 0: the real call
bool folders_only = false;               // fsync works for files
}  // namespace

/// Replaces libc's.
extern "C" int symlink(const char* target, const char* path) noexcept {
    if (symlink_error == 0) return static_cast<int>(::syscall(SYS_symlinkat, target, AT_FDCWD, path));
    errno = symlink_error;
    return -1;
}

extern "C" int fsync(int descriptor) {
    struct stat information {};
    ::fstat(descriptor, &information);
    if (fsync_error == 0 || (folders_only && !S_ISDIR(information.st_mode)))
        return static_cast<int>(::syscall(SYS_fsync, descriptor));
    errno = fsync_error;
    return -1;
}

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

class OddFileSystem : public testing::Test {
  protected:
    ~OddFileSystem() override { symlink_error = fsync_error = 0; }

    static void save(const RunFolder& folder, std::int64_t update) {
        Save save;
        save.state.updates = update;
        save.weights = {{"w", Tensor::full({2}, static_cast<double>(update), DType::f32)}};
        folder.save(save, 2);
    }

    TemporaryFolder folder_;
    fs::path run_ = folder_ / "run";
};

TEST_F(OddFileSystem, WithoutSymbolicLinksHasAFileThatNamesTheLatestSave) {
    symlink_error = EPERM;
    const RunFolder folder(run_, false);
    folder.write_config("\n");
    for (const std::int64_t update : {4, 8, 12}) {
        save(folder, update);
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(run_ / "saves" / "latest")));
        EXPECT_EQ(read_file(run_ / "saves" / "latest"), std::to_string(update) + "\n");
        EXPECT_EQ(latest_save(run_), save_folder(run_, update));
    }
    folder.go_on_from(8);
    EXPECT_EQ(latest_save(run_), save_folder(run_, 8));
    EXPECT_EQ(saved_updates(run_), std::vector<std::int64_t>{8});
}

// A run copied from one file system to another.
TEST_F(OddFileSystem, GoesOnFromEitherFormOfLatest) {
    const RunFolder folder(run_, false);
    save(folder, 4);
    EXPECT_TRUE(fs::is_symlink(run_ / "saves" / "latest"));
    symlink_error = EOPNOTSUPP;
    save(folder, 8);
    EXPECT_EQ(latest_save(run_), save_folder(run_, 8));
    EXPECT_FALSE(fs::is_symlink(run_ / "saves" / "latest"));
    symlink_error = 0;
    save(folder, 12);
    EXPECT_TRUE(fs::is_symlink(run_ / "saves" / "latest"));
    EXPECT_EQ(latest_save(run_), save_folder(run_, 12));
    fs::remove(run_ / "saves" / "latest");
    std::ofstream(run_ / "saves" / "latest") << "8\n";
    EXPECT_EQ(latest_save(run_), save_folder(run_, 8)) << "the file counts, not the greatest number";
    std::ofstream(run_ / "saves" / "latest") << "../../8\n";
    EXPECT_EQ(latest_save(run_), save_folder(run_, 8)) << "never a folder elsewhere";
    std::ofstream(run_ / "saves" / "latest") << "nonsense";
    EXPECT_EQ(latest_save(run_), save_folder(run_, 12));
}

TEST_F(OddFileSystem, ThatCannotSyncIsWrittenToAllTheSame) {
    for (const int error : {EINVAL, EBADF, ENOSYS, EOPNOTSUPP})
        for (const bool only : {true, false}) {
            fsync_error = error;
            folders_only = only;
            EXPECT_NO_THROW(write_file_atomically(folder_ / "file", std::to_string(error)));
            EXPECT_EQ(read_file(folder_ / "file"), std::to_string(error));
            EXPECT_NO_THROW(sync_file(folder_ / "file"));
            EXPECT_NO_THROW(sync_folder(folder_.path()));
        }
}

TEST_F(OddFileSystem, ButAnErrorOfTheDiskIsAnError) {
    for (const int error : {EIO, ENOSPC, EDQUOT}) {
        fsync_error = error;
        folders_only = false;
        expect_error([&] { write_file_atomically(folder_ / "file", "text"); }, "cannot write");
        expect_error([&] { sync_folder(folder_.path()); }, "cannot sync the folder");
        std::ofstream(folder_ / "other") << "text";
        expect_error([&] { sync_file(folder_ / "other"); }, "cannot sync");
    }
    EXPECT_FALSE(fs::exists(folder_ / "file"));
}

// While it exists, file permissions apply to this thread even for root.
class WithoutRootsPrivileges {
  public:
    WithoutRootsPrivileges() {
        EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
        __user_cap_data_struct fewer[2] = {before_[0], before_[1]};
        fewer[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
        EXPECT_EQ(syscall(SYS_capset, &header_, fewer), 0);
    }
    ~WithoutRootsPrivileges() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }
    WithoutRootsPrivileges(const WithoutRootsPrivileges&) = delete;
    WithoutRootsPrivileges& operator=(const WithoutRootsPrivileges&) = delete;

  private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct before_[2] = {};
};

TEST_F(OddFileSystem, AFolderThatMayNotBeListedCanBeWrittenTo) {
    const fs::path closed = folder_ / "closed";
    fs::create_directory(closed);
    fs::permissions(closed, fs::perms::owner_write | fs::perms::owner_exec);
    {
        const WithoutRootsPrivileges now;
        EXPECT_LT(open(closed.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
        EXPECT_NO_THROW(write_file_atomically(closed / "file", "text"));
        EXPECT_EQ(read_file(closed / "file"), "text");
    }
    fs::permissions(closed, fs::perms::owner_all);
}

}  // namespace
}  // namespace heddle::app
