// What the presets' write-ups train, and a summary that has too little memory, through the program itself.
#include <sched.h>
#include <sys/resource.h>

#include <cstdio>

#include "tests/program.h"

namespace heddle {
namespace {

// Two layers, ten symbols, 400 updates of warm-up, label smoothing 0.1: 1,000 sequences that training never saw.
TEST(ProgramPresets, AnnotatedLearnsToCopyWhatItNeverSaw) {
    const Workplace here;
    const ProgramResult trained = here.run("train --preset annotated-copy --valid-sentences 0 --out RUN");
    ASSERT_EQ(trained.status, 0) << trained.err;
    const ProgramResult evaluated = here.run("evaluate --model RUN --test RUN/test --beam 1");
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    const std::size_t at = evaluated.out.find("exact: ");
    ASSERT_NE(at, std::string::npos) << evaluated.out;
    int exact = 0, lines = 0;
    ASSERT_EQ(std::sscanf(evaluated.out.c_str() + at, "exact: %d of %d", &exact, &lines), 2) << evaluated.out;
    EXPECT_EQ(lines, 1000);
    EXPECT_GE(exact, 990);
}

/// As long as it lives, programs that are started have one processor (each thread takes room of its own) and so many bytes.
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

// The batch of summary has an option of its own.
TEST(ProgramSummary, NamesItsInputWhenTheMemoryDoesNotSuffice) {
    const Workplace here;
    const LittleMemory little(600'000'000);
    const ProgramResult fits = here.run("summary --input 1x8");
    EXPECT_EQ(fits.status, 0) << fits.err;
    expect_complaint(here.run("summary --input 1000x100"), 1, "the memory does not suffice for --input 1000x100x100; give fewer");
}

}  // namespace
}  // namespace heddle
