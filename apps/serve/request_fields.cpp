#include "apps/serve/request_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/translation/run/json.h"
#include "apps/translation/text/unicode.h"
#include "core/text.h"

namespace heddle::app {
namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::string form_text(std::string_view coded) {
    std::string text;
    for (std::size_t i = 0; i < coded.size(); ++i)
        if (coded[i] == '+') {
            text += ' ';
        } else if (coded[i] == '%') {
            const int high = i + 2 < coded.size() ? hex(coded[i + 1]) : -1, low = high < 0 ? -1 : hex(coded[i + 2]);
            if (low < 0) throw RequestError(400, "a form's text has % without two hexadecimal digits");
            text += static_cast<char>(16 * high + low);
            i += 2;
        } else {
            text += coded[i];
        }
    return text;
}

std::string scalar(const nlohmann::json& value, const std::string& name) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number() || value.is_boolean()) return value.dump();
    throw RequestError(400, fmt::format("{} must be a text, a number or a list of texts", name.size() < 40 ? name : "a field"));
}

void check_utf8(const std::string& text) {
    if (!is_utf8(text)) throw RequestError(400, "the request's text is not UTF-8");
}

}  // namespace

RequestFields::RequestFields(const HttpRequest& request) {
    for (const auto& [name, value] : request.query) fields_[name] = {{value}, false};
    if (request.type == "application/json")
        read_json(request.body);
    else if (request.type == "application/x-www-form-urlencoded")
        read_form(request.body);
    else if (!request.body.empty())
        throw RequestError(415, "the body must be application/json or application/x-www-form-urlencoded");
    for (const auto& [name, field] : fields_)
        for (const std::string& text : field.texts) check_utf8(text);
}

void RequestFields::read_json(const std::string& body) {
    check_utf8(body);
    const nlohmann::json value = bounded_json(body);
    if (!value.is_object()) throw RequestError(400, "the body is not a JSON object");
    for (const auto& [name, each] : value.items()) {
        if (each.is_null()) continue;
        Field field{{}, each.is_array()};
        if (field.list)
            for (const nlohmann::json& one : each) field.texts.push_back(scalar(one, name));
        else
            field.texts.push_back(scalar(each, name));
        fields_[name] = std::move(field);
    }
}

void RequestFields::read_form(std::string_view body) {
    std::map<std::string, Field> found;
    while (!body.empty()) {
        const std::string_view pair = body.substr(0, body.find('&'));
        body.remove_prefix(std::min(body.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        Field& field = found[form_text(pair.substr(0, equals))];
        field.list = !field.texts.empty();
        field.texts.push_back(form_text(pair.substr(std::min(equals + 1, pair.size()))));
    }
    for (auto& [name, field] : found) fields_[name] = std::move(field);
}

const RequestFields::Field& RequestFields::field(const std::string& name) const {
    const auto found = fields_.find(name);
    if (found == fields_.end()) throw RequestError(400, fmt::format("Invalid request: missing {} parameter", name));
    return found->second;
}

std::string RequestFields::text(const std::string& name, const std::string& otherwise) const {
    if (!has(name)) return otherwise;
    if (field(name).list) throw RequestError(400, fmt::format("{} must be one text", name));
    return field(name).texts.front();
}

const std::vector<std::string>& RequestFields::texts(const std::string& name) const { return field(name).texts; }
bool RequestFields::is_list(const std::string& name) const { return field(name).list; }

std::int64_t RequestFields::whole(const std::string& name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
    const double value = number(name, static_cast<double>(otherwise), static_cast<double>(least), static_cast<double>(most));
    const auto whole = static_cast<std::int64_t>(value);
    if (static_cast<double>(whole) != value) throw RequestError(400, fmt::format("{} must be a whole number", name));
    return whole;
}

double RequestFields::number(const std::string& name, double otherwise, double least, double most) const {
    const std::string given = text(name);
    if (given.empty()) return otherwise;
    double value = 0;
    const auto [end, error] = from_chars(given.data(), given.data() + given.size(), value);
    if (error != std::errc() || end != given.data() + given.size() || !(value >= least && value <= most))
        throw RequestError(400, fmt::format("{} must be a number from {} to {}", name, least, most));
    return value;
}

}  // namespace heddle::app
