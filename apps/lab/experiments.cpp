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
namespace paired_layers { Experiment experiment(); }
namespace repeated_modules { Experiment experiment(); }
namespace softmax_twice { Experiment experiment(); }
namespace log_of_softmax { Experiment experiment(); }
namespace unbiased_norm { Experiment experiment(); }
namespace norm_placement { Experiment experiment(); }
namespace dropout_modes { Experiment experiment(); }
namespace partial_resume { Experiment experiment(); }
namespace cut_pairs { Experiment experiment(); }
namespace lines_apart { Experiment experiment(); }
namespace batch_bleu { Experiment experiment(); }
namespace tensor_core_sums { Experiment experiment(); }
// clang-format on

const std::vector<Experiment>& experiments() {
    static const std::vector<Experiment> all = {
        split_heads::experiment(),    tiny_mask::experiment(),        no_padding_mask::experiment(),
        masked_row::experiment(),     scaling::experiment(),          head_slices::experiment(),
        paired_layers::experiment(),  repeated_modules::experiment(), softmax_twice::experiment(),
        log_of_softmax::experiment(), unbiased_norm::experiment(),    norm_placement::experiment(),
        dropout_modes::experiment(),  partial_resume::experiment(),   cut_pairs::experiment(),
        lines_apart::experiment(),    batch_bleu::experiment(),       tensor_core_sums::experiment(),
    };
    return all;
}

const std::vector<WriteUp>& write_ups() {
    static const std::vector<WriteUp> all = {
        {"annotated", "the model line by line", {"repeated-modules", "norm-placement"}},
        {"explained", "the encoder step by step: positions, heads, norms", {"head-slices", "dropout-modes", "unbiased-norm"}},
        {"notebook", "an encoder-decoder from zero, block by block", {"split-heads", "no-padding-mask", "repeated-modules"}},
        {"paper", "\"Attention is all you need\" as a notebook", {"tiny-mask", "scaling", "paired-layers", "norm-placement"}},
        {"translator", "from raw files to a file of results", {"partial-resume", "cut-pairs", "lines-apart", "batch-bleu"}},
    };
    return all;
}

void Result::add(std::span<const double> values) {
    check(values.size() == findings.size(), "lab: a variant has {} numbers for {} findings; it needs one each", values.size(),
          findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) findings[i].values.push_back(values[i]);
}

}  // namespace heddle::lab
