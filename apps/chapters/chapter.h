// Checks the statements of write-ups of the Transformer: each chapter in docs/presets has a program that measures its statements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/lab/experiment.h"
#include "apps/picture/page.h"

namespace heddle::chapters {

/// A measured number, or the value it is compared with.
struct Measured {
    std::string what;  ///< "variance at width 512"
    double value = 0;
};

/// A statement of the chapter and its verdict.
struct Statement {
    std::string claim;  ///< "A dot product of two random vectors has a variance equal to their width."
    std::vector<Measured> numbers;
    bool holds = false;                         ///< by the criterion in the chapter's program
    std::vector<std::string> printed = {};      ///< text tables for a terminal: a mask, the corners of a matrix
    std::vector<picture::Figure> figures = {};  ///< its pictures

    /// Error if no number has this name.
    double value(std::string_view what) const;
};

/// The results of a chapter.
struct Report {
    std::vector<Statement> statements;
    std::vector<picture::Figure> figures = {};  ///< figures that belong to no single statement
};

/// A chapter takes the same options as an experiment.
using lab::Options;

/// The measurements on the preset of the same name. Takes at most 20 s on two processors; the same seed gives the same numbers.
struct Chapter {
    std::string_view name;   ///< of the preset: "paper"
    std::string_view title;  ///< one line
    Report (*run)(const Options&);
};

/// All chapters, in list order.
const std::vector<Chapter>& chapters();
/// Null if no chapter has this name.
const Chapter* find_chapter(std::string_view name);

// The functions of the chapters, one file each, in the order of the list in chapter.cpp.
Report annotated(const Options& options);
Report explained(const Options& options);
Report notebook(const Options& options);
Report paper(const Options& options);
Report translator(const Options& options);

/// The part of `explained` about normalisation.
void add_norm_statements(const Options& options, Report& report);
/// The part of `translator` about learning and decoding.
void add_training_statements(const Options& options, Report& report);

/// The statements for a terminal: claim, numbers, verdict.
std::string text(const Chapter& chapter, const Report& report);
/// The same as one line of JSON: name, title, seed, statements [{claim, numbers {what: value}, holds}].
std::string json(const Chapter& chapter, const Report& report, const Options& options);
/// The same as a page with pictures. `command`: the command that reproduces it.
picture::Page page(const Chapter& chapter, const Report& report, std::string_view command);
/// "17 of 18 statements hold".
std::string headline(const Report& report);
/// The <svg> of the first figure, whether of a statement or not; empty if there is none.
std::string first_picture(const Report& report);

}  // namespace heddle::chapters
