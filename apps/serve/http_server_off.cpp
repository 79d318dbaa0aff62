// In a build without libmicrohttpd.
#include "apps/serve/http_server.h"
#include "core/error.h"

namespace heddle::app {

class HttpServer::Daemon {};

HttpServer::HttpServer(const HttpLimits&, HttpHandler) {
    throw Error("serve: this heddle was built without libmicrohttpd; install libmicrohttpd-dev and build it again");
}
HttpServer::~HttpServer() = default;

std::int64_t HttpServer::port() const { return 0; }
void HttpServer::finish(std::int64_t) {}

bool is_this_machine(std::string_view) { return true; }

}  // namespace heddle::app
