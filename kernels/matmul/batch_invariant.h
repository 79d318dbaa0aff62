// Whether a sentence's results may depend on the batch that it is in.
#pragma once

namespace heddle::kernels {

/// While it is on, a product on CUDA has one algorithm for every number of rows, with its sums in one piece, so that each row of a
/// forward pass depends on its own sentence alone, to the last bit; all other kernels see to that anyway. Off at first: then rows
/// are the same within rounding, and products of few rows faster. On the CPU every row is independent in any case. Of the whole
/// process.
bool batch_invariant();
void set_batch_invariant(bool on);

}  // namespace heddle::kernels
