// Optimizers over a module.
#pragma once

#include "nn/flat.h"
#include "optim/optimizer.h"

namespace heddle::optim {

/// Kingma and Ba 2015, with the paper's defaults. Leaving out the learning rate does not compile.
struct AdamOptions {
    Rate lr;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0;  ///< L2: added to the gradient
    double clip = 0;          ///< the greatest norm of the gradient; 0: no clipping
};

/// Loshchilov and Hutter 2019: the weights decay beside the gradient.
struct AdamWOptions {
    Rate lr;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.01;
    double clip = 0;
};

/// Stochastic gradient descent.
struct SGDOptions {
    Rate lr;
    double momentum = 0;
    double weight_decay = 0;  ///< L2: added to the gradient
    double clip = 0;
};

/// Trains the parameters of a module: it lays them on one array (nn::flatten) and works on that. The module must outlive it, and
/// stays on its device meanwhile. Parameters that are frozen at a step are left as they are.
class ModuleOptimizer {
  public:
    /// Two optimizers of one model would count its updates apart.
    ModuleOptimizer(const ModuleOptimizer&) = delete;
    ModuleOptimizer& operator=(const ModuleOptimizer&) = delete;

    /// Sets all gradients to zero.
    void zero_grad(Where where = Where::current());
    /// One update, in place, with the rate of the options. Returns the norm of the gradient before clipping. NotFinite when it is
    /// NaN or infinite; nothing was changed then.
    double step(Where where = Where::current());
    /// The same with another rate for this update, as a schedule gives it.
    double step(Rate lr, Where where = Where::current());

    /// The parameters and gradients as flat arrays.
    const nn::FlatParameters& parameters() const { return parameters_; }
    /// What is below: the moments and the number of updates, to save and resume.
    Optimizer& optimizer() { return optimizer_; }

  protected:
    ModuleOptimizer(nn::Module& module, Rate lr, double clip, const OptimizerOptions& options);

  private:
    nn::FlatParameters parameters_;
    Optimizer optimizer_;
    Rate lr_;
    double clip_;
};

class Adam : public ModuleOptimizer {
  public:
    Adam(nn::Module& module, const AdamOptions& options);
};

class AdamW : public ModuleOptimizer {
  public:
    AdamW(nn::Module& module, const AdamWOptions& options);
};

class SGD : public ModuleOptimizer {
  public:
    SGD(nn::Module& module, const SGDOptions& options);
};

}  // namespace heddle::optim
