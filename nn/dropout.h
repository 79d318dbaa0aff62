// Dropout as a module.
#pragma once

#include "autograd/ops.h"
#include "nn/module.h"

namespace heddle::nn {

/// Zeros elements with a probability and divides the others by the rest of it; in evaluation mode it changes nothing. The mask is
/// a function of the generator's seed and the module's name (nn::Module::dropout). Error unless 0 <= probability < 1.
class Dropout : public Module {
  public:
    /// A child of `parent`, whose generator it draws from.
    Dropout(Module& parent, std::string_view name, double probability = 0.5) : Module(parent, name), probability_(probability) {
        DropoutMask(probability, 0);
    }
    /// A root, for Sequential and programs of one's own.
    explicit Dropout(double probability = 0.5) : probability_(probability) { DropoutMask(probability, 0); }

    std::string_view kind() const override { return "Dropout"; }
    Variable forward(const Variable& x, Where where = Where::current()) const {
        const InModule in_module(name());
        return ops::dropout(x, dropout(probability_, "dropout"), where);
    }
    Variable operator()(const Variable& x, Where where = Where::current()) const { return forward(x, where); }

  private:
    double probability_;
};

}  // namespace heddle::nn
