// Preparing five million pairs and learning from them takes little memory, in each of two processes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stop_token>
#include <thread>

#include "apps/tasks/tasks.h"
#include "tests/mpi_launcher.h"
#include "tests/program.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

// The words of a file of /proc, or an empty text when the process has ended.
std::string read_proc(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

// The peak memory, in MiB, of each process with this argument, without mapped files, which the system can drop.
class MemoryOf {
  public:
    explicit MemoryOf(std::string argument) : argument_(std::move(argument)) {}

    std::map<std::string, double> stop() {
        watcher_.request_stop();
        watcher_.join();
        return most_;
    }

  private:
    void look() {
        std::error_code ended;
        for (const fs::directory_entry& process : fs::directory_iterator("/proc", ended)) {
            const std::string id = process.path().filename().string();
            if (id.find_first_not_of("0123456789") != std::string::npos) continue;
            const std::string arguments = read_proc(process.path() / "cmdline");
            if (!arguments.starts_with(HEDDLE_PROGRAM + std::string(1, '\0')) || arguments.find(argument_) == std::string::npos)
                continue;
            const std::string status = read_proc(process.path() / "status");
            const std::size_t line = status.find("RssAnon:");
            if (line == std::string::npos) continue;
            most_[id] = std::max(most_[id], std::stod(status.substr(line + 8)) / 1024);
        }
    }

    const std::string argument_;
    std::map<std::string, double> most_;
    std::jthread watcher_{[this](const std::stop_token& stop) {
        for (; !stop.stop_requested(); std::this_thread::sleep_for(50ms)) look();
    }};
};

// Writes a hundred thousand numbers again and again: 9 MB of text each time.
void write_number_pairs(const Workplace& here, int hundred_thousands) {
    std::string english, german;
    for (std::int64_t i = 0; i < 100'000; ++i) {
        const std::int64_t number = i * 7919 % 1'000'000;
        english += app::english_number(number) + "\n";
        german += app::german_number(number) + "\n";
    }
    std::ofstream source(here.path("text.en"), std::ios::binary), target(here.path("text.de"), std::ios::binary);
    for (int i = 0; i < hundred_thousands; ++i) source << english, target << german;
}

// A million pairs, with HEDDLE_TEST_ALL=1 five million.
TEST(LargeText, OfMillionsOfPairsIsLearnedFromInLittleMemory) {
    const bool all = std::getenv("HEDDLE_TEST_ALL") != nullptr;
    const Workplace here;
    write_number_pairs(here, all ? 50 : 10);
    const std::string run = here.path("run"),
                      arguments =
                          "train --train text --source en --target de --vocab-type word --vocab-size 2000 --vocab-lines 20000"
                          " --layers 1 --d-model 32 --heads 2 --d-ff 64 --updates 1 --shards 2 --tune-search false --out " +
                          quoted(run) + (all ? "" : " --prepare-above 10");
    MemoryOf memory(run);
    const ProgramResult result = has_mpi ? launch(here, "-n 2 " + quoted(HEDDLE_PROGRAM) + " " + arguments) : here.run(arguments);
    const std::map<std::string, double> most = memory.stop();
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(fmt::format("run/text.prepared: {},000,000 pairs with ", all ? 5 : 1)));
    EXPECT_EQ(most.size(), has_mpi ? 2u : 1u);
    for (const auto& [process, mebibytes] : most) {
        fmt::print("process {}: {:.0f} MiB at most\n", process, mebibytes);
        EXPECT_GT(mebibytes, 1);
        EXPECT_LT(mebibytes, all ? 190 : 100) << "the text alone has " << (all ? 528 : 106) << " MB";
    }
}

}  // namespace
}  // namespace heddle
