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
    const point = (svg, x, y) => {
        const box = svg.getBoundingClientRect(), place = {clientX: box.left + x * box.width, clientY: box.top + y * box.height};
        svg.dispatchEvent(new PointerEvent('pointermove', place));
    };
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
    EXPECT_THAT(said[7], EndsWith("</s>4")) << "a sentence with marks in it is only a text";
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

TEST_F(PageScripts, AChartTellsItsValuesAndHidesASeries) {
    picture::LineChart chart{.title = "Loss",
                             .x = {.label = "update"},
                             .y = {.label = "nats"},
                             .series = {{"training", {100, 200, 1300}, {3, 2, 1.5}}, {"validation", {200}, {2.25}}}};
    picture::Page("p").figure({svg(chart), "caption"}).write(folder_ / "chart.html");
    const std::vector<std::string> said =
        answers(folder_ / "chart.html",
                {"key(one('svg'), 'End'); return one('.readout').textContent;",
                 "key(one('svg'), 'Home'); key(one('svg'), 'ArrowRight'); return one('.readout').textContent;",
                 "one('.entry').dispatchEvent(new MouseEvent('click')); return one('.readout').textContent;",
                 "return one('.series').getAttribute('visibility') + ' ' + one('.entry').getAttribute('aria-pressed');",
                 "key(one('.entry'), 'Enter'); return one('.readout').textContent;",
                 "point(one('svg'), 0.99, 0.1); return one('.readout').textContent;",
                 "key(one('svg'), 'Escape'); return one('.readout').textContent;"});
    ASSERT_EQ(said.size(), 7u) << said.front();
    EXPECT_EQ(said[0], "update 1,300: training 1.5");
    EXPECT_EQ(said[1], "update 200: training 2, validation 2.25");
    EXPECT_EQ(said[2], "update 200: validation 2.25");
    EXPECT_EQ(said[3], "hidden false");
    EXPECT_EQ(said[4], "update 200: training 2, validation 2.25");
    EXPECT_EQ(said[5], "update 1,300: training 1.5");
    EXPECT_THAT(said[6], HasSubstr("use the arrow keys"));
}

TEST_F(PageScripts, BarsAndMapsTellTheirValues) {
    const picture::BarChart bars{.title = "bars",
                                 .y = {},
                                 .groups = {"masked \"row\"", "other"},
                                 .bars = {{"wrong", {0.123456, std::nan("")}}, {"right", {45188096, 1}}}};
    const picture::HeatMap small{.title = "small",
                                 .rows = 2,
                                 .cols = 3,
                                 .values = {0, 0.0625, 1, 2, std::nan(""), 3},
                                 .row_labels = {"ein", "zwei"},
                                 .col_title = "key"};
    picture::HeatMap large{.title = "large", .rows = 60, .cols = 60, .values = std::vector<double>(3600, 0), .to = 1};
    large.values[61] = 0.5;
    picture::Page("p").figures({{svg(bars), ""}, {svg(small), ""}, {svg(large), ""}}).write(folder_ / "p.html");
    const std::vector<std::string> said = answers(
        folder_ / "p.html",
        {"return all('.readout').map(one => one.textContent.length > 0).join();",
         "key(all('figure > svg')[0], 'Home'); return all('.readout')[0].textContent;",
         "key(all('figure > svg')[0], 'ArrowRight'); return all('.readout')[0].textContent;",
         "all('.entry')[0].dispatchEvent(new MouseEvent('click')); return all('.readout')[0].textContent;",
         "key(all('figure > svg')[1], 'ArrowDown'); key(all('figure > svg')[1], 'ArrowRight'); return "
         "all('.readout')[1].textContent;",
         "key(all('figure > svg')[1], 'ArrowDown'); return all('.readout')[1].textContent;",
         "key(all('figure > svg')[1], 'End'); return all('.readout')[1].textContent;",
         "point(all('figure > svg')[1], 0, 0); return all('.readout')[1].textContent + '.';",
         "const box = all('.map')[1].firstChild.getBoundingClientRect(), svg = all('figure > svg')[2]; "
         "for (const type of ['pointerdown', 'pointerleave']) svg.dispatchEvent(new PointerEvent(type, {pointerType: 'touch', "
         "clientX: box.left + 1.5 / 60 * box.width, clientY: box.top + 1.5 / 60 * box.height})); "
         "return all('.readout')[2].textContent;"});
    ASSERT_EQ(said.size(), 9u) << said.front();
    EXPECT_EQ(said[0], "true,false,false") << "how to ask is said once";
    EXPECT_EQ(said[1], "masked \"row\": wrong 0.1235, right 45,188,096");
    EXPECT_EQ(said[2], "other: wrong nan, right 1");
    EXPECT_EQ(said[3], "other: right 1");
    EXPECT_EQ(said[4], "“ein”, key 1: 0.0625");
    EXPECT_EQ(said[5], "“zwei”, key 1: nan");
    EXPECT_EQ(said[6], "“zwei”, key 2: 3");
    EXPECT_EQ(said[7], ".") << "beside the cells";
    EXPECT_EQ(said[8], "row 1, column 1: about 0.5") << "and stays when the finger is lifted";
}

TEST_F(PageScripts, AnErrorInAScriptIsSeenHere) {
    picture::Page("p").script("nothing_of_this_name();").write(folder_ / "p.html");
    EXPECT_THAT(answers(folder_ / "p.html", {"return 'well';"}).front(), HasSubstr("the console says"));
}

}  // namespace
}  // namespace heddle
