// Chooses one text in a file that has several: a source with references and translations, or a text in several languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle::app {

enum class SegmentRole : std::uint8_t { any, source, reference, hypothesis };

/// Which text to read from a file that contains several.
struct WantedSegments {
    SegmentRole role = SegmentRole::any;
    std::string language = {};  ///< as given by --source and --target: "de", "de.xml"; empty if unknown
    bool of_both = false;       ///< source and target are in one file: even a single text must be marked with this language
};

/// The segments of a file with the same role and language.
struct SegmentGroup {
    SegmentRole role = SegmentRole::any;  ///< from the enclosing <src>, <ref>, <hyp>, <srcset>, <refset>, <tstset>
    std::string language = {};            ///< from the enclosing xml:lang, lang or language; may be empty
    std::int64_t segments = 0;
};

/// The role of segments in an element with this name.
SegmentRole role_of_element(std::string_view name);

/// The index of the only group that fits: first by language ("de" fits "de-DE" unless another is exactly "de"), then by role.
/// Error for the file `name`, listing the groups, if none or several fit.
std::size_t chosen_group(std::span<const SegmentGroup> groups, const WantedSegments& wanted, const std::string& name);

}  // namespace heddle::app
