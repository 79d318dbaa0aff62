// The chapters on the presets: every statement gets the verdict that its chapter reports, and the page shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/chapters/chapter.h"
#include "apps/chapters/clauses.h"
#include "tests/documents.h"
#include "tests/support.h"

namespace heddle::chapters {
namespace {

using testing::HasSubstr;

// A text as one line with single spaces.
std::string on_one_line(const std::string& text) {
    std::istringstream words(text);
    std::string line, word;
    while (words >> word) line += (line.empty() ? "" : " ") + word;
    return line;
}

Report measure(const std::string& name, std::uint64_t seed = 1) {
    const Chapter* const chapter = find_chapter(name);
    if (chapter == nullptr) fail("test: there is no chapter " + name);
    const Report report = chapter->run({.seed = seed});
    EXPECT_FALSE(report.statements.empty());
    const std::string shown = text(*chapter, report), html = page(*chapter, report, "heddle chapter " + name).html();
    const auto object = nlohmann::json::parse(json(*chapter, report, {.seed = seed}));
    EXPECT_EQ(object["statements"].size(), report.statements.size());
    for (const Statement& statement : report.statements) {
        EXPECT_TRUE(statement.claim.ends_with('.')) << statement.claim;
        EXPECT_FALSE(statement.numbers.empty()) << statement.claim;
        for (const Measured& one : statement.numbers) EXPECT_THAT(shown, HasSubstr(one.what));
    }
    const std::string written = on_one_line(project_file("docs/presets/" + name + ".md"));
    for (const Statement& statement : report.statements)
        EXPECT_THAT(written, HasSubstr("*" + statement.claim + "*")) << name << ".md";
    const auto expect_shown = [&](const std::vector<picture::Figure>& figures) {
        for (const picture::Figure& figure : figures) {
            EXPECT_FALSE(figure.caption.empty());
            EXPECT_THAT(html, HasSubstr(figure.svg));
        }
    };
    expect_shown(report.figures);
    for (const Statement& statement : report.statements) {
        expect_shown(statement.figures);
        for (const std::string& printed : statement.printed) {
            EXPECT_THAT(html, HasSubstr(picture::escaped(printed)));
            EXPECT_THAT(written, HasSubstr(on_one_line(printed))) << name << ".md";
            EXPECT_THAT(on_one_line(shown), HasSubstr(on_one_line(printed)));
        }
    }
    return report;
}

const Statement& about(const Report& report, const std::string& words) {
    for (const Statement& statement : report.statements)
        if (statement.claim.find(words) != std::string::npos) return statement;
    fail("test: no statement contains '" + words + "'");
}

TEST(Chapters, PaperHoldsForEverySeed) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Report report = measure("paper", seed);
        for (const Statement& statement : report.statements) EXPECT_TRUE(statement.holds) << statement.claim << ", seed " << seed;
        EXPECT_NEAR(about(report, "dot product").value("variance, d = 512"), 512, 51);
        EXPECT_NEAR(about(report, "The rate rises").value("largest rate"), 1 / std::sqrt(512.0 * 4000), 1e-12);
        EXPECT_EQ(about(report, "Every layer gives rows").value("parameters"), 45188096);
        const Statement& cost = about(report, "shorter than a row is wide");
        EXPECT_EQ(cost.value("1024 tokens, inside attention"), 2.0 * 1024 * 1024 * 512);
        EXPECT_EQ(cost.value("64 tokens, attention with its four projections"), 4.0 * 64 * 512 * 512 + 2.0 * 64 * 64 * 512);
    }
}

// The claim that does not hold: normalisation converges no faster on this network.
TEST(Chapters, ExplainedHoldsButForOneClaim) {
    const Report report = measure("explained");
    for (const Statement& statement : report.statements) {
        const bool shows = statement.claim.find("converge faster") == std::string::npos;
        EXPECT_EQ(statement.holds, shows) << statement.claim;
    }
    EXPECT_EQ(about(report, "residual connection").value("with residual, layers that change nothing"), 1);
    const Statement& head = about(report, "has fewer parameters");
    EXPECT_EQ(head.value("from 64 columns to all 512"), 99840);
    EXPECT_EQ(head.value("from all 512 columns to 64"), 98496);
    EXPECT_EQ(head.value("from 42 columns to all 512"), 66048);
    EXPECT_EQ(head.value("from all 512 columns to 42"), 64638);
    EXPECT_EQ(about(report, "A causal head").value("tokens read"), 5000);
    EXPECT_LT(about(report, "Dropout of attention").value("mean of 2000 draws, of the output"), 0.02);
    EXPECT_GT(about(report, "Dropout of attention").value("one draw, of the output"), 0.1);
    EXPECT_EQ(about(report, "Layer norm takes").value("what a token moves when another changes, layer norm"), 0);
    EXPECT_EQ(about(report, "less sensitive to the rate").value("of 7 end worse than guessing, with layer norm"), 0);
    EXPECT_GT(about(report, "stable over the depth").value("norm, 32 blocks, without"), 1e6);
}

TEST(Chapters, NotebookHolds) {
    const Report report = measure("notebook");
    for (const Statement& statement : report.statements) EXPECT_TRUE(statement.holds) << statement.claim;
    EXPECT_DOUBLE_EQ(about(report, "between -1 and 1").value("largest value"), 1);
    EXPECT_EQ(about(report, "extend to lengths").value("largest difference of the first 100 rows"), 0);
    // torchinfo's figures: 6.30 M and 1.46 G mult-adds, .03, 1087.59, 182.55 and 1270.17 MB.
    const Statement &block = about(report, "treats each token by itself"), &model = about(report, "torchinfo multiplies");
    EXPECT_EQ(block.value("parameters together"), 2100736);
    EXPECT_EQ(block.value("mult-adds as torchinfo counts, [3, 4, 512]"), 3 * 2100736);
    EXPECT_EQ(block.value("mult-adds, [3, 4, 512]"), 3 * 4 * 2 * 512 * 2048);
    EXPECT_EQ(model.value("mult-adds as torchinfo counts, 32 x 50"), 32 * 45637632.0);
    EXPECT_NEAR(model.value("mult-adds, 32 x 50"), 72.52e9, 0.005e9);
    EXPECT_NEAR(model.value("MB as torchinfo counts, forward and backward"), 1087.59, 0.005);
    EXPECT_NEAR(model.value("MB as torchinfo counts, together"), 1270.17, 0.005);
    EXPECT_NEAR(model.value("MB kept from forward for backward"), 599.74, 0.005);
}

// Every claim except the time, which depends on the machine.
TEST(Chapters, AnnotatedHolds) {
    const Report report = measure("annotated");
    const Statement& heads = about(report, "narrow heads");
    EXPECT_EQ(about(report, "weights of its own").value("N = 2, vocabularies of 10"), 14730250);
    EXPECT_EQ(about(report, "weights of its own").value("N = 6, vocabularies of 10"), 44155914);
    EXPECT_EQ(heads.value("mult-adds, 8 heads of 32"), heads.value("mult-adds, 1 head of 256"));
    EXPECT_EQ(heads.value("parameters, 8 heads"), 4 * (256 * 256 + 256));
    EXPECT_GT(heads.value("time of 8 heads, of 1 head's (this run)"), 0);
    for (const Statement& statement : report.statements) EXPECT_TRUE(statement.holds || &statement == &heads) << statement.claim;
    EXPECT_NEAR(about(report, "too sure").value("probability with the least loss"), 0.92, 1e-9);
}

// The claim that does not hold: short pairs alone do not teach more than short and truncated ones.
TEST(Chapters, TranslatorHoldsButForOneClaim) {
    for (const std::uint64_t seed : {1, 2}) {
        const Report report = measure("translator", seed);
        EXPECT_EQ(report.statements.size(), 11u);
        for (const Statement& statement : report.statements) {
            const bool shows = statement.claim.find("learns more from the short pairs alone") == std::string::npos;
            EXPECT_EQ(statement.holds, shows) << statement.claim << ", seed " << seed;
        }
        const Statement& files = about(report, "cleaned one by one");
        EXPECT_NEAR(files.value("a line of text more: wrong pairs when cleaned one by one, mean of 100 places, %"), 50, 10);
        EXPECT_EQ(files.value("wrong pairs of all these files when read side by side"), 0);
        EXPECT_NEAR(about(report, "Cut pairs").value("target words that the source has lost, %"), 5, 1);
        EXPECT_GT(about(report, "A padded batch").value("padded rows per token, 32 sentences in file order"), 1.5);
        const Statement& accuracy = about(report, "counts padding");
        EXPECT_GT(accuracy.value("accuracy with padding, step 20, %"), accuracy.value("positions that are padding, %"));
        EXPECT_LT(accuracy.value("without, step 20, %"), 20);
        const Statement& rows = about(report, "learned table");
        EXPECT_EQ(rows.value("rows that moved, both tables"), 2 * 11);
        EXPECT_EQ(rows.value("rows that kept every bit"), 2 * 21);
        EXPECT_GT(about(report, "Greedy decoding").value("translations that stopped at the end mark"), 100);
    }
}

// The properties of the pairs that the made-up languages generate.
TEST(Chapters, ClausesPutTheVerbInSecondPlace) {
    Sequence numbers(7);
    const std::vector<ClausePair> pairs = draw_clauses(300, numbers);
    std::int64_t longest = 0;
    for (const ClausePair& pair : pairs) {
        longest = std::max(longest, pair.words);
        ASSERT_EQ(pair.source.size(), static_cast<std::size_t>(pair.words));
        ASSERT_EQ(pair.origins.size(), pair.target.size());
        std::vector<std::size_t> places = pair.origins;
        std::ranges::sort(places);
        for (std::size_t i = 0; i < places.size(); ++i) {
            EXPECT_EQ(places[i], i) << "each source word once";
            EXPECT_EQ(pair.target[i], pair.source[pair.origins[i]]);
        }
        EXPECT_EQ(pair.origins[0], 0u);
        for (std::size_t i = 2; i <= pair.origins[1]; ++i) EXPECT_EQ(pair.origins[i], i - 1) << "behind the verb, in their order";
        const ClausePair cut = pair.cut(4);
        EXPECT_EQ(cut.source.size(), std::min<std::size_t>(4, pair.source.size()));
        EXPECT_EQ(cut.target, std::vector(pair.target.begin(), pair.target.begin() + cut.words));
    }
    EXPECT_LE(longest, longest_sentence);
    EXPECT_GT(longest, 20);
    const auto within = by_length(pairs, 10, true), longer = by_length(pairs, 10, false);
    EXPECT_EQ(within.size() + longer.size(), pairs.size());
    EXPECT_TRUE(std::ranges::all_of(longer, [](const ClausePair& pair) { return pair.words > 10; }));
}

TEST(Chapters, NamesWhatThereIs) {
    EXPECT_EQ(find_chapter("papyrus"), nullptr);
    const Report report = measure("paper");
    expect_error([&] { report.statements[0].value("colour"); }, "nothing called 'colour' was measured for 'The dot product");
}

}  // namespace
}  // namespace heddle::chapters
