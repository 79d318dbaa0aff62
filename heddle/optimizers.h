// Optimizers of a module's parameters.
#pragma once

#include "nn/flat.h"
#include "optim/optimizer.h"

namespace heddle::optim {

/// Kingma and Ba 2015, with the paper's defaults. The learning rate is required: leaving it out does not compile.
struct AdamOptions {
    Rate lr;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0;  ///< L2: added to the gradient
    double clip = 0;          ///< maximum norm of the gradient; 0: no clipping
};

/// Loshchilov and Hutter 2019: decoupled weight decay.
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

/// Trains a module's parameters, which it moves into one array (nn::flatten). The module must outlive it and stay on its device.
/// Parameters that are frozen during a step do not change.
class ModuleOptimizer {
  public:
    /// Copies would count the updates of one model separately.
    ModuleOptimizer(const ModuleOptimizer&) = delete;
    ModuleOptimizer& operator=(const ModuleOptimizer&) = delete;

    /// Sets all gradients to zero.
    void zero_grad(Where where = Where::current());
    /// One update, in place, with the options' rate. Returns the norm of the gradient before clipping. NotFinite if it is NaN or
    /// infinite; nothing is changed then.
    double step(Where where = Where::current());
    /// One update with another rate, for example a schedule's.
    double step(Rate lr, Where where = Where::current());

    /// The parameters and gradients as flat arrays.
    const nn::FlatParameters& parameters() const { return parameters_; }
    /// The underlying optimizer with the moments and the number of updates, for saving and resuming.
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
