#include "heddle/optimizers.h"

namespace heddle::optim {
namespace {

template <class Options>
OptimizerOptions by_moments(Method method, const Options& options) {
    return {.method = method,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .eps = options.eps,
            .weight_decay = options.weight_decay};
}

}  // namespace

ModuleOptimizer::ModuleOptimizer(nn::Module& module, Rate lr, double clip, const OptimizerOptions& options)
    : parameters_(nn::flatten(module)), optimizer_(parameters_.values, parameters_.gradients, options), lr_(lr), clip_(clip) {}

void ModuleOptimizer::zero_grad(Where where) { optimizer_.zero_gradients(where); }

double ModuleOptimizer::step(Where where) { return step(lr_, where); }

double ModuleOptimizer::step(Rate lr, Where where) {
    optimizer_.set_active(parameters_.active());
    return optimizer_.step({.lr = lr, .clip = clip_}, where);
}

Adam::Adam(nn::Module& module, const AdamOptions& options)
    : ModuleOptimizer(module, options.lr, options.clip, by_moments(Method::adam, options)) {}

AdamW::AdamW(nn::Module& module, const AdamWOptions& options)
    : ModuleOptimizer(module, options.lr, options.clip, by_moments(Method::adamw, options)) {}

SGD::SGD(nn::Module& module, const SGDOptions& options)
    : ModuleOptimizer(module, options.lr, options.clip,
                      {.method = Method::sgd, .momentum = options.momentum, .weight_decay = options.weight_decay}) {}

}  // namespace heddle::optim
