// What the page shows of a translation: its alternatives, the probabilities of its tokens, where the model looked, the search.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/serve/translation_queue.h"

namespace heddle::app {

struct InspectionRequest {
    std::string line;
    std::int64_t n_best = 5;
    std::int64_t beam = 5;
    double length_penalty = 1;
};

/// The hypotheses that a search for `request.line` keeps and what the model does for the best of them, as an object:
///     beam, length_penalty as used, source [token], source_words [word of each token, or -1],
///     translations [{text, score, log_probability}],
///     tokens [{text, word, probability, likeliest [[text, probability]]}] of the best,
///     attention [layer][head][token][source token] of its tokens to the source's.
/// A line without tokens has its one translation alone. Errors as Translator::translate.
nlohmann::ordered_json inspect(const ServedModel& served, const InspectionRequest& request);

/// The hypotheses that the search keeps after so many tokens: [{tokens [text], log_probability, ended}]. A search of its own.
nlohmann::ordered_json beam_after(const ServedModel& served, const InspectionRequest& request, std::int64_t tokens);

}  // namespace heddle::app
