// An experiment of the lab: a known mistake, run beside its correction. Each has a file and a namespace of its own, which ends
// with its declaration, experiment(); experiments.cpp lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/picture/page.h"

namespace heddle::lab {

struct Options {
    std::uint64_t seed = 1;  ///< of everything random
};

/// One measured quantity with a value for each variant. NaN and infinities are valid results.
struct Finding {
    std::string what;  ///< "weight on the future, row 0"
    std::vector<double> values = {};
};

/// The numbers and pictures of an experiment.
struct Result {
    std::vector<std::string> variants = {};  ///< two or more; the first is the correct one, but it is shown last
    std::vector<Finding> findings = {};      ///< the first one is the headline
    std::vector<picture::Figure> figures = {};

    /// Adds the values of one more variant, in the order of the findings. Error if the counts differ.
    void add(std::span<const double> values);
};

/// One mistake. An experiment is a small program that uses the public API: the wrong variant is composed from basic ops, never
/// enabled by a switch in a fused op. It takes at most 20 s on two processors; the same seed gives the same results.
struct Experiment {
    std::string_view name;       ///< "split-heads"; also the name of its page
    std::string_view group;      ///< its subject, such as "Attention"; experiments of one group are listed together
    std::string_view title;      ///< the mistake in one line
    std::string_view caught_by;  ///< the test that would have caught it: "Softmax.GivesZerosAndZeroGradientsWhereNothingAttends"
    std::string_view why;        ///< three sentences: the mistake's effect, its cause, and what the correct form does
    /// The mistake as it is usually written, and the correct code, using the library's functions: at most 8 lines of at most 68
    /// columns each, after a line break. Names that neither defines are the usual textbook names.
    std::string_view wrong, right;
    Result (*run)(const Options&);
};

/// All experiments, in list order.
const std::vector<Experiment>& experiments();

/// A write-up of the Transformer that is a preset, and the experiments on its mistakes and claims.
struct WriteUp {
    std::string_view name;  ///< of the preset: "paper"
    std::string_view title;
    std::vector<std::string_view> experiments;
};

const std::vector<WriteUp>& write_ups();

// Code, variants and pictures are always shown with the mistakes first and the correct form last.

/// For a terminal: the wrong and the right code, the results as a table with one column per variant, the explanation and the
/// test.
std::string text(const Experiment& experiment, const Result& result);
/// The same as one line of JSON: name, title, wrong and right (code), seed, variants, findings {what: {variant: number}}, why,
/// caught_by. JSON has no NaN and no infinities, so these are the strings "nan", "inf" and "-inf".
std::string json(const Experiment& experiment, const Result& result, const Options& options);
/// The same as a page with pictures. `command`: the command that reproduces it.
picture::Page page(const Experiment& experiment, const Result& result, std::string_view command);
/// The first finding in one line: "weight on the future, row 0: multiplied 0.9373, masked 0".
std::string headline(const Result& result);

}  // namespace heddle::lab
