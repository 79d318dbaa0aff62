#include "apps/translation/run/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/digest.h"

namespace heddle::app {

namespace {

// The deepest nesting of brackets outside of strings. If the text is not JSON the result is arbitrary, but then parsing fails.
int depth_of(std::string_view text) {
    int depth = 0, deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '\\')
            ++i;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            deepest = std::max(deepest, ++depth);
        else if (!quoted && (c == ']' || c == '}'))
            --depth;
    }
    return deepest;
}

// The line that sealed_json() appends.
std::string digest_line(std::string_view fields) {
    return fmt::format(",\n \"digest\": \"{}\"\n}}\n", digest(fmt::format("{}\n}}", fields)));
}

}  // namespace

nlohmann::json bounded_json(std::string_view text) {
    constexpr int deepest = 16;
    // Not by a callback of the parser: with one, the end of each object costs a walk over all previous elements of its array.
    if (depth_of(text) > deepest) return nlohmann::json::value_t::discarded;
    return nlohmann::json::parse(text, nullptr, false);
}

double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

std::string json_text(const nlohmann::ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string sealed_json(const nlohmann::ordered_json& object) {
    std::string text = json_text(object, 1);
    text.resize(text.size() - 2);  // removes the closing line break and brace
    return text + digest_line(text);
}

bool is_sealed_json(std::string_view text) {
    const std::size_t length = digest_line("").size();
    return text.size() > length && text.substr(text.size() - length) == digest_line(text.substr(0, text.size() - length));
}

nlohmann::ordered_json json_number(double value) {
    if (std::isfinite(value)) return value;
    return fmt::format("{}", unsigned_nan(value));
}

}  // namespace heddle::app
