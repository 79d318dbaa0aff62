// Only one process at a time writes a run, and other programs' files are kept.
#include "apps/translation/run/lock.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "tests/support.h"
#include "tests/translation/prepared_support.h"

namespace {
int flock_error = 0;           // the error that flock reports; 0: the real call
std::string removed_at_flock;  // a file that the next call removes before it locks
}  // namespace

/// Replaces libc's.
extern "C" int flock(int descriptor, int operation) noexcept {
    if (!removed_at_flock.empty()) ::unlink(std::exchange(removed_at_flock, {}).c_str());
    if (flock_error == 0) return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
    errno = flock_error;
    return -1;
}

namespace heddle::app {
namespace {

namespace fs = std::filesystem;

class RunLockTest : public testing::Test {
  protected:
    RunLockTest() { fs::create_directory(run_); }
    ~RunLockTest() override { flock_error = 0; }

    void write_lock(const std::string& text) const { std::ofstream(run_ / "lock") << text; }
    std::string lock_text() const { return read_file(run_ / "lock"); }
    static std::string line(pid_t process) {
        char host[256] = "?";
        gethostname(host, sizeof host - 1);
        return "process " + std::to_string(process) + " on " + host;
    }

    TemporaryFolder folder_;
    fs::path run_ = folder_ / "run";
};

TEST_F(RunLockTest, LeavesAFileAloneThatASymbolicLinkLeadsTo) {
    std::ofstream(folder_ / "mine") << "my text";
    fs::create_symlink(folder_ / "mine", run_ / "lock");
    expect_error([&] { RunLock lock(run_); }, "lock: is a symbolic link, which is not followed; remove it");
    EXPECT_EQ(read_file(folder_ / "mine"), "my text");
    EXPECT_TRUE(fs::is_symlink(run_ / "lock"));
    fs::remove(run_ / "lock");
    fs::create_symlink(folder_ / "nothing", run_ / "lock");
    expect_error([&] { RunLock lock(run_); }, "is a symbolic link");
    EXPECT_FALSE(fs::exists(folder_ / "nothing"));
}

TEST_F(RunLockTest, LeavesAnotherProgramsLockAlone) {
    write_lock("4711");
    expect_error([&] { RunLock lock(run_); }, "lock: is no lock of heddle's; choose another folder");
    EXPECT_EQ(lock_text(), "4711");
}

TEST_F(RunLockTest, OfARunThatWasMovedIsRemovedWhereItIsAndNowhereElse) {
    auto first = std::make_unique<RunLock>(run_);
    EXPECT_NO_THROW(first->check_unmoved());
    fs::rename(run_, folder_ / "moved");
    EXPECT_NO_THROW(first->check_unmoved()) << "what is missing is found out by those who write";
    fs::create_directory(run_);
    expect_error([&] { first->check_unmoved(); }, "another folder lies there now");
    const RunLock second(run_);
    first.reset();
    EXPECT_EQ(lock_text(), line(getpid()) + "\n") << "the second one's";
    EXPECT_FALSE(fs::exists(folder_ / "moved" / "lock"));
}

TEST_F(RunLockTest, ThatWasRemovedByHandLeavesTheNextOneAlone) {
    auto first = std::make_unique<RunLock>(run_);
    fs::remove(run_ / "lock");
    EXPECT_NO_THROW(first->check_unmoved());
    const RunLock second(run_);
    expect_error([&] { first->check_unmoved(); }, "the lock of this process was removed, and another one lies there now");
    EXPECT_NO_THROW(second.check_unmoved());
    first.reset();
    EXPECT_TRUE(fs::exists(run_ / "lock"));
}

TEST_F(RunLockTest, IsMadeAnewWhereItsFormerHolderRemovesItMeanwhile) {
    removed_at_flock = (run_ / "lock").string();
    const RunLock lock(run_);
    EXPECT_EQ(lock_text(), line(getpid()) + "\n");
    EXPECT_NO_THROW(lock.check_unmoved());
}

// Network file systems without a lock manager, and some in user space.
TEST_F(RunLockTest, IsTheFileItselfWhereTheFileSystemHasNoFlock) {
    for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL}) {
        flock_error = error;
        {
            const RunLock lock(run_);
            EXPECT_EQ(lock_text(), line(getpid()) + ", without flock\n");
            const std::string refused = error_of([&] { RunLock second(run_); });
            EXPECT_NE(refused.find(line(getpid()) + ", without flock trains there"), std::string::npos) << refused;
            EXPECT_NE(refused.find("if it has ended, remove " + (run_ / "lock").string()), std::string::npos) << refused;
            flock_error = 0;  // as on another machine, where flock works
            expect_error([&] { RunLock second(run_); }, "is in use: process ");
            flock_error = error;
        }
        EXPECT_FALSE(fs::exists(run_ / "lock"));
    }
    flock_error = EIO;
    expect_error([&] { RunLock lock(run_); }, "cannot be locked: ");
    flock_error = ENOLCK;
    write_lock("process 1 on another machine\n");
    expect_error([&] { RunLock lock(run_); }, "is in use: process 1 on another machine trains there");
    EXPECT_EQ(lock_text(), "process 1 on another machine\n") << "nobody knows whether that one has ended";
}

TEST_F(RunLockTest, HoldsATextThatIsPreparedWithoutFlockToo) {
    flock_error = ENOLCK;
    const std::vector<std::string> lines = {"a b"};
    Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = train_vocabulary({.type = VocabularyType::word, .size = 0}, lines);
    const std::vector<TokenPair> pairs = {{{4}, {5}, 1}};
    PreparedWriter writer(folder_ / "text", false, vocabularies);
    const std::string refused = error_of([&] { PreparedWriter second(folder_ / "text", false, vocabularies); });
    EXPECT_NE(refused.find(line(getpid()) + ", without flock prepares a text there"), std::string::npos) << refused;
    writer.add(pairs);
    writer.finish();
    EXPECT_FALSE(fs::exists(folder_ / "text" / "lock"));
    EXPECT_EQ(PreparedText(folder_ / "text").size(), 1);
}

}  // namespace
}  // namespace heddle::app
