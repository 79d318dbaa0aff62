#include "apps/translation/run/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace heddle::app {

nlohmann::json bounded_json(std::string_view text) {
    constexpr int deepest = 16;
    struct TooDeep {};
    const auto no_deeper = [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        if (depth > deepest) throw TooDeep();
        return true;
    };
    try {
        return nlohmann::json::parse(text, no_deeper, false);
    } catch (const TooDeep&) {
        return nlohmann::json::value_t::discarded;
    }
}

double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json json_number(double value) {
    if (std::isfinite(value)) return value;
    return fmt::format("{}", unsigned_nan(value));
}

}  // namespace heddle::app
