// core/file.h: whole files.
#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/support.h"

namespace heddle {
namespace {

std::size_t files_in(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(WriteFileAtomically, WritesExactlyTheBytesAndReadsThemBack) {
    const TemporaryFolder folder;
    for (const std::string& content : {std::string("zero \0 byte\r\n", 13), std::string(), std::string(1'000'003, 'x')}) {
        write_file_atomically(folder / "file", content);
        EXPECT_EQ(read_file(folder / "file"), content);
    }
}

TEST(WriteFileAtomically, WritesIntoTheCurrentFolderAndUnderTheLongestName) {
    const TemporaryFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string longest(255, 'n');
    write_file_atomically(longest, "text");
    std::filesystem::current_path(before);
    EXPECT_EQ(read_file(folder.path() / longest), "text");
}

TEST(WriteFileAtomically, GivesTheFileTheUsualPermissions) {
    const TemporaryFolder folder;
    const mode_t mask = ::umask(022);
    write_file_atomically(folder / "file", "text");
    ::umask(mask);
    struct stat information {};
    ASSERT_EQ(::stat((folder / "file").c_str(), &information), 0);
    EXPECT_EQ(information.st_mode & 0777, 0644u);
}

TEST(WriteFileAtomically, NamesPathAndReasonInErrors) {
    const TemporaryFolder folder;
    expect_error([&] { write_file_atomically(folder / "missing/file", "text"); }, "missing/file': there is no folder");
    expect_error([&] { write_file_atomically(folder.path(), "text"); }, "it is a folder");
    expect_error([&] { write_file_atomically("", "text"); }, "it is a folder");
}

TEST(WriteFileAtomically, ReadersSeeOldOrNewButNeverAHalf) {
    const TemporaryFolder folder;
    const std::string a(200'000, 'a');
    const std::string b(300'000, 'b');
    write_file_atomically(folder / "file", a);
    std::thread writer([&] {
        for (int i = 0; i < 20; ++i) write_file_atomically(folder / "file", i % 2 == 0 ? b : a);
    });
    for (int i = 0; i < 200; ++i) {
        const std::string seen = read_file(folder / "file");
        EXPECT_TRUE(seen == a || seen == b) << "a mixture of " << seen.size() << " bytes";
    }
    writer.join();
}

TEST(AtomicFile, KeepsTheOldFileUntilItIsCommitted) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "file", "old");
    {
        AtomicFile file(folder / "file");
        file.write("half of the n");
        EXPECT_EQ(read_file(folder / "file"), "old");
    }
    EXPECT_EQ(read_file(folder / "file"), "old");
    EXPECT_EQ(files_in(folder.path()), 1u) << "an abandoned file was left behind";
    AtomicFile file(folder / "file");
    file.write("new ");
    file.write("text");
    file.commit();
    EXPECT_EQ(read_file(folder / "file"), "new text");
    expect_error([&] { file.write("more"); }, "already complete");
    expect_error([&] { file.commit(); }, "already complete");
}

TEST(AtomicFile, PassesOverALeftoverOfAKilledProcess) {
    const TemporaryFolder folder;
    // Occupy the next names that this process would choose.
    for (int i = 0; i < 2000; ++i) {
        const std::string name = ".heddle-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".part";
        ::close(::open((folder.path() / name).c_str(), O_CREAT | O_WRONLY, 0600));
    }
    write_file_atomically(folder / "file", "text");
    EXPECT_EQ(read_file(folder / "file"), "text");
    EXPECT_EQ(files_in(folder.path()), 2001u);
}

TEST(ReadFile, NamesPathAndReasonInErrors) {
    const TemporaryFolder folder;
    expect_error([&] { read_file(folder / "missing"); }, "missing': No such file or directory");
    expect_error([&] { read_file(folder.path()); }, "Is a directory");
}

TEST(ReadFile, ReadsAPipeToItsEnd) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    const std::string text(200'000, 'p');
    std::thread writer([&] {
        const int pipe = ::open((folder / "pipe").c_str(), O_WRONLY);
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t put = ::write(pipe, text.data() + at, text.size() - at);
            if (put <= 0) break;
            at += static_cast<std::size_t>(put);
        }
        ::close(pipe);
    });
    EXPECT_EQ(read_file(folder / "pipe"), text);
    writer.join();
}

TEST(ReadRegularFile, WaitsForNoPipeAndReadsNoMoreThanIsWanted) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    write_file_atomically(folder / "file", "abc");
    EXPECT_EQ(read_regular_file(folder / "file"), "abc");
    EXPECT_EQ(read_regular_file(folder / "file", 3), "abc");
    expect_error([&] { read_regular_file(folder / "file", 2); }, "has 3 bytes; wanted at most 2");
    for (const auto& path : {folder / "pipe", folder.path(), std::filesystem::path("/dev/zero")})
        expect_error([&] { read_regular_file(path); }, "not a regular file");
    expect_error([&] { read_regular_file(folder / "missing"); }, "No such file or directory");
}

TEST(MemoryMap, ShowsTheBytesOfTheFile) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "file", "abc");
    write_file_atomically(folder / "empty", "");
    const MemoryMap map(folder / "file");
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()), "abc");
    EXPECT_TRUE(MemoryMap(folder / "empty").bytes().empty());
}

TEST(MemoryMap, OutlivesReplacementOfTheFileAndMoves) {
    const TemporaryFolder folder;
    write_file_atomically(folder / "file", "old");
    MemoryMap first(folder / "file");
    write_file_atomically(folder / "file", "newer");
    MemoryMap second = std::move(first);
    EXPECT_EQ(static_cast<char>(second.bytes()[0]), 'o');
    second = MemoryMap(folder / "file");
    EXPECT_EQ(second.bytes().size(), 5u);
}

TEST(MemoryMap, RefusesWhatIsNoRegularFile) {
    const TemporaryFolder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    expect_error([&] { MemoryMap map(folder / "pipe"); }, "not a regular file");
    expect_error([&] { MemoryMap map(folder.path()); }, "not a regular file");
    expect_error([&] { MemoryMap map(folder / "missing"); }, "No such file or directory");
}

}  // namespace
}  // namespace heddle
