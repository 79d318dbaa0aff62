#include "apps/translation/run/toml.h"

#include <fmt/format.h>

#include <istream>

#include "core/error.h"

namespace heddle::app {
namespace {

// Reads one line from the left.
class TomlLine {
  public:
    TomlLine(std::string_view line, std::string_view name, int number) : rest_(line), name_(name), number_(number) {}

    bool at_end() {
        skip_space();
        return rest_.empty() || rest_.front() == '#';
    }
    bool take(char wanted) {
        skip_space();
        if (rest_.empty() || rest_.front() != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string key() {
        skip_space();
        if (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) return value();
        const std::string_view text = word("=");
        if (text.empty()) wrong("a key was expected");
        return std::string(text);
    }
    std::string value() {
        skip_space();
        if (!rest_.empty() && rest_.front() == '"') return basic_string();
        if (!rest_.empty() && rest_.front() == '\'') return literal_string();
        const std::string_view text = word(",]#");
        if (text.empty()) wrong("a value was expected");
        return std::string(text);
    }
    [[noreturn]] void wrong(std::string_view what) const {
        throw UsageError(fmt::format("{}:{}: {}; wanted lines such as  key = 12  or  key = \"text\"", name_, number_, what));
    }

  private:
    static bool space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
    void skip_space() {
        while (!rest_.empty() && space(rest_.front())) rest_.remove_prefix(1);
    }
    std::string_view word(std::string_view ends) {
        std::size_t n = 0;
        while (n < rest_.size() && !space(rest_[n]) && ends.find(rest_[n]) == std::string_view::npos) ++n;
        const std::string_view text = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return text;
    }
    char next() {
        if (rest_.empty()) wrong("the quote is not closed");
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    std::string literal_string() {
        std::string text;
        next();
        for (char c; (c = next()) != '\'';) text += c;
        return text;
    }
    std::string basic_string() {
        std::string text;
        next();
        for (char c; (c = next()) != '"';) text += c == '\\' ? escaped() : c;
        return text;
    }
    char escaped() {
        const char c = next();
        switch (c) {
            case '"': return '"';
            case '\\': return '\\';
            case 'n': return '\n';
            case 't': return '\t';
            case 'r': return '\r';
            default: wrong(fmt::format("the escape \\{} is not understood", c));
        }
    }

    std::string_view rest_;
    std::string_view name_;
    int number_;
};

std::vector<std::string> read_values(TomlLine& reader) {
    if (!reader.take('[')) return {reader.value()};
    std::vector<std::string> values;
    while (!reader.take(']')) {
        values.push_back(reader.value());
        if (reader.take(',')) continue;
        if (reader.take(']')) break;
        reader.wrong("the array is not closed on its line");
    }
    return values;
}

}  // namespace

std::vector<TomlItem> read_toml(std::istream& stream, std::string_view name) {
    stream.exceptions(std::ios::badbit);  // getline() would take a lack of memory for the end of the text
    std::vector<TomlItem> items;
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
        TomlLine reader(line, name, number);
        if (reader.at_end()) continue;
        if (reader.take('[')) reader.wrong("tables are not understood");
        TomlItem item{.key = reader.key(), .values = {}, .line = number};
        if (!reader.take('=')) reader.wrong(fmt::format("no = after '{}'", item.key));
        item.values = read_values(reader);
        if (!reader.at_end()) reader.wrong("there is more after the value");
        items.push_back(std::move(item));
    }
    return items;
}

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        switch (c) {
            case '"': quoted += "\\\""; break;
            case '\\': quoted += "\\\\"; break;
            case '\n': quoted += "\\n"; break;
            case '\t': quoted += "\\t"; break;
            case '\r': quoted += "\\r"; break;
            default: quoted += c;
        }
    }
    return quoted + '"';
}

}  // namespace heddle::app
