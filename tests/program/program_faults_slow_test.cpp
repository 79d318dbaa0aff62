// Failures of the system: an allocation at any moment, a full disk, a run that another process trains. The program ends with a
// clear message, and the run can be resumed, or started again, with the same final bytes.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "core/digest.h"
#include "tests/program/program_process.h"
#include "tests/system_calls.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

const char* const tiny =
    " --train text --valid text --source a --target b --vocab-type word --layers 1 --d-model 8 --heads 2 --d-ff 8 --threads 1"
    " --batch-tokens 40 --log-every 1 --valid-sentences 2 --save-every 2 --valid-every 2 --updates ";

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

std::string last_line(const std::string& text) {
    const std::vector<std::string> lines = lines_of(text);
    return lines.empty() ? "" : lines.back();
}

// A workplace with twelve sentence pairs, the run "whole" of four updates, and "half" of two.
class Faults : public testing::Test {
  protected:
    Faults() {
        write_toy_corpus(here_, 12);
        here_.write("input", "a b c\nd e\n");
        for (const auto& [run, updates] : std::map<std::string, std::string>{{"whole", "4"}, {"half", "2"}}) {
            const ProgramResult result = here_.run("train --out " + run + tiny + updates);
            EXPECT_EQ(result.status, 0) << result.err;
        }
        whole_ = weights("whole");
    }

    // The digests of all of a run's weights and of its last save's.
    std::map<std::string, std::string> weights(const std::string& run) const {
        std::map<std::string, std::string> digests;
        for (const std::string folder : {"", "/saves/4"})
            for (const char* name : {"model", "best", "moments", "average"}) {
                const std::string file = folder + "/" + name + ".safetensors";
                if (here_.exists(run + file)) digests[file] = digest(here_.read(run + file));
            }
        return digests;
    }

    // The exit status, or nothing for a hang. The outputs are in "log".
    std::optional<int> end_of(const std::string& arguments, const std::map<std::string, std::string>& environment = {}) const {
        for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
        const int input = open(here_.path("input").c_str(), O_RDONLY | O_CLOEXEC);
        RunningProgram program(here_, words(arguments), input);
        close(input);
        for (const auto& [name, value] : environment) unsetenv(name.c_str());
        int status = 0;
        if (!program.ends_within(60s, status)) return std::nullopt;
        return status;
    }

    // Resumes the run, or starts it again if there is none. Either way it must end with the bytes of an undisturbed one.
    void expect_the_whole_run(const std::string& run) const {
        const bool begun = here_.exists(run + "/config.toml");
        const std::optional<int> status =
            end_of(begun ? "train --resume " + run + " --updates 4" : "train --out " + run + tiny + "4");
        EXPECT_EQ(status, 0) << (begun ? "going on: " : "beginning: ") << here_.read("log");
        EXPECT_EQ(weights(run), whole_);
        for (const auto& entry : fs::recursive_directory_iterator(here_.path(run)))
            EXPECT_FALSE(entry.path().string().ends_with(".part")) << entry.path();
    }

    void copy_of_half(const std::string& run) const {
        fs::remove_all(here_.path(run));
        fs::copy(here_.path("half"), here_.path(run), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }

    const Workplace here_;
    std::map<std::string, std::string> whole_;
};

#ifdef HEDDLE_FAILING_ALLOCATIONS
// One allocation of the program fails. In the long form, the first 2,000 are tried, and 500 spread over the rest.
class FailingAllocations : public Faults {
  protected:
    static std::map<std::string, std::string> failing(long number) {
        return {{"LD_PRELOAD", HEDDLE_FAILING_ALLOCATIONS}, {"HEDDLE_FAIL_ALLOCATION", std::to_string(number)}};
    }

    std::vector<long> tried(const std::string& arguments) const {
        std::map<std::string, std::string> environment = failing(0);
        environment["HEDDLE_COUNT_ALLOCATIONS"] = here_.path("count");
        EXPECT_EQ(end_of(arguments, environment), 0) << here_.read("log");
        const long all = std::atol(here_.read("count").c_str());
        EXPECT_GT(all, 2000);
        const long first = all_faults() ? 2000 : 10, rest = all_faults() ? 500 : 20;
        std::vector<long> numbers;
        for (long n = 1; n <= first; ++n) numbers.push_back(all_faults() ? n : n * 200 - 100);
        for (long n = 0; n < rest; ++n) numbers.push_back(2000 + n * (all - 2000) / rest);
        return numbers;
    }

    // Success without messages, or one line about missing memory.
    bool ended_clearly(const std::optional<int>& status) {
        EXPECT_TRUE(status) << "it hangs";
        if (status == 0) return ++survived_, true;
        ++refused_;
        EXPECT_EQ(status, 1) << here_.read("log");
        const std::string complaint = last_line(here_.read("log"));
        EXPECT_THAT(complaint, testing::StartsWith("heddle: "));
        EXPECT_THAT(complaint, HasSubstr("memory"));
        return false;
    }

    void print(const std::string& what) const {
        print_faults("one failed allocation in " + what, refused_ + survived_,
                     fmt::format("{} clear ends, {} survived", refused_, survived_));
        EXPECT_GT(refused_, 0);
    }

    int refused_ = 0;
    int survived_ = 0;
};

TEST_F(FailingAllocations, OfATrainingLeaveARunThatGoesOn) {
    for (const long number : tried("train --out counted" + std::string(tiny) + "4")) {
        SCOPED_TRACE(fmt::format("allocation {}", number));
        fs::remove_all(here_.path("run"));
        ended_clearly(end_of("train --out run" + std::string(tiny) + "4", failing(number)));
        expect_the_whole_run("run");
        if (HasFailure() && !all_faults()) break;
    }
    print("a training");
}

TEST_F(FailingAllocations, OfAResumedRunLeaveItAsItWasOrFurther) {
    copy_of_half("counted");
    for (const long number : tried("train --resume counted --updates 4")) {
        SCOPED_TRACE(fmt::format("allocation {}", number));
        copy_of_half("run");
        ended_clearly(end_of("train --resume run --updates 4", failing(number)));
        expect_the_whole_run("run");
        if (HasFailure() && !all_faults()) break;
    }
    print("a resumed run");
}

TEST_F(FailingAllocations, OfATranslationGiveNoWrongLine) {
    ASSERT_EQ(end_of("translate --model whole"), 0);
    const std::string expected = here_.read("log");
    for (const long number : tried("translate --model whole")) {
        SCOPED_TRACE(fmt::format("allocation {}", number));
        if (ended_clearly(end_of("translate --model whole", failing(number)))) {
            EXPECT_EQ(here_.read("log"), expected);
        }
        if (HasFailure() && !all_faults()) break;
    }
    EXPECT_EQ(weights("whole"), whole_) << "a translation leaves the run as it is";
    print("a translation");
}
#endif

// Disks of ten sizes, each too small for the run, and then more space.
TEST_F(Faults, AFullDiskStopsTheRunUntilThereIsRoom) {
    const std::string mount = "mount -t tmpfs -o size=$((SIZE / 4096 * 4096)) tmpfs disk";
    fs::create_directory(here_.path("disk"));
    const auto in_namespace = [&](const std::string& script) {
        here_.write("script", script);
        const std::string quoted = "cd '" + here_.path("") + "' && unshare -rm bash script 2>unshared";
        const int status = std::system(quoted.c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    if (in_namespace("SIZE=65536; " + mount) != 0) GTEST_SKIP() << "no disk can be mounted here: " << here_.read("unshared");
    std::uintmax_t size = 0;  // tmpfs uses whole pages
    for (const auto& entry : fs::recursive_directory_iterator(here_.path("whole")))
        if (entry.is_regular_file() && !entry.is_symlink()) size += (entry.file_size() + 4095) / 4096 * 4096;
    int refused = 0;
    constexpr int sizes = 10;
    for (int tenth = 1; tenth <= sizes; ++tenth) {
        const std::string train = "'" HEDDLE_PROGRAM "' train ", fresh = "--out disk/run" + std::string(tiny) + "4";
        const int status = in_namespace(
            fmt::format("SIZE={}; {} || exit 90\n{}{} >log 2>&1; status=$?\nmount -o remount,size=64m disk || exit 90\n"
                        "if [ -e disk/run/config.toml ]; then set -- --resume disk/run --updates 4; else set -- {}; fi\n"
                        "{}\"$@\" >again 2>&1 || exit 91\nrm -rf run; cp -a disk/run run || exit 92; exit $status\n",
                        size * static_cast<unsigned>(tenth) / (sizes + 1), mount, train, fresh, fresh, train));
        SCOPED_TRACE(fmt::format("disk {} of {}", tenth, sizes));
        ASSERT_TRUE(status == 0 || status == 1) << status << ": " << here_.read("log") << here_.read("again");
        if (status == 1) {
            ++refused;
            EXPECT_THAT(last_line(here_.read("log")), testing::StartsWith("heddle: "));
            EXPECT_THAT(last_line(here_.read("log")), testing::AnyOf(HasSubstr("No space left"), HasSubstr("disk full")));
        }
        EXPECT_EQ(weights("run"), whole_);
    }
    EXPECT_GT(refused, 3);
    print_faults("disk full, of ten sizes", sizes, fmt::format("{} clear ends, all go on to the same bytes", refused));
}

// Of two programs that start in one folder at the same time, one trains and the other reports why it does not.
TEST_F(Faults, OfTwoStartsAtOnceOneTrains) {
    const int rounds = all_faults() ? 200 : 10;
    int in_use = 0, done = 0;
    const Workplace other;  // for the second program's log
    for (const char* name : {"text.a", "text.b"}) other.write(name, here_.read(name));
    for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(fmt::format("round {}", round));
        const bool resumes = round % 2 == 1;
        const std::string run = here_.path("run");
        fs::remove_all(run);
        if (resumes) copy_of_half("run");
        std::vector<std::string> arguments =
            words(resumes ? "train --updates 4 --resume" : "train" + std::string(tiny) + "4 --out");
        arguments.push_back(run);
        RunningProgram first(here_, arguments), second(other, arguments);
        int statuses[2] = {-1, -1};
        ASSERT_TRUE(first.ends_within(60s, statuses[0]) && second.ends_within(60s, statuses[1])) << "one hangs";
        const std::string logs[2] = {here_.read("log"), other.read("log")};
        int trained = 0;
        for (int i = 0; i < 2; ++i) {
            trained += statuses[i] == 0;
            if (statuses[i] == 0) continue;
            EXPECT_EQ(statuses[i], 1) << logs[i];
            EXPECT_THAT(last_line(logs[i]), testing::AnyOf(HasSubstr("in use"), HasSubstr("holds a run already")));
            in_use += last_line(logs[i]).find("in use") != std::string::npos;
        }
        EXPECT_TRUE(trained == 1 || (resumes && trained == 2)) << logs[0] << logs[1];
        EXPECT_EQ(weights("run"), whole_);
        ++done;
        if (HasFailure()) break;
    }
    print_faults("two starts at once", done, fmt::format("one trains, the other is told ({} found the run in use)", in_use));
}

}  // namespace
}  // namespace heddle
