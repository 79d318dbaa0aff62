// File format: a line "heddle-vocabulary<TAB>word|char<TAB>mixed|lowercase", then "token<TAB>count" for the ids 4, 5, 6, ... In
// a token, tab, carriage return and backslash are written \t, \r and \\.
#include "apps/translation/vocabulary/counted_vocabulary.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"
#include "core/format.h"

namespace heddle::app {
namespace {

constexpr std::string_view magic = "heddle-vocabulary\t";
constexpr std::string_view unknown_sign = "\xE2\x81\x87";  // U+2047
constexpr std::int32_t first_id = eos_id + 1;

struct Entry {
    std::string token;
    std::int64_t count = 0;
};

std::vector<std::string> split(VocabularyType type, bool lowercase, std::string_view text) {
    std::u32string code_points = decode_utf8(text);
    if (lowercase) code_points = to_lower(code_points);
    if (type == VocabularyType::word) return split_words(code_points);
    std::vector<std::string> out;
    out.reserve(code_points.size());
    for (const char32_t c : code_points) append_utf8(out.emplace_back(), c);
    return out;
}

class CountedVocabulary final : public Vocabulary {
  public:
    CountedVocabulary(VocabularyType type, bool lowercase, std::vector<Entry> entries)
        : type_(type), lowercase_(lowercase), entries_(std::move(entries)) {
        std::int32_t id = first_id;
        for (const Entry& entry : entries_) ids_.emplace(entry.token, id++);
    }

    std::vector<std::int32_t> encode(std::string_view text) const override {
        std::vector<std::int32_t> out;
        for (const std::string& token : split(type_, lowercase_, text)) {
            const auto found = ids_.find(token);
            out.push_back(found == ids_.end() ? unk_id : found->second);
        }
        return out;
    }

    std::vector<std::string> unknown_parts(std::string_view text) const override {
        std::vector<std::string> parts;
        for (const std::string& token : split(type_, lowercase_, text))
            if (!ids_.contains(token)) parts.push_back(type_ == VocabularyType::word ? join_words(std::span(&token, 1)) : token);
        return parts;
    }

    std::string decode(std::span<const std::int32_t> ids) const override {
        std::vector<std::string> tokens;
        for (const std::int32_t id : ids) {
            check_id(id);
            if (id >= first_id) tokens.push_back(entry(id).token);
            if (id == unk_id) tokens.emplace_back(unknown_sign);
        }
        if (type_ == VocabularyType::word) return join_words(tokens);
        std::string text;
        for (const std::string& token : tokens) text += token;
        return text;
    }

    std::int64_t size() const override { return static_cast<std::int64_t>(entries_.size()) + first_id; }

    std::string token(std::int32_t id) const override {
        constexpr const char* special[] = {"<pad>", "<unk>", "<s>", "</s>"};
        check_id(id);
        return id < first_id ? special[id] : entry(id).token;
    }

    VocabularyType type() const override { return type_; }
    bool lowercase() const override { return lowercase_; }

    std::string serialized() const override {
        std::string out = fmt::format("{}{}\t{}\n", magic, word_of(type_), lowercase_ ? "lowercase" : "mixed");
        for (const Entry& entry : entries_) out += fmt::format("{}\t{}\n", escaped(entry.token), entry.count);
        return out;
    }

  private:
    const Entry& entry(std::int32_t id) const { return entries_[static_cast<std::size_t>(id - first_id)]; }

    void check_id(std::int32_t id) const {
        check(id >= 0 && id < size(), "vocabulary: there is no token {}; the ids are 0 to {}", id, size() - 1);
    }

    static std::string escaped(std::string_view token) {
        std::string out;
        for (const char c : token) {
            if (c == '\t') {
                out += "\\t";
            } else if (c == '\r') {
                out += "\\r";
            } else if (c == '\\') {
                out += "\\\\";
            } else {
                out += c;
            }
        }
        return out;
    }

    VocabularyType type_;
    bool lowercase_;
    std::vector<Entry> entries_;  ///< of the ids first_id, first_id + 1, ...
    std::unordered_map<std::string, std::int32_t> ids_;
};

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char c = text[++i];
        out += c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    return out;
}

/// Parses "token<TAB>count"; returns an entry without a token if the line has another form.
Entry parse_entry(std::string_view line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return {};
    Entry entry{unescaped(line.substr(0, tab)), 0};
    const char* end = line.data() + line.size();
    const auto [stopped, error] = std::from_chars(line.data() + tab + 1, end, entry.count);
    if (error != std::errc{} || stopped != end) return {};
    return entry;
}

/// Removes the next line from `bytes` and returns it.
std::string_view take_line(std::string_view& bytes) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    return line;
}

}  // namespace

bool is_counted_vocabulary(std::string_view bytes) { return bytes.starts_with(magic); }

std::unique_ptr<Vocabulary> load_counted(std::string_view bytes, std::string_view name) {
    std::string_view header = take_line(bytes);
    header.remove_prefix(magic.size());
    const std::string_view type = header.substr(0, header.find('\t'));
    header.remove_prefix(std::min(type.size() + 1, header.size()));
    check((type == "word" || type == "char") && (header == "mixed" || header == "lowercase"),
          "{}:1: wanted the type word or char, a tab, and mixed or lowercase", name);
    std::vector<Entry> entries;
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t number = 2; !bytes.empty(); ++number) {
        const std::string_view line = take_line(bytes);
        Entry entry = parse_entry(line);
        check(!entry.token.empty() && entry.count >= 0 && is_utf8(entry.token), "{}:{}: wanted a token, a tab and a count", name,
              number);
        const std::size_t first = seen.try_emplace(line.substr(0, line.find('\t')), number).first->second;
        check(first == number, "{}:{}: the token of line {} again", name, number, first);
        entries.push_back(std::move(entry));
    }
    check(!entries.empty(), "{}: a vocabulary without tokens", name);
    const VocabularyType kind = type == "word" ? VocabularyType::word : VocabularyType::character;
    return std::make_unique<CountedVocabulary>(kind, header == "lowercase", std::move(entries));
}

std::unique_ptr<Vocabulary> train_counted(const VocabularyOptions& options, std::span<const std::string_view> lines) {
    check(options.size == 0 || options.size > first_id,
          "vocabulary: size is {}; wanted more than the 4 special tokens, or 0 for all", options.size);
    std::map<std::string, std::int64_t> counts;  // ordered: equally frequent tokens are sorted by their bytes
    for (const std::string_view line : lines) {
        for (std::string& token : split(options.type, options.lowercase, line)) ++counts[std::move(token)];
    }
    std::vector<Entry> entries;
    for (const auto& [token, count] : counts) {
        // A line end cannot be stored in the file, and never occurs in a line.
        if (count >= options.min_count && token != "\n") entries.push_back({token, count});
    }
    if (entries.empty())
        throw VocabularyTextError(fmt::format("vocabulary: the {} lines have no {} that occurs at least {} times{}", lines.size(),
                                              options.type == VocabularyType::word ? "word" : "character", options.min_count,
                                              options.min_count > 1 ? "; lower --min-count" : ""));
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.count > b.count; });
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(options.size - first_id, 0));
    if (options.size > 0 && entries.size() > most) entries.resize(most);
    return std::make_unique<CountedVocabulary>(options.type, options.lowercase, std::move(entries));
}

}  // namespace heddle::app
