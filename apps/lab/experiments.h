// The functions of the experiments, one file each, in the order of the list in experiment.cpp, which has the titles.
#pragma once

#include "apps/lab/experiment.h"

namespace heddle::lab {

Result split_heads(const Options& options);
Result tiny_mask(const Options& options);
Result no_padding_mask(const Options& options);
Result masked_row(const Options& options);
Result scaling(const Options& options);
Result head_slices(const Options& options);
Result projections(const Options& options);
Result borrowed_maps(const Options& options);
Result paired_layers(const Options& options);
Result repeated_modules(const Options& options);
Result position_codes(const Options& options);
Result embedding_scale(const Options& options);
Result weighted_positions(const Options& options);
Result uncut_positions(const Options& options);
Result target_vocabulary(const Options& options);
Result padding_index(const Options& options);
Result softmax_twice(const Options& options);
Result relu_logits(const Options& options);
Result log_of_softmax(const Options& options);
Result label_smoothing(const Options& options);
Result unbiased_norm(const Options& options);
Result norm_placement(const Options& options);
Result dropout_modes(const Options& options);
Result dropout_redrawn(const Options& options);
Result partial_resume(const Options& options);
Result length_penalty(const Options& options);
Result uncached_decoding(const Options& options);
Result batch_bleu(const Options& options);
Result cotangent_of_ones(const Options& options);
Result error_above_tolerance(const Options& options);

// The code that each page shows.
extern const Code split_heads_code;
extern const Code tiny_mask_code;
extern const Code no_padding_mask_code;
extern const Code masked_row_code;
extern const Code scaling_code;
extern const Code head_slices_code;
extern const Code projections_code;
extern const Code borrowed_maps_code;
extern const Code paired_layers_code;
extern const Code repeated_modules_code;
extern const Code position_codes_code;
extern const Code embedding_scale_code;
extern const Code weighted_positions_code;
extern const Code uncut_positions_code;
extern const Code target_vocabulary_code;
extern const Code padding_index_code;
extern const Code softmax_twice_code;
extern const Code relu_logits_code;
extern const Code log_of_softmax_code;
extern const Code label_smoothing_code;
extern const Code unbiased_norm_code;
extern const Code norm_placement_code;
extern const Code dropout_modes_code;
extern const Code dropout_redrawn_code;
extern const Code partial_resume_code;
extern const Code length_penalty_code;
extern const Code uncached_decoding_code;
extern const Code batch_bleu_code;
extern const Code cotangent_of_ones_code;
extern const Code error_above_tolerance_code;

}  // namespace heddle::lab
