// What docs/examples/swish/lists.patch adds to the project's lists, for the test that compiles the op without the patch.
#pragma once

#include "autograd/bench_cases.h"
#include "autograd/gradcheck.h"
#include "tests/kernels/op_cases.h"

namespace heddle {
namespace ops {
/// x sigmoid(beta x); x [rows, cols], beta [cols].
Variable swish(const Variable& x, const Variable& beta, Where where = Where::current());
}  // namespace ops
namespace proofs {
std::vector<GradientCase> swish();
}
namespace benches {
std::vector<OpCase> swish(const Setting& on, std::int64_t rows, std::int64_t cols);
}
namespace kernels {
std::vector<OpCase> swish_cases();
}
}  // namespace heddle
