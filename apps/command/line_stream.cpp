#include "apps/command/line_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace heddle::app {

void LineStream::find_format() {
    begun_ = true;
    const Reading reading{.replace_invalid = replace_invalid_,
                          .say = [this](std::string_view text) { said_.emplace_back(text); },
                          .format = format_};
    const FoundFormat found = app::find_format(reader_, reading);
    format_ = found.format;
    if (format_ != TextFormat::xml && !(found.guessed && format_ == TextFormat::tags)) return;
    read_whole_ = true;
    TextFile whole = read_text_file(reader_, reading, found, wanted_);
    whole.drop_metadata(reading.say);
    whole_ = std::move(whole.lines);
    std::reverse(whole_.begin(), whole_.end());
}

// The next line if it is already in memory.
bool LineStream::take(std::string& line) {
    if (!whole_.empty()) {
        line = std::move(whole_.back());
        whole_.pop_back();
        return true;
    }
    while (reader_.take(line)) {
        if (format_ != TextFormat::tags || !is_metadata(line)) return true;
        ++metadata_;
    }
    return false;
}

void LineStream::say_changes(const Say& say) const {
    for (const std::string& text : said_) say(text);
    if (read_whole_) return;
    reader_.say_changes(say);
    if (metadata_ > 0) say(fmt::format("{}: left out {} of metadata", reader_.name(), counted_lines(metadata_)));
}

std::vector<std::string> LineStream::next(std::size_t limit, int milliseconds) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    using Clock = std::chrono::steady_clock;
    constexpr auto longest_wait = std::chrono::milliseconds(10);
    Clock::time_point first;  // time of the first line
    std::vector<std::string> lines;
    try {
        if (!begun_) find_format();
        for (std::string line; lines.size() < limit;) {
            if (take(line)) {
                if (lines.empty()) first = Clock::now();
                lines.push_back(std::move(line));
                continue;
            }
            const bool waited = !lines.empty() && milliseconds > 0 && Clock::now() - first > longest_wait * milliseconds;
            if (reader_.at_end() || waited || (!lines.empty() && !reader_.ready(milliseconds))) break;
            reader_.read_more();
        }
    } catch (...) {
        if (lines.empty()) throw;
        error_ = std::current_exception();
    }
    return lines;
}

}  // namespace heddle::app
