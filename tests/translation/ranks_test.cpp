// How a process detects that it is one of several, and the messages between ranks.
#include "apps/translation/distributed/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>

#include "apps/translation/distributed/message.h"
#include "tests/translation/thread_ranks.h"

namespace heddle::app {
namespace {

// Calls `look` with these variables and no others that launchers set.
template <class Look>
auto with_variables(const std::map<std::string, std::string>& variables, const Look& look) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS"})
        unsetenv(name);
    for (const auto& [name, text] : variables) setenv(name.c_str(), text.c_str(), 1);
    const auto found = look();
    for (const auto& [name, text] : variables) unsetenv(name.c_str());
    return found;
}

int started_with(const std::map<std::string, std::string>& variables) {
    return with_variables(variables, [] { return started_ranks(); });
}

TEST(Ranks, AreCountedByTheirStartersVariables) {
    EXPECT_EQ(started_with({}), 1);
    EXPECT_EQ(started_with({{"OMPI_COMM_WORLD_SIZE", "4"}}), 4);
    EXPECT_EQ(started_with({{"PMI_SIZE", "3"}, {"PMI_RANK", "2"}}), 3);
    EXPECT_EQ(started_with({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "16"}}), 8);
    EXPECT_EQ(started_with({{"PMIX_RANK", "0"}, {"SLURM_NTASKS", "16"}}), 16);
    EXPECT_EQ(started_with({{"SLURM_NTASKS", "16"}}), 1) << "a batch script";
    EXPECT_EQ(started_with({{"SLURM_NTASKS", "16"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 4) << "srun --mpi=none";
    EXPECT_EQ(started_with({{"OMPI_COMM_WORLD_SIZE", "many"}}), 1);
    EXPECT_EQ(started_with({{"OMPI_COMM_WORLD_SIZE", "1"}}), 1);
}

TEST(Ranks, AreSeenToHaveNoMpiOnlyUnderSrunWithoutAnInterface) {
    const auto without = [](const std::map<std::string, std::string>& variables) {
        return with_variables(variables, [] { return started_without_mpi(); });
    };
    EXPECT_FALSE(without({}));
    EXPECT_TRUE(without({{"SLURM_STEP_NUM_TASKS", "4"}}));
    EXPECT_FALSE(without({{"SLURM_STEP_NUM_TASKS", "1"}})) << "a shell of salloc";
    EXPECT_FALSE(without({{"SLURM_NTASKS", "4"}})) << "a batch script";
    for (const char* interface : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"})
        EXPECT_FALSE(without({{"SLURM_STEP_NUM_TASKS", "4"}, {interface, "2"}})) << interface;
}

TEST(Ranks, TakeTheDevicesOfTheirMachineInTurn) {
    EXPECT_EQ(device_of_rank(nullptr, 0), "0");
    EXPECT_EQ(device_of_rank(nullptr, 3), "3");
    EXPECT_EQ(device_of_rank("4,7", 0), "4");
    EXPECT_EQ(device_of_rank("4,7", 1), "7");
    EXPECT_EQ(device_of_rank("4,7", 2), "4");
    EXPECT_EQ(device_of_rank("GPU-8932f937", 5), "GPU-8932f937") << "a task of Slurm with a GPU of its own";
    EXPECT_EQ(device_of_rank("", 1), "") << "none is to be used";
}

TEST(Ranks, HearWhatRank0SaysAndTellItTheirs) {
    on_threads(3, [](Ranks& ranks) {
        const bool first = ranks.rank() == 0;
        EXPECT_EQ(broadcast(ranks, first ? std::string("to all") : std::string()), "to all");
        EXPECT_EQ(broadcast(ranks, std::string(first ? "" : "nothing of this stays")), "");
        Message numbers = broadcast(ranks, first ? Message::of(std::int64_t{-2}, 0.5, true) : Message());
        EXPECT_EQ(numbers.take_one<std::int64_t>(), -2);
        EXPECT_EQ(numbers.take_one<double>(), 0.5);
        EXPECT_TRUE(numbers.take_one<bool>());
        const std::vector<std::string> texts = gather(ranks, std::string(static_cast<std::size_t>(2 * ranks.rank()), 'x'));
        if (first)
            EXPECT_THAT(texts, testing::ElementsAre("", "xx", "xxxx"));
        else
            EXPECT_TRUE(texts.empty());
        std::vector<Message> parts;
        for (const char* const text : {"a", "", "ccc"}) parts.emplace_back().put_text(text);
        EXPECT_EQ(scatter(ranks, first ? parts : std::vector<Message>()).take_text(),
                  std::vector<std::string>({"a", "", "ccc"})[static_cast<std::size_t>(ranks.rank())]);
    });
}

TEST(Ranks, SendNumberedMessagesInAnyOrderWhileTheyCompute) {
    on_threads(3, [](Ranks& ranks) {
        constexpr int count = 5;
        const int rank = ranks.rank(), next = (rank + 1) % 3, before = (rank + 2) % 3;
        const auto sent = std::make_shared<std::vector<std::int64_t>>(count),
                   got = std::make_shared<std::vector<std::int64_t>>(count);
        const auto number = [](auto& values, int i) { return std::span(values).subspan(static_cast<std::size_t>(i), 1); };
        for (int round = 0; round < 2; ++round) {
            EXPECT_EQ(ranks.arrived(), 0);
            for (int i = 0; i < count; ++i) ranks.start_receive({before, std::as_writable_bytes(number(*got, i))}, 1 + i, got);
            for (int i = count; i-- > 0;) {
                (*sent)[static_cast<std::size_t>(i)] = 100 * round + 10 * rank + i;
                ranks.start_send({next, std::as_bytes(number(*sent, i))}, 1 + i, sent);
                EXPECT_LE(ranks.arrived(), 8 * count);
            }
            ranks.settle();
            for (int i = 0; i < count; ++i) EXPECT_EQ((*got)[static_cast<std::size_t>(i)], 100 * round + 10 * before + i);
        }
    });
}

}  // namespace
}  // namespace heddle::app
