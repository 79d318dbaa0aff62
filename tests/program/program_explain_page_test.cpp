// The page of `heddle explain` in Chromium.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/file.h"
#include "tests/browser.h"
#include "tests/program.h"

namespace heddle {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// The result of `probe` in Chromium on the page of `heddle explain WORDS` (seen_on, browser.h).
json seen_on_page_of(const Workplace& here, const std::string& words, const std::string& probe) {
    EXPECT_EQ(here.run("explain " + words + " --out page.html").status, 0);
    return seen_on(read_file(here.path("page.html")), probe);
}

TEST(Explain, ThePageStepsThroughAWarp) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "softmax", R"(
const now = document.querySelector('#explain .now'), first = now.textContent;
document.getElementById('explain').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
document.querySelectorAll('#explain .lanes button')[3].focus();
seen = {first, moved: first !== now.textContent, lane: document.querySelectorAll('#explain .said')[1].textContent,
        line: document.querySelectorAll('.here').length, jumps: document.querySelectorAll('.jump').length};
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_THAT(seen["first"].get<std::string>(), HasSubstr("bytes needed"));
    EXPECT_EQ(seen["moved"], true);
    EXPECT_EQ(seen["line"], 1);
    EXPECT_GT(seen["jumps"], 2);
    EXPECT_THAT(seen["lane"].get<std::string>(), HasSubstr("lane 3"));
}

TEST(Explain, OneSliderMovesBothVersions) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "--beside softmax-naive softmax-warp --shape 8,40", R"(
const place = document.getElementById('explain'), slider = place.querySelector('input');
const counts = () => [...place.querySelectorAll('section')].map(view => /step (\d+) of (\d+)/.exec(view.textContent).slice(1).map(Number));
const to = value => { slider.value = value; slider.dispatchEvent(new Event('input')); return counts(); };
const press = key => { place.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); return counts(); };
seen = {sliders: place.querySelectorAll('input[type=range]').length, first: counts(), next: press('ArrowRight'), middle: to(slider.max / 2),
        last: press('End'), here: place.querySelectorAll('.here').length, jumps: document.querySelectorAll('.jump').length};
[...document.querySelectorAll('td:first-child .jump')][0].click();
seen.jumped = counts();
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_EQ(seen["sliders"], 1);
    const std::int64_t left = seen["first"][0][1], right = seen["first"][1][1];
    ASSERT_GT(left, 100);
    ASSERT_GT(right, 5);
    ASSERT_GT(left, right) << "the slider has a place for each step of the longer one";
    EXPECT_EQ(seen["first"], json::parse("[[1," + std::to_string(left) + "],[1," + std::to_string(right) + "]]"));
    EXPECT_EQ(seen["next"][0][0], 2);
    EXPECT_EQ(seen["last"][0][0], left);
    EXPECT_EQ(seen["last"][1][0], right);
    // Three passes over 40 columns, of which the second ends after 80 steps; the warp has two reads a pass, and ten shuffles.
    EXPECT_GT(seen["middle"][0][0], 40);
    EXPECT_LE(seen["middle"][0][0], 90);
    EXPECT_GT(seen["middle"][1][0], 7);
    EXPECT_EQ(seen["here"], 2);
    EXPECT_GT(seen["jumps"], 10);
    EXPECT_LT(seen["jumped"][0][0], left) << "a place in a table leads to its first step";
}

// Steps that do the same stand side by side: where one version writes y for the first time, the other one does.
TEST(Explain, VersionsAreAlignedByWhatTheyDo) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "--beside softmax-naive softmax-warp --shape 8,40", R"(
const place = document.getElementById('explain'), slider = place.querySelector('input');
const now = () => [...place.querySelectorAll('.now')].map(one => one.textContent);
const to = value => { slider.value = value; slider.dispatchEvent(new Event('input')); return now(); };
seen = {first: now(), both: 0, alone: 0};
for (let i = 0; i <= slider.max; ++i) {
    const writes = to(i).map(text => text.includes('writes y'));
    if (writes[1]) ++seen[writes[0] ? 'both' : 'alone'];
}
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    for (const json& text : seen["first"]) EXPECT_THAT(text.get<std::string>(), HasSubstr("reads x"));
    EXPECT_GT(seen["both"], 0);
}

TEST(Explain, ALinkRestoresItsStep) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "softmax-warp --shape 4,32", R"(
const place = document.getElementById('explain'), now = () => place.querySelector('.now').textContent;
place.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
seen = {moved: location.hash, shuffle: now(), key: place.querySelector('.key').textContent};
place.querySelectorAll('.lanes button')[1].focus();
seen.lane = place.querySelectorAll('.said')[1].textContent;
history.replaceState(null, '', '#step=1&warp=0.1&kernel=1');
window.dispatchEvent(new HashChangeEvent('hashchange'));
seen.restored = {now: now(), warp: place.querySelectorAll('select')[1].value,
                 link: place.querySelector('.tools a').getAttribute('href')};
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_EQ(seen["moved"], "#step=2&warp=0.0&kernel=1");
    EXPECT_THAT(seen["shuffle"].get<std::string>(), AllOf(HasSubstr("a collective"), HasSubstr("exchange values")));
    EXPECT_THAT(seen["key"].get<std::string>(), AllOf(HasSubstr("collective of a warp"), HasSubstr("barrier of a block")));
    EXPECT_THAT(seen["lane"].get<std::string>(), AllOf(HasSubstr("lane 1: gives "), HasSubstr(", from lane 17")));
    EXPECT_THAT(seen["restored"]["now"].get<std::string>(), HasSubstr("reads x"));
    EXPECT_EQ(seen["restored"]["warp"], "block 0, warp 1");
    EXPECT_EQ(seen["restored"]["link"], "#step=1&warp=0.1&kernel=1");
}

TEST(Explain, TotalsLeadToTheLinesThatCauseThem) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "attention-tiles", R"(
const row = [...document.querySelectorAll('tr')].find(row => row.firstChild.textContent.trim() === 'cycles of the banks');
const links = [...row.querySelectorAll('.jump')];
links[0].click();
seen = {links: links.map(link => link.textContent), line: document.querySelector('.here').textContent,
        now: document.querySelector('#explain .now').textContent};
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    ASSERT_FALSE(seen["links"].empty());
    EXPECT_THAT(seen["links"][0].get<std::string>(), HasSubstr("attention_ladder.cu:"));
    EXPECT_THAT(seen["line"].get<std::string>(), HasSubstr("read_one(keys + lane() * pitch + c)"));
    EXPECT_THAT(seen["now"].get<std::string>(), HasSubstr("a 32-way bank conflict"));
}

TEST(Explain, ShowsFragmentsAndCopiesInFlight) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "matmul-swizzle", R"(
const place = document.getElementById('explain'), find = name => place.querySelector(name);
const slider = find('input');
seen = {flights: [], pictures: {}};
for (let i = 0; i <= slider.max; ++i) {
    slider.value = i;
    slider.dispatchEvent(new Event('input'));
    const what = find('.now').textContent.split(':')[0], picture = find('canvas[role=img]:not(.scroll canvas)');
    if (!find('.flight').hidden) seen.flights.push(find('.flight').textContent);
    if (what.startsWith('mma') || what.startsWith('ldmatrix'))
        seen.pictures[what] = picture.hidden ? '' : picture.getAttribute('aria-label');
}
seen.flights = [...new Set(seen.flights)];
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_THAT(seen["pictures"].value("mma_bf16", ""), HasSubstr("C and D, 16 rows of 8"));
    EXPECT_THAT(seen["pictures"].value("ldmatrix_x4", ""), HasSubstr("row r comes from lane 24 + r"));
    EXPECT_TRUE(seen["pictures"].contains("ldmatrix_x4_trans"));
    EXPECT_THAT(seen["flights"].dump(), AllOf(HasSubstr("in flight group 1 ("), HasSubstr("1 group waited for")));
}

// A single warp of this shape exceeds the limit of a page.
TEST(Explain, APageWithoutStepsShowsNone) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    const Workplace here;
    const json seen = seen_on_page_of(here, "softmax-naive --shape 32,1000", R"(
const shown = name => [...document.querySelectorAll('#explain ' + name)].filter(one => getComputedStyle(one).display !== 'none').length;
seen = {now: document.querySelector('#explain .now').textContent, canvases: shown('canvas'), lines: shown('.here'),
        flights: shown('.flight'), active: shown('.lanes .reads')};
document.querySelector('.jump').click();
seen.after = {now: document.querySelector('#explain .now').textContent, lines: shown('.here')};
)");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_THAT(seen["now"].get<std::string>(), HasSubstr("No warp of this kernel fits the page"));
    for (const char* view : {"canvases", "lines", "flights", "active"}) EXPECT_EQ(seen[view], 0) << view;
    EXPECT_THAT(seen["after"]["now"].get<std::string>(), HasSubstr("No warp on this page comes to this line"));
    EXPECT_EQ(seen["after"]["lines"], 1) << "the source is there";
}

}  // namespace
}  // namespace heddle
