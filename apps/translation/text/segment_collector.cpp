#include "apps/translation/text/segment_collector.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/unicode.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// The character of an entity; U+0000 for a reference to an invalid character, nothing if it is not a reference.
std::optional<char32_t> character_of(std::string_view entity) {
    constexpr std::pair<std::string_view, char32_t> named[] = {
        {"lt", U'<'}, {"gt", U'>'}, {"amp", U'&'}, {"quot", U'"'}, {"apos", U'\''}};
    for (const auto& [name, character] : named)
        if (entity == name) return character;
    if (!entity.starts_with('#')) return {};
    entity.remove_prefix(1);
    const bool hexadecimal = entity.starts_with('x') || entity.starts_with('X');
    if (hexadecimal) entity.remove_prefix(1);
    std::uint32_t number = 0;
    const auto [end, failed] = std::from_chars(entity.data(), entity.data() + entity.size(), number, hexadecimal ? 16 : 10);
    if (end != entity.data() + entity.size() || failed == std::errc::invalid_argument) return {};
    const bool character = failed == std::errc() && number <= 0x10FFFF && (number < 0xD800 || number > 0xDFFF);
    return character ? static_cast<char32_t>(number) : U'\0';
}

std::string single_spaced(std::string_view text) {
    std::string out;
    for (std::size_t begin = 0; (begin = text.find_first_not_of(markup_space, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(markup_space, begin), text.size());
        if (!out.empty()) out += ' ';
        out += text.substr(begin, end - begin);
        begin = end;
    }
    return out;
}

}  // namespace

// A document without an id always differs from the one before.
void SegmentCollector::document(std::string_view id) {
    check_name("a docid", id);
    document_ = id;
    while (id.empty() && !seen_.empty() && std::get<0>(seen_.begin()->first).empty()) seen_.erase(seen_.begin());
}

void SegmentCollector::leave(int depth) {
    while (!scopes_.empty() && scopes_.back().depth >= depth) scopes_.pop_back();
}

void SegmentCollector::open(std::string_view id, std::size_t offset) {
    const std::int64_t line = line_of(offset);
    check_name("an id", id);
    check(!open_, "{}:{}: a <seg> inside the one of line {}, which has no end", name_, line, line_);
    open_ = true;
    line_ = line;
    group_ = find_group();
    place_ = {.document = document_, .id = std::string(id), .line = line, .unit = unit_};
    if (place_.id.empty() && unit_ > 0) place_.id = std::to_string(unit_);
    further_ = false;
    if (place_.id.empty()) return;
    const std::string by = scope().by;
    const auto [first, fresh] = seen_.try_emplace({document_, group_, place_.id}, Seen{.line = line, .by = by});
    further_ = first->second.by != by;
    check(fresh || further_,
          "{}:{}: segment {} of document '{}' again; it is in line {}, too (wanted each once, one reference in a file)", name_,
          line, place_.id, document_, first->second.line);
}

void SegmentCollector::add(std::string_view text, bool escaped) {
    if (!open_) return;
    if (escaped)
        decode(text);
    else
        text_ += text;
}

void SegmentCollector::close() {
    if (!open_) return;
    open_ = false;
    std::string text = single_spaced(text_);
    text_.clear();
    if (further_) {
        ++further_ones_;
        return;
    }
    if (text.size() > longest_line) {
        text.resize(whole_characters(text, longest_line));
        ++cut_;
    }
    segments_.texts.push_back(std::move(text));
    segments_.places.push_back(std::move(place_));
    groups_of_.push_back(group_);
    ++groups_[group_].segments;
}

std::int64_t SegmentCollector::line_of(std::size_t offset) {
    const std::size_t end = std::min(std::max(offset, counted_), whole_.size());
    lines_ += std::count(whole_.begin() + static_cast<std::ptrdiff_t>(counted_),
                         whole_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    counted_ = end;
    return lines_ + 1;
}

MarkedSegments SegmentCollector::finish(const WantedSegments& wanted, const Say& say) {
    check(!segments_.texts.empty(),
          "{}: there is no segment in it; wanted IWSLT or WMT XML, <seg id=\"1\"> a sentence </seg>; --format text takes every "
          "line as a sentence",
          name_);
    if (groups_.size() > 1 || wanted.of_both) keep_only(chosen_group(groups_, wanted, name_));
    if (say && further_ones_ > 0)
        say(fmt::format("{}: left out {} segments of further references or systems: the first of each document counts", name_,
                        grouped_text(further_ones_)));
    if (say && cut_ > 0)
        say(fmt::format("{}: cut {} segments to {} bytes, the longest a sentence may be", name_, grouped_text(cut_),
                        grouped_text(longest_line)));
    return std::move(segments_);
}

std::size_t SegmentCollector::find_group() {
    const Scope here = scope();
    const auto is_same = [&](const SegmentGroup& group) { return group.role == here.role && group.language == here.language; };
    const auto found = std::find_if(groups_.begin(), groups_.end(), is_same);
    if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
    constexpr std::size_t most = 1000;
    check(groups_.size() < most, "{}: segments in more than {} languages; that is no text", name_, most);
    groups_.push_back({.role = here.role, .language = here.language});
    return groups_.size() - 1;
}

void SegmentCollector::keep_only(std::size_t group) {
    MarkedSegments kept;
    for (std::size_t i = 0; i < groups_of_.size(); ++i) {
        if (groups_of_[i] != group) continue;
        kept.texts.push_back(std::move(segments_.texts[i]));
        kept.places.push_back(std::move(segments_.places[i]));
    }
    segments_ = std::move(kept);
}

// Limits the length of names, since each segment stores its own.
void SegmentCollector::check_name(const char* attribute, std::string_view name) const {
    constexpr std::size_t longest = 1000;
    check(name.size() <= longest, "{}: {} has {} bytes; wanted at most {}", name_, attribute, name.size(), longest);
}

void SegmentCollector::decode(std::string_view text) {
    constexpr std::size_t longest_entity = 12;
    for (std::size_t at; (at = text.find('&')) != std::string_view::npos;) {
        text_ += text.substr(0, at);
        text.remove_prefix(at);
        const std::size_t end = text.substr(0, longest_entity).find(';');
        const auto found = end == std::string_view::npos ? std::nullopt : character_of(text.substr(1, end - 1));
        check(found != U'\0' || replace_invalid_,
              "{}:{}: {} in this segment is no character; correct it, or go on with --replace-invalid", name_, line_,
              text.substr(0, end + 1));
        if (found)
            append_utf8(text_, *found == U'\0' ? replacement_character : *found);
        else
            text_ += '&';
        text.remove_prefix(found ? end + 1 : 1);
    }
    text_ += text;
}

}  // namespace heddle::app
