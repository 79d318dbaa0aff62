// The cases of cast.
#include "autograd/cases/op_cases.h"
#include "kernels/cast/cast.h"

namespace heddle::cast_cases {
namespace {

using namespace cases;
using namespace kernels;

// ---- what is explained

void explain_to_bf16(Session& s, Extents d) {
    map<[](const Tensor& x) { return cast(x, DType::bf16); }>(s, d);
}

}  // namespace

OpCases table() {
    return {.name = "cast", .example_place = 5, .examples = {{"cast", "f32 to bf16", "rows, cols", {4, 64}, explain_to_bf16}}};
}

}  // namespace heddle::cast_cases
