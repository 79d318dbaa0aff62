#include "apps/translation/bounded_json.h"

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

}  // namespace heddle::app
