// The server of heddle serve against clients of every kind.
#include "apps/serve/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/error.h"
#include "tests/http_client.h"

namespace heddle::app {
namespace {

using testing::HasSubstr;

TEST(HttpServer, AnswersAndHoldsItsLimits) {
    HttpServer server({.port = 0, .body_bytes = 1000, .seconds = 2}, [](const HttpRequest& request) {
        if (request.path == "/fails") throw Error("a secret");
        return HttpResponse{.type = "text/plain", .body = request.method + " " + request.path + " " + request.body};
    });
    const std::int64_t port = server.port();
    const std::string head = "POST /a HTTP/1.1\r\nHost: localhost\r\n", close = "Connection: close\r\n";
    EXPECT_EQ(body_of(answer_to(port, http_request("POST", "/a", "text/plain", "hello"))), "POST /a hello");
    EXPECT_EQ(body_of(answer_to(port, head + close + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")), "POST /a abc");
    const std::string failed = answer_to(port, http_request("GET", "/fails"));
    EXPECT_EQ(status_of(failed), 500);
    EXPECT_THAT(failed, testing::Not(HasSubstr("secret")));
    const std::string smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (const std::string& lengths :
         {std::string("Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc"),
          std::string("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
          "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, std::string("Content-Length: -1\r\n\r\n"),
          std::string("Content-Length: +3\r\n\r\nabc"), std::string("Content-Length: 3x\r\n\r\nabc"),
          std::string("Content-Length : 3\r\n\r\nabc")}) {
        const std::string answer = answer_to(port, head + lengths);
        EXPECT_EQ(status_of(answer), 400) << lengths << answer;
        EXPECT_THAT(answer, testing::Not(HasSubstr("/smuggled")));
    }
    EXPECT_EQ(status_of(answer_to(port, head + close + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'a'))), 413);
    EXPECT_EQ(status_of(answer_to(port, head + "Content-Length: 99999999999999999999999\r\n\r\n")), 413);
    EXPECT_EQ(status_of(answer_to(
                  port, head + close + "Transfer-Encoding: chunked\r\n\r\n5dc\r\n" + std::string(1500, 'a') + "\r\n0\r\n\r\n")),
              413);
    EXPECT_EQ(status_of(answer_to(port, head + "X: " + std::string(100000, 'a') + "\r\n\r\n")), 431);
    EXPECT_NE(status_of(answer_to(port, std::string(3000, '\1') + "\r\n\r\n")), 200);
    EXPECT_EQ(status_of(answer_to(port, http_request("GET", "/b"))), 200) << "it is still there";
}

// A byte now and then keeps no connection, and others are answered meanwhile.
TEST(HttpServer, EndsSlowClients) {
    HttpServer server({.port = 0, .connections = 40, .seconds = 1},
                      [](const HttpRequest&) { return HttpResponse{.body = "{}"}; });
    std::vector<std::unique_ptr<TestClient>> slow;
    for (int i = 0; i < 20; ++i) slow.push_back(std::make_unique<TestClient>(server.port()));
    const auto start = std::chrono::steady_clock::now();
    bool all_ended = false;
    const std::string trickle = "POST /a HTTP/1.1\r\nHost: localhost\r\nX: ";
    for (std::size_t sent = 0; !all_ended && std::chrono::steady_clock::now() - start < std::chrono::seconds(20); ++sent) {
        all_ended = true;
        for (const auto& each : slow)
            if (each->send(sent < trickle.size() ? trickle.substr(sent, 1) : "a")) all_ended = false;
        if (sent == 3) {
            EXPECT_EQ(status_of(answer_to(server.port(), http_request("GET", "/b"))), 200);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(all_ended);
}

TEST(HttpServer, StreamsAndCutsWhatFails) {
    HttpServer server({.port = 0, .seconds = 1}, [](const HttpRequest& request) {
        const bool fails = request.path == "/fails";
        return HttpResponse{
            .body = "begin ", .more = [fails, n = 0]() mutable -> std::optional<std::string> {
                std::this_thread::sleep_for(std::chrono::milliseconds(400));  // longer in all than a request may take
                if (++n == 4) return std::nullopt;
                if (n == 3 && fails) throw Error("no");
                return fmt::format("{} ", n);
            }};
    });
    EXPECT_EQ(body_of(answer_to(server.port(), http_request("GET", "/a"))), "begin 1 2 3 ");
    const std::string cut = answer_to(server.port(), http_request("GET", "/fails"));
    EXPECT_THAT(cut, HasSubstr("begin"));
    EXPECT_FALSE(cut.ends_with("0\r\n\r\n")) << "the end is said although the rest is missing";
}

}  // namespace
}  // namespace heddle::app
