// How a process detects that it is one of several, the messages between ranks, and the batches that they compute together.
#include "apps/translation/distributed/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <atomic>
#include <map>

#include "apps/translation/distributed/distributed_batches.h"
#include "apps/translation/distributed/message.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"
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

// Batches computed by several ranks, here threads, give the results of one process, bit for bit.

constexpr std::int64_t vocabulary = 13;

// Runs `lead` on rank 0 with the models that all ranks have. Returns how often the other ranks were asked to compute.
std::int64_t together(int size, const std::function<void(Ranks&, const Ensemble&)>& lead) {
    std::atomic<std::int64_t> asked = 0;
    on_threads(size, [&](Ranks& ranks) {
        const nn::Model one = nn::random_model(vocabulary, 1), two = nn::random_model(vocabulary, 2, 0.8);
        const Ensemble models({one.get(), two.get()});
        if (ranks.rank() > 0) {
            for (ReceivedCommand given = receive_command(ranks); given.command == Command::batches;
                 given = receive_command(ranks)) {
                ++asked;
                compute_batches(ranks, models, std::move(given.message));
            }
            return;
        }
        try {
            lead(ranks, models);
        } catch (...) {
            send_command(ranks, Command::end);
            throw;
        }
        send_command(ranks, Command::end);
    });
    return asked;
}

// Seven batches of one to seven sources.
std::vector<SourceBatch> source_batches() {
    std::vector<SourceBatch> batches;
    for (std::uint64_t b = 0; b < 7; ++b) {
        SourceBatch& batch = batches.emplace_back();
        for (std::uint64_t i = 0; i <= b; ++i) {
            batch.sources.push_back(nn::source_of(static_cast<std::int64_t>(1 + (3 * i + b) % 8), vocabulary, 10 * b + i));
            batch.numbers.push_back(static_cast<std::int64_t>(10 * b + i));
        }
    }
    return batches;
}

std::vector<PairBatch> pair_batches() {
    std::vector<PairBatch> batches;
    for (const SourceBatch& sources : source_batches()) {
        std::vector<TokenPair> pairs;
        std::vector<std::int64_t> all;
        for (const nn::Tokens& source : sources.sources) {
            all.push_back(static_cast<std::int64_t>(pairs.size()));
            pairs.push_back({source, nn::Tokens(source.rbegin(), source.rend())});
        }
        batches.push_back(make_batch(pairs, all));
    }
    return batches;
}

std::vector<nn::ScoreBatch> score_batches() {
    std::vector<nn::ScoreBatch> batches;
    for (SourceBatch& from : source_batches()) {
        nn::ScoreBatch& batch = batches.emplace_back();
        for (const nn::Tokens& source : from.sources) {
            batch.written.emplace_back(source.rbegin(), source.rend());
            batch.written.back().push_back(eos_id);
        }
        batch.sources = std::move(from.sources);
    }
    batches[2].written.back().back() = 5;  // as of a target that was cut
    batches[1].begin = 6;
    return batches;
}

void expect_equal(const std::vector<HypothesisLists>& found, const std::vector<HypothesisLists>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t b = 0; b < wanted.size(); ++b) {
        ASSERT_EQ(found[b].size(), wanted[b].size());
        for (std::size_t i = 0; i < wanted[b].size(); ++i) {
            ASSERT_EQ(found[b][i].size(), wanted[b][i].size()) << "batch " << b << ", source " << i;
            for (std::size_t j = 0; j < wanted[b][i].size(); ++j) {
                const nn::Hypothesis &a = found[b][i][j], &c = wanted[b][i][j];
                EXPECT_EQ(a.tokens, c.tokens);
                EXPECT_EQ(a.log_probability, c.log_probability);
                EXPECT_EQ(a.score, c.score);
                EXPECT_EQ(a.ended, c.ended);
            }
        }
    }
}

TEST(DistributedBatches, DecodesWithTheBitsOfOneProcess) {
    const std::vector<SourceBatch> batches = source_batches();
    const DecodeOptions searching{
        .beam = 3, .length_penalty = 0.7, .patience = 1, .n_best = 2, .prefix = {4, 5}, .first = {6, 7, 8}, .sampling = {}},
        sampling{.n_best = 3, .prefix = {}, .sampling = Sampling{.top_k = 5, .temperature = 1.3, .seed = 9}},
        limited{.beam = 2, .forbidden = {6, 7, 8}, .max_length = 4, .marks = {.begin = 5, .end = 9}};
    for (const DecodeOptions& options : {searching, sampling, limited}) {
        std::vector<HypothesisLists> wanted;
        together(1, [&](Ranks&, const Ensemble& models) {
            for (const SourceBatch& batch : batches) wanted.push_back(decode(models, batch, options));
        });
        for (int size = 1; size <= 9; ++size) {
            const std::int64_t asked = together(size, [&](Ranks& ranks, const Ensemble& models) {
                expect_equal(decode_on_ranks(ranks, models, batches, options), wanted);
                expect_equal(decode_on_ranks(ranks, models, std::span(batches).first(1), options), {wanted[0]});
                expect_equal(decode_on_ranks(ranks, models, {}, options), {});
            });
            EXPECT_EQ(asked, size - 1) << "one batch and none are no work for others";
        }
    }
}

TEST(DistributedBatches, ScoresWithTheBitsOfOneProcess) {
    const std::vector<PairBatch> batches = pair_batches();
    const std::vector<nn::ScoreBatch> to_score = score_batches();
    std::vector<std::vector<double>> wanted;
    std::vector<double> wanted_nll;
    std::vector<std::int64_t> wanted_correct;
    together(1, [&](Ranks&, const Ensemble& models) {
        for (const nn::ScoreBatch& batch : to_score) wanted.push_back(nn::token_log_probabilities(models, batch));
        for (const PairBatch& batch : batches) {
            const Likelihood each = likelihood(*models.models().front(), batch);
            wanted_nll.push_back(each.nll);
            wanted_correct.push_back(each.correct);
            EXPECT_EQ(each.tokens, batch.target_tokens);
        }
    });
    for (const int size : {2, 3, 4}) {
        const std::int64_t asked = together(size, [&](Ranks& ranks, const Ensemble& models) {
            EXPECT_EQ(score_on_ranks(ranks, models, to_score), wanted);
            const std::vector<Likelihood> found = likelihoods_on_ranks(ranks, *models.models().front(), batches);
            ASSERT_EQ(found.size(), batches.size());
            for (std::size_t b = 0; b < found.size(); ++b) {
                EXPECT_EQ(found[b].nll, wanted_nll[b]);
                EXPECT_EQ(found[b].correct, wanted_correct[b]);
                EXPECT_EQ(found[b].tokens, batches[b].target_tokens);
            }
        });
        EXPECT_EQ(asked, 2 * (size - 1));
    }
}

// The choice of a length penalty survives an error of rank 0, and the ranks must agree on what comes next.
TEST(DistributedBatches, LeavesTheRanksReadyAfterAnErrorOfRank0) {
    std::vector<SourceBatch> batches = source_batches();
    batches[0].sources[0].assign(3, vocabulary);  // not a token
    const DecodeOptions options{.beam = 2};
    together(3, [&](Ranks& ranks, const Ensemble& models) {
        EXPECT_THROW(decode_on_ranks(ranks, models, batches, options), Error);
        const std::vector<SourceBatch> sound = source_batches();
        std::vector<HypothesisLists> wanted;
        for (const SourceBatch& batch : sound) wanted.push_back(decode(models, batch, options));
        expect_equal(decode_on_ranks(ranks, models, sound, options), wanted);
    });
}

TEST(DistributedBatches, ThrowsTheErrorOfAnotherRankAndLeavesTheRanksReady) {
    std::vector<SourceBatch> batches = source_batches();
    batches[1].sources[0].assign(3, vocabulary);  // sent to rank 1
    const DecodeOptions options{.beam = 2};
    const std::vector<SourceBatch> sound = source_batches();
    together(3, [&](Ranks& ranks, const Ensemble& models) {
        expect_error([&] { decode_on_ranks(ranks, models, batches, options); }, "rank 1 on ");
        std::vector<HypothesisLists> wanted;
        for (const SourceBatch& batch : sound) wanted.push_back(decode(models, batch, options));
        expect_equal(decode_on_ranks(ranks, models, sound, options), wanted);
    });
}

TEST(DistributedBatches, GivesATranslatorTheWindowsOfOneProcess) {
    std::vector<std::int64_t> sizes;
    const std::vector<std::string> lines = {"a b", "c", "", "b b b", "a"};
    VocabularyOptions words;
    words.type = VocabularyType::word;
    Vocabularies letters;
    letters.source = letters.target = train_vocabulary(words, lines);
    const nn::Model model = nn::random_model(letters.source->size(), 1);
    const Decoders counting{.processes = 2, .decode = [&](std::span<const SourceBatch> batches, const DecodeOptions& options) {
                                std::vector<HypothesisLists> found;
                                for (const SourceBatch& batch : batches) {
                                    sizes.push_back(static_cast<std::int64_t>(batch.sources.size()));
                                    found.push_back(decode(*model, batch, options));
                                }
                                return found;
                            }};
    Translator whole(*model, letters, {.beam = 2}), windows(*model, letters, {.beam = 2}, counting);
    const auto wanted = whole.translate(lines), found = windows.translate(lines, 2);
    EXPECT_THAT(sizes, testing::ElementsAre(2, 1, 1));
    for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(found[i].front().text, wanted[i].front().text);
}

TEST(DistributedBatches, RefusesAMessageThatEndsTooSoon) {
    Message message;
    message.put(std::vector<double>{1, 2});
    Message cut(message.bytes().substr(0, 20));
    expect_error([&] { cut.take<double>(); }, "a message of 20 bytes ends before its numbers do");
    EXPECT_THAT(message.take<double>(), testing::ElementsAre(1, 2));
    Message huge;
    huge.put_one(std::int64_t{1} << 60);  // as an array's count, for take()
    Message damaged(huge.bytes().substr(sizeof(std::int64_t)));
    expect_error([&] { damaged.take<double>(); }, "ends before its numbers do");
}

}  // namespace
}  // namespace heddle::app
