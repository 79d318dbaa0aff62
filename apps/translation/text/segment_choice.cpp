#include "apps/translation/text/segment_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "apps/translation/text/markup.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::app {
namespace {

// "de-de" for "de_DE".
std::string plain_code(std::string_view language) {
    std::string code;
    for (const char c : language) code += c == '_' ? '-' : ascii_lower(c);
    return code;
}

std::string_view without_region(std::string_view code) { return code.substr(0, code.find('-')); }

std::string_view word_of_role(SegmentRole role) {
    switch (role) {
        case SegmentRole::source: return "source";
        case SegmentRole::reference: return "reference";
        case SegmentRole::hypothesis: return "translation";
        case SegmentRole::any: break;
    }
    return "text";
}

// "reference in en, 1,305 segments".
std::string described(const SegmentGroup& group) {
    return fmt::format("{}{}{}, {} segment{}", word_of_role(group.role), group.language.empty() ? "" : " in ", group.language,
                       grouped_text(group.segments), group.segments == 1 ? "" : "s");
}

// The indices of the groups that fit, or all indices if none does.
template <class Fits>
std::vector<std::size_t> those_that_fit(const std::vector<std::size_t>& numbers, const Fits& fits) {
    std::vector<std::size_t> fitting;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(fitting), fits);
    return fitting.empty() ? numbers : fitting;
}

}  // namespace

SegmentRole role_of_element(std::string_view name) {
    constexpr std::pair<std::string_view, SegmentRole> roles[] = {
        {"src", SegmentRole::source},    {"ref", SegmentRole::reference},    {"hyp", SegmentRole::hypothesis},
        {"srcset", SegmentRole::source}, {"refset", SegmentRole::reference}, {"tstset", SegmentRole::hypothesis}};
    for (const auto& [element, role] : roles)
        if (same_name(name, element)) return role;
    return SegmentRole::any;
}

std::size_t chosen_group(std::span<const SegmentGroup> groups, const WantedSegments& wanted, const std::string& name) {
    // A suffix such as de.xml begins with the language.
    const std::string language = plain_code(wanted.language.substr(0, wanted.language.find('.')));
    const auto code_of = [&](std::size_t i) { return plain_code(groups[i].language); };
    std::vector<std::size_t> fitting(groups.size());
    std::iota(fitting.begin(), fitting.end(), 0);
    bool missing = false;
    if (!language.empty() && std::ranges::any_of(groups, [](const SegmentGroup& group) { return !group.language.empty(); })) {
        const auto fits = [&](std::size_t i) {
            return groups[i].language.empty() || without_region(code_of(i)) == without_region(language);
        };
        fitting = those_that_fit(fitting, fits);
        missing = !fits(fitting.front());
        fitting = those_that_fit(fitting, [&](std::size_t i) { return code_of(i) == language; });
    }
    // With source and target exchanged, a pair's reference is the source.
    if (wanted.role != SegmentRole::hypothesis)
        fitting = those_that_fit(fitting, [&](std::size_t i) { return groups[i].role != SegmentRole::hypothesis; });
    fitting = those_that_fit(fitting, [&](std::size_t i) { return groups[i].role == wanted.role; });
    const bool alone = groups.size() == 1;
    const bool serves_both = wanted.of_both && alone && groups.front().language.empty();
    if (fitting.size() == 1 && !missing && !serves_both) return fitting.front();
    std::vector<std::string> all;
    for (const SegmentGroup& group : groups) all.push_back(described(group));
    fail_with("{}: it has {} ({}), and {}; {}", name, alone ? "one text only" : "the segments of several texts",
              fmt::join(all, "; "),
              missing       ? fmt::format("none is in '{}'", language)
              : serves_both ? "source and target are two"
                            : "nothing says which of them is meant",
              "give --source and --target as the file names its languages, or a file for each text");
}

}  // namespace heddle::app
