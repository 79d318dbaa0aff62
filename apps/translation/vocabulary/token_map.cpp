#include "apps/translation/vocabulary/token_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>

#include "apps/translation/text/unicode.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using Json = nlohmann::ordered_json;

// Six bytes for each of a text are the most that JSON needs (\u0001); the quotes, and a comma.
constexpr std::size_t longest_line = 6 * longest_piece + 3;

void check_pieces(const std::vector<std::string>& pieces) {
    check(pieces.size() <= most_pieces, "it has more than {} tokens", most_pieces);
    std::unordered_set<std::string_view> seen;
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        const std::string& piece = pieces[id];
        check(piece.size() <= longest_piece, "token {} has {} bytes; wanted at most {}", id, piece.size(), longest_piece);
        check(piece.find('\0') == std::string::npos, "token {} holds a NUL", id);
        check(is_utf8(piece), "token {} is not UTF-8", id);
        check(piece.empty() || seen.insert(piece).second, "token {} has the text of an earlier one", id);
    }
}

// One value of the file, which is one line; an error names the line.
Json value_in(std::string_view line, std::int64_t number) {
    check(line.size() <= longest_line, "line {} has {} bytes; wanted at most {}", number, line.size(), longest_line);
    Json value = Json::parse(line, nullptr, false);
    check(!value.is_discarded(), "line {} is not JSON", number);
    return value;
}

std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    check(end != std::string_view::npos, "it ends within a line");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

std::optional<std::int32_t> take_id(const Json& fields, const char* name) {
    const auto field = fields.find(name);
    if (field == fields.end()) return std::nullopt;
    const std::int64_t id = field->is_number_integer() ? field->get<std::int64_t>() : -1;
    check(id >= 0 && id < static_cast<std::int64_t>(most_pieces), "its {} is no id", name);
    return static_cast<std::int32_t>(id);
}

// The first line without the list that it opens.
constexpr std::string_view opened = ",\"pieces\":[", closed = "]}";

TokenMap parse(std::string_view text) {
    check(text.size() <= largest_model, "it has {} bytes; wanted at most {}", text.size(), largest_model);
    std::string_view first = take_line(text);
    check(first.ends_with(opened), "line 1 does not end with {}", opened);
    first.remove_suffix(opened.size());
    const Json fields = value_in(std::string(first) + '}', 1);
    TokenMap map;
    const auto start = fields.find("start");
    check(start != fields.end() && start->is_string(), "it has no start");
    const auto word = value_of<StartToken>(start->get_ref<const std::string&>());
    check(word.has_value(), "its start is not begin, pad, end or zeros");
    map.start = *word;
    const auto unk = take_id(fields, "unk"), end = take_id(fields, "end");
    check(unk && end, "it has no {}", unk ? "end" : "unk");
    map.unk = *unk;
    map.end = *end;
    map.pad = take_id(fields, "pad");
    map.begin = take_id(fields, "begin");
    std::int64_t number = 1;
    for (std::string_view line = take_line(text); line != closed; line = take_line(text)) {
        ++number;
        check(map.pieces.size() < most_pieces, "it has more than {} tokens", most_pieces);
        const bool last = text.starts_with(closed);
        check(last || line.ends_with(','), "line {} ends without a comma", number);
        if (!last) line.remove_suffix(1);
        Json value = value_in(line, number);
        check(value.is_string(), "line {} is not the text of a token", number);
        map.pieces.push_back(std::move(value.get_ref<std::string&>()));
    }
    return map;
}

}  // namespace

std::vector<std::int32_t> TokenMap::toolkit_ids(std::int64_t pieces_of_spm) const {
    check_pieces(pieces);
    const std::int64_t count = pieces.empty() ? pieces_of_spm : static_cast<std::int64_t>(pieces.size());
    check(start != StartToken::begin || begin.has_value(), "its decoder starts with a begin mark, but it has none");
    check(start != StartToken::pad || pad.has_value(), "its decoder starts with pad, but it has none");
    const bool added[] = {!pad, false, start != StartToken::begin, false};
    std::vector<std::int32_t> ids{pad.value_or(-1), unk, added[2] ? -1 : *begin, end};
    constexpr const char* names[] = {"pad", "unk", "begin", "end"};
    for (std::size_t i = 0; i < ids.size(); ++i) {
        check(added[i] || (ids[i] >= 0 && ids[i] < count), "{} is {}, but the ids are 0 to {}", names[i], ids[i], count - 1);
        for (std::size_t j = 0; j < i; ++j)
            check(added[i] || ids[i] != ids[j], "{} and {} are both {}", names[j], names[i], ids[i]);
    }
    const std::vector<std::int32_t> special(ids);
    for (std::int32_t id = 0; id < count; ++id)
        if (std::ranges::find(special, id) == special.end()) ids.push_back(id);
    return ids;
}

std::string TokenMap::json() const {
    check_pieces(pieces);
    Json fields;
    fields["start"] = std::string(word_of(start));
    fields["unk"] = unk;
    fields["end"] = end;
    if (pad) fields["pad"] = *pad;
    if (begin) fields["begin"] = *begin;
    std::string text = fields.dump();
    text.pop_back();  // the brace
    text += opened;
    text += '\n';
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        text += Json(pieces[id]).dump();
        text += id + 1 < pieces.size() ? ",\n" : "\n";
    }
    text += closed;
    text += '\n';
    return text;
}

TokenMap TokenMap::from_json(std::string_view text, std::string_view name) {
    try {
        TokenMap map = parse(text);
        check(map.json() == text, "it is not as heddle import writes it");
        return map;
    } catch (const Error& error) {
        fail_with("{}: not a map of tokens ({}); import the model again", name, error.what());
    }
}

}  // namespace heddle::app
