// Collects a file's segments while a parser reads its elements and text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "apps/translation/text/markup.h"
#include "apps/translation/text/segments.h"

namespace heddle::app {

/// Receives documents, segments and text in the order of the file. Errors as read_segments().
class SegmentCollector {
  public:
    /// `whole`: the file's text, which must outlive this, for line numbers; `name` is used in errors.
    SegmentCollector(std::string_view whole, std::string name, bool replace_invalid)
        : whole_(whole), name_(std::move(name)), replace_invalid_(replace_invalid) {}

    /// The following segments belong to the document with this id, or to none if it is empty.
    void document(std::string_view id);
    /// Enters an element outside segments, nested in `depth` others. `attribute_of(name)` is a value, or empty.
    template <class AttributeOf>
    void enter(std::string_view name, int depth, const AttributeOf& attribute_of);
    /// Leaves every element nested in `depth` or more others.
    void leave(int depth);
    /// Leaves a <tu>.
    void leave_unit() { unit_ = 0; }
    bool in_unit() const { return unit_ > 0; }
    /// Opens and closes a segment, and adds text to it; `escaped` text has character references.
    void open(std::string_view id, std::size_t offset);
    void add(std::string_view text, bool escaped);
    void close();
    bool inside() const { return open_; }

    /// The line of a position in the file, from 1; positions must be ascending.
    std::int64_t line_of(std::size_t offset);
    const std::string& name() const { return name_; }

    /// Returns the wanted segments.
    MarkedSegments finish(const WantedSegments& wanted, const Say& say);

  private:
    // Properties that segments inherit from an element.
    struct Scope {
        int depth = 0;
        SegmentRole role = SegmentRole::any;
        std::string language = {};
        std::string by = {};  // the translator or system
    };
    struct Seen {
        std::int64_t line = 0;
        std::string by;
    };

    Scope scope() const { return scopes_.empty() ? Scope() : scopes_.back(); }
    std::size_t find_group();
    void keep_only(std::size_t group);
    void check_name(const char* attribute, std::string_view name) const;
    void decode(std::string_view text);

    std::string_view whole_;
    std::string name_;
    bool replace_invalid_;
    std::size_t counted_ = 0;  // bytes of `whole_` whose line ends are counted in `lines_`
    std::int64_t lines_ = 0;
    MarkedSegments segments_;
    std::vector<SegmentGroup> groups_;
    std::vector<std::size_t> groups_of_;                                      // each segment's group
    std::map<std::tuple<std::string, std::size_t, std::string>, Seen> seen_;  // by document, group and id
    std::vector<Scope> scopes_;
    std::string document_;
    std::int64_t units_ = 0, unit_ = 0;  // number of units, and of the open one, or 0
    std::string text_;
    bool open_ = false;
    std::int64_t line_ = 0;  // line of the open segment
    std::size_t group_ = 0;
    SegmentPlace place_;
    bool further_ = false;  // the open segment belongs to a second reference or system
    std::int64_t further_ones_ = 0;
    std::int64_t cut_ = 0;
};

template <class AttributeOf>
void SegmentCollector::enter(std::string_view name, int depth, const AttributeOf& attribute_of) {
    if (open_) return;
    if (same_name(name, "tu")) unit_ = ++units_;
    const SegmentRole role = role_of_element(name);
    std::string_view language;
    for (const char* key : {"xml:lang", "lang", "language"})
        if (language.empty()) language = attribute_of(key);
    if (role == SegmentRole::any && language.empty()) return;
    Scope inner = scope();
    inner.depth = depth;
    if (!language.empty()) inner.language = language;
    if (role != SegmentRole::any) {
        inner.role = role;
        inner.by = attribute_of(role == SegmentRole::reference ? "translator" : "system");
    }
    check_name("a language", inner.language);
    check_name("a name", inner.by);
    scopes_.push_back(std::move(inner));
}

}  // namespace heddle::app
