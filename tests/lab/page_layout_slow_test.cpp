// Pages in Chromium: they fit on a phone's screen and are legible in light and in dark mode. Skipped if there is no Chromium.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/command/commands.h"
#include "apps/translation/report/attention.h"
#include "apps/translation/report/training.h"
#include "tests/browser.h"
#include "tests/nn/decoding_support.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Finds faults of a page in a frame with every section opened: something makes it scroll sideways, a picture's label is below 9
// pixels, or the contrast of a text is below 4.5 to 1 (WCAG 2).
constexpr const char* layout = R"(
    const channel = part => part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const rgba = text => { const parts = text.match(/[\d.]+/g).map(Number); return [...parts.slice(0, 3), parts[3] ?? 1]; };
    const over = (color, ground, share) => color.slice(0, 3).map((part, i) => part * share + ground[i] * (1 - share));
    function ground_of(element, window) {
        for (let at = element; at; at = at.parentElement) {
            const color = rgba(window.getComputedStyle(at).backgroundColor);
            if (color[3] > 0) return color;
        }
        return [255, 255, 255];
    }
    function contrast(element, window) {
        const ground = ground_of(element, window), style = window.getComputedStyle(element);
        const color = rgba(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
        let share = color[3];
        for (let at = element; at; at = at.parentElement) share *= Number(window.getComputedStyle(at).opacity);
        const [low, high] = [light(over(color, ground, share)), light(ground)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    }
    function complaints(document, window) {
        const root = document.documentElement, said = [];
        for (const one of document.querySelectorAll('details')) one.open = true;
        if (root.scrollWidth > root.clientWidth) said.push(`it is ${root.scrollWidth} wide, its window ${root.clientWidth}`);
        for (const one of document.querySelectorAll('body *')) {
            const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim() !== '');
            const hidden = one.closest('[aria-hidden=true], script, noscript, option') !== null;
            if (!own || hidden || one.getClientRects().length === 0) continue;
            const text = one.textContent.trim().slice(0, 40), is_svg = one.namespaceURI.endsWith('svg');
            if (is_svg) {
                const place = one.getScreenCTM(), size = parseFloat(one.getAttribute('font-size'));
                const pixels = size * Math.hypot(place.a, place.b);
                if (pixels < 9) said.push(`"${text}" is ${pixels.toFixed(1)} pixels high`);
            }
            // What stands on a coloured cell has a colour of its own (ramp.h).
            if (!(is_svg && one.hasAttribute('fill')) && contrast(one, window) < 4.5)
                said.push(`"${text}" has a contrast of ${contrast(one, window).toFixed(2)}`);
        }
        return said;
    }
)";

// The faults of each page in a window of 400 pixels.
std::vector<std::vector<std::string>> complaints(const std::vector<std::string>& pages, bool dark) {
    std::string frames;
    for (const std::string& page : pages)
        frames +=
            fmt::format("<iframe style=\"width:400px;height:900px;border:0\" srcdoc=\"{}\"></iframe>\n", picture::escaped(page));
    const std::string html = fmt::format(
        "<!DOCTYPE html><html style=\"color-scheme: light dark\"><head><title>[]</title></head><body>{}<script>{}"
        "addEventListener('load', () => {{ document.title = "
        "encodeURIComponent(JSON.stringify([...document.querySelectorAll('iframe')]"
        ".map(({{contentDocument, contentWindow}}) => contentWindow.matchMedia('(prefers-color-scheme: dark)').matches === {} ? "
        "complaints(contentDocument, contentWindow) : ['it has the other colours'])));}});</script></body></html>",
        frames, layout, dark);
    const nlohmann::json said = title_of(html, fmt::format("--blink-settings=preferredColorScheme={}", dark ? 0 : 1));
    if (said.at(0).is_string()) return {said.get<std::vector<std::string>>()};  // a message of the console
    return said.get<std::vector<std::vector<std::string>>>();
}

class PageLayout : public testing::Test {
  protected:
    void SetUp() override {
        if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: pages were not looked at";
    }

    // Input for the pages of attention: the vocabulary of a model with random weights.
    static app::Vocabularies words() {
        app::Vocabularies vocabularies;
        vocabularies.source = vocabularies.target = app::train_vocabulary(
            {.type = app::VocabularyType::word}, std::vector<std::string>{"one two three four five </script> \"quoted\""});
        return vocabularies;
    }
    static app::LookedAt look(const nn::Model& model, const app::Vocabularies& vocabularies, const std::string& line) {
        const app::Translation found{.text = "four five", .tokens = vocabularies.target->encode("four five"), .ended = true};
        const app::TranslationAttention attention = app::attention_of(*model, vocabularies, line, found);
        return {line, found.text, attention, app::decoding_steps(*model, *vocabularies.target, attention, 5)};
    }
    std::string attention_page() {
        const app::Vocabularies vocabularies = words();
        const nn::Model model = nn::random_model(vocabularies.source->size(), 3, 0.5, 32);
        app::AttentionReport report(folder_.path(), 9, false);
        for (const char* line : {"one two three", "five", "one </script> \"quoted\""}) {
            const app::LookedAt one = look(model, vocabularies, line);
            report.add(line, one.translation, one.attention, one.steps);
        }
        report.write();
        return read_file(folder_ / "index.html");
    }
    // A training's report.html with all of its parts.
    static std::string training_page() {
        const app::Vocabularies vocabularies = words();
        const nn::Model model = nn::random_model(vocabularies.source->size(), 3, 0.5, 32);
        const std::string long_word(200, 'w');
        app::TrainingHistory history;
        for (int update = 100; update <= 300; update += 100)
            history.intervals.push_back({.epoch = 1, .update = update, .loss = 400.0 / update, .learning_rate = 1e-3});
        for (int update = 200; update <= 300; update += 100)
            history.validations.push_back({.update = update,
                                           .loss = 500.0 / update,
                                           .bleu = 12.5,
                                           .translated = 8,
                                           .exact = 3,
                                           .samples = {{"Quelle " + long_word, long_word, "sauce"}}});
        history.notes = {long_word};
        app::ReportParts parts{.command = "heddle train --out " + long_word, .version = "1", .config = "lr = 1", .machine = "m"};
        parts.looked_at = {look(model, vocabularies, "one two three four five one two three")};
        return app::training_report(long_word, history, parts).html();
    }
    // The pages of `heddle lab explained`: one for each experiment, then the index.
    std::vector<std::string> lab_pages() {
        const std::string to = (folder_ / "lab").string();
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        const int status = app::lab_command(std::vector<const char*>{"explained", "--out", to.c_str()});
        testing::internal::GetCapturedStdout();
        testing::internal::GetCapturedStderr();
        EXPECT_EQ(status, 0);
        return {read_file(to + "/unbiased-norm.html"), read_file(to + "/dropout-modes.html"), read_file(to + "/explained.html")};
    }

    TemporaryFolder folder_;
};

TEST_F(PageLayout, APhoneShowsEveryKindOfPageInTheLightAndInTheDark) {
    std::vector<std::string> pages = lab_pages();
    const std::vector<const char*> names = {"unbiased-norm", "dropout-modes", "explained", "training", "attention"};
    for (const std::string& page : {training_page(), attention_page()}) pages.push_back(page);
    for (const bool dark : {false, true}) {
        const std::vector<std::vector<std::string>> said = complaints(pages, dark);
        ASSERT_EQ(said.size(), names.size()) << testing::PrintToString(said);
        for (std::size_t i = 0; i < names.size(); ++i)
            EXPECT_EQ(said[i], std::vector<std::string>()) << names[i] << (dark ? ", dark" : ", light");
    }
}

TEST_F(PageLayout, WhatAPhoneDoesNotShowIsSeenHere) {
    const std::string bad =
        "<!DOCTYPE html><html><head><style>body { color: #999; background: #fff; } @media (prefers-color-scheme: dark) { body { "
        "color: #fff; background: #000; } }</style></head><body><p>pale</p><div style=\"width:500px;height:9px\"></div><svg "
        "width=\"50\" "
        "height=\"50\" viewBox=\"0 0 100 100\"><text y=\"20\" font-size=\"12\">small</text></svg></body></html>";
    EXPECT_THAT(complaints({bad}, false),
                ElementsAre(ElementsAre(HasSubstr("wide, its window"), "\"pale\" has a contrast of 2.85",
                                        "\"small\" is 6.0 pixels high")));
    EXPECT_THAT(complaints({bad}, true), ElementsAre(ElementsAre(HasSubstr("wide"), HasSubstr("pixels"), HasSubstr("contrast"))));
}

}  // namespace
}  // namespace heddle
