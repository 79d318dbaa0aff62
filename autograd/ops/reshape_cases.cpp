// The cases of reshape.
#include "autograd/cases/op_cases.h"
#include "autograd/ops.h"

namespace heddle::reshape_cases {
namespace {

using namespace cases;

// ---- the proof

std::vector<GradientCase> proofs() {
    const GradientFunction function = [](auto in) { return ops::reshape(in[0], {4, 6}); };
    return {{"reshape", "three axes to two", function, {random_input({2, 3, 4}, 1)}}};
}

// ---- a random call

std::vector<std::int64_t> extents_of(const Shape& shape) {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
    return extents;
}

// Neighbouring axes joined, or an axis of 1 put in, or all in one row.
std::optional<Step> draw(Draw& draw) {
    const Number x = draw.any(0, 3);
    std::vector<std::int64_t> extents = extents_of(draw.shape_of(x));
    const auto count = std::ssize(extents);
    if (draw.chance(0.2)) {
        extents = {draw.value(x).numel()};
    } else if (count >= 2 && draw.chance(0.6)) {
        const auto at = extents.begin() + draw.between(0, count - 2);
        *at *= *(at + 1);
        extents.erase(at + 1);
    } else {
        const std::int64_t at = draw.between(0, count);
        // An even extent is halved, so that views are more than other names for the same rows.
        const bool halves = at < count && extents[static_cast<std::size_t>(at)] % 2 == 0;
        if (halves) extents[static_cast<std::size_t>(at)] /= 2;
        extents.insert(extents.begin() + at, halves ? 2 : 1);
    }
    if (extents.size() > 4) return {};
    return Step{.inputs = {x}, .options = {{"shape", extents}}};
}

Outputs apply(const Step& step, Inputs in) {
    const auto extents = step.option<std::vector<std::int64_t>>("shape");
    return {ops::reshape(in[0], Shape(std::span<const std::int64_t>(extents)))};
}

}  // namespace

OpCases table() {
    return {.name = "reshape",
            .place = 3,
            .proofs = proofs,
            .functions = {{"reshape", draw, apply, "return [inputs[0].reshape(options['shape'])]"}}};
}

}  // namespace heddle::reshape_cases
