#include "apps/translation/pretrained_embeddings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "apps/translation/training_log.h"
#include "core/check.h"
#include "core/format.h"
#include "core/safetensors.h"

namespace heddle::app {
namespace {

// Takes vectors one by one and keeps those that the vocabulary has a token for.
class Rows {
  public:
    Rows(const Vocabulary& vocabulary, Tensor table) : table_(std::move(table)) {
        check(table_.dtype() == DType::f32 && table_.rows() == vocabulary.size(),
              "embeddings: the table is {} {}, wanted f32 with a row for each of {} tokens", table_.dtype(), table_.shape(),
              vocabulary.size());
        taken_.resize(static_cast<std::size_t>(vocabulary.size()));
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) ids_.emplace(vocabulary.token(id), id);
    }

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
        std::copy_n(vector, numbers(), table_.data<float>() + found->second * numbers());
    }

  private:
    Tensor table_;
    std::unordered_map<std::string, std::int32_t> ids_;
    std::vector<bool> taken_;
    EmbeddingMatch match_;
};

// ---- word2vec's text form

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        if (end > 0) fields.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return fields;
}

template <class T>
bool read_number(std::string_view text, T& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && rest == text.data() + text.size();
}

// "3000000 300", which a table of vectors with one number cannot be told from: those need the first line.
bool is_header(const std::vector<std::string_view>& fields, std::int64_t& vectors, std::int64_t& numbers) {
    return fields.size() == 2 && read_number(fields[0], vectors) && read_number(fields[1], numbers);
}

void read_text(LineReader& lines, Rows& rows) {
    lines.keep_whole_lines();
    std::string line;
    std::optional<std::int64_t> promised;
    std::vector<float> vector(static_cast<std::size_t>(rows.numbers()));
    while (lines.next(line)) {
        const std::vector<std::string_view> fields = fields_of(line);
        std::int64_t count = 0, numbers = 0;
        if (lines.number() == 1 && is_header(fields, count, numbers)) {
            check(numbers == rows.numbers(), "{}:1: the vectors have {} numbers, but the model has --d-model {}", lines.name(),
                  numbers, rows.numbers());
            promised = count;
            continue;
        }
        if (fields.empty()) continue;
        check(fields.size() == vector.size() + 1, "{}:{}: a token and {} numbers, wanted {} numbers, which is --d-model",
              lines.name(), lines.number(), fields.size() - 1, rows.numbers());
        for (std::size_t i = 0; i < vector.size(); ++i)
            check(read_number(fields[i + 1], vector[i]) && std::isfinite(vector[i]),
                  "{}:{}: number {} of '{}' is '{}', wanted a finite number", lines.name(), lines.number(), i + 1, fields[0],
                  fields[i + 1]);
        rows.take(std::string(fields[0]), vector.data());
    }
    check(!promised || *promised == rows.match().vectors, "{}: the first line promises {} vectors, but there are {}",
          lines.name(), *promised, rows.match().vectors);
}

// ---- safetensors

// Eight bytes with the header's length, and the header, which is JSON; text has no zeros.
bool is_safetensors(std::string_view bytes) { return bytes.size() > 8 && bytes[7] == '\0' && bytes[8] == '{'; }

void read_safetensors(const std::string& path, Rows& rows) {
    const SafetensorsFile file(path);
    check(file.names().size() == 1, "{}: there are {} tensors, wanted one, the embedding", path, file.names().size());
    const std::string& name = file.names().front();
    const Shape& shape = file.shape(name);
    check(shape.rank() == 2 && shape[1] == rows.numbers(), "{}: {} is {}, wanted [tokens, {}], which is --d-model", path, name,
          shape, rows.numbers());
    const auto found = file.metadata().find("tokens");
    check(found != file.metadata().end(), "{}: the metadata has no \"tokens\"; wanted the tokens of the rows there, one a line",
          path);
    const Tensor vectors = file.load(name, DType::f32);
    std::string_view rest = found->second;
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    const std::int64_t tokens = rest.empty() ? 0 : 1 + std::count(rest.begin(), rest.end(), '\n');
    check(tokens == shape[0], "{}: {} has {} rows, but the metadata names {} tokens", path, name, shape[0], tokens);
    for (std::int64_t row = 0; row < tokens; ++row) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const float* vector = vectors.data<float>() + row * rows.numbers();
        check(std::all_of(vector, vector + rows.numbers(), [](float x) { return std::isfinite(x); }),
              "{}: row {} of {}, of '{}', holds a number that is not finite", path, row, name, rest.substr(0, end));
        rows.take(std::string(rest.substr(0, end)), vector);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

}  // namespace

EmbeddingMatch load_embedding(const std::string& path, const Vocabulary& vocabulary, Tensor table) {
    Rows rows(vocabulary, std::move(table));
    LineReader lines(path, false);
    if (is_safetensors(lines.beginning()))
        read_safetensors(path, rows);
    else
        read_text(lines, rows);
    check(rows.match().found > 0,
          "{}: none of its {} tokens is one of the vocabulary's {}; wanted tokens as the vocabulary writes them", lines.name(),
          rows.match().vectors, vocabulary.size());
    return rows.match();
}

void load_embeddings(const nn::Transformer& model, const Vocabularies& vocabularies, const std::vector<std::string>& files,
                     const Say& say) {
    check(files.size() == 1 || files.size() == 2, "embeddings: {} files, wanted one, or one for each side", files.size());
    const bool one = model.options().one_embedding();
    check(!one || files.size() == 1, "embeddings: {} and {}, but source and target share a matrix; give one file", files.front(),
          files.back());
    const auto load = [&](const std::string& name, const std::string& file, const Vocabulary& vocabulary) {
        for (const nn::Parameter& parameter : model.parameters()) {
            if (parameter.name != name) continue;
            const EmbeddingMatch match = load_embedding(file, vocabulary, parameter.variable.value());
            std::string text = fmt::format("{}: {} of {} tokens are in {}, which has {} vectors", name, grouped_text(match.found),
                                           grouped_text(vocabulary.size()), spoken_name(file), grouped_text(match.vectors));
            if (match.repeated > 0) text += fmt::format("; {} repeat a token and do not count", grouped_text(match.repeated));
            say(text);
        }
    };
    if (one) return load("embedding.weight", files.front(), *vocabularies.source);
    load("source_embedding.weight", files.front(), *vocabularies.source);
    load("target_embedding.weight", files.back(), *vocabularies.target);
}

}  // namespace heddle::app
