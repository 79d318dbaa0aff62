// All attention maps of some translations: an interactive page and, on request, each map as a picture.
//
//     FOLDER/index.html                       all of them and the most likely tokens of each step; needs no other file
//     FOLDER/line-1/cross-layer-1-head-1.svg  each map by itself; encoder-..., decoder-..., cross-..., and words.svg
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/picture/page.h"
#include "apps/translation/decoding/attention.h"

namespace heddle::app {

/// The part of a page to choose in: what is shown there, and every head of every layer. A page has one. `lines`: of
/// attention_line() (attention_data.h).
void add_attention_view(picture::Page& page, nlohmann::ordered_json lines);
/// The words' attention as an <svg>, for those without scripts; nothing when one side has no words.
std::string words_picture(const WordAttention& words, const std::string& line, const std::string& translation);

class AttentionReport {
  public:
    /// Makes the folder; pictures of a former report in it go. `most`: lines shown, the first ones; the others are counted.
    /// `pictures`: files of them, too. Error when the folder cannot be made.
    AttentionReport(std::filesystem::path folder, std::int64_t most, bool pictures);

    /// How many more lines are shown.
    std::int64_t room() const { return std::max<std::int64_t>(0, most_ - lines_); }
    /// The next line, for which there is room, what it was translated to, that translation's attention and its steps. Writes its
    /// pictures. Error when they cannot be written.
    void add(const std::string& line, const std::string& translation, const TranslationAttention& attention,
             const std::vector<DecodingStep>& steps);
    /// The next line, which is counted only.
    void leave_out() { ++lines_; }
    /// Writes the page. Once, after the last line.
    void write();
    /// What was written, in a line for a terminal.
    std::string summary() const;

  private:
    std::filesystem::path folder_;
    std::int64_t most_;
    bool pictures_;
    std::int64_t lines_ = 0;
    nlohmann::ordered_json lines_json_;
    struct Shown {
        std::string title;
        std::string words;  // the picture
        std::string alignment;
    };
    std::vector<Shown> shown_;
};

}  // namespace heddle::app
