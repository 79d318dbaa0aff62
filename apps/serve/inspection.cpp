#include "apps/serve/inspection.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/translation/decoding/attention.h"
#include "apps/translation/run/json.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

DecodeOptions options_of(const ServedModel& served, const InspectionRequest& request) {
    DecodeOptions options = served.decode;
    options.beam = request.beam;
    options.n_best = std::min(request.n_best, request.beam);
    options.length_penalty = request.length_penalty;
    return options;
}

std::vector<Translation> translations_of(const ServedModel& served, const std::string& line, const DecodeOptions& options) {
    return std::move(translator_of(served, options).translate({line}).front());
}

Json attention(const TranslationAttention& of) {
    Json layers = Json::array();
    for (const Tensor& map : of.maps.cross) {
        const std::int64_t heads = map.dim(1), queries = map.dim(2), keys = map.dim(3);
        const float* values = map.data<float>();
        Json layer = Json::array();
        for (std::int64_t head = 0; head < heads; ++head) {
            Json rows = Json::array();
            for (std::int64_t query = 0; query < queries; ++query) {
                Json row = Json::array();
                for (std::int64_t key = 0; key < keys; ++key)
                    row.push_back(std::round(1e4 * static_cast<double>(*values++)) / 1e4);
                rows.push_back(std::move(row));
            }
            layer.push_back(std::move(rows));
        }
        layers.push_back(std::move(layer));
    }
    return layers;
}

}  // namespace

nlohmann::ordered_json inspect(const ServedModel& served, const InspectionRequest& request) {
    const DecodeOptions options = options_of(served, request);
    const std::vector<Translation> found = translations_of(served, request.line, options);
    Json result = {{"beam", options.beam}, {"length_penalty", options.length_penalty}, {"translations", Json::array()}};
    for (const Translation& each : found)
        result["translations"].push_back(
            {{"text", each.text}, {"score", rounded(each.score)}, {"log_probability", rounded(each.log_probability)}});
    const Translation& best = found.front();
    if (served.vocabularies.source->encode(request.line).empty()) return result;
    const TranslationAttention of = attention_of(*served.model, served.vocabularies, request.line, best);
    const std::vector<DecodingStep> probabilities =
        decoding_steps(*served.model, *served.vocabularies.target, of, likeliest_shown);
    Json tokens = Json::array();
    for (std::size_t i = 0; i < of.written.size(); ++i) {
        Json likeliest = Json::array();
        for (const NextToken& next : probabilities[i].likeliest)
            likeliest.push_back(Json::array({next.token, rounded(next.probability)}));
        tokens.push_back({{"text", of.written[i]},
                          {"word", i < of.target_words.size() ? of.target_words[i] : -1},
                          {"probability", rounded(probabilities[i].probability)},
                          {"likeliest", std::move(likeliest)}});
    }
    result["source"] = of.source;
    result["source_words"] = of.source_words;
    result["tokens"] = std::move(tokens);
    result["attention"] = attention(of);
    return result;
}

// What a search of at most so many tokens cuts off it lists in the order of the beam.
nlohmann::ordered_json beam_after(const ServedModel& served, const InspectionRequest& request, std::int64_t tokens) {
    DecodeOptions options = options_of(served, request);
    options.n_best = options.beam;
    options.max_length = tokens;
    Json step = Json::array();
    for (const Translation& each : translations_of(served, request.line, options)) {
        Json texts = Json::array();
        for (const std::int32_t id : each.tokens) texts.push_back(served.vocabularies.target->token(id));
        step.push_back({{"tokens", texts}, {"log_probability", rounded(each.log_probability)}, {"ended", each.ended}});
    }
    return step;
}

}  // namespace heddle::app
