// The fields of a request: of a JSON object, of an HTML form, of the address.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "apps/serve/http_server.h"

namespace heddle::app {

/// What is wrong with a request, for the client; its text never quotes the request's own.
class RequestError : public std::runtime_error {
  public:
    RequestError(int status, const std::string& text) : std::runtime_error(text), status(status) {}
    int status;
};

class RequestFields {
  public:
    /// The fields of the body, application/json or application/x-www-form-urlencoded, and of the address. RequestError for other
    /// types, for JSON that is no object, nested deeper than 16 levels or with other values than texts, numbers, truths and lists
    /// of texts, and for text that is not UTF-8.
    explicit RequestFields(const HttpRequest& request);

    bool has(const std::string& name) const { return fields_.contains(name); }
    /// The field's text, or `otherwise` if there is none. RequestError for a list.
    std::string text(const std::string& name, const std::string& otherwise = "") const;
    /// All texts of the field; `is_list`: whether it was written as a list.
    const std::vector<std::string>& texts(const std::string& name) const;
    bool is_list(const std::string& name) const;
    /// A whole number from `least` to `most`, a number in the same way. RequestError otherwise.
    std::int64_t whole(const std::string& name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;
    double number(const std::string& name, double otherwise, double least, double most) const;

  private:
    struct Field {
        std::vector<std::string> texts;
        bool list = false;
    };
    const Field& field(const std::string& name) const;
    void read_json(const std::string& body);
    void read_form(std::string_view body);

    std::map<std::string, Field> fields_;
};

}  // namespace heddle::app
