// The statements of a write-up of the Transformer, measured: each chapter in docs/presets has a program that checks its
// statements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lab/experiment.h"
#include "apps/picture/page.h"

namespace heddle::chapters {

/// A number that was measured, or what it is compared with.
struct Measured {
    std::string what;  ///< "variance at width 512"
    double value = 0;
};

/// A sentence of the chapter and its verdict.
struct Statement {
    std::string claim;  ///< "A dot product of two random vectors has a variance equal to their width."
    std::vector<Measured> numbers;
    bool holds = false;                         ///< by the criterion in the chapter's program
    std::vector<std::string> printed = {};      ///< tables of lines, for a terminal: a mask, the corners of a matrix
    std::vector<picture::Figure> figures = {};  ///< its pictures

    /// Error when nothing of this name was measured.
    double value(std::string_view what) const;
};

/// A chapter after its measurements.
struct Report {
    std::vector<Statement> statements;
    std::vector<picture::Figure> figures = {};  ///< that belong to no single statement
};

/// A chapter is run as an experiment is.
using lab::Options;

/// The preset of the same name, described and measured. At most 20 s on two processors; the same seed gives the same numbers.
struct Chapter {
    std::string_view name;   ///< of the preset: "paper"
    std::string_view title;  ///< one line
    Report (*run)(const Options&);
};

/// All of them, in the order of the list.
const std::vector<Chapter>& chapters();
/// Null when there is none of this name.
const Chapter* find_chapter(std::string_view name);

/// The statements for a terminal: claim, numbers, verdict.
std::string text(const Chapter& chapter, const Report& report);
/// As one line of JSON: name, title, seed, statements [{claim, numbers {what: value}, holds}].
std::string json(const Chapter& chapter, const Report& report, const Options& options);
/// The same with the pictures. `command`: how to make it again.
picture::Page page(const Chapter& chapter, const Report& report, std::string_view command);
/// "17 of 18 statements hold".
std::string headline(const Report& report);
/// The <svg> of the first figure, of no statement or of one; nothing when there is none.
std::string first_picture(const Report& report);

}  // namespace heddle::chapters
