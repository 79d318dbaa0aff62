// Messages of the program when memory does not suffice.
#include <sched.h>
#include <sys/resource.h>

#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "apps/command/commands.h"
#include "apps/command/memory_advice.h"
#include "tests/program.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// While it exists, started programs have one processor (each thread needs memory of its own) and this many bytes.
class LittleMemory {
  public:
    explicit LittleMemory(rlim_t bytes) {
        EXPECT_EQ(sched_getaffinity(0, sizeof processors_, &processors_), 0);
        EXPECT_EQ(getrlimit(RLIMIT_AS, &limit_), 0);
        cpu_set_t one;
        CPU_ZERO(&one);
        std::size_t first = 0;
        while (!CPU_ISSET(first, &processors_)) ++first;
        CPU_SET(first, &one);
        EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        const rlimit small{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_AS, &small), 0);
    }
    ~LittleMemory() {
        EXPECT_EQ(setrlimit(RLIMIT_AS, &limit_), 0);
        EXPECT_EQ(sched_setaffinity(0, sizeof processors_, &processors_), 0);
    }
    LittleMemory(const LittleMemory&) = delete;
    LittleMemory& operator=(const LittleMemory&) = delete;

  private:
    cpu_set_t processors_;
    rlimit limit_{};
};

// Expects one line: how much was wanted and available, then advice.
void expect_advice(const ProgramResult& result, const std::string& advice) {
    expect_complaint(result, 1, advice);
    EXPECT_THAT(result.err, HasSubstr("heddle: memory: the system has no"));
}

constexpr rlim_t little = 100'000'000;  // enough for a small model, but not for the rest
const std::string one_layer = " --layers 1 --d-model 32 --heads 2 --d-ff 64 --valid-sentences 0 --threads 1";

TEST(ProgramMemory, TrainingNamesWhatMakesItsBatches) {
    const Workplace here;
    const LittleMemory memory(little);
    const ProgramResult fits = here.run("train --task copy --updates 4 --out RUN" + one_layer);
    EXPECT_EQ(fits.status, 0) << fits.err;
    const ProgramResult large = here.run("train --task copy --updates 4 --batch-tokens 1000000 --out large");
    EXPECT_EQ(large.status, 1);
    EXPECT_THAT(large.err, ContainsRegex("\nheddle: memory: the system has no [0-9.]+ [kMG]B left \\([0-9.]+ [kM]B in use\\); "
                                         "lower --batch-tokens 1000000 or "));
    EXPECT_THAT(large.err, ContainsRegex("try --batch-tokens [0-9]+ --accumulate [0-9]+: updates of the same size"));
    std::string pairs;
    for (int i = 0; i < 4000; ++i) pairs += "a b c d e f g h i j k l m n o p q r s t u v w x y z\tb\n";
    here.write("pairs", pairs);
    const ProgramResult bench = here.run(
        "bench train --train pairs --tsv --vocab-type word --batch-tokens 0 --batch-sentences 4000 --updates 1 --skip 0 "
        "--threads 1");
    EXPECT_EQ(bench.status, 1);
    EXPECT_THAT(bench.err, AllOf(HasSubstr("; lower --batch-sentences 4000 or "), Not(HasSubstr("--batch-tokens"))));
}

TEST(ProgramMemory, ASearchNamesItsBeam) {
    const Workplace here;
    ASSERT_EQ(here.run("train --task copy --updates 4 --out RUN" + one_layer).status, 0);
    std::string line;
    for (int i = 0; i < 500; ++i) line += i % 2 == 0 ? "a " : "b ";
    const LittleMemory memory(little);
    const ProgramResult fits = here.run("translate --model RUN --beam 1", line + "\n");
    EXPECT_EQ(fits.status, 0) << fits.err;
    expect_advice(here.run("translate --model RUN --beam 1000", line + "\n"), "or split the longest lines");
    here.write("test.a", line + "\n");
    here.write("test.b", "a\n");
    expect_advice(here.run("evaluate --model RUN --test test --source a --target b --beam 1000"), "; lower --beam 1000 to ");
}

// The size of summary's batch is its own option, so a training's advice would not help.
TEST(ProgramMemory, SummaryNamesItsInput) {
    const Workplace here;
    const LittleMemory memory(600'000'000);
    const ProgramResult fits = here.run("summary --input 1x8");
    EXPECT_EQ(fits.status, 0) << fits.err;
    const ProgramResult large = here.run("summary --input 1000x100");
    expect_advice(large, "; --input 1000x100x100 goes through the model: give fewer sentences, such as --input ");
    EXPECT_THAT(large.err, Not(HasSubstr("--batch-tokens")));
}

// SentencePiece learns in threads of its own, whose exceptions cannot be caught.
TEST(ProgramMemory, AVocabularyThatDoesNotFitEndsInOneLine) {
    const Workplace here;
    std::string pairs;
    for (int i = 0; i < 40000; ++i) {
        const std::string number = std::to_string(i * 7919 % 40009);
        pairs += "word" + number + " and" + number + "other\t" + number + " as it is\n";
    }
    here.write("pairs", pairs);
    for (const std::string type : {"bpe", "unigram"}) {
        const LittleMemory memory(little);
        const ProgramResult result = here.run("train --train pairs --tsv --source a --target b --vocab-size 500 --vocab-type " +
                                              type + " --out " + type + one_layer);
        EXPECT_EQ(result.status, 1) << type << ": " << result.err;
        EXPECT_THAT(result.err,
                    testing::ContainsRegex("heddle: (memory: the system has no|the system starts no further thread)"));
        EXPECT_THAT(result.err, AllOf(Not(HasSubstr("terminate called")), Not(HasSubstr("--batch-tokens"))));
    }
}

TEST(ProgramMemory, WithoutAnOptionThatHelpsMoreOfItIsAskedFor) {
    const Workplace here;
    const LittleMemory memory(little);
    expect_advice(here.run("bench ops --op linear --sizes large --seconds 0 --threads 1"),
                  " in use); end other programs, or let this one have more\n");
}

// Refused before anything is built or learned.
TEST(ProgramMemory, AModelThatCannotFitIsRefusedAtOnce) {
    const Workplace here;
    const std::string advice = "; lower --layers, --d-model, --d-ff or --vocab-size\n";
    for (const std::string options :
         {"--layers 9223372036854775807", "--layers 5000000000 --d-model 2 --heads 1 --d-ff 1",
          "--decoder-layers 9223372036854775807 --encoder-layers 9223372036854775807",
          "--d-model 16777216 --heads 1 --position-table 8", "--d-model 100000 --heads 7 --head-dim 100000 --position-table 8"}) {
        expect_complaint(here.run("summary " + options), 1, advice);
        const ProgramResult trained = here.run("train --task copy --out RUN " + options);
        EXPECT_EQ(trained.status, 1);
        EXPECT_THAT(trained.err,
                    AllOf(ContainsRegex("heddle: a model of [0-9.e+]+ parameters takes [0-9.e+]+ GB of memory or more to "
                                        "train, with gradients and moments, and this machine has [0-9.e+]+ GB; "),
                          HasSubstr(advice), Not(HasSubstr("vocabulary:"))));
        EXPECT_FALSE(here.exists("RUN"));
    }
    // The size of a vocabulary is only known once it is learned.
    expect_complaint(here.run("summary --vocab-size 2147483648"), 1, advice);
    EXPECT_EQ(here.run("summary --layers 5").status, 0);
    const LittleMemory memory(little);
    expect_complaint(here.run("summary --d-model 1024"), 1, "and this machine has 0.1 GB; lower ");
}

TEST(MemoryAdvice, CountsWhatTrainingHolds) {
    app::TrainingOptions options;
    EXPECT_EQ(app::training_bytes(options, Device::cpu), 16) << "weight, gradient, two moments";
    options.optimizer = optim::Method::sgd;
    EXPECT_EQ(app::training_bytes(options, Device::cpu), 8);
    EXPECT_EQ(app::training_bytes(options, Device::cuda), 4) << "the rest is on the device";
    const nn::TransformerOptions model = app::default_model.with_vocabularies(6000, 6000);
    app::check_model_fits(model);
    const double memory = app::machine_memory();
    EXPECT_GT(memory, 1e8);
    // The same model with a requirement just below and just above the memory.
    const double elements = 6000.0 * 128;
    EXPECT_NO_THROW(app::check_model_fits(model, 0.2 * memory / elements / 3));
    EXPECT_THAT(error_of([&] { app::check_model_fits(model, 1.1 * memory / elements); }),
                HasSubstr("lower --layers, --d-model, --d-ff or --vocab-size"));
}

TEST(MemoryAdvice, NamesTheLimitsInForce) {
    using app::batch_advice;
    app::TrainingOptions options;
    options.batch_tokens = 1500;
    options.max_length = 0;
    EXPECT_EQ(batch_advice(options, 2),
              "lower --batch-tokens 1500, or take a smaller model; try --batch-tokens 750 --accumulate 2: updates of the same "
              "size, and half the memory for a batch");
    options.batch_sentences = 64;
    options.max_length = 80;
    options.accumulate = 3;
    EXPECT_EQ(batch_advice(options, 4),
              "lower --batch-tokens 1500 or --batch-sentences 64 or --max-length 80, or take a smaller model; try "
              "--batch-tokens 375 --batch-sentences 16 --accumulate 12: updates of the same size, and 1/4 of the memory for a "
              "batch");
    EXPECT_EQ(batch_advice(options, 2, "my runs/a"),
              "a resumed run keeps its batches and its model: start another one with --init 'my runs/a' --batch-tokens 750 "
              "--batch-sentences 32 --accumulate 6: updates of the same size, and half the memory for a batch");
    options.batch_tokens = options.batch_sentences = options.max_length = 0;
    EXPECT_EQ(batch_advice(options, 2), "take a smaller model; try --batch-tokens 1500");
    nn::DecodeOptions decode;
    decode.beam = 5;
    EXPECT_EQ(app::search_advice(decode, 2), "lower --beam 5 to 2, or split the longest lines");
    EXPECT_EQ(app::search_advice(decode, 32), "lower --beam 5 to 1, or split the longest lines");
    decode.n_best = 4;
    EXPECT_EQ(app::search_advice(decode, 2), "lower --beam 5 to 4, or split the longest lines");
    decode.beam = 4;
    EXPECT_EQ(app::search_advice(decode, 2), "split the longest lines");
    decode.sampling.emplace();
    decode.n_best = 30;
    EXPECT_EQ(app::search_advice(decode, 2), "lower --n-best 30 to 15, or split the longest lines");
}

TEST(MemoryAdvice, StandsBehindWhatWasWantedAndPassesOtherErrorsOn) {
    const auto advice = [] { return "lower X"; };
    EXPECT_EQ(app::with_memory_advice(advice, [] { return 3; }), 3);
    EXPECT_EQ(error_of([&] { app::with_memory_advice(advice, [] { throw OutOfMemory("memory: none"); }); }),
              "memory: none; lower X");
    EXPECT_EQ(error_of([&] { app::with_memory_advice(advice, [] { throw std::bad_alloc(); }); }),
              "memory: the system has none left; lower X");
    const auto to = [](std::int64_t less) { return "lower X 8 to " + std::to_string(8 / less); };
    EXPECT_EQ(error_of([&] { app::with_memory_advice(to, [] { throw OutOfMemory("memory: none", 30, 10); }); }),
              "memory: none; lower X 8 to 2");
    EXPECT_EQ(error_of([&] { app::with_memory_advice(advice, [] { throw Error("other"); }); }), "other");
}

TEST(GuardDeathTest, SaysPlainlyWhatEndedAThread) {
    const auto in_a_thread = [](auto thrown) {
        return [thrown] { exit(app::guarded([&] { return std::thread([&] { throw thrown; }).join(), 0; })); };
    };
    EXPECT_EXIT(in_a_thread(std::bad_alloc())(), testing::ExitedWithCode(1),
                "^heddle: memory: the system has none left, in the middle of a library's work; end other programs, or let this "
                "one have more\n$");
    EXPECT_EXIT(in_a_thread(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)))(),
                testing::ExitedWithCode(1), "^heddle: the system starts no further thread: ");
    EXPECT_EXIT(in_a_thread(std::runtime_error("a defect"))(), testing::KilledBySignal(SIGABRT), "a defect");
}

}  // namespace
}  // namespace heddle
