// What the server answers: LibreTranslate's interface, and the page with its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "apps/serve/http_server.h"
#include "apps/serve/languages.h"
#include "apps/serve/translation_queue.h"

namespace heddle::app {

struct ServiceOptions {
    std::string api_key = {};  ///< empty: none is asked for
    /// Names by which the server may be addressed, besides localhost and loopback addresses.
    std::vector<std::string> allow_hosts = {};
    std::int64_t queue = 256;  ///< requests that may wait
};

/// Answers requests from any number of threads.
///
/// | request           | answer                                                                                                |
/// | POST /translate   | q (a text or a list), source (a code or auto), target, format (text or html), alternatives, api_key   |
/// | POST /detect      | q                                                                                                     |
/// | GET /languages    | the language pairs                                                                                    |
/// | GET /health       | {"status": "ok"}                                                                                      |
/// | GET /metrics      | numbers in Prometheus' text format                                                                    |
/// | POST /inspect     | inspect() of q's first line, with beam, n_best, length_penalty, tree; for the page                    |
/// | GET /             | the page                                                                                              |
///
/// Fields come as JSON or as a form. Errors are {"error": TEXT}. A line's translation is that of `heddle translate`. A text of
/// many lines is answered piece by piece. Source: https://docs.libretranslate.com, "API".
class TranslationService {
  public:
    /// `models`: one for each language pair; it must outlive this.
    TranslationService(const std::vector<ServedModel>& models, ServiceOptions options);

    HttpResponse answer(const HttpRequest& request);

  private:
    struct Route;
    struct Counted;

    HttpResponse routed(const HttpRequest& request);
    void check_caller(const HttpRequest& request) const;
    HttpResponse translate(const HttpRequest& request);
    HttpResponse detect(const HttpRequest& request);
    HttpResponse languages(const HttpRequest& request);
    HttpResponse inspect_line(const HttpRequest& request);
    HttpResponse metrics(const HttpRequest& request);

    std::vector<KnownLanguage> sources_for(const std::string& target) const;
    std::vector<DetectedLanguage> detected_in(const std::string& text, const std::vector<KnownLanguage>& known,
                                              const HttpRequest& request);
    const ServedModel& model_for(const std::string& source, const std::string& target) const;
    std::vector<std::vector<Translation>> all_of(TranslationQueue::Job& job, const HttpRequest& request);
    void count(const std::string& path, int status, double seconds);

    const std::vector<ServedModel>& models_;
    ServiceOptions options_;
    TranslationQueue queue_;
    std::mutex counting_;
    std::map<std::pair<std::string, int>, std::int64_t> requests_;  // path, status
    std::vector<std::int64_t> within_;                              // requests for translations by time
    double seconds_ = 0;
};

}  // namespace heddle::app
