// The presets train what their write-ups describe.
#include <cstdio>

#include "tests/program.h"

namespace heddle {
namespace {

// Two layers, ten symbols, 400 updates of warm-up, label smoothing 0.1; tested on 1,000 unseen sequences.
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

}  // namespace
}  // namespace heddle
