// Every attention map of some translations: a page to choose in, and on request each map as a picture.
//
//     FOLDER/index.html                       all of them and the likeliest tokens of each step; needs no other file
//     FOLDER/line-1/cross-layer-1-head-1.svg  each map by itself; encoder-..., decoder-..., cross-..., and words.svg
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/picture/page.h"
#include "apps/translation/attention.h"
#include "apps/translation/next_tokens.h"

namespace heddle::app {

/// One map of each head of a layer.
struct AttentionRow {
    std::string title;               ///< "Cross attention, layer 1"
    std::vector<std::string> files;  ///< names for the heads' pictures: "cross-layer-1-head-1.svg"
    std::vector<picture::Figure> figures;
};
/// All maps of a translation, with tokens at the sides: encoder, decoder, cross attention, each from the first layer to the last.
std::vector<AttentionRow> attention_rows(const TranslationAttention& attention);
/// What rows, columns and colours of these maps are, for a reader.
std::string attention_legend();

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
    /// Writes the page. Once, behind the last line.
    void write();
    /// What was written, in a line for a terminal.
    std::string summary() const;

  private:
    std::filesystem::path folder_;
    std::int64_t most_;
    bool pictures_;
    std::int64_t lines_ = 0;
    nlohmann::ordered_json lines_json_;
    picture::Page page_{"Where the model looks"};
};

}  // namespace heddle::app
