// The groups that the options of commands belong to; --help and config.toml print each under its heading.
#pragma once

#include <cstdint>

#include "core/enum_words.h"

namespace heddle::app {

/// The subject of an option.
enum class OptionGroup : std::uint8_t {
    options,  ///< for tables without groups
    data,
    model,
    vocabulary,
    learning,
    course,
    machine,
    search,
    sampling,
    run,
    tuning,
    files,
    text,
    score,
    output,
    which_model,
    what_to_show,
    average,
    cases,
    measurement,
    experiments,
    chapters
};

/// Their headings.
constexpr auto enum_words(OptionGroup) {
    return words_for<OptionGroup>({{OptionGroup::options, "Options"},
                                   {OptionGroup::data, "Data"},
                                   {OptionGroup::model, "Model"},
                                   {OptionGroup::vocabulary, "Vocabulary"},
                                   {OptionGroup::learning, "Learning"},
                                   {OptionGroup::course, "Course of the training"},
                                   {OptionGroup::machine, "Machine"},
                                   {OptionGroup::search, "Search"},
                                   {OptionGroup::sampling, "Sampling"},
                                   {OptionGroup::run, "A run"},
                                   {OptionGroup::tuning, "Tuning"},
                                   {OptionGroup::files, "Files"},
                                   {OptionGroup::text, "Text"},
                                   {OptionGroup::score, "Score"},
                                   {OptionGroup::output, "Output"},
                                   {OptionGroup::which_model, "Which model"},
                                   {OptionGroup::what_to_show, "What to show"},
                                   {OptionGroup::average, "Average"},
                                   {OptionGroup::cases, "Cases"},
                                   {OptionGroup::measurement, "Measurement"},
                                   {OptionGroup::experiments, "Experiments"},
                                   {OptionGroup::chapters, "Chapters"}});
}

}  // namespace heddle::app
