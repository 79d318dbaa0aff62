// Gradient cases of modules: the attention blocks, the layers and whole small models.
#pragma once

#include <memory>

#include "autograd/gradcheck.h"
#include "nn/module.h"

namespace heddle::nn {

/// The value of a module for some inputs, which may draw dropout keys.
using ModuleFunction = std::function<Variable(std::span<const Variable>)>;

/// `forward`, which uses `module`, as a function of the module's parameters (the first inputs, in the order of parameters()) and
/// of what `forward` takes itself: one op for the checks of gradients. The module is converted to the dtype and device of the
/// inputs and its parameters are overwritten by them.
GradientFunction function_of_parameters(std::shared_ptr<Module> module, ModuleFunction forward);

/// Copies of the parameters' values: the first inputs of the function above.
std::vector<Tensor> parameter_values(const Module& module);

/// Cases of self- and cross-attention, encoder and decoder layer, and the whole model with pre- and post-norm, each with all its
/// parameters as inputs. Made anew by each call, since a case changes its module. Differences probe a few elements of
/// each parameter; autograd/exact_check.h covers all of them.
std::vector<GradientCase> module_cases();

}  // namespace heddle::nn
