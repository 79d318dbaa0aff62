// Files with the segments of several texts: a source with its references and translations, or one text in several languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle::app {

enum class SegmentRole : std::uint8_t { any, source, reference, hypothesis };

/// Which segments of a file are to be read, where it has those of several texts.
struct WantedSegments {
    SegmentRole role = SegmentRole::any;
    std::string language = {};  ///< as --source and --target have it: "de", "de.xml"; empty where it is not known
    bool of_both = false;       ///< source and target come from one file: a single text has to say that it is in this language
};

/// The segments of a file that have the same role and language.
struct SegmentGroup {
    SegmentRole role = SegmentRole::any;  ///< from <src>, <ref>, <hyp>, <srcset>, <refset>, <tstset> around them
    std::string language = {};            ///< from xml:lang, lang or language around them; may be empty
    std::int64_t segments = 0;
};

/// The role of the segments in an element of this name.
SegmentRole role_of_element(std::string_view name);

/// The number of the only group that fits: first by language, "de" fitting "de-DE" unless another is exactly "de", then by role.
/// Error for the file `name`, which lists the groups, when none does or several do.
std::size_t chosen_group(std::span<const SegmentGroup> groups, const WantedSegments& wanted, const std::string& name);

}  // namespace heddle::app
