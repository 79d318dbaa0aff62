// The gradient cases of each op, defined beside the op.
#pragma once

#include "autograd/gradcheck.h"

namespace heddle::proofs {

/// A mask or index that a case captured, on the device that its function is called for. Undefined stays undefined.
Tensor beside(const Variable& input, const Tensor& captured);

std::vector<GradientCase> elementwise();
std::vector<GradientCase> reduce();
std::vector<GradientCase> reshape();
std::vector<GradientCase> permute();
std::vector<GradientCase> slice();
std::vector<GradientCase> concat();
std::vector<GradientCase> gather();
std::vector<GradientCase> matmul();
std::vector<GradientCase> linear();
std::vector<GradientCase> activation();
std::vector<GradientCase> dropout();
std::vector<GradientCase> residual();
std::vector<GradientCase> embedding();
std::vector<GradientCase> softmax();
std::vector<GradientCase> log_softmax();
std::vector<GradientCase> layer_norm();
std::vector<GradientCase> attention();
std::vector<GradientCase> feed_forward();
std::vector<GradientCase> cross_entropy();
std::vector<GradientCase> linear_cross_entropy();

/// The cases of every op, in the order of gradient_cases().
inline constexpr std::vector<GradientCase> (*kAll[])() = {elementwise, reduce,       reshape,       permute,
                                                          slice,       concat,       gather,        matmul,
                                                          linear,      activation,   dropout,       residual,
                                                          embedding,   softmax,      log_softmax,   layer_norm,
                                                          attention,   feed_forward, cross_entropy, linear_cross_entropy};

}  // namespace heddle::proofs
