// The experiments, one file and namespace each, in the order of the list in experiment.cpp, which has the titles: what runs
// one, and the code that its page shows.
#pragma once

#include "apps/lab/experiment.h"

namespace heddle::lab {

namespace split_heads {
Result experiment(const Options& options);
extern const Code code;
}  // namespace split_heads
namespace tiny_mask {
Result experiment(const Options& options);
extern const Code code;
}  // namespace tiny_mask
namespace no_padding_mask {
Result experiment(const Options& options);
extern const Code code;
}  // namespace no_padding_mask
namespace masked_row {
Result experiment(const Options& options);
extern const Code code;
}  // namespace masked_row
namespace scaling {
Result experiment(const Options& options);
extern const Code code;
}  // namespace scaling
namespace head_slices {
Result experiment(const Options& options);
extern const Code code;
}  // namespace head_slices
namespace projections {
Result experiment(const Options& options);
extern const Code code;
}  // namespace projections
namespace borrowed_maps {
Result experiment(const Options& options);
extern const Code code;
}  // namespace borrowed_maps
namespace paired_layers {
Result experiment(const Options& options);
extern const Code code;
}  // namespace paired_layers
namespace repeated_modules {
Result experiment(const Options& options);
extern const Code code;
}  // namespace repeated_modules
namespace position_codes {
Result experiment(const Options& options);
extern const Code code;
}  // namespace position_codes
namespace embedding_scale {
Result experiment(const Options& options);
extern const Code code;
}  // namespace embedding_scale
namespace weighted_positions {
Result experiment(const Options& options);
extern const Code code;
}  // namespace weighted_positions
namespace uncut_positions {
Result experiment(const Options& options);
extern const Code code;
}  // namespace uncut_positions
namespace target_vocabulary {
Result experiment(const Options& options);
extern const Code code;
}  // namespace target_vocabulary
namespace padding_index {
Result experiment(const Options& options);
extern const Code code;
}  // namespace padding_index
namespace softmax_twice {
Result experiment(const Options& options);
extern const Code code;
}  // namespace softmax_twice
namespace relu_logits {
Result experiment(const Options& options);
extern const Code code;
}  // namespace relu_logits
namespace log_of_softmax {
Result experiment(const Options& options);
extern const Code code;
}  // namespace log_of_softmax
namespace label_smoothing {
Result experiment(const Options& options);
extern const Code code;
}  // namespace label_smoothing
namespace unbiased_norm {
Result experiment(const Options& options);
extern const Code code;
}  // namespace unbiased_norm
namespace norm_placement {
Result experiment(const Options& options);
extern const Code code;
}  // namespace norm_placement
namespace dropout_modes {
Result experiment(const Options& options);
extern const Code code;
}  // namespace dropout_modes
namespace dropout_redrawn {
Result experiment(const Options& options);
extern const Code code;
}  // namespace dropout_redrawn
namespace partial_resume {
Result experiment(const Options& options);
extern const Code code;
}  // namespace partial_resume
namespace length_penalty {
Result experiment(const Options& options);
extern const Code code;
}  // namespace length_penalty
namespace uncached_decoding {
Result experiment(const Options& options);
extern const Code code;
}  // namespace uncached_decoding
namespace batch_bleu {
Result experiment(const Options& options);
extern const Code code;
}  // namespace batch_bleu
namespace tensor_core_sums {
Result experiment(const Options& options);
extern const Code code;
}  // namespace tensor_core_sums
namespace cotangent_of_ones {
Result experiment(const Options& options);
extern const Code code;
}  // namespace cotangent_of_ones
namespace error_above_tolerance {
Result experiment(const Options& options);
extern const Code code;
}  // namespace error_above_tolerance

}  // namespace heddle::lab
