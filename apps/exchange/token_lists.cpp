#include "apps/exchange/token_lists.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "apps/translation/vocabulary/protobuf.h"
#include "apps/translation/vocabulary/sentencepiece_check.h"
#include "core/format.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

// Reads the file event by event: a tree of values would take many times the memory of a hostile text.
class TokenEvents : public nlohmann::json_sax<nlohmann::json> {
  public:
    TokenEvents(bool numbered, std::size_t most) : numbered_(numbered), most_(most) {}

    std::vector<std::pair<std::string, std::uint64_t>> tokens;
    std::string fault;

    bool start_array(std::size_t) override { return begin(!numbered_); }
    bool end_array() override { return true; }
    bool start_object(std::size_t) override { return begin(numbered_); }
    bool end_object() override { return true; }
    bool string(string_t& text) override { return !numbered_ && open_ ? add(std::move(text), tokens.size()) : unexpected(); }
    bool key(string_t& text) override {
        key_ = std::move(text);
        return true;
    }
    bool number_unsigned(number_unsigned_t id) override {
        return numbered_ && key_ ? add(std::move(*std::exchange(key_, std::nullopt)), id) : unexpected();
    }
    bool number_integer(number_integer_t) override { return unexpected(); }
    bool number_float(number_float_t, const string_t&) override { return unexpected(); }
    bool boolean(bool) override { return unexpected(); }
    bool null() override { return unexpected(); }
    bool binary(binary_t&) override { return unexpected(); }
    bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
        return failed(fmt::format("it is not JSON from byte {} on", at));
    }

  private:
    bool failed(std::string why) {
        if (fault.empty()) fault = std::move(why);
        return false;
    }
    bool unexpected() { return failed(numbered_ ? "wanted an object of texts and their ids" : "wanted a list of texts"); }
    bool begin(bool fits) {
        if (!fits || open_) return unexpected();
        return open_ = true;
    }
    bool add(std::string text, std::uint64_t id) {
        if (tokens.size() == most_) return failed(fmt::format("it has more than {} tokens", most_));
        if (text.empty()) return failed("it has a token without a text");
        tokens.emplace_back(std::move(text), id);
        return true;
    }

    bool numbered_, open_ = false;
    std::size_t most_;
    std::optional<std::string> key_;
};

std::vector<std::string> read_tokens(std::string_view json, bool numbered, std::string_view name, std::size_t most) {
    check(json.size() <= largest_model, "{}: it has {} bytes; wanted at most {}", name, json.size(), largest_model);
    TokenEvents events(numbered, most);
    const bool good = nlohmann::json::sax_parse(json, &events);
    check(good && !events.tokens.empty(), "{}: {}", name, events.fault.empty() ? "it has no tokens" : events.fault);
    std::vector<std::string> texts;
    for (auto& [text, id] : events.tokens) {
        // A few ids without a text are usual, but a far one would take memory for all before it.
        check(id < 2 * events.tokens.size(), "{}: {} has the id {}, but it has {} tokens", name, shown(text), id,
              events.tokens.size());
        if (id >= texts.size()) texts.resize(id + 1);
        check(texts[id].empty(), "{}: {} and {} have the id {}", name, shown(texts[id]), shown(text), id);
        texts[id] = std::move(text);
    }
    return texts;
}

std::string quoted_text(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

std::vector<std::string> listed_tokens(std::string_view json, std::string_view name) {
    return read_tokens(json, false, name, most_pieces);
}
std::vector<std::string> numbered_tokens(std::string_view json, std::string_view name, std::size_t most) {
    return read_tokens(json, true, name, most);
}

std::int32_t id_of_token(const std::vector<std::string>& tokens, const std::string& token, std::string_view role) {
    const auto found = std::ranges::find(tokens, token);
    check(found != tokens.end(), "its vocabulary lacks its {}, {}", role, shown(token));
    return static_cast<std::int32_t>(found - tokens.begin());
}

std::string list_of_tokens(const std::vector<std::string>& tokens) {
    std::string out = "[\n";
    for (std::size_t id = 0; id < tokens.size(); ++id) out += (id == 0 ? "  " : ",\n  ") + quoted_text(tokens[id]);
    return out + "\n]\n";
}

std::string numbers_of_tokens(const std::vector<std::string>& tokens) {
    std::string out = "{\n";
    for (std::size_t id = 0; id < tokens.size(); ++id)
        if (!tokens[id].empty()) out += fmt::format("{}  {}: {}", out.size() == 2 ? "" : ",\n", quoted_text(tokens[id]), id);
    return out + "\n}\n";
}

std::vector<std::string> token_texts(const ExchangedVocabulary& vocabulary, std::string_view name) {
    std::vector<std::string> texts = vocabulary.map.pieces;
    if (texts.empty())
        for (ProtobufFields fields(vocabulary.sentencepiece); fields.next();) {
            if (fields.field != 1 || fields.wire != Wire::bytes) continue;
            texts.emplace_back();
            for (ProtobufFields piece(fields.bytes); piece.next();)
                if (piece.field == 1 && piece.wire == Wire::bytes) texts.back() = piece.bytes;
        }
    std::unordered_set<std::string_view> seen;
    for (const std::string& text : texts)
        check(text.empty() || seen.insert(text).second,
              "{}: two of its tokens have the text {}, which the other toolkit cannot tell apart", name, shown(text));
    return texts;
}

}  // namespace heddle::app
