// The parts of heddle serve: requests, HTML, languages, the queue of translations, and what is answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "apps/serve/html_text.h"
#include "apps/serve/languages.h"
#include "apps/serve/request_fields.h"
#include "apps/serve/service.h"
#include "apps/serve/translation_queue.h"
#include "tests/nn/decoding_support.h"
#include "tests/support.h"

namespace heddle::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- HTML

std::string capitals(const HtmlText& text) {
    std::vector<std::string> lines = text.lines();
    for (std::string& line : lines)
        for (char& c : line)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return text.with(lines);
}

TEST(HtmlText, TranslatesTextAndKeepsMarkup) {
    for (const auto& [html, wanted] : std::vector<std::pair<std::string, std::string>>{
             {"", ""},
             {"a", "A"},
             {"<p>one <b>two</b> three</p>", "<p>ONE <b>TWO</b> THREE</p>"},
             {" \n<i title='a > b'> a </i>\n", " \n<i title='a > b'> A </i>\n"},
             {"a<br>b<!-- c --><hr/>d", "A<br>B<!-- c --><hr/>D"},
             {"<script>a < b</script>c<style>d{}</style>", "<script>a < b</script>C<style>d{}</style>"},
             {"<pre>a<pre>b</pre>c</pre>d", "<pre>a<pre>b</pre>c</pre>D"},
             {"<span translate=\"no\">a</span> b", "<span translate=\"no\">a</span> B"},
             {"a < b & c &lt;d&gt; &#101; &unknown;", "A &lt; B &amp; C &lt;D&gt; E &amp;UNKNOWN;"},
             {"a\nb", "A B"},
             {"<p", "<p"},
             {"<!doctype html>x", "<!doctype html>X"},
             {"a &auml; &#xe4; &#0; &#x110000;", "A \u00e4 \u00e4 &amp;#0; &amp;#X110000;"}})
        EXPECT_EQ(capitals(HtmlText(html)), wanted) << html;
}

// Whatever the bytes: without a change of the lines all that is not text comes back, in time.
TEST(HtmlText, TakesAnyBytes) {
    Sequence random(3);
    const std::string signs = "<>/&;#!-\"' abp";
    for (int i = 0; i < 2000; ++i) {
        std::string html;
        for (std::uint64_t n = random.below(60); n > 0; --n) html += signs[random.below(signs.size())];
        const HtmlText text(html);
        EXPECT_EQ(HtmlText(text.with(text.lines())).lines(), text.lines()) << html;
    }
    for (const char* part : {"<", "<a ", "<pre>", "<!--", "&amp", "<a href='", "<script><a", "<style></"}) {
        std::string long_one;
        for (int i = 0; i < 100000; ++i) long_one += part;
        HtmlText(long_one).with(HtmlText(long_one).lines());
    }
}

// ---- fields

HttpRequest request_of(const std::string& type, const std::string& body) {
    return {.method = "POST", .path = "/translate", .type = type, .body = body};
}

TEST(RequestFields, AreThoseOfAFormAndOfJson) {
    const RequestFields form(request_of("application/x-www-form-urlencoded", "q=a+b%C3%A4%0A&q=c&target=en&n=3&x=0.5"));
    EXPECT_THAT(form.texts("q"), ElementsAre("a b\u00e4\n", "c"));
    EXPECT_TRUE(form.is_list("q"));
    EXPECT_EQ(form.text("target"), "en");
    EXPECT_EQ(form.whole("n", 1, 0, 5), 3);
    EXPECT_EQ(form.whole("absent", 1, 0, 5), 1);
    EXPECT_EQ(form.number("x", 1, 0, 5), 0.5);
    const RequestFields json(request_of("application/json", R"({"q":["a"],"n":3,"yes":true,"none":null,"one":"b"})"));
    EXPECT_THAT(json.texts("q"), ElementsAre("a"));
    EXPECT_TRUE(json.is_list("q"));
    EXPECT_EQ(json.text("yes"), "true");
    EXPECT_FALSE(json.has("none"));
    EXPECT_FALSE(json.is_list("one"));
}

TEST(RequestFields, SayWhatIsWrong) {
    const auto status = [](const std::string& type, const std::string& body) {
        try {
            const RequestFields fields(request_of(type, body));
            fields.whole("n", 1, 0, 5);
            fields.texts("q");
            return 200;
        } catch (const RequestError& error) {
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("secret")));
            return error.status;
        }
    };
    const std::string form = "application/x-www-form-urlencoded", json = "application/json";
    EXPECT_EQ(status(form, "q=secret"), 200);
    EXPECT_EQ(status("text/plain", "q=secret"), 415);
    for (const char* body : {"secret", "[1]", "\"q\"", "{\"q\":{\"a\":1}}", "{\"q\":[[1]]}", "{\"q\":\"\xff\"}", "{", "{\"a\":1}",
                             "{\"q\":\"a\",\"n\":7}", "{\"q\":\"a\",\"n\":1.5}", "{\"q\":\"a\",\"n\":\"secret\"}"})
        EXPECT_EQ(status(json, body), 400) << body;
    EXPECT_EQ(status(json, "{\"q\":" + std::string(10000, '[')), 400);
    for (const char* body : {"q=%", "q=%4", "q=%zz", "q=%ff", "x=a", "q=a&n=-1"}) EXPECT_EQ(status(form, body), 400) << body;
}

// ---- languages

TEST(Languages, AreToldApartByTheTokensThatATextNeeds) {
    const std::vector<std::string> german = {"der Hund und die Katze sind nicht im Haus",
                                             "ich bin nicht sicher, ob das richtig ist",
                                             "die Kinder spielen mit dem Hund im Garten"},
                                   english = {"the dog and the cat are not in the house", "i am not sure whether that is right",
                                              "the children play with the dog in the garden"};
    const std::shared_ptr<const Vocabulary> of_german = train_vocabulary({.type = VocabularyType::bpe, .size = 90}, german),
                                            of_english = train_vocabulary({.type = VocabularyType::bpe, .size = 90}, english);
    const ServedModel from_german{.source = "de", .target = "fr", .vocabularies = {of_german, of_german}},
        from_english{.source = "en", .target = "fr", .vocabularies = {of_english, of_english}};
    const std::vector<KnownLanguage> known = {{"de", {&from_german}, {}}, {"en", {&from_english}, {}}};
    EXPECT_EQ(detect_language("die Katze und der Hund", known).front().code, "de");
    EXPECT_EQ(detect_language("the cat and the dog", known).front().code, "en");
    EXPECT_GT(detect_language("the cat and the dog", known).front().confidence, 60);
    EXPECT_EQ(detect_language("", known)[0].confidence, 50);
    EXPECT_EQ(language_name("de"), "German");
    EXPECT_EQ(language_name("xx"), "xx");
}

// ---- translations

struct Served {
    std::shared_ptr<const Vocabulary> vocabulary =
        train_vocabulary({.type = VocabularyType::word, .size = 0}, std::vector<std::string>{"a b c d e f g h i j"});
    nn::Model model = nn::random_model(vocabulary->size(), 3);
    std::vector<ServedModel> models = {{.source = "de",
                                        .target = "en",
                                        .model = model.get(),
                                        .vocabularies = {vocabulary, vocabulary},
                                        .decode = {.beam = 3, .max_length = 8}}};

    std::vector<std::string> alone(const std::vector<std::string>& lines) const {
        return translate_lines(*model, models[0].vocabularies, lines, models[0].decode);
    }
};

std::string line_of(std::uint64_t seed) {
    Sequence random(seed);
    std::string line;
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n)
        line += std::string(line.empty() ? "" : " ") + static_cast<char>('a' + random.below(10));
    return line;
}

// Two models with one vocabulary, each of which writes the other's language: the one whose decoder finds the text likelier.
TEST(Languages, AreToldApartByTheDecodersThatWriteThem) {
    const Served one, other;
    named_tensor(*one.model, "output.bias").mutable_data<float>()[one.vocabulary->encode("a").front()] += 6;
    named_tensor(*other.model, "output.bias").mutable_data<float>()[one.vocabulary->encode("b").front()] += 6;
    const ServedModel writes_a{
        .source = "y", .target = "x", .model = one.model.get(), .vocabularies = {one.vocabulary, one.vocabulary}},
        writes_b{.source = "x", .target = "y", .model = other.model.get(), .vocabularies = {one.vocabulary, one.vocabulary}};
    const std::vector<KnownLanguage> known = {{"x", {&writes_b}, {&writes_a}}, {"y", {&writes_a}, {&writes_b}}};
    EXPECT_EQ(detect_language("a a a", known).front().code, "x");
    EXPECT_EQ(detect_language("b b b", known).front().code, "y");
    EXPECT_GT(detect_language("b b b", known).front().confidence, 95);
}

TEST(TranslationQueue, GivesEachRequestItsOwnTranslationsInOrder) {
    const Served served;
    TranslationQueue queue(100);
    std::vector<std::jthread> clients;
    std::atomic<int> right = 0;
    for (std::uint64_t client = 0; client < 8; ++client)
        clients.emplace_back([&, client] {
            for (std::uint64_t round = 0; round < 5; ++round) {
                std::vector<std::string> lines, got;
                for (std::uint64_t i = 0; i < 1 + 60 * (client % 3); ++i)
                    lines.push_back(line_of(1000 * client + 100 * round + i));
                const auto job = queue.translate(served.models[0], lines, 1);
                while (const auto some = queue.next(*job, {}))
                    for (const auto& each : *some) got.push_back(each.front().text);
                if (got == served.alone(lines)) ++right;
            }
        });
    clients.clear();
    EXPECT_EQ(right, 40);
    const TranslationQueue::Numbers numbers = queue.numbers();
    EXPECT_EQ(numbers.waiting, 0);
    EXPECT_EQ(numbers.lines, 5 * (3 + 3 * 61 + 2 * 121));
    EXPECT_LT(numbers.batches, numbers.lines);
}

TEST(TranslationQueue, RefusesMoreThanMayWaitAndForgetsThoseThatLeft) {
    const Served served;
    TranslationQueue queue(2);
    std::atomic<bool> begun = false, go = false;
    std::jthread blocker([&] {
        queue.run(
            [&] {
                begun = true;
                begun.notify_all();
                go.wait(false);
            },
            {});
    });
    begun.wait(false);
    const auto one = queue.translate(served.models[0], {"a"}, 1), two = queue.translate(served.models[0], {"b"}, 1);
    EXPECT_THROW(queue.translate(served.models[0], {"c"}, 1), QueueFull);
    EXPECT_THROW(queue.next(*one, [] { return true; }), ClientGone);
    go = true;
    go.notify_all();
    EXPECT_EQ(queue.next(*two, {})->front().front().text, served.alone({"b"}).front());
    EXPECT_FALSE(queue.next(*two, {}));
}

// Work refers to what its caller holds: once it has begun the caller stays, whether or not the client does.
TEST(TranslationQueue, WaitsForWorkThatHasBegun) {
    TranslationQueue queue(2);
    bool done = false;
    queue.run(
        [&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            done = true;
        },
        [] { return true; });
    EXPECT_TRUE(done);
}

// Lines of a job that nobody holds any more are not translated.
TEST(TranslationQueue, GivesUpWhatNobodyWaitsFor) {
    const Served served;
    TranslationQueue queue(1);
    queue.translate(served.models[0], std::vector<std::string>(50'000, "a b c d e f"), 1);
    for (int tries = 0; tries < 1000 && queue.numbers().waiting > 0; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LT(queue.numbers().lines, 50'000);
    EXPECT_EQ(queue.next(*queue.translate(served.models[0], {"a"}, 1), {})->size(), 1u);
}

TEST(TranslationQueue, PassesErrorsOn) {
    TranslationQueue queue(2);
    EXPECT_THROW(queue.run([] { throw Error("no"); }, {}), Error);
}

// ---- the interface

class ServiceTest : public testing::Test {
  protected:
    HttpResponse ask(const std::string& method, const std::string& path, const std::string& body = "",
                     const std::string& host = "localhost") {
        return service.answer(
            {.method = method, .path = path, .type = body.empty() ? "" : "application/json", .host = host, .body = body});
    }
    static std::string whole(HttpResponse response) {
        while (response.more) {
            const auto piece = response.more();
            if (!piece) break;
            response.body += *piece;
        }
        return response.body;
    }

    Served served;
    TranslationService service{served.models, {}};
};

TEST_F(ServiceTest, TranslatesTextsListsAndHtml) {
    const std::string a = served.alone({"a b c"}).front(), b = served.alone({"d e"}).front();
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"a b c","source":"de","target":"en"})").body,
              "{\"translatedText\":\"" + a + "\"}");
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"a b c\n\r\nd e\n","source":"de","target":"en"})").body,
              "{\"translatedText\":\"" + a + "\\n\\r\\n" + b + "\\n\"}");
    EXPECT_EQ(ask("POST", "/translate", R"({"q":["a b c","d e"],"source":"de","target":"en"})").body,
              "{\"translatedText\":[\"" + a + "\",\"" + b + "\"]}");
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"<i>a b c</i>","source":"de","target":"en","format":"html"})").body,
              "{\"translatedText\":\"<i>" + a + "</i>\"}");
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"","source":"de","target":"en"})").body, "{\"translatedText\":\"\"}");
    EXPECT_EQ(ask("POST", "/translate", R"({"q":[],"source":"de","target":"en"})").body, "{\"translatedText\":[]}");
    EXPECT_THAT(ask("POST", "/translate", R"({"q":"a","source":"auto","target":"en"})").body,
                HasSubstr(R"("detectedLanguage":{"confidence":100.0,"language":"de"})"));
    const std::string several = ask("POST", "/translate", R"({"q":"a b c","source":"de","target":"en","alternatives":2})").body;
    EXPECT_THAT(several, HasSubstr("\"alternatives\":[\""));
}

TEST_F(ServiceTest, StreamsADocumentOfTheSameTranslations) {
    std::vector<std::string> lines;
    for (std::uint64_t i = 0; i < 300; ++i) lines.push_back(i % 7 == 0 ? "" : line_of(i));
    std::string q, wanted;
    for (const std::string& line : lines) q += line + "\\n";
    for (const std::string& line : served.alone(lines)) wanted += line + "\\n";
    HttpResponse response = ask("POST", "/translate", "{\"q\":\"" + q + R"(","source":"de","target":"en"})");
    EXPECT_TRUE(response.more);
    EXPECT_EQ(whole(std::move(response)), "{\"translatedText\":\"" + wanted + "\"}");
}

// A document takes the only place until it has been read, or is dropped.
TEST_F(ServiceTest, RefusesMoreThanMayWait) {
    TranslationService narrow{served.models, {.queue = 1}};
    const auto translate = [&](const std::string& q) {
        return narrow.answer({.method = "POST",
                              .path = "/translate",
                              .type = "application/json",
                              .host = "localhost",
                              .body = "{\"q\":\"" + q + R"(","source":"de","target":"en"})"});
    };
    std::string document;
    for (int i = 0; i < 50'000; ++i) document += "a b c d e f\\n";
    HttpResponse first = translate(document);
    EXPECT_EQ(first.status, 200);
    const HttpResponse second = translate("a");
    EXPECT_EQ(second.status, 503);
    EXPECT_THAT(second.headers, testing::Contains(testing::Pair("Retry-After", "1")));
    first.more = {};
    int status = 503;
    for (int tries = 0; tries < 1000 && status == 503; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        status = translate("a").status;
    }
    EXPECT_EQ(status, 200);
    std::string lines;
    for (int i = 0; i < 100'001; ++i) lines += "a\\n";
    EXPECT_EQ(translate(lines).status, 413);
    EXPECT_EQ(translate(std::string(300'000, ' ') + "\\n").status, 200);
}

TEST_F(ServiceTest, SaysWhatIsWrong) {
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"a","source":"de","target":"fr"})").status, 400);
    EXPECT_EQ(ask("POST", "/translate", R"({"target":"en"})").status, 400);
    EXPECT_EQ(ask("POST", "/translate", R"({"q":"a","target":"en","format":"pdf"})").status, 400);
    EXPECT_EQ(ask("GET", "/translate").status, 405);
    EXPECT_EQ(ask("GET", "/nothing").status, 404);
    EXPECT_EQ(ask("GET", "/health", "", "evil.example").status, 403);
    EXPECT_EQ(ask("GET", "/health", "", "127.0.0.1:5010").status, 200);
    EXPECT_EQ(ask("GET", "/health", "", "[::1]:5010").status, 200);
    EXPECT_EQ(ask("GET", "/health", "", "LocalHost").status, 200);
    EXPECT_EQ(ask("GET", "/health", "", "127.9.0.2").status, 200);
    EXPECT_EQ(ask("GET", "/health", "", "128.0.0.1").status, 403);
    EXPECT_EQ(service.answer({.method = "GET", .path = "/health", .host = "localhost", .origin = "https://evil.example"}).status,
              403);
    EXPECT_EQ(service.answer({.method = "GET", .path = "/health", .host = "localhost:1", .origin = "http://localhost:1"}).status,
              200);
    EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("heddle_requests_total{path=\"/translate\",status=\"400\"} 3"));
}

TEST_F(ServiceTest, AsksForItsKey) {
    TranslationService keyed{served.models, {.api_key = "right"}};
    const auto status = [&](const std::string& key) {
        return keyed
            .answer({.method = "POST",
                     .path = "/translate",
                     .type = "application/json",
                     .host = "any.example",
                     .body = R"({"q":"a","target":"en","api_key":")" + key + "\"}"})
            .status;
    };
    EXPECT_EQ(status("right"), 200);
    for (const char* wrong : {"", "r", "wrong", "rightright"}) EXPECT_EQ(status(wrong), 403) << wrong;
}

TEST_F(ServiceTest, ShowsWhatTheModelDoesForALine) {
    const std::string body = ask("POST", "/inspect", R"({"q":"a b c","source":"de","target":"en","tree":true,"beam":3})").body;
    for (const char* part : {"\"translations\":[{", "\"source\":[\"a\",\"b\",\"c\",\"</s>\"]",
                             "\"probability\":", "\"likeliest\":[[", "\"attention\":[[[[", "\"steps\":[[{"})
        EXPECT_THAT(body, HasSubstr(part));
    EXPECT_EQ(ask("POST", "/inspect", R"({"q":"","source":"de","target":"en"})").status, 200);
    EXPECT_EQ(ask("POST", "/inspect", "{\"q\":\"" + std::string(3000, 'a') + R"(","source":"de","target":"en"})").status, 400);
}

TEST_F(ServiceTest, ServesItsPageWithoutAnythingFromElsewhere) {
    for (const char* path : {"/", "/page.css", "/page.js"}) {
        const HttpResponse response = ask("GET", path);
        EXPECT_EQ(response.status, 200);
        EXPECT_GT(response.body.size(), 1000u);
        EXPECT_THAT(response.body, testing::Not(HasSubstr("https://")));
        EXPECT_THAT(response.headers,
                    testing::Contains(testing::Pair("Content-Security-Policy", HasSubstr("default-src 'none'"))));
    }
}

}  // namespace
}  // namespace heddle::app
