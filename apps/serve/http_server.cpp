#include "apps/serve/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>

#include "apps/translation/text/markup.h"
#include "core/error.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Clock = std::chrono::steady_clock;

std::string header(MHD_Connection* connection, const char* name) {
    const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value == nullptr ? "" : value;
}

// Whether every header's name is one (RFC 9110, 5.1). The library takes "Content-Length : 3" for another header than
// Content-Length, so that the body would be read as the next request.
bool has_proper_names(MHD_Connection* connection) {
    bool proper = true;
    const auto look = [](void* closure, MHD_ValueKind, const char* key, const char*) {
        for (const char* at = key; *at != '\0'; ++at)
            if (*at <= ' ' || *at == 127 || std::strchr("()<>@,;:\\\"/[]?={}", *at) != nullptr)
                *static_cast<bool*>(closure) = false;
        return MHD_YES;
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &proper);
    return proper;
}

int headers_named(MHD_Connection* connection, const char* name) {
    std::pair<const char*, int> counted{name, 0};
    const auto count = [](void* closure, MHD_ValueKind, const char* key, const char*) {
        auto& [wanted, number] = *static_cast<std::pair<const char*, int>*>(closure);
        if (strcasecmp(key, wanted) == 0) ++number;
        return MHD_YES;
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &counted);
    return counted.second;
}

std::string media_type(const std::string& header) {
    std::string type = header.substr(0, header.find(';'));
    while (!type.empty() && type.back() == ' ') type.pop_back();
    std::ranges::transform(type, type.begin(), ascii_lower);
    return type;
}

HttpResponse error_response(int status, std::string_view text) {
    return {.status = status, .body = fmt::format("{{\"error\":\"{}\"}}", text)};
}

// Whether the other side has closed: a byte to read belongs to the next request, which may wait.
bool closed(int socket) {
    char byte = 0;
    const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

class HttpServer::Daemon {
  public:
    Daemon(const HttpLimits& limits, HttpHandler handler) : limits_(limits), handler_(std::move(handler)) {
        const int socket = listening();
        daemon_ = MHD_start_daemon(MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC,
                                   0, nullptr, nullptr, &Daemon::access, this, MHD_OPTION_LISTEN_SOCKET, socket,
                                   MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections),
                                   MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<std::size_t>(limits.header_bytes),
                                   MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_THREAD_STACK_SIZE, std::size_t{1} << 20,
                                   MHD_OPTION_NOTIFY_COMPLETED, &Daemon::completed, this, MHD_OPTION_NOTIFY_CONNECTION,
                                   &Daemon::connected, this, MHD_OPTION_END);
        if (daemon_ == nullptr) {
            close(socket);
            fail_with("serve: no server could be started on {}:{}", limits.host, limits.port);
        }
        reaper_ = std::thread([this] { end_slow_ones(); });
    }

    ~Daemon() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        changed_.notify_all();
        reaper_.join();
        MHD_stop_daemon(daemon_);
        if (quiet_socket_ >= 0) close(quiet_socket_);
    }

    std::int64_t port() const { return port_; }

    void finish(std::int64_t seconds) {
        quiet_socket_ = MHD_quiesce_daemon(daemon_);  // to be closed after the daemon has stopped
        std::unique_lock lock(mutex_);
        finishing_ = true;
        changed_.wait_for(lock, std::chrono::seconds(seconds), [this] {
            return std::ranges::none_of(connections_,
                                        [](const auto& each) { return each->phase != Connection::Phase::receiving; });
        });
    }

  private:
    // A connection's phase; the thread of end_slow_ones() closes those that exceed its time.
    struct Connection {
        int socket = -1;
        enum class Phase { receiving, answering, sending } phase = Phase::receiving;
        Clock::time_point since = Clock::now();
        Clock::duration sending_before{};  // of this answer, in earlier pieces
    };

    // One request while it arrives.
    struct Arriving {
        HttpRequest request;
        std::shared_ptr<Connection> connection;
        std::size_t received = 0;
        bool too_large = false;
    };

    // A socket that listens. Opened here, because the library's own takes an address, not a name.
    int listening() {
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
        const std::string port = fmt::format("{}", limits_.port);
        const int status = getaddrinfo(limits_.host.c_str(), port.c_str(), &hints, &found);
        check(status == 0, "--host {}: {}; give an address of this machine, such as 127.0.0.1", limits_.host,
              gai_strerror(status));
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
        std::string reason;
        for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
            const int made = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol), on = 1;
            if (made < 0) continue;
            setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            if (bind(made, at->ai_addr, at->ai_addrlen) == 0 && listen(made, 128) == 0) {
                sockaddr_storage own{};
                socklen_t size = sizeof own;
                char text[NI_MAXSERV];
                if (getsockname(made, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                    getnameinfo(reinterpret_cast<sockaddr*>(&own), size, nullptr, 0, text, sizeof text, NI_NUMERICSERV) == 0)
                    port_ = std::stoll(text);
                return made;
            }
            reason = std::strerror(errno);
            close(made);
        }
        fail_with("serve: {}:{}: {}; give another --port, or end the program that listens there", limits_.host, limits_.port,
                  reason);
    }

    static void connected(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code) {
        Daemon& daemon = *static_cast<Daemon*>(self);
        const std::lock_guard lock(daemon.mutex_);
        if (code == MHD_CONNECTION_NOTIFY_STARTED) {
            auto made = std::make_shared<Connection>();
            const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
            made->socket = info == nullptr ? -1 : info->connect_fd;
            *context = made.get();
            daemon.connections_.push_back(std::move(made));
        } else {
            std::erase_if(daemon.connections_, [&](const auto& each) { return each.get() == *context; });
            daemon.changed_.notify_all();
        }
    }

    void enter(Connection& connection, Connection::Phase phase) {
        const std::lock_guard lock(mutex_);
        const Clock::time_point now = Clock::now();
        if (phase == Connection::Phase::receiving)
            connection.sending_before = {};
        else if (connection.phase == Connection::Phase::sending)
            connection.sending_before += now - connection.since;
        connection.phase = phase;
        connection.since = now;
        changed_.notify_all();
    }

    static void completed(void* self, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
        auto* arriving = static_cast<Arriving*>(*state);
        *state = nullptr;
        if (arriving == nullptr) return;
        if (arriving->connection) static_cast<Daemon*>(self)->enter(*arriving->connection, Connection::Phase::receiving);
        delete arriving;
    }

    static MHD_Result access(void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                             const char* data, std::size_t* bytes, void** state) {
        try {
            return static_cast<Daemon*>(self)->access(connection, path, method, data, bytes, state);
        } catch (...) {  // no memory for the request
            return MHD_NO;
        }
    }

    MHD_Result access(MHD_Connection* connection, const char* path, const char* method, const char* data, std::size_t* bytes,
                      void** state) {
        if (*state == nullptr) {
            auto made = std::make_unique<Arriving>();
            made->request.method = method;
            made->request.path = path;
            made->connection = connection_of(connection);
            *state = made.release();
            return begin(connection, *static_cast<Arriving*>(*state));
        }
        Arriving& arriving = *static_cast<Arriving*>(*state);
        if (*bytes > 0) {
            const auto most = static_cast<std::size_t>(limits_.body_bytes);
            arriving.received += *bytes;
            if (arriving.received > most) {
                arriving.too_large = true;
                arriving.request.body = {};
                if (static_cast<std::int64_t>(arriving.received) > most_drained()) return MHD_NO;
            } else {
                arriving.request.body.append(data, *bytes);
            }
            *bytes = 0;
            return MHD_YES;
        }
        if (arriving.too_large) return answer(connection, arriving, too_large());
        enter(*arriving.connection, Connection::Phase::answering);
        return answer(connection, arriving, handled(arriving.request));
    }

    // Bytes of a body that are read, beyond the limit to be dropped, so that the client reads its 413 instead of a reset.
    std::int64_t most_drained() const { return 4 * limits_.body_bytes + (1 << 20); }
    bool finishing() {
        const std::lock_guard lock(mutex_);
        return finishing_;
    }

    HttpResponse too_large() const {
        return error_response(413, fmt::format("the request has more than {} bytes", limits_.body_bytes));
    }

    // The headers are there. Proxies and servers that disagree about a body's length can be made to see different requests.
    MHD_Result begin(MHD_Connection* connection, Arriving& arriving) {
        HttpRequest& request = arriving.request;
        const int lengths = headers_named(connection, "Content-Length"), codings = headers_named(connection, "Transfer-Encoding");
        if (lengths + codings > 1)
            return answer(connection, arriving, error_response(400, "the request states the length of its body twice"));
        if (!has_proper_names(connection))
            return answer(connection, arriving, error_response(400, "the name of a header has a character that none may have"));
        const std::string length = header(connection, "Content-Length");
        if (!std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; }))
            return answer(connection, arriving, error_response(400, "Content-Length is no number"));
        const bool huge = length.size() > 18 || (!length.empty() && std::stoll(length) > most_drained());
        if (huge) return answer(connection, arriving, too_large());
        if (finishing()) return answer(connection, arriving, error_response(503, "the server is about to end"));
        request.type = media_type(header(connection, "Content-Type"));
        request.host = header(connection, "Host");
        request.origin = header(connection, "Origin");
        MHD_get_connection_values(
            connection, MHD_GET_ARGUMENT_KIND,
            [](void* closure, MHD_ValueKind, const char* key, const char* value) {
                static_cast<HttpRequest*>(closure)->query[key] = value == nullptr ? "" : value;
                return MHD_YES;
            },
            &request);
        const int socket = arriving.connection->socket;
        request.gone = [socket] { return closed(socket); };
        return MHD_YES;
    }

    HttpResponse handled(const HttpRequest& request) const {
        try {
            return handler_(request);
        } catch (...) {
            return error_response(500, "the server could not answer; its log says why");
        }
    }

    // Pieces of a response on their way through the library.
    struct Stream {
        Daemon* daemon;
        std::shared_ptr<Connection> connection;
        std::function<std::optional<std::string>()> more;
        std::string piece;
        std::size_t sent = 0;
    };

    static ssize_t next_bytes(void* closure, std::uint64_t, char* buffer, std::size_t room) {
        Stream& stream = *static_cast<Stream*>(closure);
        stream.daemon->enter(*stream.connection, Connection::Phase::answering);
        try {
            while (stream.sent == stream.piece.size()) {
                std::optional<std::string> piece = stream.more();
                if (!piece) return MHD_CONTENT_READER_END_OF_STREAM;
                stream.piece = std::move(*piece);
                stream.sent = 0;
            }
        } catch (...) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        stream.daemon->enter(*stream.connection, Connection::Phase::sending);
        const std::size_t count = std::min(room, stream.piece.size() - stream.sent);
        std::memcpy(buffer, stream.piece.data() + stream.sent, count);
        stream.sent += count;
        return static_cast<ssize_t>(count);
    }

    MHD_Result answer(MHD_Connection* connection, Arriving& arriving, HttpResponse response) {
        enter(*arriving.connection, Connection::Phase::sending);
        MHD_Response* made = nullptr;
        if (response.more) {
            auto stream = std::make_unique<Stream>(
                Stream{this, arriving.connection, std::move(response.more), std::move(response.body), 0});
            made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, next_bytes, stream.get(),
                                                     [](void* closure) { delete static_cast<Stream*>(closure); });
            if (made != nullptr) static_cast<void>(stream.release());
        } else {
            made = MHD_create_response_from_buffer(response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY);
        }
        if (made == nullptr) return MHD_NO;
        MHD_add_response_header(made, "Content-Type", response.type.c_str());
        MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(made, "Cache-Control", "no-store");
        for (const auto& [name, value] : response.headers) MHD_add_response_header(made, name.c_str(), value.c_str());
        const MHD_Result result = MHD_queue_response(connection, static_cast<unsigned>(response.status), made);
        MHD_destroy_response(made);
        return result;
    }

    std::shared_ptr<Connection> connection_of(MHD_Connection* connection) {
        const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find_if(
            connections_, [&](const auto& each) { return info != nullptr && each.get() == info->socket_context; });
        return found == connections_.end() ? std::make_shared<Connection>() : *found;
    }

    // The library's own time limit is for silence alone: a client that sends a byte a second would keep its connection for ever,
    // and one that waits for its translation would lose it.
    void end_slow_ones() {
        std::unique_lock lock(mutex_);
        while (!ending_) {
            changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return ending_; });
            for (const std::shared_ptr<Connection>& each : connections_) {
                const auto passed = Clock::now() - each->since;
                const bool late =
                    (each->phase == Connection::Phase::receiving && passed > std::chrono::seconds(limits_.seconds)) ||
                    (each->phase == Connection::Phase::sending &&
                     each->sending_before + passed > std::chrono::seconds(10 * limits_.seconds));
                if (late && each->socket >= 0) shutdown(each->socket, SHUT_RDWR);
            }
        }
    }

    HttpLimits limits_;
    HttpHandler handler_;
    MHD_Daemon* daemon_ = nullptr;
    std::int64_t port_ = 0;
    std::mutex mutex_;  // of what follows; held while a socket is shut down, so that it is not another one by then
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Connection>> connections_;
    bool ending_ = false, finishing_ = false;
    int quiet_socket_ = -1;
    std::thread reaper_;
};

HttpServer::HttpServer(const HttpLimits& limits, HttpHandler handler)
    : daemon_(std::make_unique<Daemon>(limits, std::move(handler))) {}
HttpServer::~HttpServer() = default;

std::int64_t HttpServer::port() const { return daemon_->port(); }
void HttpServer::finish(std::int64_t seconds) { daemon_->finish(seconds); }

bool is_this_machine(std::string_view host) {
    std::string name(host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host);
    std::ranges::transform(name, name.begin(), ascii_lower);
    in_addr four{};
    if (inet_pton(AF_INET, name.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
    return name == "localhost" || name == "::1";
}

}  // namespace heddle::app
