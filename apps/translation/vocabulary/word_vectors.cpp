#include "apps/translation/vocabulary/word_vectors.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>

#include "core/check.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// Receives vectors one by one and keeps those whose token is in the vocabulary.
class EmbeddingRows {
  public:
    EmbeddingRows(const Vocabulary& vocabulary, Tensor table) : table_(std::move(table)) {
        check(table_.dtype() == DType::f32 && table_.rows() == vocabulary.size(),
              "embeddings: the table is {} {}, wanted f32 with a row for each of {} tokens", table_.dtype(), table_.shape(),
              vocabulary.size());
        taken_.resize(static_cast<std::size_t>(vocabulary.size()));
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) ids_.emplace(vocabulary.token(id), id);
    }

    std::int64_t tokens() const { return table_.rows(); }
    std::int64_t numbers() const { return table_.cols(); }
    const EmbeddingMatch& match() const { return match_; }

    void take(const std::string& token, const float* vector) {
        ++match_.vectors;
        const auto found = ids_.find(token);
        if (found == ids_.end()) return;
        const auto row = static_cast<std::size_t>(found->second);
        if (taken_[row]) {
            ++match_.repeated;
            return;
        }
        taken_[row] = true;
        ++match_.found;
        std::copy_n(vector, numbers(), table_.mutable_data<float>() + found->second * numbers());
        table_.bump_version();
    }

  private:
    Tensor table_;
    std::unordered_map<std::string, std::int32_t> ids_;
    std::vector<bool> taken_;
    EmbeddingMatch match_;
};

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        if (end > 0) fields.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return fields;
}

// The text from the first field to the last.
std::string_view text_of(std::span<const std::string_view> fields) {
    return {fields.front().data(), static_cast<std::size_t>(fields.back().data() - fields.front().data()) + fields.back().size()};
}

template <class T>
bool read_number(std::string_view text, T& number) {
    const auto [rest, error] = from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && rest == text.data() + text.size();
}

// "3000000 300" could also be a vector of one number: tables of such vectors need the first line.
bool is_header(const std::vector<std::string_view>& fields, std::int64_t& vectors, std::int64_t& numbers) {
    return fields.size() == 2 && read_number(fields[0], vectors) && read_number(fields[1], numbers);
}

bool is_finite_number(std::string_view text) {
    float number = 0;
    return read_number(text, number) && std::isfinite(number);
}

// How many fields of a line form its token. The numbers are the last fields; a further number before them means a wider vector,
// unless it is the token itself.
std::size_t fields_of_token(const std::vector<std::string_view>& fields, std::size_t width, const LineReader& lines) {
    std::size_t numbers = std::min(fields.size() - 1, width);
    while (numbers >= width && numbers + 1 < fields.size() && is_finite_number(fields[fields.size() - numbers - 1])) ++numbers;
    check(numbers == width, "{}:{}: a token and {} numbers, wanted {} numbers, which is --d-model", lines.name(), lines.number(),
          numbers, width);
    return fields.size() - width;
}

void read_vectors(LineReader& lines, std::span<EmbeddingRows> tables) {
    const EmbeddingRows& first = tables.front();
    lines.keep_whole_lines();
    std::string line;
    std::optional<std::int64_t> promised;
    std::vector<float> vector(static_cast<std::size_t>(first.numbers()));
    while (lines.next(line)) {
        const std::vector<std::string_view> fields = fields_of(line);
        std::int64_t count = 0, numbers = 0;
        if (lines.number() == 1 && is_header(fields, count, numbers)) {
            check(numbers == first.numbers(), "{}:1: the vectors have {} numbers, but the model has --d-model {}", lines.name(),
                  numbers, first.numbers());
            promised = count;
            continue;
        }
        if (fields.empty()) continue;
        const std::size_t begin = fields_of_token(fields, vector.size(), lines);
        const std::string token(text_of(std::span(fields).first(begin)));
        for (std::size_t i = 0; i < vector.size(); ++i)
            check(read_number(fields[begin + i], vector[i]) && std::isfinite(vector[i]),
                  "{}:{}: number {} of '{}' is '{}', wanted a finite number", lines.name(), lines.number(), i + 1, token,
                  fields[begin + i]);
        for (EmbeddingRows& rows : tables) rows.take(token, vector.data());
    }
    check(!promised || *promised == first.match().vectors, "{}: the first line promises {} vectors, but there are {}",
          lines.name(), *promised, first.match().vectors);
}

}  // namespace

std::vector<EmbeddingMatch> load_word_vectors(const std::string& path, std::span<const EmbeddingTable> tables,
                                              const Reading& reading) {
    std::vector<EmbeddingRows> rows;
    for (const EmbeddingTable& table : tables) rows.emplace_back(table.vocabulary, table.values);
    LineReader lines(path, reading.replace_invalid);
    read_vectors(lines, rows);
    lines.say_changes(reading.say);
    std::vector<EmbeddingMatch> matches;
    for (const EmbeddingRows& each : rows) {
        matches.push_back(each.match());
        check(each.match().found > 0,
              "{}: none of its {} tokens is one of the vocabulary's {}; wanted tokens as the vocabulary writes them",
              lines.name(), each.match().vectors, each.tokens());
    }
    return matches;
}

EmbeddingMatch load_embedding(const std::string& path, const Vocabulary& vocabulary, Tensor table, const Reading& reading) {
    const EmbeddingTable one{.vocabulary = vocabulary, .values = std::move(table)};
    return load_word_vectors(path, std::span(&one, 1), reading).front();
}

}  // namespace heddle::app
