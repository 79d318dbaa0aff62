// heddle serve as a person starts it: the command's translations, the page in a browser, and its end.
#include <fmt/format.h>

#include "tests/browser.h"
#include "tests/http_client.h"
#include "tests/program/program_process.h"
#include "tests/toy_runs.h"

namespace heddle {
namespace {

using testing::HasSubstr;

class ProgramServe : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        here = std::make_unique<Workplace>();
        write_toy_corpus(*here, 200);
        const ProgramResult trained = here->run(
            "train --train text --valid text --source a --target b --out RUN --layers 1 --d-model 16 --heads 2 --d-ff 32 "
            "--vocab-type word --updates 40 --batch-tokens 200 --threads 1");
        ASSERT_EQ(trained.status, 0) << trained.err;
    }
    static void TearDownTestSuite() { here.reset(); }

    // The port of a server that has been started, as it says; 0 when it ended.
    static std::int64_t port_of(RunningProgram& program) {
        const std::string before = "listening on http://127.0.0.1:";
        int status = 0;
        for (int tries = 0; tries < 3000; ++tries) {
            const std::string log = here->read("log");
            const std::size_t at = log.find(before);
            if (at != std::string::npos && log.find(';', at) != std::string::npos)
                return std::stoll(log.substr(at + before.size()));
            if (program.ends_within(std::chrono::milliseconds(10), status)) break;
        }
        ADD_FAILURE() << here->read("log");
        return 0;
    }

    static std::unique_ptr<Workplace> here;
};
std::unique_ptr<Workplace> ProgramServe::here;

TEST_F(ProgramServe, GivesTheCommandsBytesAndFinishesWhenItIsToldTo) {
    std::string text;
    for (int i = 0; i < 3; ++i) text += here->read("text.a").substr(0, 1200);
    const std::string wanted = here->run("translate RUN", text).out;
    RunningProgram program(*here, {"serve", "RUN", "--port", "0", "--threads", "2"});
    const std::int64_t port = port_of(program);
    std::string q, json;
    for (const char c : text) q += c == '\n' ? std::string("\\n") : std::string(1, c);
    for (const char c : wanted) json += c == '\n' ? std::string("\\n") : std::string(1, c);
    if (!text.ends_with('\n')) json.resize(json.size() - 2);
    const TestClient client(port);
    client.send(http_request("POST", "/translate", "application/json", R"({"source":"a","target":"b","q":")" + q + "\"}"));
    EXPECT_EQ(body_of(client.rest()), "{\"translatedText\":\"" + json + "\"}");
    const TestClient last(port);
    last.send(http_request("POST", "/translate", "application/json", R"({"source":"a","target":"b","q":")" + q + "\"}"));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    program.send(SIGTERM);
    EXPECT_EQ(body_of(last.rest()), "{\"translatedText\":\"" + json + "\"}") << "what runs is finished";
    EXPECT_EQ(program.wait(), 0);
    EXPECT_THAT(here->read("log"), testing::Not(HasSubstr("a b"))) << "texts are not logged";
}

TEST_F(ProgramServe, RefusesTwoRunsOfOnePairAndATakenPort) {
    expect_complaint(here->run("serve RUN RUN"), 2, "there is another run from a to b");
    RunningProgram program(*here, {"serve", "RUN", "--port", "0"});
    expect_complaint(here->run(fmt::format("serve RUN --port {}", port_of(program))), 1, "give another --port");
}

// The page translates what is typed, shows the n best, the tokens and the tree, and says what a token looked at.
TEST_F(ProgramServe, HasAPageThatTranslates) {
    if (!has_program("chromium")) GTEST_SKIP() << "chromium is missing: the page was not opened";
    RunningProgram program(*here, {"serve", "RUN", "--port", "0"});
    const std::int64_t port = port_of(program);
    const std::string wanted = lines_of(here->run("translate RUN", "a b c\n").out).front();
    // A page of another address may not read this one, so the same page is opened with a script that uses it.
    const std::string page = body_of(answer_to(port, http_request("GET", "/"))),
                      css = body_of(answer_to(port, http_request("GET", "/page.css"))),
                      js = body_of(answer_to(port, http_request("GET", "/page.js")));
    EXPECT_THAT(page, HasSubstr("<textarea id=\"text\""));
    const std::string answers = fmt::format(
        "const answers = {{'/languages': {}, '/translate': {}, '/inspect': {}}};\n"
        "window.fetch = async path => ({{ok: true, status: 200, json: async () => answers[path]}});\n",
        body_of(answer_to(port, http_request("GET", "/languages"))),
        body_of(answer_to(port,
                          http_request("POST", "/translate", "application/json", R"({"q":"a b c","source":"a","target":"b"})"))),
        body_of(answer_to(port, http_request("POST", "/inspect", "application/json",
                                             R"({"q":"a b c","source":"a","target":"b","tree":true,"beam":3,"n_best":3})"))));
    std::string alone = page;
    const auto replace = [&](const std::string& what, const std::string& by) {
        const std::size_t at = alone.find(what);
        ASSERT_NE(at, std::string::npos) << what;
        alone.replace(at, what.size(), by);
    };
    replace(" autofocus", "");  // on a busy machine it would come after the script's own focus, which Chromium tells
    replace("<link rel=\"stylesheet\" href=\"/page.css\">", "<style>" + css + "</style>");
    replace("<script src=\"/page.js\"></script>", "<script>" + answers + js + R"(
const wait = ms => new Promise(done => setTimeout(done, ms));
(async () => {
    await wait(100);
    const text = at("text");
    text.value = "a b c";
    text.dispatchEvent(new Event("input"));
    await wait(700);
    const tokens = at("target-tokens").children;
    tokens[0].focus();
    tokens[0].dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
    const weights = [...at("source-tokens").children].map(each => +each.style.getPropertyValue("--weight"));
    document.title = encodeURIComponent(JSON.stringify({
        result: at("result").textContent, best: at("best").children.length, tokens: tokens.length,
        second: document.activeElement === tokens[1], said: at("token").textContent, looked: weights.reduce((a, b) => a + b, 0),
        tree: at("tree").querySelectorAll("text").length, wide: document.documentElement.scrollWidth > innerWidth,
        named: [...document.querySelectorAll("input, select, textarea")].every(each => each.labels.length || each.id === "step")}));
})();
</script>)");
    const nlohmann::json seen = title_of(alone, "--window-size=400,900 --virtual-time-budget=5000");
    ASSERT_TRUE(seen.is_object()) << seen;
    EXPECT_EQ(seen["result"], wanted);
    EXPECT_EQ(seen["best"], 3);
    EXPECT_GT(seen["tokens"], 1);
    EXPECT_EQ(seen["second"], true) << "the arrow key moves";
    EXPECT_THAT(seen["said"].get<std::string>(), HasSubstr("it looks at"));
    EXPECT_NEAR(seen["looked"].get<double>(), 1, 0.01);
    EXPECT_GT(seen["tree"], 3);
    EXPECT_EQ(seen["wide"], false) << "400 pixels are enough";
    EXPECT_EQ(seen["named"], true);
}

}  // namespace
}  // namespace heddle
