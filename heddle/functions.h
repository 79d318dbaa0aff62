// Translating, generating and scoring as functions of namespace heddle, and forms of the ops that a program's own code likes to
// call. The ops themselves are functions of namespace heddle, too: ops is an inline namespace (autograd/ops.h).
#pragma once

#include <initializer_list>
#include <span>

#include "autograd/ops.h"
#include "nn/search/scoring.h"
#include "nn/search/search.h"

namespace heddle {

using nn::generate;
using nn::score;
using nn::translate;

/// ops::cross_entropy with targets i32 [rows] given as a Variable.
inline Variable cross_entropy(const Variable& logits, const Variable& targets, const ops::LossOptions& options = {},
                              Where where = Where::current()) {
    return ops::cross_entropy(logits, targets.value(), options, nullptr, where);
}

/// Row tokens[i] of the table [vocabulary, d_model], for each i.
inline Variable embedding(const Variable& table, const Tensor& tokens, Where where = Where::current()) {
    return ops::embedding(table, tokens, Spans({{0, tokens.numel()}}, tokens.numel()), {}, where);
}

/// ops::permute and ops::concat with initializer lists: permute(x, {1, 0, 2}), concat({a, b}, 0).
inline Variable permute(const Variable& x, std::initializer_list<int> axes, Where where = Where::current()) {
    return ops::permute(x, std::span<const int>(axes.begin(), axes.size()), where);
}
inline Variable concat(std::initializer_list<Variable> parts, int axis, Where where = Where::current()) {
    return ops::concat(std::span<const Variable>(parts.begin(), parts.size()), axis, where);
}

}  // namespace heddle
