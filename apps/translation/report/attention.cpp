#include "apps/translation/report/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "apps/picture/chart.h"
#include "apps/picture/ramp.h"
#include "apps/picture/scripts.h"
#include "apps/terminal/error_text.h"
#include "apps/translation/run/json.h"
#include "apps/translation/run/output_folder.h"
#include "apps/translation/text/unicode.h"
#include "apps/translation/text/words.h"
#include "core/format.h"

namespace heddle::app {
namespace {

using nlohmann::ordered_json;

// [1, heads, queries, keys] as a list of heads.
ordered_json heads_json(const Tensor& map) {
    const std::vector<double> weights = map.to_vector();
    const auto rows = static_cast<std::size_t>(map.shape()[2]), cols = static_cast<std::size_t>(map.shape()[3]);
    ordered_json heads = ordered_json::array();
    for (std::size_t head = 0; head < static_cast<std::size_t>(map.shape()[1]); ++head) {
        ordered_json& one = heads.emplace_back(ordered_json::array());
        for (std::size_t row = 0; row < rows; ++row)
            for (const int part : thousandths(std::span(weights).subspan((head * rows + row) * cols, cols)))
                one.push_back(part < 0 ? ordered_json() : ordered_json(part));
    }
    return heads;
}

ordered_json layers_json(const std::vector<Tensor>& layers) {
    ordered_json all = ordered_json::array();
    for (const Tensor& map : layers) all.push_back(heads_json(map));
    return all;
}

// Four decimals are enough for a probability.
double rounded(double probability) { return std::round(probability * 1e4) / 1e4; }

ordered_json step_json(const DecodingStep& step) {
    ordered_json likeliest = ordered_json::array();
    for (const NextToken& next : step.likeliest)
        likeliest.push_back(ordered_json::array({labels_of({next.token}).front(), rounded(next.probability)}));
    return {{"probability", rounded(step.probability)}, {"likeliest", std::move(likeliest)}};
}

}  // namespace

std::vector<int> thousandths(std::span<const double> shares) {
    std::vector<int> parts;
    for (const double share : shares)
        if (std::isfinite(share))
            parts.push_back(static_cast<int>(std::floor(share * 1000)));
        else
            return std::vector<int>(shares.size(), -1);
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), 0);
    const auto remainder = [&](std::size_t i) { return shares[i] * 1000 - parts[i]; };
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return remainder(a) > remainder(b); });
    const long whole = std::lround(1000 * std::accumulate(shares.begin(), shares.end(), 0.0));
    const long missing = whole - std::accumulate(parts.begin(), parts.end(), 0L);
    for (std::size_t i = 0; i < order.size() && static_cast<long>(i) < missing; ++i) ++parts[order[i]];
    return parts;
}

std::vector<std::string> labels_of(const std::vector<std::string>& tokens) {
    std::vector<std::string> labels;
    for (const std::string& token : tokens) {
        std::u32string letters = decode_utf8(token);
        std::replace(letters.begin(), letters.end(), join_mark, U'·');
        std::replace(letters.begin(), letters.end(), U' ', U'␣');
        labels.push_back(encode_utf8(letters));
    }
    return labels;
}

ordered_json attention_line(const std::string& line, const std::string& translation, const TranslationAttention& attention,
                            const std::vector<DecodingStep>& steps) {
    ordered_json object = {{"line", line},
                           {"translation", translation},
                           {"source", labels_of(attention.source)},
                           {"read", labels_of(attention.read)},
                           {"written", labels_of(attention.written)},
                           {"maps",
                            {{"cross", layers_json(attention.maps.cross)},
                             {"decoder", layers_json(attention.maps.decoder)},
                             {"encoder", layers_json(attention.maps.encoder)}}},
                           {"steps", ordered_json::array()}};
    for (const DecodingStep& step : steps) object["steps"].push_back(step_json(step));
    return object;
}

ordered_json attention_data(ordered_json lines) {
    ordered_json colors = ordered_json::array();
    for (int level = 0; level < picture::ramp_levels; ++level) colors.push_back(picture::ramp_color(level));
    return {{"ramp", std::move(colors)}, {"not_finite", picture::not_finite_color}, {"lines", std::move(lines)}};
}

namespace {

constexpr double map_side = 230;  // so that several fit side by side on a screen

struct MapKind {
    const char* name;  // in file names and titles
    const std::vector<Tensor>& maps;
    const std::vector<std::string>& queries;
    const std::vector<std::string>& keys;
};

std::string head_picture(const MapKind& kind, std::size_t layer, std::int64_t head, std::vector<double> weights) {
    return svg(picture::HeatMap{.title = fmt::format("{}, layer {}, head {}", kind.name, layer + 1, head + 1),
                                .rows = static_cast<std::int64_t>(kind.queries.size()),
                                .cols = static_cast<std::int64_t>(kind.keys.size()),
                                .values = std::move(weights),
                                .row_labels = labels_of(kind.queries),
                                .col_labels = labels_of(kind.keys),
                                .from = 0,
                                .to = 1,
                                .key = false,
                                .side = map_side});
}

std::vector<std::string> words_in(std::string_view text, std::int64_t count) {
    std::vector<std::string> words;
    const std::u32string letters = decode_utf8(text);
    for (const std::u32string_view word : split_at_spaces(letters))
        if (static_cast<std::int64_t>(words.size()) < count) words.push_back(encode_utf8(word));
    words.resize(static_cast<std::size_t>(count));
    return words;
}

void write_picture(const std::filesystem::path& path, const std::string& svg) {
    picture::check_picture_replaceable(path);
    // Not synced: these are thousands of small files. A link of this name is removed, not followed.
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::ofstream file(path, std::ios::binary);
    file << picture::standalone(svg) << std::flush;
    check(static_cast<bool>(file), "{}: cannot be written; check the folder's permissions and the free space", path.string());
}

// A file's name with # for each number: "line-12" becomes "line-#".
std::string form_of(const std::filesystem::path& file) {
    std::string form;
    for (const char letter : file.filename().string()) {
        const bool digit = letter >= '0' && letter <= '9';
        if (!digit || !form.ends_with('#')) form += digit ? '#' : letter;
    }
    return form;
}

// Removes a former report's pictures, and its folders if they are then empty.
void remove_pictures(const std::filesystem::path& folder) {
    const auto named = [](const std::filesystem::path& where, const std::vector<std::string>& forms) {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(where))
            if (std::ranges::count(forms, form_of(entry.path())) > 0) found.push_back(entry.path());
        return found;
    };
    const std::vector<std::string> pictures = {"words.svg", "encoder-layer-#-head-#.svg", "decoder-layer-#-head-#.svg",
                                               "cross-layer-#-head-#.svg"};
    std::error_code in_use;
    for (const std::filesystem::path& line : named(folder, {"line-#"})) {
        if (!std::filesystem::is_directory(std::filesystem::symlink_status(line))) continue;
        for (const std::filesystem::path& file : named(line, pictures)) std::filesystem::remove(file);
        std::filesystem::remove(line, in_use);
    }
}

void write_maps(const std::filesystem::path& folder, const MapKind& kind) {
    const auto cells = static_cast<std::ptrdiff_t>(kind.queries.size() * kind.keys.size());
    for (std::size_t layer = 0; layer < kind.maps.size(); ++layer) {
        const std::vector<double> weights = kind.maps[layer].to_vector();
        for (std::int64_t head = 0; head < kind.maps[layer].shape()[1]; ++head) {
            const auto begin = weights.begin() + head * cells;
            write_picture(folder / fmt::format("{}-layer-{}-head-{}.svg", kind.name, layer + 1, head + 1),
                          head_picture(kind, layer, head, {begin, begin + cells}));
        }
    }
}

void write_pictures(const std::filesystem::path& folder, const std::string& words, const TranslationAttention& attention) {
    make_folder(folder, "--attention");
    if (!words.empty()) write_picture(folder / "words.svg", words);
    write_maps(folder, {"encoder", attention.maps.encoder, attention.source, attention.source});
    write_maps(folder, {"decoder", attention.maps.decoder, attention.written, attention.read});
    write_maps(folder, {"cross", attention.maps.cross, attention.written, attention.source});
}

// Explains those special signs in the tokens of attention_line() that occur: they differ between vocabularies.
std::string meaning_of_signs(const nlohmann::ordered_json& lines) {
    constexpr std::pair<std::string_view, std::string_view> signs[] = {{"▁", "▁ is the space before a word"},
                                                                       {"·", "· joins a token to its neighbour without a space"},
                                                                       {"␣", "␣ is a space"},
                                                                       {"<s>", "<s> begins each translation"},
                                                                       {"</s>", "</s> ends each sentence"},
                                                                       {"<unk>", "<unk> is what the vocabulary does not have"}};
    std::set<std::string> tokens;
    for (const nlohmann::ordered_json& line : lines)
        for (const char* side : {"source", "read", "written"})
            for (const nlohmann::ordered_json& token : line[side]) tokens.insert(token.get<std::string>());
    std::string text;
    for (const auto& one : signs) {
        const auto has_sign = [&](const std::string& token) { return token.find(one.first) != std::string::npos; };
        if (std::ranges::any_of(tokens, has_sign)) text += fmt::format("{}{}", text.empty() ? " " : "; ", one.second);
    }
    return text.empty() ? "" : text + ".";
}

}  // namespace

void add_attention_view(picture::Page& page, nlohmann::ordered_json lines) {
    page.style(picture::attention_css)
        .paragraph(
            "A row says where one token looks; its weights sum to 1, from dark (0) to bright (1). In the encoder rows and "
            "columns are the source's tokens. A row of the decoder is a step, named by the token that it writes; the "
            "columns of its self-attention are the tokens that it has read, so nothing stands above the diagonal." +
            meaning_of_signs(lines))
        .place("attention", "With scripts on, every head of every layer is shown here, and the likeliest tokens of each step.")
        .data("attention-data", json_text(attention_data(std::move(lines))))
        .script(picture::attention_js);
}

std::string words_picture(const WordAttention& words, const std::string& line, const std::string& translation) {
    if (words.source_words == 0 || words.target_words == 0) return "";
    return svg(picture::HeatMap{.title = "words",
                                .rows = words.target_words,
                                .cols = words.source_words,
                                .values = words.weights,
                                .row_labels = words_in(translation, words.target_words),
                                .col_labels = words_in(line, words.source_words),
                                .row_title = "translation",
                                .col_title = "source",
                                .from = 0,
                                .to = 1,
                                .side = map_side});
}

AttentionReport::AttentionReport(std::filesystem::path folder, std::int64_t most, bool pictures)
    : folder_(std::move(folder)), most_(most), pictures_(pictures), lines_json_(nlohmann::ordered_json::array()) {
    make_folder(folder_, "--attention");
    const std::filesystem::path index = folder_ / "index.html";
    picture::check_replaceable(index);  // before any line is translated
    try {
        if (std::filesystem::exists(index)) remove_pictures(folder_);
    } catch (const std::filesystem::filesystem_error& error) {
        fail_with("--attention {}: a former report cannot be removed: {}", folder_.string(), error_text(error));
    }
}

void AttentionReport::add(const std::string& line, const std::string& translation, const TranslationAttention& attention,
                          const std::vector<DecodingStep>& steps) {
    ++lines_;
    lines_json_.push_back(attention_line(line, translation, attention, steps));
    const WordAttention words = word_attention(attention);
    shown_.push_back({fmt::format("Line {}: {} → {}", lines_, line, translation), words_picture(words, line, translation),
                      alignment_text(words)});
    if (pictures_) write_pictures(folder_ / fmt::format("line-{}", lines_), shown_.back().words, attention);
}

void AttentionReport::write() {
    picture::Page page("Where the model looks");
    add_attention_view(page, std::move(lines_json_));
    page.heading("Word by word");
    page.paragraph(
        "The last layer's cross attention from word to word, mean of its heads, without the end mark, and below it what "
        "--alignment takes: the strongest of each row.");
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        page.open_section(shown_[i].title, i == 0);
        if (!shown_[i].words.empty()) page.figure({shown_[i].words, ""}).code(shown_[i].alignment);
        page.close_section();
    }
    if (lines_ > most_) page.paragraph(fmt::format("The first {} of {} lines; --attention-lines N shows more.", most_, lines_));
    page.write(folder_ / "index.html");
}

std::string AttentionReport::summary() const {
    const std::string rest = lines_ > most_
                                 ? fmt::format("the first {} of {} lines; --attention-lines N shows more", most_, lines_)
                                 : fmt::format("{} {}", lines_, lines_ == 1 ? "line" : "lines");
    return fmt::format("wrote {}: attention of {}", (folder_ / "index.html").string(), rest);
}

}  // namespace heddle::app
