// An HTTP/1.1 server for small requests, on libmicrohttpd: limits on connections, memory and time, no TLS. The only file that
// calls the library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::app {

struct HttpRequest {
    std::string method = {}, path = {};             ///< "POST", "/translate"; the path without its query
    std::map<std::string, std::string> query = {};  ///< decoded
    std::string type = {};                          ///< of the body: Content-Type in lower case, without its parameters
    std::string host = {}, origin = {};             ///< headers; empty if absent
    std::string body = {};
    std::function<bool()> gone = {};  ///< whether the client has closed the connection
};

struct HttpResponse {
    int status = 200;
    std::string type = "application/json";
    std::string body = {};
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// What follows `body`, piece by piece: called until it gives nothing. An exception cuts the connection, so that the client
    /// does not take a part for the whole.
    std::function<std::optional<std::string>()> more = {};
};

struct HttpLimits {
    std::string host = "127.0.0.1";   ///< the address to listen on, or a name that resolves to one
    std::int64_t port = 5010;         ///< 0: any that is free
    std::int64_t connections = 1000;  ///< at once; more wait to be accepted
    std::int64_t body_bytes = 1 << 20;
    std::int64_t header_bytes = 32 << 10;
    std::int64_t seconds = 30;  ///< for a whole request to arrive; ten times as many for its answer to be read
};

/// Whether this is a name or an address of the machine itself: localhost, 127.x.y.z, ::1, in brackets or not.
bool is_this_machine(std::string_view host);

/// Called by as many threads as there are connections. An exception becomes status 500, without its text.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

/// A server that listens while it exists. It answers by itself: 413 for a body beyond the limit, 400 for two lengths of one body.
class HttpServer {
  public:
    /// Error when it cannot listen there.
    HttpServer(const HttpLimits& limits, HttpHandler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// The port that it listens on.
    std::int64_t port() const;
    /// Accepts no more connections, refuses further requests by 503, and waits up to `seconds` until those that are answered have
    /// their answers.
    void finish(std::int64_t seconds);

  private:
    class Daemon;
    std::unique_ptr<Daemon> daemon_;
};

}  // namespace heddle::app
