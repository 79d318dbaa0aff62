// All attention maps of some translations: an interactive page and, on request, each map as a picture.
//
//     FOLDER/index.html                       all of them and the most likely tokens of each step; needs no other file
//     FOLDER/line-1/cross-layer-1-head-1.svg  each map by itself; encoder-..., decoder-..., cross-..., and words.svg
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/picture/page.h"
#include "apps/translation/decoding/attention.h"

namespace heddle::app {

// ---- the attention of translations as JSON, for the script of their page
//
//     {"ramp": ["#440154", ..], "not_finite": "#a0a0a0", "lines": [
//         {"line": "..", "translation": "..", "source": [token ..], "read": [..], "written": [..],
//          "maps": {"cross": [layer [head [weights ..]]], "decoder": .., "encoder": ..},
//          "steps": [{"probability": 0.9, "likeliest": [["token", 0.9] ..]} ..]}]}
//
// Weights are thousandths, row by row: whole numbers whose sum is 1000 in each row, or null for what is not finite.

/// Shares of a whole in thousandths. They add up to the rounded sum of the shares: the largest remainders are rounded up. All
/// are -1 if one is not finite.
std::vector<int> thousandths(std::span<const double> shares);

/// Tokens for display: the mark that joins words becomes a middle dot, which nearly all fonts have, and a space is made visible.
std::vector<std::string> labels_of(const std::vector<std::string>& tokens);

/// An element of "lines". `steps`: one per token of the translation.
nlohmann::ordered_json attention_line(const std::string& line, const std::string& translation,
                                      const TranslationAttention& attention, const std::vector<DecodingStep>& steps);

/// The whole object.
nlohmann::ordered_json attention_data(nlohmann::ordered_json lines);

// ---- the page

/// Adds the interactive part: the chosen map, and every head of every layer. At most one per page. `lines`: from
/// attention_line().
void add_attention_view(picture::Page& page, nlohmann::ordered_json lines);
/// The words' attention as an <svg>, for readers without scripts; empty if one side has no words.
std::string words_picture(const WordAttention& words, const std::string& line, const std::string& translation);

class AttentionReport {
  public:
    /// Makes the folder and removes a former report's pictures from it. Shows the first `most` lines and counts the others.
    /// `pictures`: also write them as files. Error when the folder cannot be made.
    AttentionReport(std::filesystem::path folder, std::int64_t most, bool pictures);

    /// How many more lines will be shown.
    std::int64_t room() const { return std::max<std::int64_t>(0, most_ - lines_); }
    /// Adds the next line (there must be room()), its translation, that translation's attention and its decoding steps. Writes
    /// the pictures. Error when they cannot be written.
    void add(const std::string& line, const std::string& translation, const TranslationAttention& attention,
             const std::vector<DecodingStep>& steps);
    /// Counts the next line without showing it.
    void leave_out() { ++lines_; }
    /// Writes the page. Called once, after the last line.
    void write();
    /// One line for the terminal about what was written.
    std::string summary() const;

  private:
    std::filesystem::path folder_;
    std::int64_t most_;
    bool pictures_;
    std::int64_t lines_ = 0;
    nlohmann::ordered_json lines_json_;
    struct Shown {
        std::string title;
        std::string words;  // the picture of the words' attention
        std::string alignment;
    };
    std::vector<Shown> shown_;
};

}  // namespace heddle::app
