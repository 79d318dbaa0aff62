// The scripts of pages in Chromium: the effects of clicks and keys. Skipped if there is no Chromium.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "apps/picture/chart.h"
#include "apps/picture/ramp.h"
#include "apps/translation/report/attention.h"
#include "core/file.h"
#include "tests/browser.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"

namespace heddle {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* helpers = R"(
    const one = selector => document.querySelector(selector), all = selector => [...document.querySelectorAll(selector)];
    const key = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
    const over = element => element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
    const choose = (number, value) => {
        const select = all('select')[number];
        select.value = value;
        select.dispatchEvent(new Event('change'));
    };
)";

// The results of these scripts, run in order at the end of the page, or the console's message.
std::vector<std::string> answers(const std::filesystem::path& page, const std::vector<std::string>& scripts) {
    std::string html = read_file(page), calls;
    for (const std::string& script : scripts) calls += "() => { " + script + " },\n";
    html.insert(html.rfind("</body>"),
                fmt::format("<script>{}document.title = encodeURIComponent(JSON.stringify([{}].map(ask => ask())));</script>",
                            helpers, calls));
    return title_of(html).get<std::vector<std::string>>();
}

class PageScripts : public testing::Test {
  protected:
    void SetUp() override {
        if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the scripts of pages were not run";
    }

    TemporaryFolder folder_;
};

TEST_F(PageScripts, AttentionAnswersPointerKeysAndChoices) {
    app::Vocabularies vocabularies;
    vocabularies.source = vocabularies.target = app::train_vocabulary(
        {.type = app::VocabularyType::word}, std::vector<std::string>{"one two three four five </script> \"quoted\""});
    const nn::Model model = nn::random_model(vocabularies.source->size(), 3, 0.5, 32);
    app::AttentionReport report(folder_.path(), 9, false);
    for (const char* line : {"one two three", "five", "one </script> \"quoted\""}) {
        const app::Translation found{.text = "four five", .tokens = vocabularies.target->encode("four five"), .ended = true};
        const app::TranslationAttention attention = app::attention_of(*model, vocabularies, line, found);
        report.add(line, found.text, attention, app::decoding_steps(*model, *vocabularies.target, attention, 5));
    }
    report.write();
    const std::int64_t heads = model->options().heads;
    const std::vector<std::string> said = answers(
        folder_ / "index.html",
        {"return [all('select').length, all('.heads canvas').length, all('.map [role=gridcell]').length, "
         "all('.lines line').length].join();",
         "over(one('#cell-2-1')); return one('.readout').textContent;",
         "key(one('.map'), 'ArrowUp'); key(one('.map'), 'End'); return one('.map').getAttribute('aria-activedescendant') + ' ' + "
         "one('.lines [aria-pressed=true]').textContent;",
         "for (let i = 0; i < 9; ++i) key(one('.map'), 'ArrowLeft'); return one('.map .here').id;",
         "all('.lines button')[1].click(); return one('.steps h2').textContent + ' ' + all('.steps li').length;",
         "choose(1, 1); return all('.map [role=gridcell]').length + ' ' + one('#cell-0-1').getAttribute('style');",
         "choose(1, 2); return all('.map [role=gridcell]').length + one('.steps').textContent;",
         "choose(0, 2); return all('.map th[scope=col]').map(head => head.title).join(' ') + all('script').length;",
         "all('.heads button')[1].click(); return one('.heads [aria-pressed=true]').textContent + ' ' + all('select')[3].value;",
         "return all('.lines line').reduce((sum, line) => sum + Number(line.getAttribute('stroke-opacity')), 0).toFixed(3);"});
    ASSERT_EQ(said.size(), 10u) << said.front();
    EXPECT_EQ(said[0], fmt::format("4,{},12,4", heads + 1)) << "three steps look at three words and the end mark";
    EXPECT_THAT(said[1], StartsWith("“</s>” looks at “two” with 0."));
    EXPECT_EQ(said[2], "cell-1-3 five");
    EXPECT_EQ(said[3], "cell-1-0") << "the first column is the last one to the left";
    EXPECT_EQ(said[4], "Step 2: likeliest after “<s> four” 5");
    EXPECT_EQ(said[5], "9 background:#440154") << "the decoder is causal";
    EXPECT_EQ(said[6], "16") << "the encoder writes nothing";
    EXPECT_THAT(said[7], EndsWith("</s>3")) << "a sentence with marks in it is only a text";
    EXPECT_EQ(said[8], "layer 1, head 1 0");
    EXPECT_EQ(said[9], "1.000") << "the weights of a row";
}

// A made-up translation of "one two three" to "four five" with the attention of an untrained model.
struct Attended {
    app::TranslationAttention attention;
    std::vector<app::DecodingStep> steps;
};
Attended untrained() {
    app::Vocabularies vocabularies;
    vocabularies.source = vocabularies.target =
        app::train_vocabulary({.type = app::VocabularyType::word}, std::vector<std::string>{"one two three four five"});
    const nn::Model model = nn::random_model(vocabularies.source->size(), 3, 0.5, 32);
    const app::Translation found{.text = "four five", .tokens = vocabularies.target->encode("four five"), .ended = true};
    app::TranslationAttention attention = app::attention_of(*model, vocabularies, "one two three", found);
    std::vector<app::DecodingStep> steps = app::decoding_steps(*model, *vocabularies.target, attention, 5);
    return {std::move(attention), std::move(steps)};
}

TEST_F(PageScripts, AttentionBeginsAtTheStrongestCell) {
    auto [attention, steps] = untrained();
    // In every head, which has three rows of four columns, the second row attends to the third column.
    const std::span<float> weights = attention.maps.cross.back().mutable_values<float>();
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 12 == 6 ? 0.7f : i % 12 / 4 == 1 ? 0.1f : 0.25f;
    std::fill_n(weights.begin(), 4, std::nanf(""));  // leaves the mean without a first row
    app::AttentionReport report(folder_.path(), 9, false);
    for (int i = 0; i < 2; ++i) report.add("one two three", "four five", attention, steps);
    report.write();
    const std::string state =
        "return one('.readout').textContent + ' ' + one('.map .here').id + ' ' + one('.steps h2')?.textContent;";
    const std::vector<std::string> said = answers(
        folder_ / "index.html", {state, "choose(1, 1); " + state, "choose(1, 0); over(one('#cell-2-1')); choose(3, 0); " + state,
                                 "choose(0, 1); " + state});
    ASSERT_EQ(said.size(), 4u) << said.front();
    EXPECT_EQ(said[0], "“five” looks at “three” with 0.700 cell-1-2 Step 2: likeliest after “<s> four”");
    EXPECT_EQ(said[1], "“four” looks at “<s>” with 1.000 cell-0-0 Step 1: likeliest after “<s>”") << "the decoder is causal";
    EXPECT_THAT(said[2], HasSubstr(" cell-2-1 Step 2: ")) << "another head keeps the cell, so that heads can be compared";
    EXPECT_THAT(said[3], HasSubstr(" cell-1-2 Step 2: "));
}

TEST_F(PageScripts, AttentionThatIsNotFiniteIsNoZero) {
    auto [attention, steps] = untrained();
    // NaN in the last layer's first head, second row; so the mean of the heads lacks that row, too.
    const std::span<float> weights = attention.maps.cross.back().mutable_values<float>();
    std::fill(weights.begin() + 4, weights.begin() + 8, std::nanf(""));
    steps.at(1).probability = std::nan("");
    app::AttentionReport report(folder_.path(), 9, false);
    report.add("one two three", "four five", attention, steps);
    report.write();
    const std::string shown = fmt::format("background:{}", picture::not_finite_color);
    const std::vector<std::string> said =
        answers(folder_ / "index.html",
                {"over(one('#cell-1-2')); return one('.readout').textContent + ' ' + one('#cell-1-2').getAttribute('style');",
                 "return one('#cell-0-2').getAttribute('style');", "choose(3, 0); return one('#cell-1-0').getAttribute('style');",
                 "choose(3, 1); return one('#cell-1-0').getAttribute('style');",
                 "all('.lines button')[1].click(); return one('.steps p').textContent;"});
    ASSERT_EQ(said.size(), 5u) << said.front();
    EXPECT_THAT(said[0], AllOf(HasSubstr(" with not a number "), EndsWith(shown))) << "the mean of the heads";
    EXPECT_NE(said[1], shown) << "the other rows are as they were";
    EXPECT_EQ(said[2], shown);
    EXPECT_NE(said[3], shown) << "the other head";
    EXPECT_THAT(said[4], HasSubstr("which had not a number."));
}

TEST_F(PageScripts, AnErrorInAScriptIsSeenHere) {
    picture::Page("p").script("nothing_of_this_name();").write(folder_ / "p.html");
    EXPECT_THAT(answers(folder_ / "p.html", {"return 'well';"}).front(), HasSubstr("the console says"));
}

}  // namespace
}  // namespace heddle
