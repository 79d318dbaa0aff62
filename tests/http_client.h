// Speaks HTTP to a server of this machine, byte by byte.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// A connection to a port of this machine.
class TestClient {
  public:
    explicit TestClient(std::int64_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in there{};
        there.sin_family = AF_INET;
        there.sin_port = htons(static_cast<std::uint16_t>(port));
        there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0;
    }
    ~TestClient() { close(socket_); }
    TestClient(const TestClient&) = delete;
    TestClient& operator=(const TestClient&) = delete;

    bool connected() const { return connected_; }
    /// Whether all could be sent.
    bool send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }
    /// What comes until the other side closes, or for this long without a byte.
    std::string rest(std::chrono::milliseconds silence = std::chrono::seconds(5)) const {
        const timeval limit{silence.count() / 1000, static_cast<suseconds_t>(silence.count() % 1000 * 1000)};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        std::string text;
        char buffer[4096];
        for (ssize_t got; (got = recv(socket_, buffer, sizeof buffer, 0)) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
        return text;
    }

  private:
    int socket_;
    bool connected_ = false;
};

/// The status of a response; 0 for anything else.
inline int status_of(const std::string& response) {
    return response.starts_with("HTTP/1.1 ") && response.size() > 12 ? std::stoi(response.substr(9, 3)) : 0;
}

/// The response to a request on a connection of its own.
inline std::string answer_to(std::int64_t port, std::string_view request) {
    const TestClient client(port);
    client.send(request);
    return client.rest();
}

/// A request that closes the connection behind its answer.
inline std::string http_request(const std::string& method, const std::string& path, const std::string& type = "",
                                const std::string& body = "", const std::string& headers = "Host: localhost\r\n") {
    std::string text = method + " " + path + " HTTP/1.1\r\n" + headers + "Connection: close\r\n";
    if (!type.empty()) text += "Content-Type: " + type + "\r\n";
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return text + "\r\n" + body;
}

/// The body of a response, its pieces joined.
inline std::string body_of(const std::string& response) {
    const std::size_t end = response.find("\r\n\r\n");
    if (end == std::string::npos) return "";
    std::string body = response.substr(end + 4);
    if (response.find("Transfer-Encoding: chunked") > end) return body;
    std::string joined;
    for (std::size_t at = 0; at < body.size();) {
        const std::size_t line = body.find("\r\n", at);
        if (line == std::string::npos) break;
        const std::size_t size = std::stoul(body.substr(at, line - at), nullptr, 16);
        joined += body.substr(line + 2, size);
        at = line + 2 + size + 2;
    }
    return joined;
}

}  // namespace heddle
