// Whether a sentence's results may depend on the batch that it is in.
#pragma once

namespace heddle::kernels {

/// When on, a product on CUDA uses the same algorithm for every number of rows, without split sums, so that each row of a forward
/// pass depends only on its own sentence, to the last bit; all other kernels ensure this anyway. Off by default: then rows are
/// the same within rounding, and products of few rows are faster. On the CPU every row is independent in any case. Applies to
/// the whole process.
bool batch_invariant();
void set_batch_invariant(bool on);

}  // namespace heddle::kernels
