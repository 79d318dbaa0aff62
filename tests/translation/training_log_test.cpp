// A log that cannot be written must not end a training; files that are only appended to have all bytes of a call or none.
#include "apps/translation/training/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "apps/translation/run/append_file.h"
#include "apps/translation/training/history.h"
#include "core/file.h"
#include "tests/failing_outputs.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

class TrainingLogTest : public testing::Test {
  protected:
    // An interval of this update, on stderr, in the file and for TensorBoard.
    static void log_update(TrainingLog& log, std::int64_t update) {
        IntervalReport report;
        report.update = update;
        report.loss = 2;
        log.interval(report);
        log.events(report);
    }
    std::vector<std::int64_t> updates_in_the_file() const {
        std::vector<std::int64_t> updates;
        for (const IntervalReport& report : read_history(file_).intervals) updates.push_back(report.update);
        return updates;
    }
    std::vector<std::int64_t> updates_of_events() const {
        std::vector<std::int64_t> updates;
        for (const ReadScalar& scalar : read_scalars(events_))
            if (scalar.tag == "train/loss") updates.push_back(scalar.step);
        return updates;
    }
    std::vector<std::string> notes() const { return read_history(file_).notes; }
    // Each line of the file is JSON, and each record of the events is whole.
    void expect_readable() const {
        std::istringstream lines(read_file(file_));
        for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
        EXPECT_EQ(whole_records(read_file(events_)), fs::file_size(events_));
        EXPECT_EQ(read_file(events_).substr(23, 13), "brain.Event:2");  // what TensorBoard asks for
    }

    TemporaryFolder folder_;
    fs::path file_ = folder_ / "log.jsonl", events_ = folder_ / event_file_name;
};

// One log is filled to the 1 MB limit; the other, and the captured stderr, are not.
TEST_F(TrainingLogTest, SaysOnceThatTheDiskIsFullAndGoesOn) {
    constexpr std::size_t most = 1 << 20;
    write_file_atomically(file_, std::string(most - 1, ' ') + "\n");
    testing::internal::CaptureStderr();
    {
        TrainingLog log(file_);
        log_update(log, 1);
        {
            const FilesUpTo limit(fs::file_size(file_) + 20);
            for (const int update : {2, 3, 4}) log_update(log, update);
        }
        log_update(log, 5);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(count_of(said, "log.jsonl: cannot be written: File too large; training goes on without"), 1u) << said;
    EXPECT_EQ(count_of(said, "| update "), 5u) << "stderr has them all: " << said;
    EXPECT_THAT(updates_in_the_file(), ElementsAre(1, 5));
    EXPECT_THAT(notes(), ElementsAre("3 lines are missing here"));
    EXPECT_THAT(updates_of_events(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(TrainingLogTest, SaysOnceThatNumbersForTensorBoardAreLost) {
    const std::string tag(1 << 20, 'x');
    const Scalar large[] = {{tag, 0}};
    EventFile(events_).add(0, 0, large);
    TrainingLog log(file_, true);
    {
        const FilesUpTo limit(fs::file_size(events_) + 20);
        for (const int update : {1, 2}) log_update(log, update);
    }
    log_update(log, 3);
    EXPECT_THAT(updates_of_events(), ElementsAre(3));
    EXPECT_THAT(updates_in_the_file(), ElementsAre(1, 2, 3));
    expect_readable();
}

TEST_F(TrainingLogTest, SaysOnceThatTheNumbersCannotBeExported) {
    fs::create_directory(folder_ / scalars_file_name);
    TrainingLog log(file_);
    log_update(log, 1);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) log.export_scalars();
    EXPECT_EQ(count_of(testing::internal::GetCapturedStderr(), "it is a folder; training goes on without"), 1u);
}

// Once, though it comes and goes.
TEST_F(TrainingLogTest, SaysInTheFileThatStderrIsDead) {
    TrainingLog log(file_);
    for (const int update : {1, 4}) {
        {
            const FullStderr full;
            for (const int dead : {update, update + 1}) log_update(log, dead);
        }
        testing::internal::CaptureStderr();
        log_update(log, update + 2);
        EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("| update "));
    }
    EXPECT_THAT(updates_in_the_file(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(notes(), ElementsAre(HasSubstr("stderr: cannot be written: No space left on device; training goes on")));
}

TEST_F(TrainingLogTest, GoesOnWithoutBoth) {
    TrainingLog log(file_);
    log.note("first");
    {
        const FullStderr full;
        const FilesUpTo limit(fs::file_size(file_));
        for (const int update : {1, 2}) log_update(log, update);
        log.note("nobody hears this");
    }
    EXPECT_THAT(updates_in_the_file(), ElementsAre());
    EXPECT_GT(log.lengths().log, 0);
}

TEST_F(TrainingLogTest, BeginsAnewWhenItsFilesAreRemoved) {
    TrainingLog log(file_, true);
    log_update(log, 1);
    fs::remove(file_);
    fs::remove(events_);
    EXPECT_NO_THROW(log.lengths());
    fs::remove(file_);
    fs::remove(events_);
    log_update(log, 2);
    EXPECT_THAT(updates_in_the_file(), ElementsAre(2));
    EXPECT_THAT(updates_of_events(), ElementsAre(2));
    EXPECT_EQ(log.lengths().log, static_cast<std::int64_t>(fs::file_size(file_)));
    EXPECT_EQ(log.lengths().events, static_cast<std::int64_t>(fs::file_size(events_)));
    expect_readable();
}

// Whatever happened to the files since the save, the lines that a resumed run appends can be read.
TEST_F(TrainingLogTest, IsCutBackToWhatIsWhole) {
    LogLengths saved;
    {
        TrainingLog log(file_, true);
        for (const int update : {1, 2}) log_update(log, update);
        saved = log.lengths();
        log_update(log, 3);
    }
    const std::string lines = read_file(file_), records = read_file(events_);
    const auto go_on = [&](const std::string& lines_left, const std::string& records_left) {
        write_file_atomically(file_, std::string_view(lines_left));
        write_file_atomically(events_, std::string_view(records_left));
        TrainingLog log(file_, true);
        log.cut_back(saved, false);
        log_update(log, 4);
        expect_readable();
        return std::pair(updates_in_the_file(), updates_of_events());
    };
    using Updates = std::vector<std::int64_t>;
    EXPECT_EQ(go_on(lines, records), std::pair(Updates({1, 2, 4}), Updates({1, 2, 4})));
    EXPECT_EQ(go_on(lines.substr(0, lines.find('\n') + 30), records.substr(0, records.size() * 2 / 4)),
              std::pair(Updates({1, 4}), Updates({1, 4})))
        << "a half line and a half record, as a power failure leaves them";
    EXPECT_EQ(go_on("", ""), std::pair(Updates({4}), Updates({4})));
    const std::string zeros(200, '\0');
    EXPECT_EQ(go_on(lines.substr(0, lines.find('\n') + 1) + zeros, records.substr(0, records.size() / 4) + zeros).first,
              Updates({1, 4}))
        << "or zeros";
    EXPECT_EQ(go_on(std::string(10000, 'x'), std::string(10000, '\xff')), std::pair(Updates({4}), Updates({4})))
        << "another file of that name";
}

class AppendFileTest : public testing::Test {
  protected:
    TemporaryFolder folder_;
    fs::path path_ = folder_ / "file";
};

TEST_F(AppendFileTest, GoesOnBehindWhatIsThere) {
    AppendFile(path_).append("one\n");
    AppendFile file(path_);
    EXPECT_EQ(file.length(), 4);
    file.append("two\n");
    EXPECT_EQ(read_file(path_), "one\ntwo\n");
    EXPECT_EQ(file.length(), 8);
}

TEST_F(AppendFileTest, HasAllBytesOfACallOrNone) {
    AppendFile file(path_);
    file.append("whole\n");
    {
        const FilesUpTo limit(10);
        expect_error([&] { file.append("too long\n"); }, path_.string() + ": cannot be written: File too large");
        EXPECT_EQ(read_file(path_), "whole\n") << "the four bytes that there was room for are gone";
        file.append("end\n");
    }
    file.append("later\n");
    EXPECT_EQ(read_file(path_), "whole\nend\nlater\n");
}

TEST_F(AppendFileTest, FollowsItsName) {
    AppendFile file(path_);
    file.append("1\n");
    fs::remove(path_);
    file.append("2\n");
    EXPECT_EQ(read_file(path_), "2\n") << "a new one";
    write_file_atomically(path_, std::string_view("other\n"));
    EXPECT_EQ(file.length(), 6);
    file.append("3\n");
    EXPECT_EQ(read_file(path_), "other\n3\n");
    fs::resize_file(path_, 0);
    file.append("4\n");
    EXPECT_EQ(read_file(path_), "4\n");
    fs::rename(path_, folder_ / "elsewhere");
    fs::create_symlink(folder_ / "elsewhere", path_);
    expect_error([&] { file.append("5\n"); }, "cannot be written: Too many levels of symbolic links");
    EXPECT_EQ(read_file(folder_ / "elsewhere"), "4\n") << "no link is followed";
}

TEST_F(AppendFileTest, SaysWhyThereIsNone) {
    expect_error([&] { AppendFile(folder_ / "nowhere" / "file"); }, "No such file or directory");
    const fs::path moved = folder_ / "moved", here = folder_ / "here";
    fs::create_directory(here);
    AppendFile file(here / "file");
    fs::rename(here, moved);
    expect_error([&] { file.append("1\n"); }, "cannot be written: No such file or directory");
    EXPECT_EQ(file.length(), 0);
    fs::rename(moved, here);
    file.append("2\n");
    EXPECT_EQ(read_file(here / "file"), "2\n");
}

}  // namespace
}  // namespace heddle::app
