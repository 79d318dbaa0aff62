#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/lab/experiment.h"
#include "core/format.h"

namespace heddle::lab {

// A file and a namespace each, in list order; those of one group stand together.
// clang-format off
namespace split_heads { Experiment experiment(); }
namespace tiny_mask { Experiment experiment(); }
namespace no_padding_mask { Experiment experiment(); }
namespace masked_row { Experiment experiment(); }
namespace scaling { Experiment experiment(); }
namespace head_slices { Experiment experiment(); }
namespace projections { Experiment experiment(); }
namespace borrowed_maps { Experiment experiment(); }
namespace paired_layers { Experiment experiment(); }
namespace repeated_modules { Experiment experiment(); }
namespace position_codes { Experiment experiment(); }
namespace embedding_scale { Experiment experiment(); }
namespace uncut_positions { Experiment experiment(); }
namespace padding_index { Experiment experiment(); }
namespace softmax_twice { Experiment experiment(); }
namespace relu_logits { Experiment experiment(); }
namespace log_of_softmax { Experiment experiment(); }
namespace label_smoothing { Experiment experiment(); }
namespace unbiased_norm { Experiment experiment(); }
namespace norm_placement { Experiment experiment(); }
namespace without_norm { Experiment experiment(); }
namespace dropout_modes { Experiment experiment(); }
namespace dropout_redrawn { Experiment experiment(); }
namespace partial_resume { Experiment experiment(); }
namespace cut_pairs { Experiment experiment(); }
namespace lines_apart { Experiment experiment(); }
namespace length_penalty { Experiment experiment(); }
namespace uncached_decoding { Experiment experiment(); }
namespace batch_bleu { Experiment experiment(); }
namespace tensor_core_sums { Experiment experiment(); }
namespace cotangent_of_ones { Experiment experiment(); }
// clang-format on

const std::vector<Experiment>& experiments() {
    static const std::vector<Experiment> all = {
        split_heads::experiment(),       tiny_mask::experiment(),       no_padding_mask::experiment(),
        masked_row::experiment(),        scaling::experiment(),         head_slices::experiment(),
        projections::experiment(),       borrowed_maps::experiment(),   paired_layers::experiment(),
        repeated_modules::experiment(),  position_codes::experiment(),  embedding_scale::experiment(),
        uncut_positions::experiment(),   padding_index::experiment(),   softmax_twice::experiment(),
        relu_logits::experiment(),       log_of_softmax::experiment(),  label_smoothing::experiment(),
        unbiased_norm::experiment(),     norm_placement::experiment(),  without_norm::experiment(),
        dropout_modes::experiment(),     dropout_redrawn::experiment(), partial_resume::experiment(),
        cut_pairs::experiment(),         lines_apart::experiment(),     length_penalty::experiment(),
        uncached_decoding::experiment(), batch_bleu::experiment(),      tensor_core_sums::experiment(),
        cotangent_of_ones::experiment()};
    return all;
}

const Experiment* find_experiment(std::string_view name) {
    const auto found = std::ranges::find(experiments(), name, &Experiment::name);
    return found == experiments().end() ? nullptr : &*found;
}

const std::vector<WriteUp>& write_ups() {
    static const std::vector<WriteUp> all = {
        {"annotated", "the model line by line", {"repeated-modules", "norm-placement", "uncached-decoding", "label-smoothing"}},
        {"explained",
         "the encoder step by step: positions, heads, norms",
         {"head-slices", "dropout-modes", "unbiased-norm", "without-norm"}},
        {"notebook",
         "an encoder-decoder from zero, block by block",
         {"split-heads", "no-padding-mask", "borrowed-maps", "repeated-modules", "uncut-positions"}},
        {"paper",
         "\"Attention is all you need\" as a notebook",
         {"tiny-mask", "scaling", "paired-layers", "position-codes", "embedding-scale", "label-smoothing", "norm-placement"}},
        {"translator",
         "from raw files to a file of results",
         {"projections", "partial-resume", "cut-pairs", "lines-apart", "uncached-decoding", "batch-bleu"}},
    };
    return all;
}

void Result::add(std::span<const double> values) {
    check(values.size() == findings.size(), "lab: a variant has {} numbers for {} findings; it needs one each", values.size(),
          findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) findings[i].values.push_back(values[i]);
}

double Result::value(std::string_view what, std::string_view variant) const {
    const auto column = std::ranges::find(variants, variant);
    check(column != variants.end(), "lab: there is no variant '{}'; there are {}", variant, fmt::join(variants, ", "));
    const auto row = std::ranges::find(findings, what, &Finding::what);
    std::vector<std::string> names;
    for (const Finding& one : findings) names.push_back(one.what);
    check(row != findings.end(), "lab: there is no finding '{}'; there are {}", what, fmt::join(names, ", "));
    return row->values.at(static_cast<std::size_t>(column - variants.begin()));
}

}  // namespace heddle::lab
