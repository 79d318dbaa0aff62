#include "apps/exchange/marian_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r";
    const std::size_t first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

// One line of YAML. Error, with file and line, for what Marian does not write.
class YamlLine {
  public:
    YamlLine(std::string_view line, std::string_view name, int number) : rest_(trimmed(line)), name_(name), number_(number) {}

    [[noreturn]] void wrong(std::string_view what) const {
        fail_with("{}:{}: {}; wanted the options that Marian writes, such as  dim-emb: 512", name_, number_, what);
    }
    bool at_end() const { return rest_.empty() || rest_.front() == '#'; }
    bool starts_with(std::string_view text) const { return rest_.starts_with(text); }
    bool take(char wanted) {
        if (!rest_.starts_with(wanted)) return false;
        rest_ = trimmed(rest_.substr(1));
        return true;
    }
    std::string key() {
        const std::size_t end = rest_.find(':');
        const std::string key(trimmed(rest_.substr(0, end)));
        const auto is_of_a_key = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        };
        if (end == std::string_view::npos || key.empty() || !std::ranges::all_of(key, is_of_a_key)) wrong("this is no option");
        rest_ = trimmed(rest_.substr(end + 1));
        return key;
    }
    // The value up to the end of the line or, in a list, to a comma or bracket.
    std::string value(bool in_list) {
        if (take('"')) return quoted('"');
        if (take('\'')) return quoted('\'');
        std::size_t end = rest_.find(" #");
        if (in_list) end = std::min(end, rest_.find_first_of(",]"));
        const std::string value(trimmed(rest_.substr(0, end)));
        if (value.empty() || std::string_view("[]{}&*!|>%@`").find(value.front()) != std::string_view::npos)
            wrong("this value is not understood");
        rest_ = end == std::string_view::npos ? std::string_view() : trimmed(rest_.substr(end));
        return value;
    }
    std::vector<std::string> list() {
        std::vector<std::string> values;
        while (!take(']')) {
            values.push_back(value(true));
            if (!take(',') && !starts_with("]")) wrong("the list is not closed on its line");
        }
        return values;
    }
    void end() const {
        if (!at_end()) wrong("there is more after the value");
    }

  private:
    std::string quoted(char quote) {
        std::string text;
        for (std::size_t i = 0; i < rest_.size(); ++i) {
            if (rest_[i] == quote) {
                rest_ = trimmed(rest_.substr(i + 1));
                return text;
            }
            if (rest_[i] == '\\' && quote == '"') {
                if (++i == rest_.size() || (rest_[i] != '"' && rest_[i] != '\\')) wrong("this escape is not understood");
            }
            text += rest_[i];
        }
        wrong("the quote is not closed");
    }

    std::string_view rest_;
    std::string_view name_;
    int number_;
};

}  // namespace

MarianOptions::MarianOptions(std::string_view text, std::string_view name) : name_(name) {
    std::vector<std::string>* open = nullptr;  // of the last key, if its values may follow
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view whole = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        YamlLine line(whole, name, number);
        if (line.at_end() || trimmed(whole) == "---") continue;
        const bool item = line.starts_with("- "), list = line.starts_with("[");
        if (item || list) {
            if (!open || (list && !open->empty())) line.wrong("a value without an option");
            line.take(item ? '-' : '[');
            if (item)
                open->push_back(line.value(false));
            else
                *open = line.list();
            line.end();
            continue;
        }
        if (whole.front() == ' ' || whole.front() == '\t') line.wrong("an option within an option");
        const std::string key = line.key();
        const auto [place, fresh] = values_.try_emplace(key);
        if (!fresh) line.wrong(fmt::format("the option {} is there twice", key));
        open = line.at_end() ? &place->second : nullptr;
        if (open) continue;
        if (line.take('['))
            place->second = line.list();
        else
            place->second.push_back(line.value(false));
        line.end();
    }
}

void MarianOptions::wrong(std::string_view key, std::string_view wanted) const {
    fail_with("{}: {} is [{}], wanted {}", name_, key, fmt::join(list(key), ", "), wanted);
}

const std::vector<std::string>& MarianOptions::list(std::string_view key) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(key);
    return found == values_.end() ? none : found->second;
}

std::string MarianOptions::text(std::string_view key, std::string_view fallback) const {
    if (!contains(key)) return std::string(fallback);
    const std::vector<std::string>& values = list(key);
    if (values.size() > 1) wrong(key, "one value");
    return values.empty() ? std::string() : values.front();
}

bool MarianOptions::flag(std::string_view key, bool fallback) const {
    if (!contains(key)) return fallback;
    const std::string value = text(key);
    if (value != "true" && value != "false") wrong(key, "true or false");
    return value == "true";
}

std::int64_t MarianOptions::number(std::string_view key, std::int64_t fallback) const {
    if (!contains(key)) return fallback;
    const std::string value = text(key);
    std::int64_t number = 0;
    const auto [end, error] = from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) wrong(key, "a whole number");
    return number;
}

double MarianOptions::real(std::string_view key, double fallback) const {
    if (!contains(key)) return fallback;
    const std::string value = text(key);
    double number = 0;
    const auto [end, error] = from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) wrong(key, "a number");
    return number;
}

}  // namespace heddle::app
