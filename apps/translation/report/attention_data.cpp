#include "apps/translation/report/attention_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/picture/ramp.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"

namespace heddle::app {
namespace {

using nlohmann::ordered_json;

// [1, heads, queries, keys] as a list of heads.
ordered_json heads_json(const Tensor& map) {
    const std::vector<double> weights = map.to_vector();
    const auto rows = static_cast<std::size_t>(map.shape()[2]), cols = static_cast<std::size_t>(map.shape()[3]);
    ordered_json heads = ordered_json::array();
    for (std::size_t head = 0; head < static_cast<std::size_t>(map.shape()[1]); ++head) {
        ordered_json& one = heads.emplace_back(ordered_json::array());
        for (std::size_t row = 0; row < rows; ++row)
            for (const int part : thousandths(std::span(weights).subspan((head * rows + row) * cols, cols)))
                one.push_back(part < 0 ? ordered_json() : ordered_json(part));
    }
    return heads;
}

ordered_json layers_json(const std::vector<Tensor>& layers) {
    ordered_json all = ordered_json::array();
    for (const Tensor& map : layers) all.push_back(heads_json(map));
    return all;
}

// Four decimals are enough for a probability.
double rounded(double probability) { return std::round(probability * 1e4) / 1e4; }

ordered_json step_json(const DecodingStep& step) {
    ordered_json likeliest = ordered_json::array();
    for (const NextToken& next : step.likeliest)
        likeliest.push_back(ordered_json::array({labels_of({next.token}).front(), rounded(next.probability)}));
    return {{"probability", rounded(step.probability)}, {"likeliest", std::move(likeliest)}};
}

}  // namespace

std::vector<int> thousandths(std::span<const double> shares) {
    std::vector<int> parts;
    for (const double share : shares)
        if (std::isfinite(share))
            parts.push_back(static_cast<int>(std::floor(share * 1000)));
        else
            return std::vector<int>(shares.size(), -1);
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), 0);
    const auto remainder = [&](std::size_t i) { return shares[i] * 1000 - parts[i]; };
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainder(a) > remainder(b); });
    const long whole = std::lround(1000 * std::accumulate(shares.begin(), shares.end(), 0.0));
    const long missing = whole - std::accumulate(parts.begin(), parts.end(), 0L);
    for (std::size_t i = 0; i < order.size() && static_cast<long>(i) < missing; ++i) ++parts[order[i]];
    return parts;
}

std::vector<std::string> labels_of(const std::vector<std::string>& tokens) {
    std::vector<std::string> labels;
    for (const std::string& token : tokens) {
        std::u32string letters = decode_utf8(token);
        std::replace(letters.begin(), letters.end(), join_mark, U'·');
        std::replace(letters.begin(), letters.end(), U' ', U'␣');
        labels.push_back(encode_utf8(letters));
    }
    return labels;
}

ordered_json attention_line(const std::string& line, const std::string& translation, const TranslationAttention& attention,
                            const std::vector<DecodingStep>& steps) {
    ordered_json object = {{"line", line},
                           {"translation", translation},
                           {"source", labels_of(attention.source)},
                           {"read", labels_of(attention.read)},
                           {"written", labels_of(attention.written)},
                           {"maps",
                            {{"cross", layers_json(attention.maps.cross)},
                             {"decoder", layers_json(attention.maps.decoder)},
                             {"encoder", layers_json(attention.maps.encoder)}}},
                           {"steps", ordered_json::array()}};
    for (const DecodingStep& step : steps) object["steps"].push_back(step_json(step));
    return object;
}

ordered_json attention_data(ordered_json lines) {
    ordered_json colors = ordered_json::array();
    for (int level = 0; level < picture::ramp_levels; ++level) colors.push_back(picture::ramp_color(level, false));
    return {{"ramp", std::move(colors)}, {"not_finite", picture::not_finite_color}, {"lines", std::move(lines)}};
}

}  // namespace heddle::app
