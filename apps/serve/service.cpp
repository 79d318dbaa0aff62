#include "apps/serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "apps/serve/html_text.h"
#include "apps/serve/inspection.h"
#include "apps/serve/request_fields.h"
#include "apps/serve/scripts.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/run/json.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t longest_tree = 40;   // tokens: each step is a search of its own
constexpr std::size_t streamed_lines = 64;  // from so many on, an answer is sent while it is made
constexpr std::array bounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};  // seconds, Prometheus' usual ones

HttpResponse json_response(const Json& value, int status = 200) { return {.status = status, .body = json_text(value)}; }
HttpResponse error_response(int status, const std::string& text) { return json_response({{"error", text}}, status); }

// "localhost" of "localhost:5010", "[::1]" of "[::1]:5010".
std::string without_port(const std::string& host) {
    const std::size_t colon = host.rfind(':');
    return colon == std::string::npos || host.find(']', colon) != std::string::npos ? host : host.substr(0, colon);
}

// A text of a request on its way to its translation and back: lines to translate, and what stands before, between and behind
// them, one more than lines: markup, or line ends and empty lines.
struct Text {
    std::optional<HtmlText> html;
    std::vector<std::string> lines, between = {""};

    Text(const std::string& text, bool is_html) {
        if (is_html) {
            html.emplace(text);
            lines = html->lines();
            return;
        }
        for (std::string_view rest = text; !rest.empty();) {
            const std::size_t at = std::min(rest.find('\n'), rest.size());
            std::string_view line = rest.substr(0, at);
            const bool returns = at < rest.size() && line.ends_with('\r');
            if (returns) line.remove_suffix(1);
            if (!line.empty()) {
                lines.emplace_back(line);
                between.emplace_back();
            }
            between.back() += returns ? "\r\n" : at < rest.size() ? "\n" : "";
            rest.remove_prefix(std::min(rest.size(), at + 1));
        }
    }
    std::string with(const std::vector<std::string>& translations) const {
        if (html) return html->with(translations);
        std::string text = between.front();
        for (std::size_t i = 0; i < translations.size(); ++i) text += translations[i] + between[i + 1];
        return text;
    }
};

// The characters of a JSON string, without its quotation marks.
std::string inside_json(const std::string& text) {
    const std::string quoted = json_text(text);
    return quoted.substr(1, quoted.size() - 2);
}

Json shown(const DetectedLanguage& one) { return {{"confidence", std::round(10 * one.confidence) / 10}, {"language", one.code}}; }

}  // namespace

struct TranslationService::Route {
    std::string_view method, path;
    bool keyed;  // needs the API key
    HttpResponse (TranslationService::*answer)(const HttpRequest&);
    std::string_view content, type;  // of a fixed answer
};

// Counts a request when it has been answered.
struct TranslationService::Counted {
    TranslationService* service;
    std::string path;
    int status;
    std::chrono::steady_clock::time_point start;

    Counted(TranslationService* of, std::string at, int with, std::chrono::steady_clock::time_point from)
        : service(of), path(std::move(at)), status(with), start(from) {}
    ~Counted() {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        service->count(path, status, seconds.count());
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
};

TranslationService::TranslationService(const std::vector<ServedModel>& models, ServiceOptions options)
    : models_(models), options_(std::move(options)), queue_(options_.queue), within_(bounds.size() + 1) {}

HttpResponse TranslationService::answer(const HttpRequest& request) {
    const auto start = std::chrono::steady_clock::now();
    HttpResponse response;
    try {
        response = routed(request);
    } catch (const RequestError& error) {
        response = error_response(error.status, error.what());
    } catch (const QueueFull&) {
        response = error_response(503, "too many requests wait; try again later");
        response.headers.emplace_back("Retry-After", "1");
    } catch (const ClientGone&) {
        response = error_response(499, "the client has left");  // nobody reads it; the number is counted
    } catch (const std::exception& error) {
        say(fmt::format("serve: {}: {}", request.path, error.what()));
        response = error_response(500, "the text could not be translated; the server's log says why");
    }
    // A streamed answer counts when it has ended, as what it became.
    const auto counted = std::make_shared<Counted>(this, request.path, response.status, start);
    if (response.more)
        response.more = [counted, more = std::move(response.more)] {
            counted->status = 499;  // unless it comes to its end
            std::optional<std::string> piece = more();
            if (!piece) counted->status = 200;
            return piece;
        };
    return response;
}

HttpResponse TranslationService::routed(const HttpRequest& request) {
    static constexpr std::string_view html = "text/html; charset=utf-8";
    static const Route routes[] = {{"POST", "/translate", true, &TranslationService::translate, {}, {}},
                                   {"POST", "/detect", true, &TranslationService::detect, {}, {}},
                                   {"POST", "/inspect", true, &TranslationService::inspect_line, {}, {}},
                                   {"GET", "/languages", false, &TranslationService::languages, {}, {}},
                                   {"GET", "/metrics", false, &TranslationService::metrics, {}, {}},
                                   {"GET", "/health", false, nullptr, "{\"status\":\"ok\"}", "application/json"},
                                   {"GET", "/", false, nullptr, serve::page_html, html},
                                   {"GET", "/page.css", false, nullptr, serve::page_css, "text/css; charset=utf-8"},
                                   {"GET", "/page.js", false, nullptr, serve::page_js, "text/javascript; charset=utf-8"}};
    check_caller(request);
    const auto route = std::ranges::find(routes, request.path, &Route::path);
    if (route == std::end(routes)) throw RequestError(404, "there is nothing at this address; see /languages");
    if (request.method != route->method) {
        HttpResponse response = error_response(405, fmt::format("this address takes {}", route->method));
        response.headers.emplace_back("Allow", route->method);
        return response;
    }
    if (route->answer != nullptr) return (this->*route->answer)(request);
    HttpResponse response{.type = std::string(route->type), .body = std::string(route->content)};
    response.headers.emplace_back("Content-Security-Policy",
                                  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                                  "form-action 'none'; frame-ancestors 'none'");
    return response;
}

// A page of another site that a browser on this machine shows must not reach the server: not by its own name, which it may
// resolve to this machine (DNS rebinding), and not by sending a form here.
void TranslationService::check_caller(const HttpRequest& request) const {
    const std::string host = without_port(request.host);
    const bool known =
        is_this_machine(host) || std::ranges::any_of(options_.allow_hosts, [&](const std::string& name) { return name == host; });
    if (!known && options_.api_key.empty())
        throw RequestError(403, "the server is not addressed by this name; its --allow-host lists the names");
    const std::size_t scheme = request.origin.find("://");
    const bool same = request.origin.empty() ||
                      (scheme != std::string::npos && std::string_view(request.origin).substr(scheme + 3) == request.host);
    if (!same) throw RequestError(403, "requests from pages of other sites are refused");
}

namespace {

void check_key(const RequestFields& fields, const std::string& key) {
    if (key.empty()) return;
    const std::string given = fields.text("api_key");
    // All of it is compared, so that the time does not tell how much was right.
    unsigned difference = given.size() == key.size() ? 0 : 1;
    for (std::size_t i = 0; i < given.size(); ++i)
        difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(key[i % key.size()]);
    if (difference != 0)
        throw RequestError(403, given.empty() ? "Please contact the server operator to get an API key" : "Invalid API key");
}

}  // namespace

std::vector<KnownLanguage> TranslationService::sources_for(const std::string& target) const {
    std::vector<KnownLanguage> known;
    for (const ServedModel& each : models_) {
        if (!target.empty() && each.target != target) continue;
        auto found = std::ranges::find(known, each.source, &KnownLanguage::code);
        if (found == known.end()) found = known.insert(known.end(), {each.source, {}, {}});
        found->readers.push_back(&each);
    }
    for (KnownLanguage& language : known)
        for (const ServedModel& each : models_)
            if (each.target == language.code) language.writers.push_back(&each);
    return known;
}

// The beginning of a text says enough, in whole characters and on one line.
std::vector<DetectedLanguage> TranslationService::detected_in(const std::string& text, const std::vector<KnownLanguage>& known,
                                                              const HttpRequest& request) {
    if (known.size() == 1) return {{known.front().code, 100}};  // nothing to choose from, and no work for the queue
    std::size_t end = std::min<std::size_t>(text.size(), 1000);
    while (end < text.size() && (text[end] & 0xC0) == 0x80) --end;
    std::string beginning = text.substr(0, end);
    std::ranges::replace(beginning, '\n', ' ');
    std::vector<DetectedLanguage> found;
    queue_.run([&] { found = detect_language(beginning, known); }, request.gone);
    return found;
}

const ServedModel& TranslationService::model_for(const std::string& source, const std::string& target) const {
    const auto found =
        std::ranges::find_if(models_, [&](const ServedModel& each) { return each.source == source && each.target == target; });
    if (found == models_.end())
        throw RequestError(400, "there is no model from this source to this target; /languages lists what there is");
    return *found;
}

std::vector<std::vector<Translation>> TranslationService::all_of(TranslationQueue::Job& job, const HttpRequest& request) {
    std::vector<std::vector<Translation>> all;
    while (auto some = queue_.next(job, request.gone)) std::ranges::move(*some, std::back_inserter(all));
    return all;
}

HttpResponse TranslationService::translate(const HttpRequest& request) {
    const RequestFields fields(request);
    check_key(fields, options_.api_key);
    const std::vector<std::string>& texts = fields.texts("q");
    const std::string target = fields.text("target", models_.size() == 1 ? models_.front().target : "");
    std::string source = fields.text("source", "auto");
    if (target.empty()) throw RequestError(400, "Invalid request: missing target parameter");
    const std::string format = fields.text("format", "text");
    if (format != "text" && format != "html") throw RequestError(400, "format must be text or html");
    const std::int64_t alternatives = fields.whole("alternatives", 0, 0, 100);

    std::optional<DetectedLanguage> detected;
    if (source == "auto") {
        const std::vector<KnownLanguage> known = sources_for(target);
        if (known.empty()) model_for(source, target);  // says that there is none
        std::string all;
        for (const std::string& text : texts) all += text + "\n";
        detected = detected_in(all, known, request).front();
        source = detected->code;
    }
    const ServedModel& model = model_for(source, target);
    const std::int64_t n_best = std::min(alternatives + 1, model.decode.beam);  // a search has no more

    std::vector<Text> parts;
    std::vector<std::string> lines;
    for (const std::string& text : texts) {
        parts.emplace_back(text, format == "html");
        lines.insert(lines.end(), parts.back().lines.begin(), parts.back().lines.end());
    }
    const std::size_t count = lines.size();
    if (count > TranslationQueue::longest_job) throw RequestError(413, "the request has more than 100000 lines");
    const std::shared_ptr<TranslationQueue::Job> job = queue_.translate(model, std::move(lines), n_best);

    if (count >= streamed_lines && !fields.is_list("q") && format == "text" && alternatives == 0) {
        const auto between = std::make_shared<const std::vector<std::string>>(std::move(parts.front().between));
        const auto at = std::make_shared<std::size_t>(0);  // between->size(): all is said
        std::string last = "\"";
        if (detected) last += ",\"detectedLanguage\":" + json_text(shown(*detected));
        const auto piece = [this, job, between, at, last, gone = request.gone]() -> std::optional<std::string> {
            if (*at == between->size()) return std::nullopt;
            std::string text;
            if (const auto some = queue_.next(*job, gone)) {
                for (const std::vector<Translation>& each : *some) text += inside_json(each.front().text + (*between)[++*at]);
                return text;
            }
            *at = between->size();
            return last + "}";
        };
        // An error of the first lines is an answer of its own.
        std::string first = "{\"translatedText\":\"" + inside_json(between->front()) + piece().value();
        return {.body = std::move(first), .more = piece};
    }

    const std::vector<std::vector<Translation>> translations = all_of(*job, request);
    Json translated = Json::array(), others = Json::array();
    std::size_t line = 0;
    for (const Text& part : parts) {
        const std::span<const std::vector<Translation>> own = std::span(translations).subspan(line, part.lines.size());
        line += part.lines.size();
        std::vector<std::string> versions;
        for (std::size_t version = 0; version < static_cast<std::size_t>(n_best); ++version) {
            std::vector<std::string> chosen;
            for (const std::vector<Translation>& each : own) chosen.push_back(each[std::min(version, each.size() - 1)].text);
            versions.push_back(part.with(chosen));
        }
        Json rest = Json::array();
        for (std::size_t i = 1; i < versions.size(); ++i)
            if (std::find(versions.begin(), versions.begin() + static_cast<std::ptrdiff_t>(i), versions[i]) ==
                versions.begin() + static_cast<std::ptrdiff_t>(i))
                rest.push_back(versions[i]);
        translated.push_back(versions.front());
        others.push_back(std::move(rest));
    }
    const bool list = fields.is_list("q");
    Json result = {{"translatedText", list ? translated : translated.front()}};
    if (detected && list)
        result["detectedLanguage"] = Json(texts.size(), shown(*detected));
    else if (detected)
        result["detectedLanguage"] = shown(*detected);
    if (alternatives > 0) result["alternatives"] = list ? others : others.front();
    return json_response(result);
}

HttpResponse TranslationService::detect(const HttpRequest& request) {
    const RequestFields fields(request);
    check_key(fields, options_.api_key);
    const std::string text = fields.texts("q").empty() ? "" : fields.texts("q").front();
    Json all = Json::array();
    for (const DetectedLanguage& each : detected_in(text, sources_for(""), request)) all.push_back(shown(each));
    return json_response(all);
}

HttpResponse TranslationService::languages(const HttpRequest&) {
    std::set<std::string> codes;
    for (const ServedModel& each : models_) codes.insert({each.source, each.target});
    Json all = Json::array();
    for (const std::string& code : codes) {
        std::set<std::string> targets;
        for (const ServedModel& each : models_)
            if (each.source == code) targets.insert(each.target);
        all.push_back({{"code", code}, {"name", language_name(code)}, {"targets", targets}});
    }
    return json_response(all);
}

HttpResponse TranslationService::inspect_line(const HttpRequest& request) {
    const RequestFields fields(request);
    check_key(fields, options_.api_key);
    const ServedModel& model = model_for(fields.text("source"), fields.text("target"));
    const Text text(fields.text("q"), false);
    const InspectionRequest wanted{.line = text.lines.empty() ? "" : text.lines.front(),
                                   .n_best = fields.whole("n_best", 5, 1, 32),
                                   .beam = fields.whole("beam", model.decode.beam, 1, 32),
                                   .length_penalty = fields.number("length_penalty", model.decode.length_penalty, 0, 10)};
    if (wanted.line.size() > 2000) throw RequestError(400, "the line is too long to be shown: more than 2000 bytes");
    Json result;
    queue_.run([&] { result = inspect(model, wanted); }, request.gone);
    if (fields.text("tree") != "true" || !result.contains("tokens")) return json_response(result);
    // Other requests have their turn between two steps.
    Json steps = Json::array();
    const std::int64_t count = std::min<std::int64_t>(std::ssize(result["tokens"]), longest_tree);
    for (std::int64_t tokens = 1; tokens <= count; ++tokens)
        queue_.run([&] { steps.push_back(beam_after(model, wanted, tokens)); }, request.gone);
    result["steps"] = std::move(steps);
    return json_response(result);
}

void TranslationService::count(const std::string& path, int status, double seconds) {
    static const std::set<std::string> counted = {"/translate", "/detect", "/inspect", "/languages", "/metrics", "/health"};
    const std::lock_guard lock(counting_);
    ++requests_[{counted.contains(path) ? path : "other", status}];
    if (path != "/translate") return;
    seconds_ += seconds;
    ++within_[static_cast<std::size_t>(std::ranges::lower_bound(bounds, seconds) - bounds.begin())];
}

HttpResponse TranslationService::metrics(const HttpRequest&) {
    const TranslationQueue::Numbers numbers = queue_.numbers();
    std::string text =
        "# HELP heddle_requests_total Requests that were answered, by path and status.\n# TYPE heddle_requests_total counter\n";
    const std::lock_guard lock(counting_);
    for (const auto& [what, number] : requests_)
        text += fmt::format("heddle_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", what.first, what.second, number);
    text += "# HELP heddle_translate_seconds Time of requests for translations.\n# TYPE heddle_translate_seconds histogram\n";
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < within_.size(); ++i) {
        sum += within_[i];
        const std::string bound = i < bounds.size() ? fmt::format("{}", bounds[i]) : "+Inf";
        text += fmt::format("heddle_translate_seconds_bucket{{le=\"{}\"}} {}\n", bound, sum);
    }
    text += fmt::format("heddle_translate_seconds_sum {}\nheddle_translate_seconds_count {}\n", seconds_, sum);
    for (const auto& [name, type, help, value] :
         {std::tuple("lines_total", "counter", "Lines that were translated.", numbers.lines),
          std::tuple("batches_total", "counter", "Batches that they were translated in.", numbers.batches),
          std::tuple("waiting_requests", "gauge", "Requests that wait or are being translated.", numbers.waiting)})
        text += fmt::format("# HELP heddle_{0} {2}\n# TYPE heddle_{0} {1}\nheddle_{0} {3}\n", name, type, help, value);
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
}

}  // namespace heddle::app
