// Optimizers of modules, lists of leaves, and groups of these.
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

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

/// Leaves for an optimizer to train: the parameters of a module, or a list.
class Trained {
  public:
    Trained() = default;                                                                    ///< nothing yet
    Trained(nn::Module& module) : module_(&module), parameters_(module.parameters()) {}     // NOLINT: implicit
    Trained(std::vector<nn::Parameter> parameters) : parameters_(std::move(parameters)) {}  // NOLINT: implicit
    Trained(std::initializer_list<Variable> leaves) : Trained(std::vector<Variable>(leaves)) {}
    Trained(const std::vector<Variable>& leaves) {  // NOLINT: implicit
        for (const Variable& leaf : leaves) parameters_.push_back({leaf.name(), leaf});
    }

    /// Null for a list.
    nn::Module* module() const { return module_; }
    const std::vector<nn::Parameter>& parameters() const { return parameters_; }

  private:
    nn::Module* module_ = nullptr;
    std::vector<nn::Parameter> parameters_;
};

/// Parameters that are trained with numbers of their own: where one is not given, the optimizer's options hold.
struct ParameterGroup {
    Trained parameters = {};
    std::optional<Rate> lr = {};
    std::optional<double> weight_decay = {};
};

/// Trains the parameters of a module, a list of leaves, or groups of them, which it moves into one array (nn::flatten). They
/// must stay on their device while it exists, and a module must outlive it. Parameters that are frozen during a step do not
/// change. Clipping takes the norm over all groups. Error when a rate, eps or decay is negative or NaN.
class ModuleOptimizer {
  public:
    /// Copies would count the updates of one model separately.
    ModuleOptimizer(const ModuleOptimizer&) = delete;
    ModuleOptimizer& operator=(const ModuleOptimizer&) = delete;

    /// Sets all gradients to zero.
    void zero_grad(Where where = Where::current());
    /// One update, in place, with each group's rate. Returns the norm of the gradient before clipping. NotFinite if it is NaN or
    /// infinite; nothing is changed then.
    double step(Where where = Where::current());
    /// One update with another rate in place of the options', for example a schedule's. A group with a rate of its own keeps the
    /// ratio between the two.
    double step(Rate lr, Where where = Where::current());

    /// The rate of all groups, or of one, from now on.
    void set_lr(Rate lr);
    void set_lr(std::size_t group, Rate lr);
    /// The present rate of a group.
    double lr(std::size_t group = 0) const { return groups_.at(group).lr; }
    std::size_t groups() const { return groups_.size(); }

    /// The parameters and gradients as flat arrays, group after group.
    const nn::FlatParameters& parameters() const { return parameters_; }
    /// The underlying optimizer of a group with the moments and the number of updates, for saving and resuming.
    Optimizer& optimizer(std::size_t group = 0) { return groups_.at(group).optimizer; }

  protected:
    ModuleOptimizer(const std::vector<ParameterGroup>& groups, Rate lr, double clip, const OptimizerOptions& options);

  private:
    struct Group {
        Optimizer optimizer;
        std::int64_t begin = 0, end = 0;  // its elements of the flat arrays
        Rate lr;
    };
    double step_by(double factor, Where where);

    nn::FlatParameters parameters_;
    std::vector<Group> groups_;
    Rate lr_;  // the options'
    double clip_;
};

class Adam : public ModuleOptimizer {
  public:
    Adam(const Trained& trained, const AdamOptions& options);
    Adam(const std::vector<ParameterGroup>& groups, const AdamOptions& options);
};

class AdamW : public ModuleOptimizer {
  public:
    AdamW(const Trained& trained, const AdamWOptions& options);
    AdamW(const std::vector<ParameterGroup>& groups, const AdamWOptions& options);
};

class SGD : public ModuleOptimizer {
  public:
    SGD(const Trained& trained, const SGDOptions& options);
    SGD(const std::vector<ParameterGroup>& groups, const SGDOptions& options);
};

}  // namespace heddle::optim
