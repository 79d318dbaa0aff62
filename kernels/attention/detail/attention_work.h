// The work list of the CUDA kernels: the tiles of all sentences.
#pragma once

#include "core/spans.h"
#include "core/tensor.h"

namespace heddle::kernels {

/// All tiles of `size` rows of the sentences, as i32 [tiles, 2] on the device: (sentence, first row within it). Each tile has a
/// row, so no block is started for nothing, however different the lengths are. The longest sentence comes first and the last tile
/// of a sentence before its first (which sees the fewest keys when causal): the longest work starts first. Made and uploaded once
/// per spans and size. For spans within a capacity, as many as it can need; the last ones are tiles of an empty sentence.
Tensor attention_tiles(const Spans& spans, std::int64_t size);

}  // namespace heddle::kernels
