// Configurations of the ops that move elements, and of embedding and matrix product.
#include <algorithm>

#include "tests/cross_check/draw.h"

namespace heddle::cross_check {
namespace {

std::vector<std::int64_t> extents_of(const Shape& shape) {
    std::vector<std::int64_t> extents;
    for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
    return extents;
}

// Neighbouring axes joined, or an axis of 1 put in, or all in one row.
std::optional<Step> reshape(Draw& draw) {
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

std::optional<Step> permute(Draw& draw) {
    const Number x = draw.any(1, 4);
    const int rank = draw.shape_of(x).rank();
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis) axes.insert(axes.begin() + draw.between(0, axis), axis);
    if (draw.chance(0.3)) axes.back() -= rank;  // counted from the end
    return Step{.inputs = {x}, .options = {{"axes", axes}}};
}

std::optional<Step> slice(Draw& draw) {
    const Number x = draw.any(1, 4);
    const int rank = draw.shape_of(x).rank();
    const auto axis = static_cast<int>(draw.between(-rank, rank - 1));
    const std::int64_t begin = draw.between(0, draw.shape_of(x)[axis] - 1);
    return Step{.inputs = {x},
                .options = {{"axis", axis}, {"begin", begin}, {"end", draw.between(begin + 1, draw.shape_of(x)[axis])}}};
}

std::optional<Step> concat(Draw& draw) {
    Step step{.inputs = {draw.any(1, 3)}};
    const int rank = draw.shape_of(step.inputs[0]).rank();
    const auto axis = static_cast<int>(draw.between(-rank, rank - 1));
    for (std::int64_t more = draw.between(0, 2); more > 0; --more) {
        Shape part = draw.shape_of(step.inputs[0]);
        part.set(axis < 0 ? axis + rank : axis, draw.between(1, 3));
        step.inputs.push_back(draw.chance(0.3) ? step.inputs[0] : draw.of(part));
    }
    step.options["axis"] = axis;
    return step;
}

std::optional<Step> gather(Draw& draw) {
    const Number x = draw.any(1, 3);
    return Step{.inputs = {x}, .constants = {{"indices", draw.indices(draw.between(1, 5), draw.shape_of(x)[0])}}};
}

// b has a's leading axes or none.
std::optional<Step> matmul(Draw& draw) {
    const Number a = draw.any(2, 4);
    const Shape shape = draw.shape_of(a);
    const bool transpose_a = draw.chance(0.5), transpose_b = draw.chance(0.5), shared = draw.chance(0.4);
    const std::int64_t inner = shape[transpose_a ? -2 : -1], cols = draw.between(1, 4);
    Shape wanted;
    for (int axis = 0; !shared && axis + 2 < shape.rank(); ++axis) wanted.append(shape[axis]);
    wanted.append(transpose_b ? cols : inner);
    wanted.append(transpose_b ? inner : cols);
    return Step{.inputs = {a, draw.of(wanted)}, .options = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}};
}

std::optional<Step> linear(Draw& draw) {
    const Number x = draw.any(2, 2);
    const std::int64_t out = draw.between(1, draw.alone() ? 40 : 5);  // more than one panel of outputs
    const Number weight = draw.of({out, draw.shape_of(x).cols()});
    return Step{.inputs = {x, weight, draw.chance(0.7) ? draw.of({out}) : kNone}};
}

std::optional<Step> embedding(Draw& draw) {
    const Number table = draw.any(2, 2);
    const Shape shape = draw.shape_of(table);
    Json spans = Json::array();
    std::int64_t rows = 0, longest = 0;
    for (std::int64_t sentences = draw.between(1, 3); sentences > 0; --sentences) {
        rows += draw.chance(0.3) ? draw.between(1, 2) : 0;  // a gap
        const std::int64_t length = draw.between(0, 3);
        spans.push_back({rows, length});
        rows += length;
        longest = std::max(longest, length);
    }
    rows = std::max<std::int64_t>(rows, 1);
    const std::int64_t first = draw.between(0, 2);
    const Number positions = draw.chance(0.6) ? draw.of({first + longest + draw.between(1, 2), shape.cols()}) : kNone;
    Step step{.inputs = {table, positions},
              .options = {{"spans", spans}, {"scale", draw.uniform(0.5, 2)}, {"first_position", first}},
              .constants = {{"tokens", draw.indices(rows, shape[0])}}};
    if (draw.chance(0.4)) draw.dropout(step, rows, shape.cols());
    return step;
}

}  // namespace

std::map<std::string, DrawOp> drawn_shapes() {
    return {{"reshape", reshape}, {"permute", permute}, {"slice", slice},   {"concat", concat},
            {"gather", gather},   {"matmul", matmul},   {"linear", linear}, {"embedding", embedding}};
}

}  // namespace heddle::cross_check
