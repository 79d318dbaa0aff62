// An experiment of the lab: a known mistake, run beside its correction.
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

/// One measured quantity, a number for each variant. NaN and infinities are findings, too.
struct Finding {
    std::string what;  ///< "weight on the future, row 0"
    std::vector<double> values;
};

/// The result. Texts are plain.
struct Result {
    std::vector<std::string> variants;  ///< two or more; the first is the correct one, which is shown last
    std::vector<Finding> findings;      ///< the first one is the headline
    std::string why;                    ///< three sentences: what the mistake does, why, and what the correct form does instead
    std::vector<picture::Figure> figures;

    /// The numbers of one more variant, in the order of the findings. Error when they are not as many.
    void add(std::span<const double> values);
    /// The number of one variant. Error when there is no such finding or variant; the message lists what there is.
    double value(std::string_view what, std::string_view variant) const;
};

/// The mistake as people write it, and the correct code, with the library's functions: at most 8 lines of at most 68 columns
/// each, after a line break. Names that both take as given are those of textbooks.
struct Code {
    std::string_view wrong;
    std::string_view right;
};

/// One mistake. An experiment is a small program on the library's public parts: the wrong variant is built from composable ops,
/// never by a switch in a fused one. At most 20 s on two processors; the same seed gives the same numbers.
struct Experiment {
    std::string_view name;       ///< "split-heads"; also the name of its page
    std::string_view title;      ///< the mistake in one line
    std::string_view caught_by;  ///< the test that would have caught it: "Attention.CausalSeesNoFuture"
    Result (*run)(const Options&);
    Code code;
    std::string_view group = {};  ///< its subject: "Attention"; those of a group are listed together
};

/// All of them, in the order of the list.
const std::vector<Experiment>& experiments();
/// Null when there is none of this name.
const Experiment* find_experiment(std::string_view name);

}  // namespace heddle::lab
