// Gradient cases of modules: the attention blocks, the layers and whole small models.
#pragma once

#include <memory>

#include "autograd/gradcheck.h"
#include "nn/module.h"

namespace heddle::nn {

/// Computes a module's value for some inputs; may draw dropout keys.
using ModuleFunction = std::function<Variable(std::span<const Variable>)>;

/// `forward`, which uses `module`, as a function of the module's parameters (the first inputs, in the order of parameters()) and
/// of forward's own inputs: a single op for the checks of gradients. Converts the module to the inputs' dtype and device, and
/// overwrites its parameters.
GradientFunction function_of_parameters(std::shared_ptr<Module> module, ModuleFunction forward);

/// Copies of the parameters' values, the first inputs of function_of_parameters().
std::vector<Tensor> parameter_values(const Module& module);

/// Cases of self- and cross-attention, encoder and decoder layer, and the whole model with pre- and post-norm, each with all
/// parameters as inputs. Made anew by each call, since a case changes its module. Differences probe a few elements of each
/// parameter; autograd/exact_check.h covers all of them.
std::vector<GradientCase> module_cases();

}  // namespace heddle::nn
