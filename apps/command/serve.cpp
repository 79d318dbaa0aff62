#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "apps/command/commands.h"
#include "apps/command/option_rows.h"
#include "apps/command/run.h"
#include "apps/command/run_search.h"
#include "apps/serve/http_server.h"
#include "apps/serve/service.h"
#include "apps/terminal/terminal.h"
#include "core/format.h"

namespace heddle::app {
namespace {

struct ServeOptions {
    std::vector<std::string> runs;
    WeightsChoice weights;
    DecodeOptions decode;
    bool forbid_unknown = false;
    HttpLimits limits;
    ServiceOptions service;
    std::string most_bytes = "1M";
    MachineOptions machine;
};

OptionTable serve_table(ServeOptions& options) {
    OptionTable table("serve", "serves translations by HTTP: LibreTranslate's interface, and a page for a browser");
    table.usage =
        "usage: heddle serve RUN...                       then open http://127.0.0.1:5010\n"
        "       curl -d 'q=Hallo' -d source=de -d target=en http://127.0.0.1:5010/translate\n";
    table.group(OptionGroup::model);
    table.add("model", options.runs, "the folders of trained runs, one for each language pair").called("RUN...").positional();
    add_weights_option(table, options.weights);
    table.group(OptionGroup::server);
    table.add("host", options.limits.host, "the address to listen on; beyond this machine it needs --api-key or --allow-host");
    table.add("port", options.limits.port, "the port to listen on; 0: any that is free, which is said")
        .at_least(0)
        .at_most(65535);
    table.add("api-key", options.service.api_key, "translate only for requests whose api_key is this").called("KEY");
    table.add("allow-host", options.service.allow_hosts, "names by which clients may address the server, besides localhost")
        .called("NAME...");
    table.add("queue", options.service.queue, "requests that may wait; more are answered by 503").at_least(1).at_most(100'000);
    table.add("max-bytes", options.most_bytes, "the largest request in bytes, K or M; larger ones are answered by 413")
        .called("N");
    table.add("connections", options.limits.connections, "clients at once, a thread for each").at_least(1).at_most(10'000);
    table.add("seconds", options.limits.seconds, "for a request to arrive; ten times as many for its answer to be read")
        .at_least(1)
        .at_most(3600);
    add_decode_options(table, options.decode);
    add_forbid_unknown_option(table, options.forbid_unknown).defaults_to("the run's, else false");
    add_machine_options(table, options.machine);
    add_inference_options(table, options.machine);
    return table;
}

// "1M", "64K", "1000".
std::int64_t bytes_of(const std::string& text) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
    const bool valid = digits != 0 && text.size() - unit.size() <= 9 && (unit.empty() || unit == "K" || unit == "M");
    const std::int64_t number = valid ? std::stoll(text) : 0, bytes = number * (unit == "M"   ? 1 << 20
                                                                                : unit == "K" ? 1 << 10
                                                                                              : 1);
    check_usage(bytes > 0 && bytes <= std::int64_t{1} << 30,
                fmt::format("--max-bytes {}: wanted 1 to 1024M, in bytes or with K or M behind the number", text));
    return bytes;
}

void check_options(const ServeOptions& options) {
    check_models("serve", options.runs);
    check_decoding(options.decode);
    check_usage(
        is_this_machine(options.limits.host) || !options.service.api_key.empty() || !options.service.allow_hosts.empty(),
        fmt::format("--host {}: others could reach the server; give --api-key KEY, or --allow-host NAME for the names by which "
                    "they may address it",
                    options.limits.host));
}

std::vector<ServedModel> served_models(const std::vector<Run>& runs, const ServeOptions& options, const OptionTable& table) {
    std::vector<ServedModel> models;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Run& run = runs[i];
        ServedModel served{.source = run.settings.data.source.empty() ? "source" : run.settings.data.source,
                           .target = run.settings.data.target.empty() ? "target" : run.settings.data.target,
                           .model = run.model.get(),
                           .vocabularies = run.vocabularies,
                           .decode = options.decode};
        bool forbid_unknown = options.forbid_unknown;
        take_search_of(options.runs[i], table, served.decode, forbid_unknown);
        if (forbid_unknown) served.decode.forbidden = {unk_id};
        for (const ServedModel& other : models)
            check_usage(other.source != served.source || other.target != served.target,
                        fmt::format("{}: there is another run from {} to {}; give one for each language pair", options.runs[i],
                                    served.source, served.target));
        models.push_back(std::move(served));
    }
    return models;
}

// Signals that end the server: blocked in all threads, and taken by sigwait. Those that the parent ignores, as nohup does with
// SIGHUP, stay ignored.
class EndSignals {
  public:
    EndSignals() {
        sigemptyset(&set_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction now {};
            if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set_, signal);
        }
        pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;

    /// Returns at the first one; a second one ends the process at once.
    void wait() const {
        int signal = 0;
        while (sigwait(&set_, &signal) != 0) continue;
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t set_{}, before_{};
};

constexpr std::int64_t seconds_to_finish = 30;

}  // namespace

int serve_command(Arguments arguments) {
    ServeOptions options;
    OptionTable table = serve_table(options);
    if (!parse_command_line(table, arguments)) return 0;
    check_options(options);
    check_weights(table);
    options.limits.body_bytes = bytes_of(options.most_bytes);
    const EndSignals signals;  // before any thread begins
    apply(options.machine);
    for (const std::string& run : options.runs) check_translates("serve", run);
    std::vector<Run> runs;
    for (const std::string& run : options.runs)
        runs.push_back(open_run(run, weights_file(options.weights, run), options.machine));
    const std::vector<ServedModel> models = served_models(runs, options, table);
    TranslationService service(models, options.service);
    HttpServer server(options.limits, [&](const HttpRequest& request) { return service.answer(request); });
    for (std::size_t i = 0; i < runs.size(); ++i) say(description(options.runs[i], runs[i], options.weights));
    const bool six = options.limits.host.find(':') != std::string::npos;
    say(fmt::format("listening on http://{}{}{}:{}; Ctrl-C ends", six ? "[" : "", options.limits.host, six ? "]" : "",
                    server.port()));
    signals.wait();
    say("finishing what is being translated");
    server.finish(seconds_to_finish);
    return 0;
}

}  // namespace heddle::app
